#include "treadle/codegen/Elementwise.h"

#include "treadle/codegen/ComplexForms.h"
#include "treadle/ops/OpTable.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/StringMap.h"

#include <cmath>
#include <limits>
#include <numbers>

using namespace mlir;

namespace treadle::codegen {
namespace {

bool isFloat(Type type) { return type.isF32() || type.isF64() || isHalf(type); }
bool isBool(Type type) { return type.isSignlessInteger(1); }
bool isInt(Type type) { return type.isSignlessInteger() && !isBool(type) && isNative(type); }
bool isUnsigned(Type type) { return type.isUnsignedInteger() && isNative(type); }

bool floats(ArrayRef<Type> types) { return llvm::all_of(types, isFloat); }
bool ints(ArrayRef<Type> types) { return llvm::all_of(types, isInt); }
bool bools(ArrayRef<Type> types) { return llvm::all_of(types, isBool); }
bool numbers(ArrayRef<Type> types) { return floats(types) || ints(types); }
bool bits(ArrayRef<Type> types) { return ints(types) || llvm::all_of(types, isUnsigned); }
bool quantities(ArrayRef<Type> types) { return floats(types) || bits(types); }
/// Halves are rounded between the steps.
bool inOneStep(ArrayRef<Type> types) { return quantities(types) && llvm::none_of(types, isHalf); }
bool wideFloats(ArrayRef<Type> types) { return floats(types) && llvm::none_of(types, isHalf); }
bool natives(ArrayRef<Type> types) { return llvm::all_of(types, isNative); }
bool comparable(ArrayRef<Type> types) { return quantities(types) || bools(types); }
bool choice(ArrayRef<Type> types) { return isBool(types[0]) && natives(types); }

Value constant(OpBuilder &b, Location loc, Type type, double value) {
  if (isFloat(type))
    return arith::ConstantOp::create(b, loc, b.getFloatAttr(type, value));
  return arith::ConstantOp::create(b, loc, b.getIntegerAttr(type, static_cast<int64_t>(value)));
}

/// Emits the float or the integer operation with the same meaning.
template <typename FloatOp, typename IntOp>
Value arithmetic(OpBuilder &b, Location loc, ValueRange in, Type type) {
  if (isFloat(type))
    return FloatOp::create(b, loc, in[0], in[1]);
  return IntOp::create(b, loc, in[0], in[1]);
}

template <typename Op> Value unary(OpBuilder &b, Location loc, ValueRange in, Type) {
  return Op::create(b, loc, in[0]);
}

template <typename Op> Value binary(OpBuilder &b, Location loc, ValueRange in, Type) {
  return Op::create(b, loc, in[0], in[1]);
}

template <arith::CmpFPredicate floatPredicate, arith::CmpIPredicate intPredicate>
Value compare(OpBuilder &b, Location loc, ValueRange in, Type) {
  if (isFloat(in[0].getType()))
    return arith::CmpFOp::create(b, loc, floatPredicate, in[0], in[1]);
  return arith::CmpIOp::create(b, loc, intPredicate, in[0], in[1]);
}

constexpr auto lessThan = compare<arith::CmpFPredicate::OLT, arith::CmpIPredicate::slt>;
constexpr auto atMost = compare<arith::CmpFPredicate::OLE, arith::CmpIPredicate::sle>;
constexpr auto moreThan = compare<arith::CmpFPredicate::OGT, arith::CmpIPredicate::sgt>;
constexpr auto atLeast = compare<arith::CmpFPredicate::OGE, arith::CmpIPredicate::sge>;
constexpr auto equals = compare<arith::CmpFPredicate::OEQ, arith::CmpIPredicate::eq>;
constexpr auto differs = compare<arith::CmpFPredicate::UNE, arith::CmpIPredicate::ne>;

template <arith::CmpIPredicate predicate>
Value compareUnsigned(OpBuilder &b, Location loc, ValueRange in, Type) {
  return arith::CmpIOp::create(b, loc, predicate, in[0], in[1]);
}

Value select(OpBuilder &b, Location loc, Value condition, Value a, Value otherwise) {
  return arith::SelectOp::create(b, loc, condition, a, otherwise);
}

/// Returns the maximum or minimum; the first operand if it is NaN, as the kernels do.
template <auto floatCompare> Value extreme(OpBuilder &b, Location loc, ValueRange in, Type type) {
  Value first = floatCompare(b, loc, in, type);
  if (isFloat(type)) {
    Value isNan = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::UNO, in[0], in[0]);
    first = arith::OrIOp::create(b, loc, isNan, first);
  }
  return select(b, loc, first, in[0], in[1]);
}

Value negate(OpBuilder &b, Location loc, ValueRange in, Type type) {
  if (isFloat(type))
    return arith::NegFOp::create(b, loc, in[0]);
  return arith::SubIOp::create(b, loc, constant(b, loc, type, 0), in[0]);
}

Value absolute(OpBuilder &b, Location loc, ValueRange in, Type type) {
  if (isFloat(type))
    return math::AbsFOp::create(b, loc, in[0]);
  return select(b, loc, lessThan(b, loc, {in[0], constant(b, loc, type, 0)}, type),
                negate(b, loc, in, type), in[0]);
}

Value square(OpBuilder &b, Location loc, ValueRange in, Type type) {
  return arithmetic<arith::MulFOp, arith::MulIOp>(b, loc, {in[0], in[0]}, type);
}

Value squaredDifference(OpBuilder &b, Location loc, ValueRange in, Type type) {
  return square(b, loc, arithmetic<arith::SubFOp, arith::SubIOp>(b, loc, in, type), type);
}

Value reciprocal(OpBuilder &b, Location loc, ValueRange in, Type type) {
  return arith::DivFOp::create(b, loc, constant(b, loc, type, 1), in[0]);
}

Value rsqrt(OpBuilder &b, Location loc, ValueRange in, Type type) {
  return reciprocal(b, loc, math::SqrtOp::create(b, loc, in[0]).getResult(), type);
}

/// 1 / (1 + exp(-x)) without overflow, accurate where it is close to 0.
Value sigmoid(OpBuilder &b, Location loc, ValueRange in, Type type) {
  Value size = math::AbsFOp::create(b, loc, in[0]);
  Value power = math::ExpOp::create(b, loc, arith::NegFOp::create(b, loc, size));
  Value unit = constant(b, loc, type, 1);
  Value isNegative = lessThan(b, loc, {in[0], constant(b, loc, type, 0)}, type);
  return arith::DivFOp::create(b, loc, select(b, loc, isNegative, power, unit),
                               arith::AddFOp::create(b, loc, power, unit));
}

/// ln(1 + exp(x)): exp(x) if that is small, x if it is large.
Value softplus(OpBuilder &b, Location loc, ValueRange in, Type type) {
  Value size = math::AbsFOp::create(b, loc, in[0]);
  Value power = math::ExpOp::create(b, loc, arith::NegFOp::create(b, loc, size));
  Value rest = math::Log1pOp::create(b, loc, power);
  Value positive = extreme<atLeast>(b, loc, {in[0], constant(b, loc, type, 0)}, type);
  return arith::AddFOp::create(b, loc, positive, rest);
}

Value softsign(OpBuilder &b, Location loc, ValueRange in, Type type) {
  Value size = math::AbsFOp::create(b, loc, in[0]);
  return arith::DivFOp::create(
      b, loc, in[0], arith::AddFOp::create(b, loc, size, constant(b, loc, type, 1)).getResult());
}

Value elu(OpBuilder &b, Location loc, ValueRange in, Type type) {
  return select(b, loc, lessThan(b, loc, {in[0], constant(b, loc, type, 0)}, type),
                math::ExpM1Op::create(b, loc, in[0]), in[0]);
}

/// Returns 0 if the divisor is 0.
template <typename Op> Value orZero(OpBuilder &b, Location loc, ValueRange in, Type type) {
  Value none = constant(b, loc, type, 0);
  return select(b, loc, equals(b, loc, {in[1], none}, type), none,
                Op::create(b, loc, in[0], in[1]).getResult());
}

/// Multiplies or divides by `with` of the second operand; 0 if the first one is 0.
template <typename Op, typename... With>
Value ifAny(OpBuilder &b, Location loc, ValueRange in, Type type) {
  Value none = constant(b, loc, type, 0), second = in[1];
  ((second = With::create(b, loc, second)), ...);
  return select(b, loc, equals(b, loc, {in[0], none}, type), none,
                Op::create(b, loc, in[0], second).getResult());
}

/// The constants are from Klambauer et al., "Self-Normalizing Neural Networks" (2017).
Value selu(OpBuilder &b, Location loc, ValueRange in, Type type) {
  Value scale = constant(b, loc, type, 1.0507009873554804934193349852946);
  Value scaledAlpha = constant(b, loc, type, 1.7580993408473768599402175208123);
  Value below = math::ExpM1Op::create(b, loc, in[0]);
  Value isBelow = lessThan(b, loc, {in[0], constant(b, loc, type, 0)}, type);
  return arith::MulFOp::create(b, loc, select(b, loc, isBelow, scaledAlpha, scale),
                               select(b, loc, isBelow, below, in[0]));
}

Value isNan(OpBuilder &b, Location loc, ValueRange in, Type) {
  return arith::CmpFOp::create(b, loc, arith::CmpFPredicate::UNO, in[0], in[0]);
}

template <arith::CmpFPredicate predicate>
Value compareToInfinity(OpBuilder &b, Location loc, ValueRange in, Type) {
  Value size = math::AbsFOp::create(b, loc, in[0]);
  Value inf = constant(b, loc, in[0].getType(), std::numeric_limits<double>::infinity());
  return arith::CmpFOp::create(b, loc, predicate, size, inf);
}

Value relu(OpBuilder &b, Location loc, ValueRange in, Type type) {
  return extreme<atLeast>(b, loc, {in[0], constant(b, loc, type, 0)}, type);
}

Value relu6(OpBuilder &b, Location loc, ValueRange in, Type type) {
  return extreme<atMost>(b, loc, {relu(b, loc, in, type), constant(b, loc, type, 6)}, type);
}

Value sign(OpBuilder &b, Location loc, ValueRange in, Type type) {
  Value zero = constant(b, loc, type, 0);
  // NaN is returned unchanged; so is zero, except for its sign, which adding another zero removes.
  Value other = isFloat(type) ? Value(arith::AddFOp::create(b, loc, in[0], zero)) : in[0];
  Value negative =
      select(b, loc, lessThan(b, loc, {in[0], zero}, type), constant(b, loc, type, -1), other);
  return select(b, loc, moreThan(b, loc, {in[0], zero}, type), constant(b, loc, type, 1), negative);
}

Value atan2(OpBuilder &b, Location loc, ValueRange in, Type) {
  return angleOf(b, loc, in[0], in[1]);
}

// --- gradients -----------------------------------------------------------------------------------

/// Arithmetic on floats of one type.
struct FloatArithmetic {
  OpBuilder &b;
  Location loc;
  Type type;

