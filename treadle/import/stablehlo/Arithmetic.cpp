// Converts elementwise ops.
#include "treadle/import/stablehlo/Formula.h"
#include "treadle/import/stablehlo/Tables.h"

using namespace mlir;
using namespace treadle;
using namespace treadle::hlo;

/// Returns the operands: unchanged if none has the full shape, otherwise each in its smallest form
/// that broadcasts.
static SmallVector<Value> elementwiseInputs(BodyConverter &body, Operation *op) {
  SmallVector<Value> whole = body.allOf(op->getOperands()), compact;
  bool hasFull = false;
  for (auto [operand, value] : llvm::zip(op->getOperands(), whole)) {
    compact.push_back(body.broadcastableOf(operand));
    hasFull |= compact.back() == value && operand.getType() == op->getResult(0).getType();
    // The element type may differ (a predicate, a comparison's inputs); the shape is the same.
    auto from = dyn_cast<ShapedType>(operand.getType());
    auto to = dyn_cast<ShapedType>(op->getResult(0).getType());
    hasFull |= compact.back() == value && from && to && from.hasRank() && to.hasRank() &&
               from.getShape() == to.getShape();
  }
  return hasFull ? compact : whole;
}

/// Returns the wider type in which a storage-only type is computed; there are no kernels for such
/// types.
static Type computationType(Type element) {
  MLIRContext *context = element.getContext();
  if (isa<IntegerType>(element) && !isBool(element) && element.getIntOrFloatBitWidth() < 8)
    return IntegerType::get(context, 8, cast<IntegerType>(element).getSignedness());
  if (isa<FloatType>(element) && element.getIntOrFloatBitWidth() <= 8)
    return Float32Type::get(context);
  return element;
}

static bool isHalf(Type element) { return element.isF16() || element.isBF16(); }

/// Returns a type in which functions are precise enough for the narrower one.
static Type widerType(Type element) {
  MLIRContext *context = element.getContext();
  if (isHalf(element))
    return Float32Type::get(context);
  auto complex = dyn_cast<ComplexType>(element);
  return complex && complex.getElementType().isF32()
             ? Type(ComplexType::get(Float64Type::get(context)))
             : computationType(element);
}

static Value addNode(BodyConverter &body, Operation *op, StringRef name, bool isWide = false) {
  auto computed = [&](Type element) {
    return isWide ? widerType(element) : computationType(element);
  };
  SmallVector<Value> inputs = elementwiseInputs(body, op);
  for (Value &value : inputs)
    value = body.cast(value, computed(elementOf(value)));
  Type type = body.resultType(op), element = elementOf(type);
  Value result = body.node(name, inputs, BodyConverter::withElement(type, computed(element)));
  return body.cast(result, element);
}

// --- ops with one equivalent op -----------------------------------------------------------------

namespace {

struct Same {
  StringRef op, name, ofBool; // ofBool: the op for i1, empty if it is the same
  bool isWide = false;        // computed in a wider type: 16-bit floats in f32
  bool isComplexWide = false; // the same, for complex numbers only
};

constexpr Same same[] = {
    {"add", "AddV2", "LogicalOr"},
    {"subtract", "Sub", ""},
    {"multiply", "Mul", "LogicalAnd"},
    {"maximum", "Maximum", "LogicalOr"},
    {"minimum", "Minimum", "LogicalAnd"},
    {"and", "BitwiseAnd", "LogicalAnd"},
    {"or", "BitwiseOr", "LogicalOr"},
    {"xor", "BitwiseXor", "NotEqual"},
    {"not", "Invert", "LogicalNot"},
    {"atan2", "Atan2", ""},
    {"select", "SelectV2", "SelectV2"},
    {"exponential_minus_one", "Expm1", "", false, true},
    {"log", "Log", "", false, true},
    {"log_plus_one", "Log1p", "", false, true},
    {"logistic", "Sigmoid", "", false, true},
    {"sine", "Sin", "", false, true},
    {"cosine", "Cos", "", false, true},
    {"tan", "Tan", "", true},
    {"tanh", "Tanh", "", false, true},
    {"sqrt", "Sqrt", "", false, true},
    {"rsqrt", "Rsqrt", "", false, true},
    {"floor", "Floor", ""},
    {"ceil", "Ceil", ""},
    {"round_nearest_even", "Rint", ""},
    {"is_finite", "IsFinite", ""},
    {"real", "Real", ""},
    {"imag", "Imag", ""},
    {"complex", "Complex", ""},
    {"abs", "Abs", ""},
    // chlo
    {"erf", "Erf", "", true},
    {"erfc", "Erfc", "", true},
    {"lgamma", "Lgamma", "", true},
    {"digamma", "Digamma", "", true},
    {"acos", "Acos", "", true},
    {"acosh", "Acosh", "", true},
    {"asin", "Asin", "", true},
    {"asinh", "Asinh", "", true},
    {"atan", "Atan", "", true},
    {"atanh", "Atanh", "", true},
    {"sinh", "Sinh", "", true},
    {"cosh", "Cosh", "", true},
    {"square", "Square", "", false, true},
    {"conj", "Conj", ""},
    {"is_inf", "IsInf", ""},
    {"bessel_i1e", "BesselI1e", "", true},
    {"polygamma", "Polygamma", "", true},
    {"zeta", "Zeta", "", true},
    {"copy", "Identity", "Identity"},
};

} // namespace

