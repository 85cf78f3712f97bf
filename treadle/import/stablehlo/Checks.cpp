// Converts ops that compare actual with expected results: the `check` dialect of StableHLO's tests,
// the custom calls of the same names, and cf.assert.
#include "treadle/import/stablehlo/Tables.h"

using namespace mlir;
using namespace treadle;
using namespace treadle::hlo;

// --- comparisons --------------------------------------------------------------------------------

static Value logical(BodyConverter &body, StringRef op, Value a, Value b) {
  return body.like(op, {a, b});
}

static Value compared(BodyConverter &body, StringRef op, Value a, Value b) {
  return body.likeOf(op, {a, b}, body.builder.getI1Type());
}

/// Returns the real and imaginary parts, or the numbers themselves if they are real.
static SmallVector<Value> realParts(BodyConverter &body, Value x) {
  auto complex = dyn_cast<ComplexType>(elementOf(x));
  if (!complex)
    return {x};
  Type part = complex.getElementType();
  return {body.likeOf("Real", x, part), body.likeOf("Imag", x, part)};
}

/// Returns the bits of floats as integers in the same order: those of negative floats, which grow
/// as the float decreases, are subtracted from the minimum.
static Value orderedBits(BodyConverter &body, Value x) {
  unsigned width = elementOf(x).getIntOrFloatBitWidth();
  Type narrow = body.builder.getIntegerType(width), wide = body.builder.getI64Type();
  Value bits = body.cast(body.likeOf("Bitcast", x, narrow), wide);
  Value zero = body.scalarInt(wide, 0);
  Value least = body.scalarInt(wide, APInt::getSignedMinValue(width).getSExtValue());
  Value mirrored = body.node("Sub", {least, bits}, bits.getType());
  return body.node("SelectV2", {compared(body, "Less", bits, zero), mirrored, bits},
                   bits.getType());
}

/// Whether floats are equal, or both NaN. Compares bits, so that a denormal number differs from
/// zero in a session that flushes it.
static Value areFloatsEqualOrNaN(BodyConverter &body, Value a, Value b) {
  Value same = compared(body, "Equal", orderedBits(body, a), orderedBits(body, b));
  Value none = logical(body, "LogicalAnd", compared(body, "NotEqual", a, a),
                       compared(body, "NotEqual", b, b));
  return logical(body, "LogicalOr", same, none);
}

/// Whether numbers are equal; NaN equals NaN.
static Value areEqualOrNaN(BodyConverter &body, Value a, Value b) {
  if (!isFloat(elementOf(a)) && !isComplex(elementOf(a)))
    return compared(body, "Equal", a, b);
  SmallVector<Value> x = realParts(body, a), y = realParts(body, b);
  Value same = areFloatsEqualOrNaN(body, x[0], y[0]);
  return x.size() == 1 ? same
                       : logical(body, "LogicalAnd", same, areFloatsEqualOrNaN(body, x[1], y[1]));
}

static Value areNear(BodyConverter &body, Value a, Value b, double tolerance) {
  Value distance = body.like("Abs", body.like("Sub", {a, b}));
  Value near = compared(body, "LessEqual", distance, body.scalar(elementOf(a), tolerance));
  return logical(body, "LogicalOr", areEqualOrNaN(body, a, b), near);
}

/// Returns the distance of two floats in units in the last place: 0 if they are equal, and the
/// maximum of 64 bits if one of them is infinite or NaN.
static Value ulpDistance(BodyConverter &body, Value a, Value b) {
  Type wide = body.builder.getIntegerType(64, /*isSigned=*/false);
  Value x = orderedBits(body, a), y = orderedBits(body, b);
  Value larger = body.like("Maximum", {x, y}), smaller = body.like("Minimum", {x, y});
  // Unsigned, so that any distance fits.
  Value distance = body.like(
      "Sub", {body.likeOf("Bitcast", larger, wide), body.likeOf("Bitcast", smaller, wide)});
  Value areFinite =
      logical(body, "LogicalAnd", body.likeOf("IsFinite", a, body.builder.getI1Type()),
              body.likeOf("IsFinite", b, body.builder.getI1Type()));
  Type type = distance.getType();
  distance = body.node("SelectV2", {areFinite, distance, body.scalarInt(wide, -1)}, type);
  return body.node("SelectV2", {areEqualOrNaN(body, a, b), body.scalarInt(wide, 0), distance},
                   type);
}

/// Whether the distance is in the range; numbers are unsigned.
static Value isDistanceInRange(BodyConverter &body, Value a, Value b, int64_t least, int64_t most) {
  Value distance = ulpDistance(body, a, b);
  Type wide = elementOf(distance);
  return logical(body, "LogicalAnd",
                 compared(body, "LessEqual", distance, body.scalarInt(wide, most)),
                 compared(body, "GreaterEqual", distance, body.scalarInt(wide, least)));
}