  Value number(double value) const { return constant(b, loc, type, value); }
  Value add(Value x, Value y) const { return arith::AddFOp::create(b, loc, x, y); }
  Value sub(Value x, Value y) const { return arith::SubFOp::create(b, loc, x, y); }
  Value mul(Value x, Value y) const { return arith::MulFOp::create(b, loc, x, y); }
  Value div(Value x, Value y) const { return arith::DivFOp::create(b, loc, x, y); }
  Value isLess(Value x, Value y) const { return lessThan(b, loc, {x, y}, type); }
};

/// Computed from the function's result y and its gradient.
Value sigmoidGrad(OpBuilder &b, Location loc, ValueRange in, Type type) {
  FloatArithmetic f{b, loc, type};
  return f.mul(in[1], f.mul(in[0], f.sub(f.number(1), in[0])));
}
Value tanhGrad(OpBuilder &b, Location loc, ValueRange in, Type type) {
  FloatArithmetic f{b, loc, type};
  return f.mul(in[1], f.sub(f.number(1), f.mul(in[0], in[0])));
}
Value sqrtGrad(OpBuilder &b, Location loc, ValueRange in, Type type) {
  FloatArithmetic f{b, loc, type};
  return f.div(f.mul(in[1], f.number(0.5)), in[0]);
}
Value rsqrtGrad(OpBuilder &b, Location loc, ValueRange in, Type type) {
  FloatArithmetic f{b, loc, type};
  return f.mul(f.mul(f.number(-0.5), f.mul(in[1], in[0])), f.mul(in[0], in[0]));
}
Value reciprocalGrad(OpBuilder &b, Location loc, ValueRange in, Type type) {
  FloatArithmetic f{b, loc, type};
  return f.mul(negate(b, loc, in[1], type), f.mul(in[0], in[0]));
}

/// Computed from a gradient and the function's operand. It is a product, so that a NaN gradient
/// stays NaN where it isn't passed on.
Value reluGrad(OpBuilder &b, Location loc, ValueRange in, Type type) {
  FloatArithmetic f{b, loc, type};
  return f.mul(in[0], castTo(b, loc, f.isLess(f.number(0), in[1]), type));
}
Value relu6Grad(OpBuilder &b, Location loc, ValueRange in, Type type) {
  FloatArithmetic f{b, loc, type};
  Value passes =
      arith::AndIOp::create(b, loc, f.isLess(f.number(0), in[1]), f.isLess(in[1], f.number(6)));
  return f.mul(in[0], castTo(b, loc, passes, type));
}
Value eluGrad(OpBuilder &b, Location loc, ValueRange in, Type type) {
  FloatArithmetic f{b, loc, type};
  return select(b, loc, f.isLess(in[1], f.number(0)), f.mul(f.add(in[1], f.number(1)), in[0]),
                in[0]);
}
Value softplusGrad(OpBuilder &b, Location loc, ValueRange in, Type type) {
  FloatArithmetic f{b, loc, type};
  Value power = math::ExpOp::create(b, loc, negate(b, loc, in[1], type));
  return f.div(in[0], f.add(power, f.number(1)));
}
Value softsignGrad(OpBuilder &b, Location loc, ValueRange in, Type type) {
  FloatArithmetic f{b, loc, type};
  Value size = f.add(f.number(1), math::AbsFOp::create(b, loc, in[1]));
  return f.div(in[0], f.mul(size, size));
}

// --- bits ----------------------------------------------------------------------------------------

Value populationCount(OpBuilder &b, Location loc, ValueRange in, Type type) {
  Value bits = reinterpreted(b, loc, in[0], computedIn(in[0].getType()));
  Value count = math::CtPopOp::create(b, loc, bits);
  unsigned width = bits.getType().getIntOrFloatBitWidth();
  Value byte =
      width > 8 ? arith::TruncIOp::create(b, loc, computedIn(type), count).getResult() : count;
  return reinterpreted(b, loc, byte, type);
}

/// Returns the neighbour in the direction of another number; numbers of one sign are ordered like
/// their bits.
Value nextAfter(OpBuilder &b, Location loc, ValueRange in, Type type) {
  Type whole = b.getIntegerType(type.getIntOrFloatBitWidth());
  auto number = [&](int64_t value) { return constant(b, loc, whole, static_cast<double>(value)); };
  Value x = in[0], y = in[1], none = constant(b, loc, type, 0);
  Value isUp = lessThan(b, loc, {x, y}, type), isNegative = lessThan(b, loc, {x, none}, type);
  Value bits = arith::BitcastOp::create(b, loc, whole, x);
  Value step =
      select(b, loc, arith::XOrIOp::create(b, loc, isUp, isNegative), number(1), number(-1));
  Value next =
      arith::BitcastOp::create(b, loc, type, arith::AddIOp::create(b, loc, bits, step).getResult());
  Value least = arith::BitcastOp::create(b, loc, type, number(1));
  Value result = select(b, loc, equals(b, loc, {x, none}, type),
                        math::CopySignOp::create(b, loc, least, y), next);
  result = select(b, loc, equals(b, loc, {x, y}, type), y, result);
  Value isNumber = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::ORD, x, y);
  return select(b, loc, isNumber, result, arith::AddFOp::create(b, loc, x, y));
}