/// Returns the larger or smaller of complex numbers: compares the real parts, then the imaginary
/// parts. NaN if any part is.
static LogicalResult readComplexOrder(BodyConverter &body, Operation *op) {
  Term x(body, input(body, op, 0)), y(body, input(body, op, 1));
  Type part = cast<ComplexType>(x.element()).getElementType();
  Term xReal = x.unary("Real", part), yReal = y.unary("Real", part);
  Term xImag = x.unary("Imag", part), yImag = y.unary("Imag", part);
  StringRef order = op->getName().stripDialect() == "maximum" ? "Greater" : "Less";
  Term isFirst = xReal.compared(order, yReal) || (xReal == yReal && xImag.compared(order, yImag));
  Term isNan = xReal != xReal || xImag != xImag;
  return done(body, op, (isFirst || isNan).choose(x, y));
}

/// -i log((x + i y) / sqrt(x^2 + y^2)), computed in complex128 for complex64.
static LogicalResult readComplexAtan2(BodyConverter &body, Operation *op) {
  Type given = elementOf(body.resultType(op));
  Term y = Term(body, input(body, op, 0)).as(widerType(given)),
       x = Term(body, input(body, op, 1)).as(widerType(given));
  Type part = cast<ComplexType>(y.element()).getElementType();
  auto complexOf = [&](Term real, Term imag) {
    return Term(body, body.node("Complex", {real, imag},
                                BodyConverter::withElement(real.value().getType(), y.element())));
  };
  Term iy = complexOf(-y.unary("Imag", part), y.unary("Real", part));
  Term log = ((x + iy) / (x * x + y * y).unary("Sqrt")).unary("Log");
  return done(body, op, complexOf(log.unary("Imag", part), -log.unary("Real", part)).as(given));
}

/// Returns the elements of a constant, which may be broadcast; null for other values.
template <typename Elements> static Elements constantElements(Value value) {
  Operation *op = value.getDefiningOp();
  if (op && op->getName().stripDialect() == "broadcast_in_dim")
    op = op->getOperand(0).getDefiningOp();
  return op && op->getName().stripDialect() == "constant"
             ? dyn_cast_or_null<Elements>(op->getAttr("value"))
             : Elements();
}

/// Whether the value is a constant of zeros, none of which is -0.
static bool isPositiveZero(Value value) {
  auto elements = constantElements<DenseFPElementsAttr>(value);
  return elements && elements.isSplat() && elements.getSplatValue<APFloat>().isPosZero();
}

/// Returns the number of the operand x of max(x, 0).
static std::optional<unsigned> positivePartOperand(Operation *op) {
  Type element = elementOf(op->getResult(0).getType());
  if (op->getName().stripDialect() != "maximum" || !isFloat(element) ||
      computationType(element) != element)
    return std::nullopt;
  for (unsigned zero : {0, 1})
    if (isPositiveZero(op->getOperand(zero)) &&
        op->getOperand(1 - zero).getType() == op->getResult(0).getType())
      return 1 - zero;
  return std::nullopt;
}

