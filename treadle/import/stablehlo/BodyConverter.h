// Internal to the folder: the conversion of one function's body.
#pragma once

#include "treadle/dialect/Tfg.h"
#include "treadle/dialect/stablehlo/Attributes.h"
#include "treadle/import/TfOps.h"
#include "treadle/import/stablehlo/Devices.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

#include <functional>

namespace treadle::hlo {

using llvm::ArrayRef;
using llvm::LogicalResult;
using llvm::SmallVector;
using llvm::SmallVectorImpl;
using llvm::StringRef;
using mlir::Attribute;
using mlir::Operation;
using mlir::Type;
using mlir::Value;
using mlir::ValueRange;

using Attrs = mlir::NamedAttrList;

class BodyConverter;

/// The state that the bodies of a module share.
class ConversionState {
public:
  /// Functions of the target won't use the names in `taken`.
  explicit ConversionState(mlir::ModuleOp module, ArrayRef<std::string> taken = {});

  mlir::ModuleOp module;
  tfg::TfgDialect &dialect;
  /// The devices that the module specifies.
  const Devices devices;

  mlir::func::FuncOp function(StringRef name) const { return functions.lookup(name); }
  /// Whether the operation or a nested one has side effects.
  bool hasEffects(Operation *op);

  /// Creates a function in the target with a name derived from `base`; `fill` returns its results.
  mlir::FailureOr<std::string> addFunction(
      StringRef base, mlir::TypeRange inputs, mlir::TypeRange results, bool isElementwise,
      mlir::Location location,
      const std::function<LogicalResult(BodyConverter &, tfg::FuncOp, SmallVector<Value> &)> &fill);
  /// Returns the function for a func.func, which is converted on first use.
  mlir::FailureOr<std::string> convertedFunction(mlir::func::FuncOp source);

  mlir::OpBuilder functionBuilder;

private:
  bool functionHasEffects(StringRef name);

  llvm::StringMap<mlir::func::FuncOp> functions;
  llvm::StringMap<std::string> converted;
  llvm::StringMap<bool> effects;
  graphdef::LocationNames names;
};

/// The nodes of one graph or function under conversion, and the mapping from source values to them.
class BodyConverter {
public:
  BodyConverter(ConversionState &program, mlir::Block &target, bool isElementwise);

  ConversionState &program;
  mlir::OpBuilder builder;
  graphdef::LocationNames names;
  /// Whether this is the body of a scalar function that is called with whole tensors.
  const bool isElementwise;
  /// Tokens of nodes with side effects.
  SmallVector<Value> effects;
  /// The token that the next effect waits for; null if there is none.
  Value lastEffect;
  /// Makes a node wait for the last effect so far.
  void waitForEffects(llvm::SmallVectorImpl<Value> &inputs) const;
  /// Records that the last created node has a side effect.
  void addEffect();
  /// Like `addEffect`, but later effects don't wait for it.
  void addUnorderedEffect();

  // --- source

  void map(Value source, Value target) { values[source] = target; }
  /// Returns the value's counterpart; outside constants are created here.
  Value of(Value source);
  /// Like `of`, but may return a smaller value that broadcasts to it: for ops whose other inputs
  /// have the full shape.
  Value broadcastableOf(Value source);
  SmallVector<Value> allOf(ValueRange sources);
  /// Marks the op for erasure.
  void scheduleErase(Operation *op) {
    for (Value result : op->getResults()) {
      values.erase(result);
      compacts.erase(result);
    }
  }
  void mapBroadcastable(Value source, Value compact) { compacts[source] = compact; }

  LogicalResult read(Operation *op);
  /// Converts all ops except the terminator.
  LogicalResult readBlock(mlir::Block &block);

  /// Returns the target type of a source type.
  Type typeOf(Type source) const { return convertedType(source, isElementwise); }
  static Type convertedType(Type source, bool isElementwise = false);
  Type resultType(Operation *op, unsigned index = 0) const {
    return typeOf(op->getResult(index).getType());
  }

  // --- nodes

  /// Creates a node. Inputs may end with control tokens.
  SmallVector<Value> nodes(StringRef op, ValueRange inputs, mlir::TypeRange results,
                           Attrs attrs = {});
  Value node(StringRef op, ValueRange inputs, Type result, Attrs attrs = {}) {
    return nodes(op, inputs, result, std::move(attrs)).front();
  }
  /// Creates a node with the type of its first input.
  Value like(StringRef op, ValueRange inputs, Attrs attrs = {}) {
    auto varies = [](Value value) { return mlir::isa<mlir::UnrankedTensorType>(value.getType()); };
    auto it = llvm::find_if(inputs, varies);
    return node(op, inputs, (it == inputs.end() ? inputs.front() : *it).getType(),
                std::move(attrs));
  }
  /// Creates a node with the shape of its first input and another element type.
  Value likeOf(StringRef op, ValueRange inputs, Type element, Attrs attrs = {}) {
    return node(op, inputs, withElement(inputs.front().getType(), element), std::move(attrs));
  }
  Value constant(mlir::ElementsAttr value);
  /// Returns an int32 tensor, or int64 if a value doesn't fit.
  Value integers(ArrayRef<int64_t> values, ArrayRef<int64_t> shape);
  Value vector(ArrayRef<int64_t> values) {
    return integers(values, static_cast<int64_t>(values.size()));
  }
  Value index(int64_t value); // scalar int32
  /// Returns a scalar of an element type with the nearest value.
  Value scalar(Type element, double value);
  Value scalarInt(Type element, int64_t value);
  Value cast(Value value, Type element);
  /// Reshapes a value; if its sizes are unknown, `shape` must determine the result by itself.
  Value reshape(Value value, ArrayRef<int64_t> shape);
  Value reshapeTo(Value value, mlir::RankedTensorType type);