Value logicalNot(OpBuilder &b, Location loc, ValueRange in, Type type) {
  return arith::XOrIOp::create(b, loc, in[0], constant(b, loc, type, 1));
}

Value invert(OpBuilder &b, Location loc, ValueRange in, Type type) {
  return arith::XOrIOp::create(b, loc, in[0], constant(b, loc, type, -1));
}

Value choose(OpBuilder &b, Location loc, ValueRange in, Type) {
  return selected(b, loc, in[0], in[1], in[2]);
}

Value first(OpBuilder &, Location, ValueRange in, Type) { return in[0]; }

Value zero(OpBuilder &b, Location loc, ValueRange, Type type) { return zeroOf(b, loc, type); }
Value one(OpBuilder &b, Location loc, ValueRange, Type type) {
  Value truth = arith::ConstantOp::create(b, loc, b.getBoolAttr(true));
  return castTo(b, loc, truth, type);
}

// --- integer division --------------------------------------------------------------------------

using Divide = Value (*)(OpBuilder &b, Location loc, Value x, Value y, Type type);

/// Divides, rounding to zero. Processors trap on division by zero, and of the least number by -1.
Value quotient(OpBuilder &b, Location loc, Value x, Value y, Type type) {
  if (isFloat(type))
    return math::TruncOp::create(b, loc, arith::DivFOp::create(b, loc, x, y));
  APInt known;
  if (matchPattern(y, m_ConstantInt(&known)) && !known.isZero() && !known.isAllOnes())
    return arith::DivSIOp::create(b, loc, x, y);
  Value none = constant(b, loc, type, 0), one = constant(b, loc, type, 1);
  Value isMinusOne = equals(b, loc, {y, constant(b, loc, type, -1)}, type);
  Value isSpecial = arith::OrIOp::create(b, loc, isMinusOne, equals(b, loc, {y, none}, type));
  Value whole = arith::DivSIOp::create(b, loc, x, select(b, loc, isSpecial, one, y));
  return select(b, loc, isMinusOne, arith::SubIOp::create(b, loc, none, x), whole);
}