static LogicalResult readSame(BodyConverter &body, Operation *op) {
  StringRef name = op->getName().stripDialect();
  const Same *row = llvm::find_if(same, [&](const Same &s) { return s.op == name; });
  Type element = elementOf(op->getOperand(op->getNumOperands() - 1).getType());
  bool isOfBools = isBool(element) && !row->ofBool.empty();
  bool isWide = row->isWide || (row->isComplexWide && isComplex(element));
  Value value = input(body, op, 0);
  if (isComplex(element) && (name == "maximum" || name == "minimum"))
    return readComplexOrder(body, op);
  if (isComplex(element) && name == "atan2")
    return readComplexAtan2(body, op);
  // Kernels of products compute Relu in the same pass.
  if (std::optional<unsigned> x = positivePartOperand(op))
    return done(body, op, body.like("Relu", input(body, op, *x)));
  if (name == "abs" && isUnsigned(element))
    return done(body, op, value);
  if (name == "abs" && isComplex(element))
    return done(body, op, body.node("ComplexAbs", value, body.resultType(op)));
  if (name == "real" && !isComplex(elementOf(value)))
    return done(body, op, value);
  if (name == "imag" && !isComplex(elementOf(value)))
    return done(body, op, body.like("ZerosLike", value));
  return done(body, op, addNode(body, op, isOfBools ? row->ofBool : row->name, isWide));
}

// --- numbers ------------------------------------------------------------------------------------

static LogicalResult readNegate(BodyConverter &body, Operation *op) {
  Value x = input(body, op, 0);
  Type element = elementOf(x);
  if (!isUnsigned(element))
    return done(body, op, body.like("Neg", x));
  return done(body, op, body.node("Sub", {body.scalarInt(element, 0), x}, x.getType()));
}

/// -1, 0 or 1; NaN and zeros are unchanged.
static LogicalResult readSign(BodyConverter &body, Operation *op) {
  Value x = input(body, op, 0);
  Type element = elementOf(x);
  if (isUnsigned(element)) {
    Value isSet =
        body.likeOf("NotEqual", {x, body.scalarInt(element, 0)}, body.builder.getI1Type());
    return done(body, op, body.cast(isSet, element));
  }
  Value sign = body.like("Sign", x);
  if (!isFloat(element))
    return done(body, op, sign);
  Value isNumber =
      body.likeOf("NotEqual", {sign, body.scalar(element, 0)}, body.builder.getI1Type());
  return done(body, op, body.node("SelectV2", {isNumber, sign, x}, x.getType()));
}

static Value isZero(BodyConverter &body, Value x) {
  return body.likeOf("Equal", {x, body.scalarInt(elementOf(x), 0)}, body.builder.getI1Type());
}

static Value choose(BodyConverter &body, Value condition, Value yes, Value no, Type type) {
  return body.node("SelectV2", {condition, yes, no}, type);
}

/// Whether the divisor is a constant without zeros and minus ones, which are special cases.
static bool isSafeDivisor(Value divisor) {
  auto elements = constantElements<DenseIntElementsAttr>(divisor);
  return elements && elements.isSplat() && !elements.getSplatValue<APInt>().isZero() &&
         !elements.getSplatValue<APInt>().isAllOnes();
}

static Value minusOne(BodyConverter &body, Type element) { return body.scalarInt(element, -1); }

/// x / 0 is -1 (all bits set); the minimum divided by -1 is the minimum.
static LogicalResult readDivide(BodyConverter &body, Operation *op) {
  Type element = elementOf(op->getOperand(0).getType());
  if (!element.isIntOrIndex() || isBool(element))
    return done(body, op, addNode(body, op, "RealDiv"));
  if (isSafeDivisor(op->getOperand(1)))
    return done(body, op, addNode(body, op, "TruncateDiv"));
  Value x = input(body, op, 0), y = input(body, op, 1);
  element = elementOf(x);
  Type type = x.getType();
  Value zero = isZero(body, y), one = body.scalarInt(element, 1);
  if (isUnsigned(element)) {
    Value safe = choose(body, zero, one, y, y.getType());
    Value quotient = body.node("TruncateDiv", {x, safe}, type);
    return done(body, op, choose(body, zero, minusOne(body, element), quotient, type));
  }
  Value isNegated = body.likeOf("Equal", {y, minusOne(body, element)}, body.builder.getI1Type());
  Value special = body.like("LogicalOr", {zero, isNegated});
  Value safe = choose(body, special, one, y, y.getType());
  Value quotient = body.node("TruncateDiv", {x, safe}, type);
  Value negated = body.node("Sub", {body.scalarInt(element, 0), x}, type);
  Value byMinusOne = choose(body, isNegated, negated, quotient, type);
  return done(body, op, choose(body, zero, minusOne(body, element), byMinusOne, type));
}

