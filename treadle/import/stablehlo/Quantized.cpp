#include "treadle/import/stablehlo/Quantized.h"

#include "treadle/dialect/stablehlo/Attributes.h"
#include "treadle/import/stablehlo/SourceOps.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"

#include <cmath>

using namespace mlir;

namespace treadle::hlo {

using stablehlo::isQuantized;
namespace {

// --- types --------------------------------------------------------------------------------------

/// Parses the type's text; returns false if it has another form.
class QuantizedTypeParser {
public:
  QuantizedTypeParser(MLIRContext *context, StringRef text) : context(context), text(text) {}
  bool read(QuantizationGrid &grid) {
    return take("uniform<") && readStorage(grid) && take(":") && readExpressed(grid) &&
           readAxis(grid) && take(",") && readScales(grid) && take(">") && text.empty();
  }

private:
  bool take(StringRef token) {
    text = text.ltrim();
    return text.consume_front(token);
  }
  bool readStorage(QuantizationGrid &grid);
  bool readExpressed(QuantizationGrid &grid);
  bool readAxis(QuantizationGrid &grid);
  bool readScales(QuantizationGrid &grid);
  bool readScale(QuantizationGrid &grid);

  MLIRContext *context;
  StringRef text;
};

bool QuantizedTypeParser::readStorage(QuantizationGrid &grid) {
  bool isUnsigned = !take("i");
  unsigned width = 0;
  if ((isUnsigned && !take("u")) || text.consumeInteger(10, width) || width < 2 || width > 32)
    return false;
  grid.storage =
      IntegerType::get(context, width, isUnsigned ? IntegerType::Unsigned : IntegerType::Signless);
  int64_t least = isUnsigned ? 0 : llvm::minIntN(width);
  int64_t most = isUnsigned ? static_cast<int64_t>(llvm::maxUIntN(width)) : llvm::maxIntN(width);
  grid.least = least;
  grid.most = most;
  if (!take("<"))
    return true;
  return !text.consumeInteger(10, grid.least) && take(":") && !text.consumeInteger(10, grid.most) &&
         take(">") && least <= grid.least && grid.least < grid.most && grid.most <= most;
}

bool QuantizedTypeParser::readExpressed(QuantizationGrid &grid) {
  text = text.ltrim();
  StringRef name = text.take_while(llvm::isAlnum);
  text = text.drop_front(name.size());
  grid.expressed = llvm::StringSwitch<FloatType>(name)
                       .Case("f32", Float32Type::get(context))
                       .Case("f64", Float64Type::get(context))
                       .Case("f16", Float16Type::get(context))
                       .Case("bf16", BFloat16Type::get(context))
                       .Default(nullptr);
  return static_cast<bool>(grid.expressed);
}

bool QuantizedTypeParser::readAxis(QuantizationGrid &grid) {
  int64_t axis;
  if (!take(":"))
    return true;
  if (text.consumeInteger(10, axis) || axis < 0)
    return false;
  grid.axis = axis;
  return true;
}

/// A scale, optionally followed by a colon and the zero point.
bool QuantizedTypeParser::readScale(QuantizationGrid &grid) {
  text = text.ltrim();
  StringRef number =
      text.take_while([](char c) { return StringRef("0123456789.+-eE").contains(c); });
  text = text.drop_front(number.size());
  double scale = 0;
  int64_t zero = 0;
  if (number.getAsDouble(scale) || !std::isfinite(scale) || scale <= 0 ||
      (take(":") && text.consumeInteger(10, zero)))
    return false;
  grid.scales.push_back(scale);
  grid.zeros.push_back(zero);
  return true;
}

bool QuantizedTypeParser::readScales(QuantizationGrid &grid) {
  if (!grid.axis)
    return readScale(grid);
  if (!take("{"))
    return false;
  do
    if (!readScale(grid))
      return false;
  while (take(","));
  return take("}");
}

} // namespace

bool parseQuantizedType(OpaqueType type, QuantizationGrid &grid) {
  return QuantizedTypeParser(type.getContext(), type.getTypeData()).read(grid);
}

namespace {

FailureOr<QuantizationGrid> gridOf(Operation *op, Type type) {
  auto opaque = cast<OpaqueType>(getElementTypeOrSelf(type));
  QuantizationGrid grid;
  auto ranked = dyn_cast<RankedTensorType>(type);
  bool isRead = parseQuantizedType(opaque, grid);
  if (!isRead)
    return op->emitError("unimplemented: ")
           << op->getName().getStringRef() << " with values of type " << type;
  bool hasAxis = !grid.axis || (ranked && *grid.axis < ranked.getRank());
  auto count = static_cast<int64_t>(grid.scales.size());
  if (!hasAxis ||
      (grid.axis && !ranked.isDynamicDim(*grid.axis) && ranked.getDimSize(*grid.axis) != count))
    return op->emitError("its type ")
           << type << " has " << count << " scales, expected one for each index along its axis";
  return grid;
}

// --- ops ----------------------------------------------------------------------------------------

/// Replaces the ops on quantized values, whose types are changed afterwards.
class QuantizedLowering {
public:
  LogicalResult lower(Operation *op);

private:
  FailureOr<Value> dequantized(Operation *op, Value value);
  FailureOr<Value> quantized(Operation *op, Value value, Type type);
  /// Returns numbers of a grid in a shape that broadcasts to a type.
  Value constant(const QuantizationGrid &grid, Type type, ArrayRef<double> numbers);
  Value scalar(Type element, double number);
  Value binary(StringRef name, Value x, Value y);