Value unsignedQuotient(OpBuilder &b, Location loc, Value x, Value y, Type type) {
  Value none = constant(b, loc, type, 0), one = constant(b, loc, type, 1);
  return arith::DivUIOp::create(b, loc, x, select(b, loc, equals(b, loc, {y, none}, type), one, y));
}

/// Divides integers that floats represent exactly: vector units divide floats, but not integers.
template <bool isUnsigned>
Value quotientOfMany(OpBuilder &b, Location loc, Value x, Value y, Type type) {
  if (isFloat(type) || type.getIntOrFloatBitWidth() > 32 || matchPattern(y, m_Constant()))
    return (isUnsigned ? unsignedQuotient : quotient)(b, loc, x, y, type);
  Type wide = type.getIntOrFloatBitWidth() == 32 ? b.getF64Type() : b.getF32Type();
  if constexpr (isUnsigned) {
    Value real = arith::DivFOp::create(b, loc, arith::UIToFPOp::create(b, loc, wide, x),
                                       arith::UIToFPOp::create(b, loc, wide, y));
    return arith::FPToUIOp::create(b, loc, type, real);
  }
  Value real = arith::DivFOp::create(b, loc, arith::SIToFPOp::create(b, loc, wide, x),
                                     arith::SIToFPOp::create(b, loc, wide, y));
  Value isMinusOne = equals(b, loc, {y, constant(b, loc, type, -1)}, type);
  return select(b, loc, isMinusOne, arith::SubIOp::create(b, loc, constant(b, loc, type, 0), x),
                arith::FPToSIOp::create(b, loc, type, real));
}