/// x % 0 is x; x % -1 is 0.
static LogicalResult readRemainder(BodyConverter &body, Operation *op) {
  Value x = input(body, op, 0), y = input(body, op, 1);
  Type element = elementOf(x), type = x.getType();
  if (!isa<IntegerType>(element))
    return done(body, op, body.node("TruncateMod", {x, y}, type));
  Value zero = isZero(body, y), special = zero;
  if (!isUnsigned(element))
    special = body.like("LogicalOr", {zero, body.likeOf("Equal", {y, minusOne(body, element)},
                                                        body.builder.getI1Type())});
  Value safe = isSafeDivisor(op->getOperand(1))
                   ? y
                   : choose(body, special, body.scalarInt(element, 1), y, y.getType());
  Value quotient = body.node("TruncateDiv", {x, safe}, type);
  Value rest = body.node("Sub", {x, body.node("Mul", {quotient, safe}, type)}, type);
  if (safe == y)
    return done(body, op, rest);
  return done(body, op, choose(body, zero, x, rest, type));
}

/// Computes x to the power of an exponent that may not fit in i64: squares the power of half the
/// exponent, times x if it is odd. The lowest 64 bits don't depend on the sign of x.
static Term unsignedPower(Term x, Term y, Type wide) {
  Term one = y.whole(1), base = x.as(wide);
  Term root = base.binary("Pow", (y >> one).as(wide));
  Term last = ((y & one) == one).choose(base, base.whole(1));
  return root * root * last;
}

/// For negative exponents, only the bases 1 and -1 give results other than 0.
static LogicalResult readPower(BodyConverter &body, Operation *op) {
  Type element = elementOf(op->getOperand(0).getType());
  if (!isa<IntegerType>(element))
    return done(body, op, addNode(body, op, "Pow", isComplex(element)));
  Value x = input(body, op, 0), y = input(body, op, 1);
  Type type = x.getType(), wide = body.builder.getI64Type();
  if (isUnsigned(elementOf(x)))
    return done(body, op, unsignedPower({body, x}, {body, y}, wide).as(elementOf(x)));
  Value base = body.cast(x, wide), exponent = body.cast(y, wide);
  Type wideType = base.getType(), flag = body.builder.getI1Type();
  Value zero = body.scalarInt(wide, 0), one = body.scalarInt(wide, 1);
  Value isNegative = body.likeOf("Less", {exponent, zero}, flag);
  Value power =
      body.node("Pow", {base, body.node("Maximum", {exponent, zero}, wideType)}, wideType);
  Value magnitude = body.node("Abs", base, wideType);
  Value isUnit = body.likeOf("Equal", {magnitude, one}, flag);
  Value odd = body.node("BitwiseAnd", {exponent, one}, wideType);
  Value unit = choose(body, body.likeOf("Equal", {odd, zero}, flag), one, base, wideType);
  Value small = choose(body, isUnit, unit, zero, wideType);
  return done(body, op,
              body.cast(choose(body, isNegative, small, power, wideType), elementOf(type)));
}

/// Rounds halves away from zero.
static LogicalResult readRoundAway(BodyConverter &body, Operation *op) {
  Value x = input(body, op, 0);
  Type element = elementOf(x), type = x.getType(), flag = body.builder.getI1Type();
  Value size = body.like("Abs", x), whole = body.like("Floor", size);
  Value rest = body.like("Sub", {size, whole});
  Value isUp = body.likeOf("GreaterEqual", {rest, body.scalar(element, 0.5)}, flag);
  Value rounded =
      choose(body, isUp, body.like("AddV2", {whole, body.scalar(element, 1)}), whole, type);
  Value isNegative = body.likeOf("Less", {x, body.scalar(element, 0)}, flag);
  Value isWhole = body.likeOf("Equal", {rounded, size}, flag);
  Value result = choose(body, isNegative, body.like("Neg", rounded), rounded, type);
  return done(body, op, choose(body, isWhole, x, result, type));
}

/// exp(log(x) / 3), and 0 for 0.
static LogicalResult readComplexCubeRoot(BodyConverter &body, Operation *op) {
  Type given = elementOf(body.resultType(op));
  Term x = Term(body, input(body, op, 0)).as(widerType(given));
  Term root = (x.unary("Log") / 3).unary("Exp");
  return done(body, op, (x == 0.0).choose(x, root).as(given));
}

