// Internal to the folder: one function's body while it is converted.
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

class Body;

/// What the bodies of a module share.
class Program {
public:
  /// Functions of the target don't get names that are `taken`.
  explicit Program(mlir::ModuleOp module, ArrayRef<std::string> taken = {});

  mlir::ModuleOp module;
  tfg::TfgDialect &dialect;
  /// Those that the module says it is for.
  const Devices devices;

  mlir::func::FuncOp function(StringRef name) const { return functions.lookup(name); }
  /// Whether the operation, or one in it, does more than its results say.
  bool hasEffects(Operation *op);

  /// A function of the target: `fill` gives its results. The name is made from `base`.
  mlir::FailureOr<std::string>
  addFunction(StringRef base, mlir::TypeRange inputs, mlir::TypeRange results, bool isElementwise,
              mlir::Location location,
              const std::function<LogicalResult(Body &, tfg::FuncOp, SmallVector<Value> &)> &fill);
  /// The function for a func.func, made when it is first asked for.
  mlir::FailureOr<std::string> convertedFunction(mlir::func::FuncOp source);

  mlir::OpBuilder functionBuilder;

private:
  bool functionHasEffects(StringRef name);

  llvm::StringMap<mlir::func::FuncOp> functions;
  llvm::StringMap<std::string> converted;
  llvm::StringMap<bool> effects;
  graphdef::LocationNames names;
};

/// The nodes of one graph or function, and what the source's values are there.
class Body {
public:
  Body(Program &program, mlir::Block &target, bool isElementwise);

  Program &program;
  mlir::OpBuilder builder;
  graphdef::LocationNames names;
  /// The body of a function of scalars that is called with whole tensors.
  const bool isElementwise;
  /// Tokens of nodes that must run.
  SmallVector<Value> effects;
  /// The one that the next of them waits for; null: none.
  Value lastEffect;
  /// Lets a node wait for the last effect so far.
  void afterEffects(llvm::SmallVectorImpl<Value> &inputs) const;
  /// The node that was made last must run.
  void addEffect();
  /// The same, but later effects don't wait for it.
  void addEffectAside();

  // --- source

  void map(Value source, Value target) { values[source] = target; }
  /// The value's counterpart; constants from outside are made here.
  Value of(Value source);
  /// The same, or what broadcasts to it: for ops whose other inputs have the full shape.
  Value compactOf(Value source);
  SmallVector<Value> allOf(ValueRange sources);
  /// The op will be erased.
  void forget(Operation *op) {
    for (Value result : op->getResults()) {
      values.erase(result);
      compacts.erase(result);
    }
  }
  void mapCompact(Value source, Value compact) { compacts[source] = compact; }

  LogicalResult read(Operation *op);
  /// All but the terminator.
  LogicalResult readBlock(mlir::Block &block);

  /// The type of a source's value in the target.
  Type typeOf(Type source) const { return convertedType(source, isElementwise); }
  static Type convertedType(Type source, bool isElementwise = false);
  Type resultType(Operation *op, unsigned index = 0) const {
    return typeOf(op->getResult(index).getType());
  }

  // --- nodes

  /// Inputs may end with control tokens.
  SmallVector<Value> nodes(StringRef op, ValueRange inputs, mlir::TypeRange results,
                           Attrs attrs = {});
  Value node(StringRef op, ValueRange inputs, Type result, Attrs attrs = {}) {
    return nodes(op, inputs, result, std::move(attrs)).front();
  }
  /// A node of the type of its first input.
  Value like(StringRef op, ValueRange inputs, Attrs attrs = {}) {
    auto varies = [](Value value) { return mlir::isa<mlir::UnrankedTensorType>(value.getType()); };
    auto it = llvm::find_if(inputs, varies);
    return node(op, inputs, (it == inputs.end() ? inputs.front() : *it).getType(),
                std::move(attrs));
  }
  /// A node of the first input's shape and another element type.
  Value likeOf(StringRef op, ValueRange inputs, Type element, Attrs attrs = {}) {
    return node(op, inputs, withElement(inputs.front().getType(), element), std::move(attrs));
  }
  Value constant(mlir::ElementsAttr value);
  /// A tensor of int32, or int64 where one doesn't fit.
  Value integers(ArrayRef<int64_t> values, ArrayRef<int64_t> shape);
  Value vector(ArrayRef<int64_t> values) {
    return integers(values, static_cast<int64_t>(values.size()));
  }
  Value index(int64_t value); // scalar int32
  /// A scalar of an element type, of the nearest value.
  Value scalar(Type element, double value);
  Value scalarInt(Type element, int64_t value);
  Value cast(Value value, Type element);
  /// A value of known dimensions in others; of unknown ones by `shape` alone.
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
  SmallVector<Operation *> inlined; // the calls that are being read
  friend LogicalResult readCall(Body &, Operation *);
};

// --- attributes of the source ------------------------------------------------------------------

using stablehlo::fieldNumbers;
using stablehlo::numbers;
inline SmallVector<int64_t> numbers(Operation *op, StringRef key) {
  return numbers(op->getAttr(key));
}
/// `count` copies of `value` where the op doesn't state it, or states nothing.
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
inline Value input(Body &body, Operation *op, unsigned i) { return body.of(op->getOperand(i)); }

/// What a reader ends with whose op has one result.
inline LogicalResult done(Body &body, Operation *op, Value value) {
  body.map(op->getResult(0), value);
  return mlir::success();
}

/// An error of the kind Unimplemented, with what is missing.
mlir::InFlightDiagnostic unimplementedOp(Operation *op);

/// A copy before the op, to be changed for reading and erased then: the op itself is read again
/// where its function is called again.
inline Operation *copyBefore(Operation *op) { return mlir::OpBuilder(op).clone(*op); }

// --- regions -----------------------------------------------------------------------------------

/// What the regions use of the values around them, but for constants, which are made again.
SmallVector<Value> capturesOf(llvm::MutableArrayRef<mlir::Region> regions);

/// The function of a region whose arguments are scalars of the given types; `isElementwise` tells
/// whether it may be called with whole tensors.
struct ScalarFunction {
  std::string name;
  bool isElementwise;
};
mlir::FailureOr<ScalarFunction> scalarFunction(Body &body, mlir::Region &region, StringRef base);
/// The elementwise function of a block whose arguments are scalars: it takes its arguments, and
/// then the values of `captures`, which this finds: what the block uses from outside. Emits an
/// error where an op of the block isn't elementwise.
mlir::FailureOr<std::string> elementwiseFunction(Body &body, mlir::Block &block, StringRef base,
                                                 SmallVector<Value> &captures);
mlir::FailureOr<ScalarFunction> scalarFunctionOf(Body &body, mlir::func::FuncOp function);
/// If the region is one op of its two arguments: that op's name without the dialect.
StringRef combinerOf(mlir::Region &region);
/// If the region is one op of its two arguments that TensorFlow has for whole tensors: TensorFlow's
/// name.
StringRef combiningOp(mlir::Region &region, Type element);

// --- tables ------------------------------------------------------------------------------------

using Converter = LogicalResult (*)(Body &, Operation *);
struct Row {
  StringRef op; // without the dialect
  Converter convert;
};
ArrayRef<Row> arithmeticRows();
ArrayRef<Row> shapeRows();
ArrayRef<Row> indexRows();
ArrayRef<Row> reductionRows();
ArrayRef<Row> productRows();
ArrayRef<Row> controlRows();
ArrayRef<Row> moreRows();

} // namespace treadle::hlo