template <Divide divide> Value truncateDiv(OpBuilder &b, Location loc, ValueRange in, Type type) {
  return divide(b, loc, in[0], in[1], type);
}

/// Returns the remainder of a truncating division.
template <Divide divide> Value truncateMod(OpBuilder &b, Location loc, ValueRange in, Type type) {
  if (isFloat(type))
    return arith::RemFOp::create(b, loc, in[0], in[1]);
  Value whole = divide(b, loc, in[0], in[1], type);
  return arith::SubIOp::create(b, loc, in[0], arith::MulIOp::create(b, loc, whole, in[1]));
}

/// Whether flooring must decrement the truncated quotient of a division with the remainder `rest`.
Value roundsDown(OpBuilder &b, Location loc, Value rest, Value divisor, Type type) {
  Value none = constant(b, loc, type, 0);
  Value mixed = arith::XOrIOp::create(b, loc, lessThan(b, loc, {rest, none}, type),
                                      lessThan(b, loc, {divisor, none}, type));
  return arith::AndIOp::create(b, loc, mixed, differs(b, loc, {rest, none}, type));
}

template <Divide divide> Value floorMod(OpBuilder &b, Location loc, ValueRange in, Type type) {
  Value rest = truncateMod<divide>(b, loc, in, type);
  return select(b, loc, roundsDown(b, loc, rest, in[1], type),
                arithmetic<arith::AddFOp, arith::AddIOp>(b, loc, {rest, in[1]}, type), rest);
}

template <Divide divide> Value floorDiv(OpBuilder &b, Location loc, ValueRange in, Type type) {
  if (isFloat(type))
    return math::FloorOp::create(b, loc, arith::DivFOp::create(b, loc, in[0], in[1]));
  Value whole = divide(b, loc, in[0], in[1], type);
  Value rest = arith::SubIOp::create(b, loc, in[0], arith::MulIOp::create(b, loc, whole, in[1]));
  Value less = arith::SubIOp::create(b, loc, whole, constant(b, loc, type, 1));
  return select(b, loc, roundsDown(b, loc, rest, in[1], type), less, whole);
}

// --- conversions -------------------------------------------------------------------------------

/// Numbers out of range become the least int32 or int64, and narrower types take its low bits;
/// kernels/elementwise/Conversion.h has the rules.
Value truncateReal(OpBuilder &b, Location loc, Value x, Type type) {
  Type from = x.getType(), to = computedIn(type);
  unsigned width = to.getIntOrFloatBitWidth();
  if (width < 32) {
    Value wide = truncateReal(b, loc, x, b.getI32Type());
    return reinterpreted(b, loc, arith::TruncIOp::create(b, loc, to, wide), type);
  }
  double limit = std::ldexp(1.0, static_cast<int>(width) - 1);
  auto isWithin = [&](double low, double high) {
    return arith::AndIOp::create(b, loc, atLeast(b, loc, {x, constant(b, loc, from, low)}, from),
                                 lessThan(b, loc, {x, constant(b, loc, from, high)}, from))
        .getResult();
  };
  Value least =
      arith::ConstantOp::create(b, loc, b.getIntegerAttr(to, APInt::getSignedMinValue(width)));
  Value whole = arith::FPToSIOp::create(b, loc, to, x);
  if (!isUnsigned(type))
    return select(b, loc, isWithin(-limit, limit), whole, least);
  // Negative numbers wrap around as signed ones do.
  Value wrapped = select(b, loc, isWithin(-limit, 0), whole, least);
  Value made =
      select(b, loc, isWithin(0, 2 * limit), arith::FPToUIOp::create(b, loc, to, x), wrapped);
  return reinterpreted(b, loc, made, type);
}

