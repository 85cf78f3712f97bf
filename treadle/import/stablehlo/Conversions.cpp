// Converts between element types.
#include "treadle/import/stablehlo/Formula.h"
#include "treadle/import/stablehlo/NarrowTypes.h"
#include "treadle/import/stablehlo/Tables.h"

using namespace mlir;
using namespace treadle;
using namespace treadle::hlo;

// --- conversion ---------------------------------------------------------------------------------

/// Saturates floats that are out of range, and converts NaN to 0.
static Value toInteger(BodyConverter &body, Value from, IntegerType to, unsigned bits) {
  Term x(body, from);
  if (x.element().getIntOrFloatBitWidth() < 32)
    x = x.as(body.builder.getF32Type());
  bool isSigned = !to.isUnsigned();
  APInt least = isSigned ? APInt::getSignedMinValue(bits) : APInt::getZero(bits);
  APInt most = isSigned ? APInt::getSignedMaxValue(bits) : APInt::getMaxValue(bits);
  double above = isSigned ? -least.signedRoundToDouble() : most.roundToDouble() + (bits < 64);
  double lowest = isSigned ? least.signedRoundToDouble() : 0.0;
  Term isHigh = x.compared("GreaterEqual", x.number(above)), isLow = x < lowest;
  Term safe = (isHigh || isLow || x != x).choose(x.number(0), x);
  Term converted(body, body.likeOf("Cast", Value(safe), to));
  auto whole = [&](const APInt &value) {
    APInt wide = isSigned ? value.sext(to.getWidth()) : value.zext(to.getWidth());
    return Term(body, body.constant(DenseElementsAttr::get(RankedTensorType::get({}, to), wide)));
  };
  return isHigh.choose(whole(most), isLow.choose(whole(least), converted));
}

/// Sign-extends the low bits of a byte.
static Value wrapped(BodyConverter &body, Value byte, IntegerType narrow) {
  Term x(body, byte);
  if (narrow.isUnsigned())
    return x & x.whole(static_cast<int64_t>(llvm::maxUIntN(narrow.getWidth())));
  Type bits = body.builder.getIntegerType(8, /*isSigned=*/false), number = x.element();
  Term shifted = x.bitsAs(bits);
  shifted = shifted << shifted.whole(8 - narrow.getWidth());
  Term back = shifted.bitsAs(number);
  return back >> back.whole(8 - narrow.getWidth());
}

/// Returns numbers as f64, with the denormal ones of f32 unchanged in a session that flushes them.
static Term widened(Term x) {
  Type wide = x.of().builder.getF64Type(), word = x.of().builder.getI32Type();
  if (!x.element().isF32())
    return x.as(wide);
  Term bits = x.bitsAs(word), fraction = bits & bits.whole(0x007fffff);
  Term isNormal = (bits & bits.whole(0x7f800000)).compared("NotEqual", bits.whole(0));
  Term size = fraction.as(wide) * 0x1p-149;
  return isNormal.choose(x.as(wide), (bits < bits.whole(0)).choose(-size, size));
}