static Value all(BodyConverter &body, ArrayRef<Value> flags) {
  SmallVector<Value> wholes;
  for (Value flag : flags) {
    SmallVector<int64_t> dims = llvm::to_vector(llvm::seq(rankedOf(flag).getRank()));
    wholes.push_back(body.node("All", {flag, body.vector(dims)},
                               RankedTensorType::get({}, body.builder.getI1Type())));
  }
  return wholes.size() == 1 ? wholes[0] : logical(body, "LogicalAnd", wholes[0], wholes[1]);
}

// --- ops ----------------------------------------------------------------------------------------

static void assertThat(BodyConverter &body, Value condition, StringRef message, ValueRange shown) {
  auto type = RankedTensorType::get({}, tf_type::StringType::get(body.builder.getContext()));
  SmallVector<Value> inputs{condition};
  inputs.push_back(body.constant(DenseStringElementsAttr::get(type, ArrayRef<StringRef>(message))));
  llvm::append_range(inputs, shown);
  (void)body.nodes("Assert", inputs, {});
  body.addEffect();
}

namespace {

/// How a check compares, named by a word of the op's name.
enum class CheckKind { Same, Tolerance, Neighbours };

} // namespace

/// Returns the two tensors of a check: operands, or one operand and one attribute.
static FailureOr<std::pair<Value, Value>> comparedTensors(BodyConverter &body, Operation *op) {
  auto stated = op->getAttrOfType<ElementsAttr>("value");
  if (op->getNumOperands() != (stated ? 1 : 2))
    return unimplementedOp(op) << " of " << op->getNumOperands() << " operands";
  Value a = input(body, op, 0);
  Value b = stated ? body.constant(stated) : input(body, op, 1);
  if (a.getType() != b.getType() && (elementOf(a) != elementOf(b) || !rankedOf(a) || !rankedOf(b)))
    return op->emitError("it compares ") << a.getType() << " with " << b.getType();
  return std::pair(a, b);
}

static double realOr(Operation *op, StringRef key, double otherwise) {
  auto attr = op->getAttrOfType<FloatAttr>(key);
  return attr ? attr.getValueAsDouble() : otherwise;
}

static FailureOr<Value> isAsExpected(BodyConverter &body, Operation *op, CheckKind nearness) {
  // The defaults of StableHLO's own tools.
  const double tolerance = word(op, "call_target_name") == "check.expect_almost_eq" ? 1e-3 : 1e-4;
  constexpr int64_t maxBetween = 3;
  FailureOr<std::pair<Value, Value>> pair = comparedTensors(body, op);
  if (failed(pair))
    return failure();
  auto [a, b] = *pair;
  if (isFloat(elementOf(a)) && elementOf(a).getIntOrFloatBitWidth() < 16) {
    a = body.cast(a, body.builder.getF32Type());
    b = body.cast(b, body.builder.getF32Type());
  }
  SmallVector<Value> flags;
  bool isExact = !isFloat(elementOf(a)) && !isComplex(elementOf(a));
  if (nearness == CheckKind::Same || isExact)
    return all(body, areEqualOrNaN(body, a, b));
  for (auto [x, y] : llvm::zip(realParts(body, a), realParts(body, b)))
    flags.push_back(nearness == CheckKind::Tolerance
                        ? areNear(body, x, y, realOr(op, "tolerance", tolerance))
                        : isDistanceInRange(body, x, y, numberOr(op, "min_ulp_difference", 0),
                                            numberOr(op, "max_ulp_difference", maxBetween)));
  return all(body, flags);
}

template <CheckKind nearness> static LogicalResult readCheck(BodyConverter &body, Operation *op) {
  FailureOr<Value> holds = isAsExpected(body, op, nearness);
  if (failed(holds))
    return failure();
  if (op->getNumResults() == 1)
    body.map(op->getResult(0), *holds);
  StringRef target = word(op, "call_target_name");
  std::string name = (target.empty() ? op->getName().getStringRef() : target).str();
  assertThat(body, *holds, name + " does not hold: found", input(body, op, 0));
  return success();
}

static LogicalResult readAssert(BodyConverter &body, Operation *op) {
  assertThat(body, input(body, op, 0), word(op, "msg"), {});
  return success();
}

static constexpr ConverterRow rows[] = {
    {"check.expect_eq", readCheck<CheckKind::Same>},
    {"check.expect_eq_const", readCheck<CheckKind::Same>},
    {"check.expect_almost_eq", readCheck<CheckKind::Tolerance>},
    {"check.expect_almost_eq_const", readCheck<CheckKind::Tolerance>},
    {"check.expect_close", readCheck<CheckKind::Neighbours>},
    {"check.eq", readCheck<CheckKind::Tolerance>},
    {"cf.assert", readAssert},
};

ArrayRef<ConverterRow> hlo::checkRows() { return rows; }