Value toFloat(OpBuilder &b, Location loc, Value x, Type type) {
  Type from = x.getType();
  if (isFloat(from)) {
    if (from == type)
      return x;
    return type.isF64() ? Value(arith::ExtFOp::create(b, loc, type, x))
                        : Value(arith::TruncFOp::create(b, loc, type, x));
  }
  x = reinterpreted(b, loc, x, computedIn(from));
  if (isBool(from) || isUnsigned(from))
    return arith::UIToFPOp::create(b, loc, type, x);
  return arith::SIToFPOp::create(b, loc, type, x);
}

Value toInteger(OpBuilder &b, Location loc, Value x, Type type) {
  Type from = x.getType(), to = computedIn(type);
  x = reinterpreted(b, loc, x, computedIn(from));
  unsigned width = to.getIntOrFloatBitWidth(), own = computedIn(from).getIntOrFloatBitWidth();
  if (width < own)
    x = arith::TruncIOp::create(b, loc, to, x);
  else if (width > own && (isBool(from) || isUnsigned(from)))
    x = arith::ExtUIOp::create(b, loc, to, x);
  else if (width > own)
    x = arith::ExtSIOp::create(b, loc, to, x);
  return reinterpreted(b, loc, x, type);
}

Value castComplex(OpBuilder &b, Location loc, Value x, Type type) {
  auto from = dyn_cast<ComplexType>(x.getType()), to = dyn_cast<ComplexType>(type);
  if (!from) {
    Value none = zeroOf(b, loc, to.getElementType());
    return complexOf(b, loc, {castTo(b, loc, x, to.getElementType()), none});
  }
  auto [re, im] = partsOf(b, loc, x);
  if (to)
    return complexOf(
        b, loc, {castTo(b, loc, re, to.getElementType()), castTo(b, loc, im, to.getElementType())});
  if (!isBool(type))
    return castTo(b, loc, re, type);
  return arith::OrIOp::create(b, loc, castTo(b, loc, re, type), castTo(b, loc, im, type));
}

Value cast(OpBuilder &b, Location loc, ValueRange in, Type type) {
  return castTo(b, loc, in[0], type);
}

/// Shift amounts are clamped to the range from 0 to one less than the number of bits, as in the
/// kernel.
template <typename Op> Value shift(OpBuilder &b, Location loc, ValueRange in, Type type) {
  Value most = constant(b, loc, type, type.getIntOrFloatBitWidth() - 1);
  Value by = arith::MinSIOp::create(
      b, loc, arith::MaxSIOp::create(b, loc, in[1], constant(b, loc, type, 0)), most);
  return Op::create(b, loc, in[0], by);
}
template <typename Op> Value shiftUnsigned(OpBuilder &b, Location loc, ValueRange in, Type type) {
  Value most = constant(b, loc, type, type.getIntOrFloatBitWidth() - 1);
  return Op::create(b, loc, in[0], arith::MinUIOp::create(b, loc, in[1], most));
}

// --- the table ---------------------------------------------------------------------------------

