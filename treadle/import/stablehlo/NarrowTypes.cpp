#include "treadle/import/stablehlo/NarrowTypes.h"

#include "treadle/dialect/stablehlo/StableHlo.h"
#include "treadle/import/stablehlo/SourceOps.h"

#include "llvm/ADT/StringSet.h"

using namespace mlir;

namespace treadle::hlo {

Type wideTypeOf(Type element) {
  MLIRContext *context = element.getContext();
  unsigned width = element.isIntOrFloat() ? element.getIntOrFloatBitWidth() : 0;
  if (auto integer = dyn_cast<IntegerType>(element))
    return width == 2 || width == 4 ? IntegerType::get(context, 8, integer.getSignedness())
                                    : IntegerType();
  if (!width || width > 8)
    return {};
  return Float32Type::get(context);
}

namespace {

bool isNarrow(Type type) { return static_cast<bool>(wideTypeOf(getElementTypeOrSelf(type))); }

/// Whether results of narrow operands are narrow without rounding.
bool preservesNarrowness(Operation *op) {
  static const llvm::StringSet<> names = {"and", "clamp",  "maximum", "minimum",
                                          "or",  "select", "xor"};
  return isMove(op) || names.contains(hloName(op));
}

/// Returns the elements in the wide type.
FailureOr<Attribute> widenedElements(Operation *op, Attribute attr) {
  auto elements = dyn_cast_or_null<DenseElementsAttr>(attr);
  if (!elements || !isNarrow(elements.getType()))
    return attr;
  Type element = elements.getElementType(), wide = wideTypeOf(element);
  if (auto integers = dyn_cast<DenseIntElementsAttr>(elements))
    return Attribute(integers.mapValues(wide, [&](const APInt &bits) {
      return element.isUnsignedInteger() ? bits.zext(8) : bits.sext(8);
    }));
  auto floats = dyn_cast<DenseFPElementsAttr>(elements);
  if (!floats)
    return op->emitError("its elements aren't numbers");
  return Attribute(floats.mapValues(wide, [&](const APFloat &number) {
    APFloat value = number;
    bool losesInfo;
    value.convert(APFloat::IEEEsingle(), APFloat::rmNearestTiesToEven, &losesInfo);
    return value.bitcastToAPInt();
  }));
}

NamedAttribute narrowAttr(OpBuilder &builder, Type element) {
  return builder.getNamedAttr("narrow", TypeAttr::get(element));
}

/// Returns the bits of a narrow integer as a byte, sign-extended if it is signed.
Value bitsOf(OpBuilder &builder, Value value, IntegerType::SignednessSemantics sign) {
  auto integer = cast<IntegerType>(getElementTypeOrSelf(value.getType()));
  Type bits = IntegerType::get(integer.getContext(), integer.getWidth(), sign);
  return makeOp(builder, value.getLoc(), "stablehlo.convert", value,
                withElement(value.getType(), bits), narrowAttr(builder, bits));
}

/// Whether the op reads the bits of its operands.
bool isBitwise(Operation *op) {
  return llvm::is_contained(
      {"popcnt", "count_leading_zeros", "shift_right_logical", "shift_right_arithmetic"},
      hloName(op));
}

/// Gives a bitwise op its operands zero-extended, an arithmetic shift sign-extended.
void extendOperands(Operation *op) {
  OpBuilder builder(op);
  bool isArithmetic = hloName(op) == "shift_right_arithmetic";
  for (OpOperand &operand : op->getOpOperands())
    operand.set(bitsOf(builder, operand.get(),
                       isArithmetic ? IntegerType::Signless : IntegerType::Unsigned));
  op->getResult(0).setType(
      withElement(op->getResult(0).getType(), getElementTypeOrSelf(op->getOperand(0).getType())));
}

/// Subtracts the zeros above the narrow number from a count of zeros in 8 bits.
Value withoutZerosAbove(OpBuilder &builder, Value count, unsigned width) {
  auto scalar = RankedTensorType::get({}, getElementTypeOrSelf(count.getType()));
  auto byte = RankedTensorType::get({}, wideTypeOf(scalar.getElementType()));
  auto value = DenseElementsAttr::get(byte, APInt(8, 8 - width));
  Value above = makeOp(builder, count.getLoc(), "stablehlo.constant", {}, scalar,
                       builder.getNamedAttr("value", value));
  return makeOp(builder, count.getLoc(), "chlo.broadcast_subtract", {count, above},
                count.getType());
}

/// Rounds the op's results.
void roundResults(Operation *op) {
  OpBuilder builder(op->getContext());
  builder.setInsertionPointAfter(op);
  SmallVector<Type> types(op->getResultTypes());
  if (isBitwise(op))
    extendOperands(op);
  for (auto [result, type] : llvm::zip(op->getResults(), types)) {
    if (!isNarrow(type))
      continue;
    Value value = result;
    Type narrow = getElementTypeOrSelf(type);
    if (hloName(op) == "count_leading_zeros")
      value = withoutZerosAbove(builder, value, narrow.getIntOrFloatBitWidth());
    Value rounded = makeOp(builder, op->getLoc(), "stablehlo.convert", value, type,
                           narrowAttr(builder, narrow));
    result.replaceUsesWithIf(rounded, [&](OpOperand &use) {
      Operation *user = use.getOwner();
      return user->getBlock() != op->getBlock() || rounded.getDefiningOp()->isBeforeInBlock(user);
    });
  }
}

/// 4-bit and 8-bit numbers have different bits: attributes record the narrow types.
LogicalResult recordNarrowTypes(Operation *op) {
  Type from = getElementTypeOrSelf(op->getOperand(0).getType()),
       to = getElementTypeOrSelf(op->getResult(0).getType());
  for (Type type : {from, to})
    if (isNarrow(type) && from != to && !isa<IntegerType>(type))
      return op->emitError("unimplemented: ")
             << op->getName().getStringRef() << " of floats of type " << type;
  op->setAttr("narrow_operand", TypeAttr::get(from));
  op->setAttr("narrow", TypeAttr::get(to));
  return success();
}

bool isCalled(func::FuncOp function) {
  auto calls = [&](Operation *op) {
    auto callee = op->getAttrOfType<FlatSymbolRefAttr>("callee");
    return callee && callee.getValue() == function.getName() ? WalkResult::interrupt()
                                                             : WalkResult::advance();
  };
  return function->getParentOfType<ModuleOp>().walk(calls).wasInterrupted();
}

bool hasNarrow(TypeRange types) { return llvm::any_of(types, isNarrow); }

LogicalResult widen(Operation *op) {
  FailureOr<Attribute> elements = widenedElements(op, op->getAttr("value"));
  if (failed(elements))
    return failure();
  if (*elements)
    op->setAttr("value", *elements);
  if (!hasNarrow(op->getOperandTypes()) && !hasNarrow(op->getResultTypes()))
    return success();
  StringRef name = hloName(op);
  if (name.empty() && !isMove(op))
    return op->emitError("unimplemented: ")
           << op->getName().getStringRef() << " of numbers with fewer than 8 bits";
  if (name == "bitcast_convert")
    return recordNarrowTypes(op);
  if (name == "convert" && op->getNumResults() == 1 && isNarrow(op->getResult(0).getType()))
    op->setAttr("narrow", TypeAttr::get(getElementTypeOrSelf(op->getResult(0).getType())));
  else if (!preservesNarrowness(op))
    roundResults(op);
  return success();
}

/// Converts at the boundary of main, whose arguments and results keep their types.
class BoundaryConverter {
public:
  explicit BoundaryConverter(func::FuncOp main) : main(main), type(main.getFunctionType()) {}
  void addConversions();
  void restoreTypes();

private:
  func::FuncOp main;
  FunctionType type;
  SmallVector<std::pair<Value, Type>> outside;
};

void BoundaryConverter::addConversions() {
  Block &block = main.front();
  OpBuilder builder = OpBuilder::atBlockBegin(&block);
  for (BlockArgument argument : block.getArguments()) {
    if (!isNarrow(argument.getType()))
      continue;
    Value inside =
        makeOp(builder, argument.getLoc(), "stablehlo.convert", argument, argument.getType(),
               narrowAttr(builder, getElementTypeOrSelf(argument.getType())));
    argument.replaceAllUsesExcept(inside, inside.getDefiningOp());
    outside.emplace_back(argument, argument.getType());
  }
  builder.setInsertionPoint(&block.back());
  for (OpOperand &operand : block.back().getOpOperands()) {
    Value value = operand.get();
    if (!isNarrow(value.getType()))
      continue;
    Value converted = makeOp(builder, value.getLoc(), "stablehlo.convert", value, value.getType());
    outside.emplace_back(converted, value.getType());
    operand.set(converted);
  }
}

void BoundaryConverter::restoreTypes() {
  for (auto [value, type] : outside)
    value.setType(type);
  main.setFunctionType(type);
}

} // namespace

LogicalResult widenNarrowTypes(ModuleOp module, func::FuncOp main) {
  if (!hasElementType(module, [](Type element) { return isNarrow(element); }))
    return success();
  SmallVector<Operation *> ops;
  module.walk([&](Operation *op) { ops.push_back(op); });
  for (Operation *op : ops)
    if (failed(widen(op)))
      return failure();
  bool hasEdge = !main.isExternal() && llvm::hasSingleElement(main.getBody());
  if (hasEdge && isCalled(main) &&
      (hasNarrow(main.getArgumentTypes()) || hasNarrow(main.getResultTypes())))
    return main.emitError("unimplemented: calls of '")
           << main.getName() << "', whose arguments or results have a few bits";
  BoundaryConverter edge(main);
  if (hasEdge)
    edge.addConversions();
  replaceElementTypes(module, [](Type element) {
    Type wide = wideTypeOf(element);
    return wide ? wide : element;
  });
  if (hasEdge)
    edge.restoreTypes();
  return success();
}

} // namespace treadle::hlo