static LogicalResult readCubeRoot(BodyConverter &body, Operation *op) {
  Value x = input(body, op, 0);
  Type given = elementOf(x);
  if (isComplex(given))
    return readComplexCubeRoot(body, op);
  if (isHalf(given)) // dividing by 3 in the narrow type isn't precise enough
    x = body.cast(x, body.builder.getF32Type());
  Type element = elementOf(x), type = x.getType();
  Value size = body.like("Abs", x);
  Value root = body.like("Pow", {size, body.scalar(element, 1.0 / 3.0)});
  Value isNegative = body.likeOf("Less", {x, body.scalar(element, 0)}, body.builder.getI1Type());
  Value isSpecial = body.likeOf("Equal", {size, body.scalar(element, 0)}, body.builder.getI1Type());
  Value result = choose(body, isNegative, body.like("Neg", root), root, type);
  return done(body, op, body.cast(choose(body, isSpecial, x, result, type), given));
}

/// For complex numbers: NaN if the magnitude is infinite or 0 and the angle isn't known.
static LogicalResult readExponential(BodyConverter &body, Operation *op) {
  Type given = elementOf(body.resultType(op));
  if (!isComplex(given))
    return done(body, op, addNode(body, op, "Exp"));
  Term x = Term(body, input(body, op, 0)).as(widerType(given)), result = x.unary("Exp");
  Type part = cast<ComplexType>(x.element()).getElementType(), flag = body.builder.getI1Type();
  Term isUnknown =
      x.unary("Real", part).unary("IsInf", flag) && !x.unary("Imag", part).unary("IsFinite", flag);
  Term nan = result.number(std::numeric_limits<double>::quiet_NaN());
  return done(body, op, isUnknown.choose(nan * nan, result).as(given));
}

/// erfinv in f32: x times one of two polynomials in -ln(1 - x^2) (M. Giles, Approximating the
/// erfinv function, GPU Computing Gems, 2012).
static Term erfInvOfFloat(Term x) {
  constexpr double near[] = {2.81022636e-08,  3.43273939e-07, -3.5233877e-06,
                             -4.39150654e-06, 0.00021858087,  -0.00125372503,
                             -0.00417768164,  0.246640727,    1.50140941};
  constexpr double far[] = {-0.000200214257, 0.000100950558, 0.00134934322,
                            -0.00367342844,  0.00573950773,  -0.0076224613,
                            0.00943887047,   1.00167406,     2.83297682};
  Term w = -(-(x * x)).unary("Log1p");
  Term isNear = w < 5.0;
  Term v = isNear.choose(w - 2.5, w.unary("Sqrt") - 3.0);
  Term p = isNear.choose(x.number(near[0]), x.number(far[0]));
  for (size_t i = 1; i < std::size(near); ++i)
    p = isNear.choose(x.number(near[i]), x.number(far[i])) + p * v;
  Term isEnd = abs(x) == 1.0;
  return isEnd.choose(x * std::numeric_limits<double>::infinity(), p * x);
}

/// erfinv in f64: one Newton step from TensorFlow's function, on the side where erf isn't close to
/// 1.
static Term erfInvOfDouble(Term x) {
  constexpr double halfRootOfPi = 0.88622692545275801365;
  Term size = abs(x), one = x.number(1);
  Term first = min(size, one).unary("Erfinv");
  Term slope = (first * first).unary("Exp") * halfRootOfPi;
  Term below = (first.unary("Erf") - size) * slope,
       above = (one - size - first.unary("Erfc")) * slope;
  Term root = first - (size < 0.5).choose(below, above);
  root = (size == 1.0).choose(first, root); // infinite
  Term isOutside = size > 1.0;
  root = isOutside.choose(x.number(std::numeric_limits<double>::quiet_NaN()), root);
  return (x < 0.0).choose(-root, root);
}

static LogicalResult readErfInv(BodyConverter &body, Operation *op) {
  Term x(body, input(body, op, 0));
  Type given = x.element();
  if (given.isF64())
    return done(body, op, erfInvOfDouble(x));
  return done(body, op, erfInvOfFloat(x.as(body.builder.getF32Type())).as(given));
}

