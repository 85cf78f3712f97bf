// Internal to the verifiers: whether types fit each other, as far as they are known, and the errors
// where they don't.
#pragma once

#include "treadle/dialect/stablehlo/Ops.h"
#include "treadle/dialect/stablehlo/Window.h"

#include "mlir/IR/TypeUtilities.h"

namespace treadle::stablehlo {

using llvm::ArrayRef;
using llvm::LogicalResult;
using llvm::SmallVector;
using llvm::StringRef;
using mlir::Operation;
using mlir::RankedTensorType;
using mlir::Type;
using mlir::Value;

constexpr int64_t unknown = mlir::ShapedType::kDynamic;

/// Null for what has no known rank.
inline RankedTensorType ranked(Value value) {
  return mlir::dyn_cast<RankedTensorType>(value.getType());
}
inline Type elementOf(Type type) { return mlir::getElementTypeOrSelf(type); }
inline Type elementOf(Value value) { return elementOf(value.getType()); }
inline SmallVector<int64_t> orNone(std::optional<SmallVector<int64_t>> numbers) {
  return numbers.value_or(SmallVector<int64_t>());
}
inline bool isUnknown(int64_t size) { return mlir::ShapedType::isDynamic(size); }

bool fits(int64_t a, int64_t b);
bool fits(ArrayRef<int64_t> a, ArrayRef<int64_t> b);
/// Values of unknown rank, or of types that have no shape, fit any.
bool haveSameShape(Type a, Type b);
/// Quantized elements fit those that they stand for.
bool haveSameElement(Type a, Type b);
/// Whether a list of types is the other, but for sizes that either leaves open.
bool fit(mlir::TypeRange a, mlir::TypeRange b);

/// The numbers of a constant; none where the value isn't one, or has more than a shape could have.
std::optional<SmallVector<int64_t>> constantNumbers(Value value);

// --- expectations: each emits an error at the op where it fails --------------------------------

LogicalResult expectShape(Operation *op, Value result, ArrayRef<int64_t> expected);
LogicalResult expectElement(Operation *op, Value value, Type expected);
/// The rank is one of those; values of unknown rank have any.
LogicalResult expectRank(Operation *op, Value value, StringRef what, int64_t least, int64_t most);
inline LogicalResult expectRank(Operation *op, Value value, StringRef what, int64_t rank) {
  return expectRank(op, value, what, rank, rank);
}
LogicalResult expectDim(Operation *op, int64_t dim, int64_t rank, StringRef what);
/// Dimensions of a rank, none twice.
LogicalResult expectDims(Operation *op, ArrayRef<int64_t> dims, int64_t rank, StringRef what);
LogicalResult expectSorted(Operation *op, ArrayRef<int64_t> dims, StringRef what);
LogicalResult expectCount(Operation *op, size_t count, size_t expected, StringRef what);
LogicalResult expectPositive(Operation *op, ArrayRef<int64_t> numbers, StringRef what);
/// Dimension numbers have no other fields than these.
LogicalResult expectFields(Operation *op, mlir::DictionaryAttr fields, ArrayRef<StringRef> names);
LogicalResult expectTypes(Operation *op, StringRef what, mlir::TypeRange found,
                          mlir::TypeRange expected);

// --- windows -----------------------------------------------------------------------------------

/// What ops with windows state of each dimension; empty lists stand for what isn't stated.
struct WindowAttributes {
  SmallVector<int64_t> sizes = {}, strides = {}, padding = {}, baseDilations = {}, dilations = {};
};
/// The window along each of `rank` dimensions.
mlir::FailureOr<SmallVector<WindowDim>> windowOf(Operation *op, const WindowAttributes &attributes,
                                                 size_t rank);

// --- regions -----------------------------------------------------------------------------------

/// A function of two scalars for each of the elements: the accumulated ones, then new ones.
LogicalResult expectReducer(Operation *op, mlir::Region &region, ArrayRef<Type> elements);

} // namespace treadle::stablehlo