/// Implementations by form: see OpDef::elementwise.
const llvm::StringMap<ElementwiseOp> &table() {
  static const llvm::StringMap<ElementwiseOp> forms = {
      {"add", {quantities, arithmetic<arith::AddFOp, arith::AddIOp>}},
      {"bias_add", {quantities, arithmetic<arith::AddFOp, arith::AddIOp>}},
      {"sub", {quantities, arithmetic<arith::SubFOp, arith::SubIOp>}},
      {"mul", {quantities, arithmetic<arith::MulFOp, arith::MulIOp>}},
      {"divide", {floats, binary<arith::DivFOp>}},
      {"floor_mod",
       {quantities, floorMod<quotient>, truncateMod<unsignedQuotient>, false,
        floorMod<quotientOfMany<false>>, truncateMod<quotientOfMany<true>>,
        /*dividesIntegers=*/true}},
      {"floor_div",
       {inOneStep, floorDiv<quotient>, truncateDiv<unsignedQuotient>, false,
        floorDiv<quotientOfMany<false>>, truncateDiv<quotientOfMany<true>>,
        /*dividesIntegers=*/true}},
      {"truncate_div",
       {inOneStep, truncateDiv<quotient>, truncateDiv<unsignedQuotient>, false,
        truncateDiv<quotientOfMany<false>>, truncateDiv<quotientOfMany<true>>,
        /*dividesIntegers=*/true}},
      {"truncate_mod",
       {quantities, truncateMod<quotient>, truncateMod<unsignedQuotient>, false,
        truncateMod<quotientOfMany<false>>, truncateMod<quotientOfMany<true>>,
        /*dividesIntegers=*/true}},
      {"maximum", {quantities, extreme<atLeast>, binary<arith::MaxUIOp>}},
      {"minimum", {quantities, extreme<atMost>, binary<arith::MinUIOp>}},
      {"squared_difference", {inOneStep, squaredDifference}},
      {"less", {quantities, lessThan, compareUnsigned<arith::CmpIPredicate::ult>}},
      {"less_equal", {quantities, atMost, compareUnsigned<arith::CmpIPredicate::ule>}},
      {"greater", {quantities, moreThan, compareUnsigned<arith::CmpIPredicate::ugt>}},
      {"greater_equal", {quantities, atLeast, compareUnsigned<arith::CmpIPredicate::uge>}},
      {"equal", {comparable, equals}},
      {"not_equal", {comparable, differs}},
      {"logical_and", {bools, binary<arith::AndIOp>}},
      {"logical_or", {bools, binary<arith::OrIOp>}},
      {"logical_not", {bools, logicalNot}},
      {"bitwise_and", {bits, binary<arith::AndIOp>}},
      {"bitwise_or", {bits, binary<arith::OrIOp>}},
      {"bitwise_xor", {bits, binary<arith::XOrIOp>}},
      {"select", {choice, choose, nullptr, true}},
      {"neg", {numbers, negate}},
      {"abs", {numbers, absolute}},
      {"sign", {numbers, sign}},
      {"square", {quantities, square}},
      {"sqrt", {floats, unary<math::SqrtOp>}},
      {"rsqrt", {floats, rsqrt}},
      {"reciprocal", {floats, reciprocal}},
      {"exp", {floats, unary<math::ExpOp>}},
      {"log", {floats, unary<math::LogOp>}},
      {"sin", {floats, unary<math::SinOp>}},
      {"cos", {floats, unary<math::CosOp>}},
      {"tanh", {floats, unary<math::TanhOp>}},
      {"tan", {floats, unary<math::TanOp>}},
      {"sinh", {floats, unary<math::SinhOp>}},
      {"cosh", {floats, unary<math::CoshOp>}},
      {"asin", {floats, unary<math::AsinOp>}},
      {"acos", {floats, unary<math::AcosOp>}},
      {"atan", {floats, unary<math::AtanOp>}},
      {"atan2", {floats, atan2}},
      {"asinh", {floats, unary<math::AsinhOp>}},
      {"acosh", {floats, unary<math::AcoshOp>}},
      {"atanh", {floats, unary<math::AtanhOp>}},
      {"pow", {floats, binary<math::PowFOp>}},
      {"expm1", {floats, unary<math::ExpM1Op>}},
      {"log1p", {floats, unary<math::Log1pOp>}},
      {"erf", {floats, unary<math::ErfOp>}},
      {"erfc", {floats, unary<math::ErfcOp>}},
      {"softplus", {floats, softplus}},
      {"softsign", {floats, softsign}},
      {"elu", {floats, elu}},
      {"selu", {floats, selu}},
      {"round", {floats, unary<math::RoundEvenOp>}},
      {"div_no_nan", {floats, orZero<arith::DivFOp>}},
      {"mul_no_nan", {floats, orZero<arith::MulFOp>}},
      {"xdivy", {floats, ifAny<arith::DivFOp>}},
      {"xlogy", {wideFloats, ifAny<arith::MulFOp, math::LogOp>}},
      {"xlog1py", {wideFloats, ifAny<arith::MulFOp, math::Log1pOp>}},
      {"is_nan", {floats, isNan}},
      {"is_inf", {floats, compareToInfinity<arith::CmpFPredicate::OEQ>}},
      {"is_finite", {floats, compareToInfinity<arith::CmpFPredicate::OLT>}},
      {"invert", {bits, invert}},
      {"sigmoid", {floats, sigmoid}},
      {"relu", {numbers, relu}},
      {"relu6", {numbers, relu6}},
      {"floor", {floats, unary<math::FloorOp>}},
      {"ceil", {floats, unary<math::CeilOp>}},
      {"left_shift", {bits, shift<arith::ShLIOp>, shiftUnsigned<arith::ShLIOp>}},
      {"right_shift", {bits, shift<arith::ShRSIOp>, shiftUnsigned<arith::ShRUIOp>}},
      {"sigmoid_grad", {wideFloats, sigmoidGrad}},
      {"tanh_grad", {wideFloats, tanhGrad}},
      {"sqrt_grad", {wideFloats, sqrtGrad}},
      {"rsqrt_grad", {wideFloats, rsqrtGrad}},
      {"reciprocal_grad", {wideFloats, reciprocalGrad}},
      {"relu_grad", {wideFloats, reluGrad}},
      {"relu6_grad", {wideFloats, relu6Grad}},
      {"elu_grad", {wideFloats, eluGrad}},
      {"softplus_grad", {wideFloats, softplusGrad}},
      {"softsign_grad", {wideFloats, softsignGrad}},
      {"population_count", {bits, populationCount, nullptr, /*acceptsAnyType=*/true}},
      {"next_after", {wideFloats, nextAfter}},
      {"cast", {natives, cast, nullptr, true}},
      {"identity", {natives, first, nullptr, true}},
      {"zeros_like", {natives, zero, nullptr, true}},
      {"ones_like", {natives, one, nullptr, true}},
  };
  return forms;
}