/// Returns the next float after x towards y. Bit patterns are ordered like floats if those of
/// negative floats are counted down.
static LogicalResult readNextAfter(BodyConverter &body, Operation *op) {
  Term x(body, input(body, op, 0)), y(body, input(body, op, 1));
  Type element = x.element();
  if (!isHalf(element))
    return done(body, op, addNode(body, op, "NextAfter"));
  Term bits = x.bitsAs(body.builder.getI16Type());
  Term isAway = (x < y) == (x > 0.0); // from 0
  Term next = isAway.choose(bits + bits.whole(1), bits - bits.whole(1)).bitsAs(element);
  Term least = bits.whole(1).bitsAs(element);
  next = (x == 0.0).choose((y > 0.0).choose(least, -least), next);
  next = (x == y).choose(y, next);
  return done(body, op, (x != x || y != y).choose(x + y, next));
}

static LogicalResult readClamp(BodyConverter &body, Operation *op) {
  Value low = input(body, op, 0), x = input(body, op, 1), high = input(body, op, 2);
  Type type = body.resultType(op);
  Value raised = body.node("Maximum", {x, low}, type);
  return done(body, op, body.node("Minimum", {raised, high}, type));
}

static LogicalResult readReducePrecision(BodyConverter &body, Operation *op) {
  Attrs attrs;
  for (StringRef key : {"exponent_bits", "mantissa_bits"})
    attrs.append(key, body.builder.getI64IntegerAttr(numberOr(op, key, 0)));
  return done(body, op,
              body.node("XlaReducePrecision", input(body, op, 0), body.resultType(op), attrs));
}

// --- bits ---------------------------------------------------------------------------------------

static Type unsignedOf(Type element) {
  return IntegerType::get(element.getContext(), element.getIntOrFloatBitWidth(),
                          IntegerType::Unsigned);
}

static Value bitcast(BodyConverter &body, Value x, Type element) {
  return elementOf(x) == element ? x : body.likeOf("Bitcast", x, element);
}

/// Whether the shift amount is a constant smaller than the number of bits.
static bool isSmallShift(Value amount, unsigned bits) {
  auto elements = constantElements<DenseIntElementsAttr>(amount);
  return elements && llvm::all_of(elements.getValues<APInt>(),
                                  [&](const APInt &value) { return value.ult(bits); });
}

/// Shifts by the number of bits or more give 0, or for an arithmetic shift copies of the sign bit,
/// which is repeated for unsigned numbers too.
static LogicalResult readShift(BodyConverter &body, Operation *op) {
  StringRef name = op->getName().stripDialect();
  bool isLeft = name == "shift_left", isArithmetic = name == "shift_right_arithmetic";
  SmallVector<Value> inputs = elementwiseInputs(body, op);
  Type element = elementOf(inputs[0]), logical = unsignedOf(element);
  unsigned bits = element.getIntOrFloatBitWidth();
  Type computed = isArithmetic ? body.builder.getIntegerType(bits) : logical;
  Value x = bitcast(body, inputs[0], computed), amount = bitcast(body, inputs[1], computed);
  Type shifted = BodyConverter::withElement(body.resultType(op), computed);
  auto finish = [&](Value value) { return done(body, op, bitcast(body, value, element)); };
  StringRef shift = isLeft ? "LeftShift" : "RightShift";
  if (isSmallShift(op->getOperand(1), bits))
    return finish(body.node(shift, {x, amount}, shifted));
  // The amount is unsigned.
  Value count = bitcast(body, amount, logical);
  Value most = body.scalarInt(logical, bits - 1);
  Value isLarge = body.likeOf("Greater", {count, most}, body.builder.getI1Type());
  Value least = bitcast(body, body.like("Minimum", {count, most}), computed);
  Value value = body.node(shift, {x, least}, shifted);
  if (isArithmetic)
    return finish(value);
  return finish(choose(body, isLarge, body.scalarInt(logical, 0), value, shifted));
}

static Value populationCount(BodyConverter &body, Value x) {
  Type element = elementOf(x);
  Value count = body.likeOf("PopulationCount", x,
                            IntegerType::get(element.getContext(), 8, IntegerType::Unsigned));
  return body.cast(count, element);
}

static LogicalResult readPopulationCount(BodyConverter &body, Operation *op) {
  return done(body, op, populationCount(body, input(body, op, 0)));
}

