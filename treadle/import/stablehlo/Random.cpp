// Converts random bits.
#include "treadle/import/stablehlo/Tables.h"

using namespace mlir;
using namespace treadle;
using namespace treadle::hlo;

/// XLA's numbers of its algorithms.
static int64_t algorithmNumber(StringRef name) {
  return llvm::StringMap<int64_t>{{"DEFAULT", 0}, {"THREE_FRY", 1}, {"PHILOX", 2}}.lookup(name);
}

static LogicalResult readBits(BodyConverter &body, Operation *op, Value shape) {
  Type type = body.resultType(op, 1);
  Value state = input(body, op, 0);
  Type stateType = state.getType();
  if (!elementOf(state).isUnsignedInteger(64))
    return unimplementedOp(op) << " with a state of another type than ui64";
  SmallVector<Value> results = body.nodes(
      "XlaRngBitGenerator", {body.index(algorithmNumber(word(op, "rng_algorithm"))), state, shape},
      {stateType, type});
  for (auto [from, to] : llvm::zip(op->getResults(), results))
    body.map(from, to);
  return success();
}

static LogicalResult readRngBitGenerator(BodyConverter &body, Operation *op) {
  auto type = cast<RankedTensorType>(body.resultType(op, 1));
  return readBits(body, op, body.vector(type.getShape()));
}

LogicalResult hlo::readDynamicRngBitGenerator(BodyConverter &body, Operation *op) {
  if (op->getNumOperands() != 2 || op->getNumResults() != 2)
    return unimplementedOp(op)
           << " @stablehlo.dynamic_rng_bit_generator with operands other than a state and "
           << "a shape";
  return readBits(body, op, input(body, op, 1));
}

/// Converts rng to a generator without a seed: programs can't rely on its values.
static LogicalResult readRng(BodyConverter &body, Operation *op) {
  Value a = input(body, op, 0), b = input(body, op, 1), shape = input(body, op, 2);
  Type element = elementOf(a);
  StringRef distribution = word(op, "rng_distribution");
  if (!elementOf(shape).isSignlessInteger(32))
    shape = body.cast(shape, body.builder.getI64Type());
  if (!isFloat(element)) {
    if (distribution != "UNIFORM" || element.isUnsignedInteger(64) || isComplex(element))
      return unimplementedOp(op) << " of " << element << " in distribution " << distribution;
    Type wide = body.builder.getI64Type();
    auto type = cast<TensorType>(body.resultType(op));
    Value drawn = body.node("RandomUniformInt", {shape, body.cast(a, wide), body.cast(b, wide)},
                            type.clone(wide));
    body.map(op->getResult(0), body.cast(drawn, element));
    return success();
  }
  Attrs attrs;
  attrs.append("dtype", TypeAttr::get(element));
  Type type = body.resultType(op);
  bool isNormal = distribution == "NORMAL";
  Value drawn = body.node(isNormal ? "RandomStandardNormal" : "RandomUniform", shape, type, attrs);
  Value scale = isNormal ? b : body.like("Sub", {b, a});
  body.map(op->getResult(0), body.like("AddV2", {body.like("Mul", {drawn, scale}), a}));
  return success();
}

static constexpr ConverterRow rows[] = {
    {"rng_bit_generator", readRngBitGenerator},
    {"rng", readRng},
};

ArrayRef<ConverterRow> hlo::randomRows() { return rows; }