StringRef formOf(StringRef op) {
  const OpDef *def = lookupOp(op);
  return def ? StringRef(def->elementwise()) : StringRef();
}

const ElementwiseOp *findForm(StringRef form) {
  auto it = table().find(form);
  return it == table().end() ? nullptr : &it->second;
}

} // namespace

/// If both are zero, their signs determine the angle, as in the C standard. This case is computed
/// separately, since MLIR folds it to NaN for two constants.
Value angleOf(OpBuilder &b, Location loc, Value y, Value x) {
  Type type = x.getType();
  Value none = constant(b, loc, type, 0);
  Value unit = math::CopySignOp::create(b, loc, constant(b, loc, type, 1), x);
  Value size = select(b, loc, lessThan(b, loc, {unit, none}, type),
                      constant(b, loc, type, std::numbers::pi), none);
  Value areZero = arith::AndIOp::create(b, loc, equals(b, loc, {y, none}, type),
                                        equals(b, loc, {x, none}, type));
  return select(b, loc, areZero, math::CopySignOp::create(b, loc, size, y),
                math::Atan2Op::create(b, loc, y, x));
}

Value castTo(OpBuilder &b, Location loc, Value x, Type type) {
  Type from = x.getType();
  if (from == type)
    return x;
  if (isa<ComplexType>(from) || isa<ComplexType>(type))
    return castComplex(b, loc, x, type);
  if (isHalf(from))
    return castTo(b, loc, widened(b, loc, x), type);
  if (isHalf(type))
    return narrowed(b, loc, toFloat(b, loc, x, b.getF32Type()), type);
  if (isFloat(type))
    return toFloat(b, loc, x, type);
  if (isBool(type)) {
    Type computed = computedIn(from);
    x = reinterpreted(b, loc, x, computed);
    return differs(b, loc, {x, constant(b, loc, computed, 0)}, computed);
  }
  return isFloat(from) ? truncateReal(b, loc, x, type) : toInteger(b, loc, x, type);
}

Value ElementwiseOp::apply(OpBuilder &b, Location loc, ValueRange inputs, Type result,
                           bool isOfMany) const {
  if (acceptsAnyType)
    return emit(b, loc, inputs, result);
  bool areUnsigned = emitUnsigned && (isUnsigned(inputs.front().getType()) || isUnsigned(result));
  SmallVector<Value> computed;
  for (Value input : inputs)
    computed.push_back(widened(b, loc, reinterpreted(b, loc, input, computedIn(input.getType()))));
  Type type = isHalf(result) ? b.getF32Type() : computedIn(result);
  Emit chosen = areUnsigned ? emitUnsigned : emit;
  if (Emit many = areUnsigned ? emitManyUnsigned : emitMany; isOfMany && many)
    chosen = many;
  Value made = chosen(b, loc, computed, type);
  return reinterpreted(b, loc, narrowed(b, loc, made, result), result);
}

bool isElementwise(StringRef op) {
  StringRef form = formOf(op);
  return findForm(form) || findComplexForm(form);
}

const ElementwiseOp *findElementwise(tfg::Node node, ArrayRef<Type> inputs) {
  StringRef form = formOf(node.opType());
  for (const ElementwiseOp *op : {findForm(form), findComplexForm(form)})
    if (op && op->accepts(inputs))
      return op;
  return nullptr;
}

} // namespace treadle::codegen