/// Rounds to the nearest value of a small float type, ties to even. Overflow gives infinity, NaN or
/// the largest number, depending on the type.
static Value rounded(BodyConverter &body, Value from, FloatType narrow) {
  const llvm::fltSemantics &format = narrow.getFloatSemantics();
  auto real = [](APFloat number) {
    bool losesInfo;
    number.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &losesInfo);
    return number.convertToDouble();
  };
  Type wide = body.builder.getF64Type(), bits = body.builder.getI64Type();
  unsigned fraction = APFloat::semanticsPrecision(format) - 1;
  double most = real(APFloat::getLargest(format)),
         minNormal = real(APFloat::getSmallestNormalized(format));
  Term given = widened({body, from}), size = abs(given);
  // Adds a power of two to the magnitude so that the last place of the sum is that of the small
  // float: the addition rounds there.
  Term pattern = size.bitsAs(bits);
  Term power = (pattern & pattern.whole(0x7ff0000000000000)).bitsAs(wide);
  power = min(power, power.number(0x1p900)); // keeps `steps` finite
  Term steps = max(power, power.number(minNormal)) * std::ldexp(1.0, 52 - fraction);
  Term result = (size + steps) - steps;
  bool isSigned = APFloat::semanticsHasSignedRepr(format);
  double above = APFloat::semanticsHasInf(format)   ? std::numeric_limits<double>::infinity()
                 : APFloat::semanticsHasNaN(format) ? std::numeric_limits<double>::quiet_NaN()
                                                    : most;
  result = (result > most || size == std::numeric_limits<double>::infinity())
               .choose(result.number(above), result);
  if (!isSigned) { // only powers of two
    Term least = max(result, result.number(minNormal));
    result = (given > 0.0).choose(least, result.number(std::numeric_limits<double>::quiet_NaN()));
    Term narrowed = result.as(body.builder.getF32Type());
    // The least power of two is denormal in f32.
    return (result == minNormal).choose(narrowed.number(minNormal), narrowed);
  }
  Term isNegative = pattern.whole(0) > given.bitsAs(bits);
  result = isNegative.choose(-result, result);
  if (!APFloat::getZero(format, /*Negative=*/true).isNegative()) {
    // The type has no -0. Its only NaN has the sign bit, which a comparison by totalOrder sees.
    Term nan = result.number(-std::numeric_limits<double>::quiet_NaN());
    result = (result != result).choose(nan, result + 0.0);
  }
  if (!APFloat::semanticsHasNaN(format))
    result = (given != given).choose(result.number(-0.0), result);
  return result.as(body.builder.getF32Type());
}

/// Returns the narrow type that the op's attribute names; `wide` represents its values.
static FailureOr<Type> narrowTypeOf(Operation *op, StringRef key, Type wide) {
  auto attr = op->getAttrOfType<TypeAttr>(key);
  if (!attr || !attr.getValue().isIntOrFloat())
    return op->emitError("its attribute '") << key << "' isn't a numeric type";
  Type narrow = attr.getValue(), stored = wideTypeOf(narrow);
  if ((stored ? stored : narrow) != wide)
    return op->emitError("its attribute '")
           << key << "' is " << narrow << ", but its type " << wide;
  return narrow;
}

static Value toNarrow(BodyConverter &body, Value x, Type narrow) {
  if (auto small = dyn_cast<FloatType>(narrow))
    return rounded(body, x, small);
  auto integer = cast<IntegerType>(narrow);
  auto byte = cast<IntegerType>(wideTypeOf(narrow));
  if (isFloat(elementOf(x)))
    return toInteger(body, x, byte, integer.getWidth());
  return wrapped(body, body.cast(x, byte), integer);
}

static LogicalResult readConvert(BodyConverter &body, Operation *op) {
  Value x = input(body, op, 0);
  Type from = elementOf(x), to = elementOf(body.resultType(op));
  if (isComplex(from) && !isComplex(to)) {
    from = cast<ComplexType>(from).getElementType();
    x = body.likeOf("Real", x, from);
  }
  if (op->hasAttr("narrow")) {
    FailureOr<Type> narrow = narrowTypeOf(op, "narrow", to);
    if (failed(narrow))
      return failure();
    return done(body, op, wideTypeOf(*narrow) ? toNarrow(body, x, *narrow) : body.cast(x, to));
  }
  if (auto integer = dyn_cast<IntegerType>(to); isFloat(from) && integer && !isBool(to))
    return done(body, op, toInteger(body, x, integer, integer.getWidth()));
  return done(body, op, body.cast(x, to));
}

// --- bits ---------------------------------------------------------------------------------------