/// Sets all bits below the highest set bit, then counts the clear bits.
static LogicalResult readLeadingZeros(BodyConverter &body, Operation *op) {
  Value x = input(body, op, 0);
  Type element = elementOf(x), logical = unsignedOf(element);
  unsigned bits = element.getIntOrFloatBitWidth();
  Value spread = bitcast(body, x, logical);
  for (unsigned by = 1; by < bits; by *= 2)
    spread = body.like("BitwiseOr",
                       {spread, body.like("RightShift", {spread, body.scalarInt(logical, by)})});
  return done(body, op, bitcast(body, populationCount(body, body.like("Invert", spread)), element));
}

// --- comparisons --------------------------------------------------------------------------------

/// Inverts the other bits of a pattern with a set sign bit.
static Value flipped(BodyConverter &body, Value pattern) {
  Type whole = elementOf(pattern);
  unsigned bits = whole.getIntOrFloatBitWidth();
  Value sign = body.like("RightShift", {pattern, body.scalarInt(whole, bits - 1)});
  Value flip = body.like("BitwiseAnd", {sign, body.scalarInt(whole, llvm::maxIntN(bits))});
  return body.like("BitwiseXor", {pattern, flip});
}

Value hlo::totalOrder(BodyConverter &body, Value x) {
  Type whole = body.builder.getIntegerType(elementOf(x).getIntOrFloatBitWidth());
  return flipped(body, bitcast(body, x, whole));
}

Value hlo::ofTotalOrder(BodyConverter &body, Value order, Type element) {
  return bitcast(body, flipped(body, order), element);
}

static LogicalResult readCompare(BodyConverter &body, Operation *op) {
  static const llvm::StringMap<StringRef> ops = {
      {"EQ", "Equal"},     {"NE", "NotEqual"}, {"LT", "Less"},
      {"LE", "LessEqual"}, {"GT", "Greater"},  {"GE", "GreaterEqual"},
  };
  StringRef direction = word(op, "comparison_direction");
  SmallVector<Value> inputs = elementwiseInputs(body, op);
  Type element = elementOf(inputs[0]);
  if (word(op, "compare_type") == "TOTALORDER" && isFloat(element))
    for (Value &value : inputs)
      value = totalOrder(body, value);
  else if (isBool(element) && direction != "EQ" && direction != "NE")
    for (Value &value : inputs)
      value = body.cast(value, unsignedOf(body.builder.getI8Type()));
  for (Value &value : inputs)
    value = body.cast(value, computationType(elementOf(value)));
  return done(body, op, body.node(ops.lookup(direction), inputs, body.resultType(op)));
}

// --- constants ----------------------------------------------------------------------------------

static LogicalResult readConstant(BodyConverter &body, Operation *op) {
  auto value = op->getAttr("value");
  if (auto elements = dyn_cast_or_null<ElementsAttr>(value)) {
    if (isa<IndexType>(elements.getElementType()))
      return unimplementedOp(op) << " of index tensors";
    auto type = cast<RankedTensorType>(elements.getType());
    if (type.getEncoding())
      return unimplementedOp(op) << " with an encoding";
    return done(body, op, body.constant(elements));
  }
  Type type = op->getResult(0).getType();
  if (auto number = dyn_cast_or_null<IntegerAttr>(value))
    return done(body, op,
                body.scalarInt(elementOf(body.typeOf(type)), number.getValue().getSExtValue()));
  if (auto number = dyn_cast_or_null<FloatAttr>(value))
    return done(body, op, body.scalar(type, number.getValueAsDouble()));
  return op->emitError("its value isn't a tensor of numbers");
}

static constexpr ConverterRow rows[] = {
    {"constant", readConstant},
    {"arith.constant", readConstant},
    {"negate", readNegate},
    {"sign", readSign},
    {"divide", readDivide},
    {"remainder", readRemainder},
    {"power", readPower},
    {"round_nearest_afz", readRoundAway},
    {"cbrt", readCubeRoot},
    {"erf_inv", readErfInv},
    {"exponential", readExponential},
    {"next_after", readNextAfter},
    {"clamp", readClamp},
    {"reduce_precision", readReducePrecision},
    {"shift_left", readShift},
    {"shift_right_logical", readShift},
    {"shift_right_arithmetic", readShift},
    {"popcnt", readPopulationCount},
    {"count_leading_zeros", readLeadingZeros},
    {"compare", readCompare},
};

ArrayRef<ConverterRow> hlo::arithmeticRows() {
  static const SmallVector<ConverterRow> all = withTableOps(same, readSame, rows);
  return all;
}
