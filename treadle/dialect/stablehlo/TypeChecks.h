// Internal to the verifiers: checks whether types are compatible, as far as they are known, and
// emits errors if not.
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

/// Returns null if the value has no known rank.
inline RankedTensorType ranked(Value value) {
  return mlir::dyn_cast<RankedTensorType>(value.getType());
}
inline Type elementOf(Type type) { return mlir::getElementTypeOrSelf(type); }
inline Type elementOf(Value value) { return elementOf(value.getType()); }
inline SmallVector<int64_t> valueOrEmpty(std::optional<SmallVector<int64_t>> numbers) {
  return numbers.value_or(SmallVector<int64_t>());
}
inline bool isUnknown(int64_t size) { return mlir::ShapedType::isDynamic(size); }

bool fits(int64_t a, int64_t b);
bool fits(ArrayRef<int64_t> a, ArrayRef<int64_t> b);
/// Values of unknown rank, or of types without a shape, match any shape.
bool haveSameShape(Type a, Type b);
/// Quantized elements match their expressed type.
bool haveSameElement(Type a, Type b);
/// Whether two lists of types are equal except for dynamic dimensions.
bool typesMatch(mlir::TypeRange a, mlir::TypeRange b);

/// Returns the numbers of a constant; nullopt if the value isn't constant, or has more elements
/// than a shape could have.
std::optional<SmallVector<int64_t>> constantNumbers(Value value);

// --- expectations: each emits an error at the op where it fails --------------------------------

LogicalResult expectShape(Operation *op, Value result, ArrayRef<int64_t> expected);
LogicalResult expectElement(Operation *op, Value value, Type expected);
/// Checks that the rank is in range; values of unknown rank always pass.
LogicalResult expectRank(Operation *op, Value value, StringRef what, int64_t least, int64_t most);
inline LogicalResult expectRank(Operation *op, Value value, StringRef what, int64_t rank) {
  return expectRank(op, value, what, rank, rank);
}
LogicalResult expectDim(Operation *op, int64_t dim, int64_t rank, StringRef what);
/// Checks that dimensions are valid for the rank and distinct.
LogicalResult expectDims(Operation *op, ArrayRef<int64_t> dims, int64_t rank, StringRef what);
LogicalResult expectSorted(Operation *op, ArrayRef<int64_t> dims, StringRef what);
LogicalResult expectCount(Operation *op, size_t count, size_t expected, StringRef what);
LogicalResult expectPositive(Operation *op, ArrayRef<int64_t> numbers, StringRef what);
/// Checks that dimension numbers have only these fields.
LogicalResult expectFields(Operation *op, mlir::DictionaryAttr fields, ArrayRef<StringRef> names);
LogicalResult expectTypes(Operation *op, StringRef what, mlir::TypeRange found,
                          mlir::TypeRange expected);

// --- windows -----------------------------------------------------------------------------------

/// The window attributes of an op, by dimension; missing lists are empty.
struct WindowAttributes {
  SmallVector<int64_t> sizes = {}, strides = {}, padding = {}, baseDilations = {}, dilations = {};
};
/// Returns the window along each of `rank` dimensions.
mlir::FailureOr<SmallVector<WindowDim>> windowOf(Operation *op, const WindowAttributes &attributes,
                                                 size_t rank);

// --- regions -----------------------------------------------------------------------------------

/// Checks for a function of two scalars for each element type: the accumulated ones, then new ones.
LogicalResult expectReducer(Operation *op, mlir::Region &region, ArrayRef<Type> elements);

} // namespace treadle::stablehlo
