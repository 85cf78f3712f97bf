// Converts chlo ops that expand to several StableHLO ops.
#include "treadle/dialect/stablehlo/Ops.h"
#include "treadle/dialect/stablehlo/StableHlo.h"
#include "treadle/import/stablehlo/Formula.h"
#include "treadle/import/stablehlo/SourceOps.h"
#include "treadle/import/stablehlo/Tables.h"

#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace treadle;
using namespace treadle::hlo;

// --- elementwise --------------------------------------------------------------------------------

template <int sign> static LogicalResult readIsInfinite(BodyConverter &body, Operation *op) {
  Term x(body, input(body, op, 0));
  return done(body, op, x == sign * std::numeric_limits<double>::infinity());
}

/// Returns the upper 64 bits of a product, from products of 32-bit halves.
static Term upperHalf(Term x, Term y) {
  Term low = x.whole(0xffffffff), by = x.whole(32);
  Term xHigh = x >> by, xLow = x & low, yHigh = y >> by, yLow = y & low;
  Type bits = x.of().builder.getIntegerType(64, /*isSigned=*/false);
  // Neither sum overflows 64 bits.
  Term below = ((xLow * yLow).bitsAs(bits) >> by.bitsAs(bits)).bitsAs(x.element());
  Term middle = xHigh * yLow + below;
  Term other = xLow * yHigh + (middle & low);
  return xHigh * yHigh + (middle >> by) + (other >> by);
}

static LogicalResult readMulhi(BodyConverter &body, Operation *op) {
  Term x(body, input(body, op, 0)), y(body, input(body, op, 1));
  auto element = dyn_cast<IntegerType>(x.element());
  if (!element || isBool(element))
    return op->emitError("it multiplies ") << x.element() << ", expected integers";
  if (element.getWidth() == 64)
    return done(body, op, upperHalf(x, y));
  Type wide = element.isUnsigned() ? Type(body.builder.getIntegerType(64, /*isSigned=*/false))
                                   : Type(body.builder.getI64Type());
  Term product = x.as(wide) * y.as(wide);
  return done(body, op, (product >> product.whole(element.getWidth())).as(element));
}

// --- scans --------------------------------------------------------------------------------------

namespace {

/// Converts a scan to a loop over the positions along the dimension.
class ScanReader {
public:
  ScanReader(BodyConverter &body, Operation *op) : body(body), op(op), builder(op) {}
  LogicalResult read();

private:
  LogicalResult check();
  Value constant(int64_t value);
  void addCondition(Operation *loop);
  void addBody(Operation *loop);
  /// Returns the position along the dimension, and 0 along all others.
  SmallVector<Value> indicesOf(Value place, int64_t rank);
  RankedTensorType withoutDim(RankedTensorType type);
  RankedTensorType withOnePlace(RankedTensorType type);
  RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

  BodyConverter &body;
  Operation *op;
  OpBuilder builder;
  unsigned numCarries = 0, numInputs = 0, numOutputs = 0;
  int64_t dim = 0, size = 0;
};

} // namespace

LogicalResult ScanReader::check() {
  dim = numberOr(op, "dimension", -1);
  SmallVector<int64_t> segments = numbers(op, "operandSegmentSizes");
  numInputs = static_cast<unsigned>(segments[0]);
  numCarries = static_cast<unsigned>(segments[1]);
  numOutputs = op->getNumResults() - numCarries;
  Block &block = op->getRegion(0).front();
  if (block.getNumArguments() != op->getNumOperands() ||
      block.back().getNumOperands() != op->getNumResults())
    return op->emitError("its body takes ")
           << block.getNumArguments() << " values, expected " << op->getNumOperands();
  SmallVector<Value> whole(op->getOperands().take_front(numInputs));
  llvm::append_range(whole, op->getResults().take_front(numOutputs));
  auto first = dyn_cast<RankedTensorType>(whole.front().getType());
  for (Value value : whole) {
    auto type = dyn_cast<RankedTensorType>(value.getType());
    if (!type || !type.hasStaticShape() || !type.getElementType().isIntOrFloat())
      return unimplementedOp(op)
             << " with dynamic shapes, or with an element type that isn't integer or float";
    if (dim < 0 || dim >= type.getRank() || type.getDimSize(dim) != first.getDimSize(dim))
      return op->emitError("its inputs and outputs have different sizes along dimension ") << dim;
  }
  size = first.getDimSize(dim);
  for (auto [argument, value] : llvm::zip(block.getArguments(), whole))
    if (argument.getArgNumber() < numInputs && argument.getType() != withoutDim(typeOf(value)))
      return op->emitError("its body takes ")
             << argument.getType() << ", expected " << withoutDim(typeOf(value));
  for (auto [result, value] :
       llvm::zip(op->getResults().take_front(numOutputs), block.back().getOperands()))
    if (value.getType() != withoutDim(typeOf(result)))
      return op->emitError("its body returns ")
             << value.getType() << ", expected " << withoutDim(typeOf(result));
  return success();
}

RankedTensorType ScanReader::withoutDim(RankedTensorType type) {
  SmallVector<int64_t> shape(type.getShape());
  shape.erase(shape.begin() + dim);
  return RankedTensorType::get(shape, type.getElementType());
}

RankedTensorType ScanReader::withOnePlace(RankedTensorType type) {
  SmallVector<int64_t> shape(type.getShape());
  shape[dim] = 1;
  return RankedTensorType::get(shape, type.getElementType());
}

Value ScanReader::constant(int64_t value) {
  auto type = RankedTensorType::get({}, builder.getI64Type());
  return makeOp(builder, op->getLoc(), "stablehlo.constant", {}, type,
                builder.getNamedAttr("value", DenseElementsAttr::get(type, value)));
}