  mlir::Builder &attrs() { return builder; }
  Attribute func(StringRef name);

  static Type withElement(Type type, Type element) {
    return mlir::cast<mlir::TensorType>(type).clone(element);
  }

  Operation *current = nullptr;

private:
  LogicalResult expectResults(Operation *op) const;

  llvm::DenseMap<Value, Value> values, compacts;
  SmallVector<Operation *> inlined; // calls that are being converted
  friend LogicalResult readCall(BodyConverter &, Operation *);
};

// --- attributes of the source ------------------------------------------------------------------

using stablehlo::fieldNumbers;
using stablehlo::numbers;
inline SmallVector<int64_t> numbers(Operation *op, StringRef key) {
  return numbers(op->getAttr(key));
}
/// Returns the op's numbers, or `count` copies of `value` if the attribute is missing or empty.
SmallVector<int64_t> numbersOr(Operation *op, StringRef key, size_t count, int64_t value);
int64_t numberOr(Operation *op, StringRef key, int64_t value);
inline StringRef word(Operation *op, StringRef key) { return stablehlo::word(op->getAttr(key)); }

inline Type elementOf(Value value) { return mlir::getElementTypeOrSelf(value.getType()); }
inline Type elementOf(Type type) { return mlir::getElementTypeOrSelf(type); }
inline bool isBool(Type element) { return element.isInteger(1); }
inline bool isFloat(Type element) { return mlir::isa<mlir::FloatType>(element); }
inline bool isComplex(Type element) { return mlir::isa<mlir::ComplexType>(element); }
inline bool isUnsigned(Type element) { return element.isUnsignedInteger(); }
inline mlir::RankedTensorType rankedOf(Value value) {
  return mlir::dyn_cast<mlir::RankedTensorType>(value.getType());
}
inline Value input(BodyConverter &body, Operation *op, unsigned i) {
  return body.of(op->getOperand(i));
}

/// The last step of a converter for an op with one result.
inline LogicalResult done(BodyConverter &body, Operation *op, Value value) {
  body.map(op->getResult(0), value);
  return mlir::success();
}

/// Emits an Unimplemented error that names the unsupported feature.
mlir::InFlightDiagnostic unimplementedOp(Operation *op);

/// Clones the op, to be changed for the conversion and erased afterwards: the original is converted
/// again if its function is called again.
inline Operation *cloneBefore(Operation *op) { return mlir::OpBuilder(op).clone(*op); }

// --- regions -----------------------------------------------------------------------------------

/// Returns the outside values that the regions use, except constants, which are cloned.
SmallVector<Value> capturesOf(llvm::MutableArrayRef<mlir::Region> regions);

/// The function of a region whose arguments are scalars of the given types; `isElementwise` tells
/// whether it may be called with whole tensors.
struct ScalarFunction {
  std::string name;
  bool isElementwise;
};
mlir::FailureOr<ScalarFunction> scalarFunction(BodyConverter &body, mlir::Region &region,
                                               StringRef base);
/// Creates the elementwise function of a block with scalar arguments. It takes these, followed by
/// `captures`: the outside values that the block uses, which are returned here. Emits an error if
/// an op of the block isn't elementwise.
mlir::FailureOr<std::string> elementwiseFunction(BodyConverter &body, mlir::Block &block,
                                                 StringRef base, SmallVector<Value> &captures);
mlir::FailureOr<ScalarFunction> scalarFunctionOf(BodyConverter &body, mlir::func::FuncOp function);
/// If the region consists of one op on its two arguments: returns that op's name without the
/// dialect.
StringRef combinerOf(mlir::Region &region);
/// If the region consists of one op on its two arguments that TensorFlow has as an elementwise op:
/// returns TensorFlow's name.
StringRef combiningOp(mlir::Region &region, Type element);

// --- tables ------------------------------------------------------------------------------------

using Converter = LogicalResult (*)(BodyConverter &, Operation *);
struct ConverterRow {
  StringRef op; // without the dialect
  Converter convert;
};
ArrayRef<ConverterRow> arithmeticRows();
ArrayRef<ConverterRow> shapeRows();
ArrayRef<ConverterRow> indexRows();
ArrayRef<ConverterRow> reductionRows();
ArrayRef<ConverterRow> productRows();
ArrayRef<ConverterRow> controlRows();
ArrayRef<ConverterRow> randomRows();

} // namespace treadle::hlo