  OpBuilder *builder = nullptr;
  Operation *current = nullptr;
};

Value QuantizedLowering::scalar(Type element, double number) {
  auto type = RankedTensorType::get({}, element);
  auto value = DenseElementsAttr::get(type, builder->getFloatAttr(element, number));
  return makeOp(*builder, current->getLoc(), "stablehlo.constant", {}, type,
                builder->getNamedAttr("value", value));
}

Value QuantizedLowering::constant(const QuantizationGrid &grid, Type type,
                                  ArrayRef<double> numbers) {
  if (!grid.axis)
    return scalar(grid.expressed, numbers.front());
  SmallVector<int64_t> shape(cast<RankedTensorType>(type).getRank(), 1);
  shape[*grid.axis] = static_cast<int64_t>(numbers.size());
  auto values = RankedTensorType::get(shape, grid.expressed);
  SmallVector<Attribute> attrs = llvm::map_to_vector(numbers, [&](double number) {
    return Attribute(builder->getFloatAttr(grid.expressed, number));
  });
  return makeOp(*builder, current->getLoc(), "stablehlo.constant", {}, values,
                builder->getNamedAttr("value", DenseElementsAttr::get(values, attrs)));
}

Value QuantizedLowering::binary(StringRef name, Value x, Value y) {
  return makeOp(*builder, current->getLoc(), ("chlo.broadcast_" + name).str(), {x, y}, x.getType());
}

SmallVector<double> asReals(ArrayRef<int64_t> numbers) {
  return llvm::map_to_vector(numbers, [](int64_t n) { return static_cast<double>(n); });
}

/// (x - zero) * scale. The subtraction is one of integers, because a float may not represent x.
FailureOr<Value> QuantizedLowering::dequantized(Operation *op, Value value) {
  if (!isQuantized(getElementTypeOrSelf(value.getType())))
    return value;
  FailureOr<QuantizationGrid> grid = gridOf(op, value.getType());
  if (failed(grid))
    return failure();
  Type type = value.getType(), wide = builder->getF64Type();
  QuantizationGrid exact = *grid;
  exact.expressed = cast<FloatType>(wide);
  Value x =
      makeOp(*builder, current->getLoc(), "stablehlo.convert", value, withElement(type, wide));
  x = binary("subtract", x, constant(exact, type, asReals(grid->zeros)));
  x = makeOp(*builder, current->getLoc(), "stablehlo.convert", x,
             withElement(type, grid->expressed));
  return binary("multiply", x, constant(*grid, type, grid->scales));
}

/// x / scale + zero, rounded to the nearest stored number.
FailureOr<Value> QuantizedLowering::quantized(Operation *op, Value value, Type type) {
  FailureOr<QuantizationGrid> grid = gridOf(op, type);
  if (failed(grid))
    return failure();
  if (Type element = getElementTypeOrSelf(value.getType()); element != grid->expressed)
    return op->emitError("it converts to ")
           << type << " of " << element << ", expected " << grid->expressed;
  Value x = binary("divide", value, constant(*grid, type, grid->scales));
  x = binary("add", x, constant(*grid, type, asReals(grid->zeros)));
  x = makeOp(*builder, current->getLoc(), "stablehlo.clamp",
             {scalar(grid->expressed, static_cast<double>(grid->least)), x,
              scalar(grid->expressed, static_cast<double>(grid->most))},
             x.getType());
  x = makeOp(*builder, current->getLoc(), "stablehlo.round_nearest_even", x, x.getType());
  // The result type is about to become the storage type.
  return makeOp(*builder, current->getLoc(), "stablehlo.convert", x, type);
}

bool hasQuantized(TypeRange types) {
  return llvm::any_of(types, [](Type type) { return isQuantized(getElementTypeOrSelf(type)); });
}

/// Whether the op only forwards stored numbers.
bool forwardsStorage(Operation *op) {
  StringRef name = hloName(op);
  if (name == "bitcast_convert")
    return true;
  if (!isMove(op))
    return false;
  if (name != "concatenate" && name != "gather" && name != "pad")
    return true;
  SmallVector<Type> elements;
  for (Value operand : op->getOperands())
    elements.push_back(getElementTypeOrSelf(operand.getType()));
  return name == "gather" || llvm::all_equal(elements);
}

LogicalResult QuantizedLowering::lower(Operation *op) {
  if (!hasQuantized(op->getOperandTypes()) && !hasQuantized(op->getResultTypes()))
    return success();
  for (Type type : op->getResultTypes())
    if (isQuantized(getElementTypeOrSelf(type)) && failed(gridOf(op, type)))
      return failure();
  if (forwardsStorage(op))
    return success();
  OpBuilder before(op);
  builder = &before;
  current = op;
  for (OpOperand &operand : op->getOpOperands()) {
    FailureOr<Value> value = dequantized(op, operand.get());
    if (failed(value))
      return failure();
    operand.set(*value);
  }
  StringRef name = hloName(op);
  bool isConversion = name == "uniform_quantize" || name == "uniform_dequantize";
  before.setInsertionPointAfter(op);
  for (OpResult result : op->getResults()) {
    Type type = result.getType();
    if (!isQuantized(getElementTypeOrSelf(type))) {
      if (isConversion)
        result.replaceAllUsesWith(op->getOperand(0));
      continue;
    }
    if (!isConversion)
      result.setType(withElement(type, gridOf(op, type)->expressed));
    FailureOr<Value> value = quantized(op, isConversion ? op->getOperand(0) : result, type);
    if (failed(value))
      return failure();
    if (isConversion)
      result.replaceAllUsesWith(*value);
    else
      result.replaceUsesWithIf(*value, [&](OpOperand &use) {
        return use.getOwner()->getBlock() != op->getBlock() ||
               value->getDefiningOp()->isBeforeInBlock(use.getOwner());
      });
  }
  if (isConversion)
    op->erase();
  return success();
}

} // namespace

LogicalResult lowerQuantized(ModuleOp module) {
  if (!hasElementType(module, isQuantized))
    return success();
  SmallVector<Operation *> ops;
  module.walk([&](Operation *op) { ops.push_back(op); });
  QuantizedLowering lowering;
  for (Operation *op : ops)
    if (failed(lowering.lower(op)))
      return failure();
  LogicalResult result = success();
  replaceElementTypes(module, [&](Type element) -> Type {
    if (!isQuantized(element))
      return element;
    QuantizationGrid grid;
    auto text = cast<OpaqueType>(element).getTypeData();
    if (QuantizedTypeParser(module.getContext(), text).read(grid))
      return grid.storage;
    result = failure();
    return element;
  });
  if (failed(result))
    return module.emitError("unimplemented: values of quantized types that aren't uniform");
  return success();
}

} // namespace treadle::hlo