/// Packs several small numbers along the last dimension into one number each; the first one gets
/// the lowest bits.
static Value packedBits(BodyConverter &body, Value parts, unsigned width, unsigned bits,
                        RankedTensorType type) {
  Type word = body.builder.getIntegerType(std::max(bits, 8U), /*isSigned=*/false);
  RankedTensorType given = rankedOf(parts);
  Term x = Term(body, parts).as(word);
  SmallVector<int64_t> shifts;
  for (unsigned at = 0; at < bits; at += width)
    shifts.push_back(at);
  Term by = Term(body, body.vector(shifts)).as(word);
  Term placed = (x & x.whole(static_cast<int64_t>(llvm::maxUIntN(width)))) << by;
  Value sum = body.node("Sum", {placed, body.vector({given.getRank() - 1})}, type.clone(word));
  return Term(body, sum).bitsAs(type.getElementType());
}

/// Unpacks numbers into several small numbers along a new last dimension.
static Value unpackedBits(BodyConverter &body, Value whole, unsigned width, unsigned bits,
                          RankedTensorType type) {
  Type word = body.builder.getIntegerType(std::max(bits, 8U), /*isSigned=*/false);
  SmallVector<int64_t> shifts;
  for (unsigned at = 0; at < bits; at += width)
    shifts.push_back(at);
  SmallVector<int64_t> column(rankedOf(whole).getShape());
  column.push_back(1);
  Term x = Term(body, whole).bitsAs(word);
  x = {body, body.node("ExpandDims", {x, body.index(-1)}, RankedTensorType::get(column, word))};
  Value by = body.cast(body.vector(shifts), word);
  Term parts(body, body.node("RightShift", {x, by}, type.clone(word)));
  return parts & parts.whole(static_cast<int64_t>(llvm::maxUIntN(width)));
}

/// Bitcasts bools and narrow integers, which are stored in bytes here.
static LogicalResult readFewBits(BodyConverter &body, Operation *op, Type from, Type to) {
  Value x = input(body, op, 0);
  auto type = dyn_cast<RankedTensorType>(body.resultType(op));
  RankedTensorType given = rankedOf(x);
  unsigned fromWidth = from.getIntOrFloatBitWidth(), toWidth = to.getIntOrFloatBitWidth();
  bool isPacked = fromWidth < toWidth;
  unsigned large = std::max(fromWidth, toWidth), small = std::min(fromWidth, toWidth);
  if (!type || !given || large % small || type.getRank() != given.getRank() + (isPacked ? -1 : 1) ||
      (isPacked ? given : type).getShape().back() != large / small)
    return op->emitError("'stablehlo.bitcast_convert': ")
           << op->getOperand(0).getType() << " doesn't have the bits of "
           << op->getResult(0).getType();
  Value value = isPacked ? packedBits(body, x, small, large, type)
                         : body.cast(unpackedBits(body, x, small, large, type), elementOf(type));
  return done(body, op, wideTypeOf(to) ? wrapped(body, value, cast<IntegerType>(to)) : value);
}

static LogicalResult readBitcast(BodyConverter &body, Operation *op) {
  Value x = input(body, op, 0);
  Type from = elementOf(x), to = elementOf(body.resultType(op));
  if (op->hasAttr("narrow")) {
    FailureOr<Type> before = narrowTypeOf(op, "narrow_operand", from),
                    after = narrowTypeOf(op, "narrow", to);
    if (failed(before) || failed(after))
      return failure();
    from = *before;
    to = *after;
  }
  if (from == to)
    return done(body, op, x);
  bool isOfFewBits = from.isIntOrFloat() && to.isIntOrFloat() &&
                     (isBool(from) || isBool(to) || wideTypeOf(from) || wideTypeOf(to));
  if (!isOfFewBits)
    return done(body, op, body.node("Bitcast", x, body.resultType(op)));
  if (from.getIntOrFloatBitWidth() != to.getIntOrFloatBitWidth())
    return readFewBits(body, op, from, to);
  return done(body, op, toNarrow(body, body.node("Bitcast", x, body.resultType(op)), to));
}

static constexpr ConverterRow rows[] = {
    {"bitcast_convert", readBitcast},
    {"convert", readConvert},
};

ArrayRef<ConverterRow> hlo::conversionRows() { return rows; }