SmallVector<Value> ScanReader::indicesOf(Value place, int64_t rank) {
  SmallVector<Value> indices(rank, constant(0));
  indices[dim] = place;
  return indices;
}

void ScanReader::addCondition(Operation *loop) {
  SmallVector<Location> locations(loop->getNumResults(), op->getLoc());
  Block *block = builder.createBlock(&loop->getRegion(0), {}, loop->getResultTypes(), locations);
  Type flag = RankedTensorType::get({}, builder.getI1Type());
  Value goesOn =
      makeOp(builder, op->getLoc(), "stablehlo.compare", {block->getArgument(0), constant(size)},
             flag, builder.getNamedAttr("comparison_direction", builder.getStringAttr("LT")));
  stablehlo::ReturnOp::create(builder, op->getLoc(), TypeRange(), goesOn);
}

/// Slices the inputs at the position, computes, and inserts the outputs there.
void ScanReader::addBody(Operation *loop) {
  Location loc = op->getLoc();
  SmallVector<Location> locations(loop->getNumResults(), loc);
  Block *block = builder.createBlock(&loop->getRegion(1), {}, loop->getResultTypes(), locations);
  Value count = block->getArgument(0), place = count;
  if (numberOr(op, "is_reverse", 0))
    place =
        makeOp(builder, loc, "stablehlo.subtract", {constant(size - 1), count}, count.getType());
  Block &source = op->getRegion(0).front();
  IRMapping mapping;
  for (unsigned i = 0; i < numInputs; ++i) {
    Value whole = op->getOperand(i);
    RankedTensorType piece = withOnePlace(typeOf(whole));
    SmallVector<Value> operands{whole};
    llvm::append_range(operands, indicesOf(place, piece.getRank()));
    auto sizes = builder.getDenseI64ArrayAttr(piece.getShape());
    Value cut = makeOp(builder, loc, "stablehlo.dynamic_slice", operands, piece,
                       builder.getNamedAttr("slice_sizes", sizes));
    mapping.map(source.getArgument(i),
                makeOp(builder, loc, "stablehlo.reshape", cut, source.getArgument(i).getType()));
  }
  for (unsigned i = 0; i < numCarries; ++i)
    mapping.map(source.getArgument(numInputs + i), block->getArgument(1 + numOutputs + i));
  for (Operation &inner : source.without_terminator())
    builder.clone(inner, mapping);
  SmallVector<Value> next{
      makeOp(builder, loc, "stablehlo.add", {count, constant(1)}, count.getType())};
  for (auto [i, value] : llvm::enumerate(source.back().getOperands())) {
    Value given = mapping.lookupOrDefault(value);
    if (i < numOutputs) {
      Value whole = block->getArgument(1 + static_cast<unsigned>(i));
      RankedTensorType type = typeOf(whole);
      Value piece = makeOp(builder, loc, "stablehlo.reshape", given, withOnePlace(type));
      SmallVector<Value> operands{whole, piece};
      llvm::append_range(operands, indicesOf(place, type.getRank()));
      given = makeOp(builder, loc, "stablehlo.dynamic_update_slice", operands, type);
    }
    next.push_back(given);
  }
  stablehlo::ReturnOp::create(builder, loc, TypeRange(), next);
}

LogicalResult ScanReader::read() {
  if (failed(check()))
    return failure();
  Location loc = op->getLoc();
  SmallVector<Value> starts{constant(0)};
  for (Value output : op->getResults().take_front(numOutputs)) {
    auto zeros = cast<TypedAttr>(builder.getZeroAttr(output.getType()));
    starts.push_back(makeOp(builder, loc, "stablehlo.constant", {}, output.getType(),
                            builder.getNamedAttr("value", zeros)));
  }
  SmallVector<Operation *> made;
  for (Value start : starts)
    made.push_back(start.getDefiningOp());
  llvm::append_range(starts, op->getOperands().drop_front(numInputs));
  OperationState state(loc, "stablehlo.while");
  state.addOperands(starts);
  state.addTypes(ValueRange(starts).getTypes());
  state.addRegion();
  state.addRegion();
  made.push_back(builder.create(state));
  {
    OpBuilder::InsertionGuard guard(builder);
    addCondition(made.back());
    addBody(made.back());
  }
  return readInPlaceOf(body, op, made, made.back()->getResults().drop_front());
}

static LogicalResult readScan(BodyConverter &body, Operation *op) {
  return ScanReader(body, op).read();
}

// --- custom calls -------------------------------------------------------------------------------

bool hlo::isMhloCall(StringRef target) {
  return target.consume_front("mhlo.") &&
         llvm::is_contained({"acos", "acosh", "asin", "asinh", "atan", "atanh", "cosh", "erf",
                             "erfc", "sinh", "tan", "topk"},
                            target);
}

LogicalResult hlo::readMhloCall(BodyConverter &body, Operation *op) {
  OpBuilder builder(op);
  OperationName name(word(op, "call_target_name"), op->getContext());
  OperationState state(op->getLoc(), stablehlo::currentOpName(name));
  state.addOperands(op->getOperands());
  state.addTypes(op->getResultTypes());
  if (auto attributes = op->getAttrOfType<DictionaryAttr>("mhlo.attributes"))
    state.addAttributes(attributes.getValue());
  state.attributes.erase("call_target_name");
  Operation *made = builder.create(state);
  return readInPlaceOf(body, op, made, made->getResults());
}

static constexpr ConverterRow rows[] = {
    {"is_pos_inf", readIsInfinite<1>},
    {"is_neg_inf", readIsInfinite<-1>},
    {"mulhi", readMulhi},
    {"ragged_dot", readRaggedDot},
    {"scan", readScan},
};

ArrayRef<ConverterRow> hlo::chloRows() { return rows; }
