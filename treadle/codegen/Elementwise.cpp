#include "treadle/codegen/Elementwise.h"

#include "treadle/ops/OpTable.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/StringMap.h"

#include <limits>
#include <numbers>

using namespace mlir;

namespace treadle::codegen {
namespace {

bool isFloat(Type type) { return type.isF32() || type.isF64(); }
bool isInt(Type type) { return type.isSignlessInteger(32) || type.isSignlessInteger(64); }
bool isUnsigned(Type type) { return type.isUnsignedInteger(32) || type.isUnsignedInteger(64); }
bool isBool(Type type) { return type.isSignlessInteger(1); }

bool floats(ArrayRef<Type> types) { return llvm::all_of(types, isFloat); }
bool ints(ArrayRef<Type> types) { return llvm::all_of(types, isInt); }
bool bools(ArrayRef<Type> types) { return llvm::all_of(types, isBool); }
bool numbers(ArrayRef<Type> types) { return floats(types) || ints(types); }
bool bits(ArrayRef<Type> types) { return ints(types) || llvm::all_of(types, isUnsigned); }
bool quantities(ArrayRef<Type> types) { return floats(types) || bits(types); }
bool natives(ArrayRef<Type> types) { return llvm::all_of(types, isNative); }
bool comparable(ArrayRef<Type> types) { return quantities(types) || bools(types); }
bool choice(ArrayRef<Type> types) { return isBool(types[0]) && natives(types); }

Value constant(OpBuilder &b, Location loc, Type type, double value) {
  if (isFloat(type))
    return arith::ConstantOp::create(b, loc, b.getFloatAttr(type, value));
  return arith::ConstantOp::create(b, loc, b.getIntegerAttr(type, static_cast<int64_t>(value)));
}

/// The float or the integer operation of the same meaning.
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

/// The greater or lesser of two; the first one if it is no number, as the kernels do.
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

/// 1 / (1 + exp(-x)), without an overflow, and to the last places where it is close to 0.
Value sigmoid(OpBuilder &b, Location loc, ValueRange in, Type type) {
  Value size = math::AbsFOp::create(b, loc, in[0]);
  Value power = math::ExpOp::create(b, loc, arith::NegFOp::create(b, loc, size));
  Value unit = constant(b, loc, type, 1);
  Value isNegative = lessThan(b, loc, {in[0], constant(b, loc, type, 0)}, type);
  return arith::DivFOp::create(b, loc, select(b, loc, isNegative, power, unit),
                               arith::AddFOp::create(b, loc, power, unit));
}

/// ln(1 + exp(x)): exp(x) where it is small, x where it is large.
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

/// 0 where the divisor is.
template <typename Op> Value orZero(OpBuilder &b, Location loc, ValueRange in, Type type) {
  Value none = constant(b, loc, type, 0);
  return select(b, loc, equals(b, loc, {in[1], none}, type), none,
                Op::create(b, loc, in[0], in[1]).getResult());
}

/// A product or quotient with `with` of the second, or 0 where the first one is.
template <typename Op, typename... With>
Value ifAny(OpBuilder &b, Location loc, ValueRange in, Type type) {
  Value none = constant(b, loc, type, 0), second = in[1];
  ((second = With::create(b, loc, second)), ...);
  return select(b, loc, equals(b, loc, {in[0], none}, type), none,
                Op::create(b, loc, in[0], second).getResult());
}

/// Constants of Klambauer and others, "Self-Normalizing Neural Networks" (2017).
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
  // NaN is itself; so is zero, but for its sign, which a sum with another zero takes away.
  Value other = isFloat(type) ? Value(arith::AddFOp::create(b, loc, in[0], zero)) : in[0];
  Value negative =
      select(b, loc, lessThan(b, loc, {in[0], zero}, type), constant(b, loc, type, -1), other);
  return select(b, loc, moreThan(b, loc, {in[0], zero}, type), constant(b, loc, type, 1), negative);
}

/// Where both are zero the signs tell the angle, as C's standard has it. It is computed apart:
/// MLIR takes that of two constants for NaN.
Value atan2(OpBuilder &b, Location loc, ValueRange in, Type type) {
  Value none = constant(b, loc, type, 0);
  Value unit = math::CopySignOp::create(b, loc, constant(b, loc, type, 1), in[1]);
  Value size = select(b, loc, lessThan(b, loc, {unit, none}, type),
                      constant(b, loc, type, std::numbers::pi), none);
  Value areZero = arith::AndIOp::create(b, loc, equals(b, loc, {in[0], none}, type),
                                        equals(b, loc, {in[1], none}, type));
  return select(b, loc, areZero, math::CopySignOp::create(b, loc, size, in[0]),
                math::Atan2Op::create(b, loc, in[0], in[1]));
}

Value logicalNot(OpBuilder &b, Location loc, ValueRange in, Type type) {
  return arith::XOrIOp::create(b, loc, in[0], constant(b, loc, type, 1));
}

Value invert(OpBuilder &b, Location loc, ValueRange in, Type type) {
  return arith::XOrIOp::create(b, loc, in[0], constant(b, loc, type, -1));
}

Value choose(OpBuilder &b, Location loc, ValueRange in, Type) {
  return select(b, loc, in[0], in[1], in[2]);
}

Value first(OpBuilder &, Location, ValueRange in, Type) { return in[0]; }

Value zero(OpBuilder &b, Location loc, ValueRange, Type type) { return constant(b, loc, type, 0); }
Value one(OpBuilder &b, Location loc, ValueRange, Type type) { return constant(b, loc, type, 1); }

// --- integer division --------------------------------------------------------------------------

Value canDivide(OpBuilder &b, Location loc, ValueRange in, Type type) {
  return differs(b, loc, {in[1], constant(b, loc, type, 0)}, type);
}

using Divide = Value (*)(OpBuilder &b, Location loc, Value x, Value y, Type type);

/// Rounded to zero. Machines trap on zeros, and on the least number by -1.
Value quotient(OpBuilder &b, Location loc, Value x, Value y, Type type) {
  APInt known;
  if (matchPattern(y, m_ConstantInt(&known)) && !known.isZero() && !known.isAllOnes())
    return arith::DivSIOp::create(b, loc, x, y);
  Value none = constant(b, loc, type, 0), one = constant(b, loc, type, 1);
  Value isMinusOne = equals(b, loc, {y, constant(b, loc, type, -1)}, type);
  Value isSpecial = arith::OrIOp::create(b, loc, isMinusOne, equals(b, loc, {y, none}, type));
  Value whole = arith::DivSIOp::create(b, loc, x, select(b, loc, isSpecial, one, y));
  return select(b, loc, isMinusOne, arith::SubIOp::create(b, loc, none, x), whole);
}

/// Of integers that floats of 64 bits hold: vectors divide those, and no integers.
Value quotientOfMany(OpBuilder &b, Location loc, Value x, Value y, Type type) {
  if (!type.isInteger(32) || matchPattern(y, m_Constant()))
    return quotient(b, loc, x, y, type);
  Type wide = b.getF64Type();
  Value real = arith::DivFOp::create(b, loc, arith::SIToFPOp::create(b, loc, wide, x),
                                     arith::SIToFPOp::create(b, loc, wide, y));
  Value isMinusOne = equals(b, loc, {y, constant(b, loc, type, -1)}, type);
  return select(b, loc, isMinusOne, arith::SubIOp::create(b, loc, constant(b, loc, type, 0), x),
                arith::FPToSIOp::create(b, loc, type, real));
}

Value unsignedQuotient(OpBuilder &b, Location loc, Value x, Value y, Type type) {
  Value none = constant(b, loc, type, 0), one = constant(b, loc, type, 1);
  return arith::DivUIOp::create(b, loc, x, select(b, loc, equals(b, loc, {y, none}, type), one, y));
}

template <Divide divide> Value truncateDiv(OpBuilder &b, Location loc, ValueRange in, Type type) {
  return divide(b, loc, in[0], in[1], type);
}

/// What a quotient leaves.
template <Divide divide> Value truncateMod(OpBuilder &b, Location loc, ValueRange in, Type type) {
  Value whole = divide(b, loc, in[0], in[1], type);
  return arith::SubIOp::create(b, loc, in[0], arith::MulIOp::create(b, loc, whole, in[1]));
}

/// Whether a division that leaves `rest` is to be rounded away from zero to be rounded down.
Value roundsDown(OpBuilder &b, Location loc, Value rest, Value divisor, Type type) {
  Value none = constant(b, loc, type, 0);
  Value mixed = arith::XOrIOp::create(b, loc, lessThan(b, loc, {rest, none}, type),
                                      lessThan(b, loc, {divisor, none}, type));
  return arith::AndIOp::create(b, loc, mixed, differs(b, loc, {rest, none}, type));
}

template <Divide divide> Value floorMod(OpBuilder &b, Location loc, ValueRange in, Type type) {
  Value rest = truncateMod<divide>(b, loc, in, type);
  return select(b, loc, roundsDown(b, loc, rest, in[1], type),
                arith::AddIOp::create(b, loc, rest, in[1]), rest);
}

template <Divide divide> Value floorDiv(OpBuilder &b, Location loc, ValueRange in, Type type) {
  Value whole = divide(b, loc, in[0], in[1], type);
  Value rest = arith::SubIOp::create(b, loc, in[0], arith::MulIOp::create(b, loc, whole, in[1]));
  Value less = arith::SubIOp::create(b, loc, whole, constant(b, loc, type, 1));
  return select(b, loc, roundsDown(b, loc, rest, in[1], type), less, whole);
}

// --- conversions -------------------------------------------------------------------------------

Value cast(OpBuilder &b, Location loc, ValueRange in, Type type) {
  Value x = in[0];
  Type from = x.getType();
  if (from == type)
    return x;
  if (isBool(type))
    return differs(b, loc, {x, constant(b, loc, from, 0)}, from);
  if (isFloat(from) && isFloat(type))
    return type.isF64() ? Value(arith::ExtFOp::create(b, loc, type, x))
                        : Value(arith::TruncFOp::create(b, loc, type, x));
  if (isFloat(from))
    return arith::FPToSIOp::create(b, loc, type, x);
  if (isFloat(type))
    return isBool(from) ? Value(arith::UIToFPOp::create(b, loc, type, x))
                        : Value(arith::SIToFPOp::create(b, loc, type, x));
  if (isBool(from))
    return arith::ExtUIOp::create(b, loc, type, x);
  return type.getIntOrFloatBitWidth() == 64 ? Value(arith::ExtSIOp::create(b, loc, type, x))
                                            : Value(arith::TruncIOp::create(b, loc, type, x));
}

/// With the types that the op has: the conversion of one to the other depends on both signs.
Value castUnsigned(OpBuilder &b, Location loc, ValueRange in, Type type) {
  Type from = in[0].getType(), to = computedIn(type);
  Value x = retyped(b, loc, in[0], computedIn(from));
  Value made;
  if (isFloat(from)) { // below zero by way of integers with a sign, as the kernel does
    Value whole = arith::FPToSIOp::create(b, loc, b.getI64Type(), x);
    made = to == whole.getType() ? whole : cast(b, loc, whole, to);
  } else if (isFloat(type))
    made = arith::UIToFPOp::create(b, loc, to, x);
  else if (from.getIntOrFloatBitWidth() < to.getIntOrFloatBitWidth())
    made =
        isUnsigned(from) ? arith::ExtUIOp::create(b, loc, to, x).getResult() : cast(b, loc, x, to);
  else
    made = from.getIntOrFloatBitWidth() == to.getIntOrFloatBitWidth() ? x : cast(b, loc, x, to);
  return retyped(b, loc, made, type);
}

/// Shifts by as many bits as there are, or more, are shifts by one less, and by fewer than none by
/// none: as the kernel has it.
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

/// A float within the integers: what becomes of others is the kernel's business.
Value canCast(OpBuilder &b, Location loc, ValueRange in, Type type) {
  Type from = in[0].getType();
  double bound = type.getIntOrFloatBitWidth() == 64 ? 0x1p62 : 0x1p30;
  return arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OLT,
                               math::AbsFOp::create(b, loc, in[0]), constant(b, loc, from, bound));
}

bool castIsTotal(Type from, Type to) { return !isFloat(from) || !(isInt(to) || isUnsigned(to)); }

// --- the table ---------------------------------------------------------------------------------

/// By form: see OpDef::elementwise.
const llvm::StringMap<ElementwiseOp> &table() {
  static const llvm::StringMap<ElementwiseOp> forms = {
      {"add", {quantities, arithmetic<arith::AddFOp, arith::AddIOp>}},
      {"bias_add", {quantities, arithmetic<arith::AddFOp, arith::AddIOp>}},
      {"sub", {quantities, arithmetic<arith::SubFOp, arith::SubIOp>}},
      {"mul", {quantities, arithmetic<arith::MulFOp, arith::MulIOp>}},
      {"divide", {floats, binary<arith::DivFOp>}},
      {"floor_mod",
       {bits, floorMod<quotient>, canDivide, nullptr, truncateMod<unsignedQuotient>,
        floorMod<quotientOfMany>, /*dividesIntegers=*/true}},
      {"floor_div",
       {bits, floorDiv<quotient>, canDivide, nullptr, truncateDiv<unsignedQuotient>,
        floorDiv<quotientOfMany>, /*dividesIntegers=*/true}},
      {"truncate_div",
       {bits, truncateDiv<quotient>, canDivide, nullptr, truncateDiv<unsignedQuotient>,
        truncateDiv<quotientOfMany>, /*dividesIntegers=*/true}},
      {"truncate_mod",
       {bits, truncateMod<quotient>, canDivide, nullptr, truncateMod<unsignedQuotient>,
        truncateMod<quotientOfMany>, /*dividesIntegers=*/true}},
      {"maximum", {quantities, extreme<atLeast>, nullptr, nullptr, binary<arith::MaxUIOp>}},
      {"minimum", {quantities, extreme<atMost>, nullptr, nullptr, binary<arith::MinUIOp>}},
      {"squared_difference", {quantities, squaredDifference}},
      {"less",
       {quantities, lessThan, nullptr, nullptr, compareUnsigned<arith::CmpIPredicate::ult>}},
      {"less_equal",
       {quantities, atMost, nullptr, nullptr, compareUnsigned<arith::CmpIPredicate::ule>}},
      {"greater",
       {quantities, moreThan, nullptr, nullptr, compareUnsigned<arith::CmpIPredicate::ugt>}},
      {"greater_equal",
       {quantities, atLeast, nullptr, nullptr, compareUnsigned<arith::CmpIPredicate::uge>}},
      {"equal", {comparable, equals}},
      {"not_equal", {comparable, differs}},
      {"logical_and", {bools, binary<arith::AndIOp>}},
      {"logical_or", {bools, binary<arith::OrIOp>}},
      {"logical_not", {bools, logicalNot}},
      {"bitwise_and", {bits, binary<arith::AndIOp>}},
      {"bitwise_or", {bits, binary<arith::OrIOp>}},
      {"bitwise_xor", {bits, binary<arith::XOrIOp>}},
      {"select", {choice, choose}},
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
      {"xlogy", {floats, ifAny<arith::MulFOp, math::LogOp>}},
      {"xlog1py", {floats, ifAny<arith::MulFOp, math::Log1pOp>}},
      {"is_nan", {floats, isNan}},
      {"is_inf", {floats, compareToInfinity<arith::CmpFPredicate::OEQ>}},
      {"is_finite", {floats, compareToInfinity<arith::CmpFPredicate::OLT>}},
      {"invert", {bits, invert}},
      {"sigmoid", {floats, sigmoid}},
      {"relu", {numbers, relu}},
      {"relu6", {numbers, relu6}},
      {"floor", {floats, unary<math::FloorOp>}},
      {"ceil", {floats, unary<math::CeilOp>}},
      {"left_shift", {bits, shift<arith::ShLIOp>, nullptr, nullptr, shiftUnsigned<arith::ShLIOp>}},
      {"right_shift",
       {bits, shift<arith::ShRSIOp>, nullptr, nullptr, shiftUnsigned<arith::ShRUIOp>}},
      {"cast", {natives, cast, canCast, castIsTotal, castUnsigned}},
      {"identity", {natives, first}},
      {"zeros_like", {natives, zero}},
      {"ones_like", {natives, one}},
  };
  return forms;
}

const ElementwiseOp *findForm(StringRef op) {
  const OpDef *def = lookupOp(op);
  auto it = table().find(def ? def->elementwise() : std::string_view());
  return it == table().end() ? nullptr : &it->second;
}

} // namespace

bool isNative(Type elementType) {
  return isFloat(elementType) || isInt(elementType) || isBool(elementType) ||
         isUnsigned(elementType);
}

Type computedIn(Type type) {
  return type.isUnsignedInteger()
             ? IntegerType::get(type.getContext(), type.getIntOrFloatBitWidth())
             : type;
}

Value retyped(OpBuilder &b, Location loc, Value value, Type type) {
  if (value.getType() == type)
    return value;
  if (auto made = value.getDefiningOp<UnrealizedConversionCastOp>();
      made && made.getOperand(0).getType() == type)
    return made.getOperand(0);
  return UnrealizedConversionCastOp::create(b, loc, type, value).getResult(0);
}

Value ElementwiseOp::apply(OpBuilder &b, Location loc, ValueRange inputs, Type result,
                           bool isOfMany) const {
  Type first = inputs.front().getType();
  bool areUnsigned = emitUnsigned && (isUnsigned(first) || isUnsigned(result));
  if (areUnsigned && emitUnsigned == castUnsigned)
    return castUnsigned(b, loc, inputs, result);
  SmallVector<Value> computed;
  for (Value input : inputs)
    computed.push_back(retyped(b, loc, input, computedIn(input.getType())));
  auto chosen = areUnsigned ? emitUnsigned : isOfMany && emitMany ? emitMany : emit;
  Value made = chosen(b, loc, computed, computedIn(result));
  return retyped(b, loc, made, result);
}

bool isElementwise(StringRef op) { return findForm(op); }

const ElementwiseOp *findElementwise(tfg::Node node, ArrayRef<Type> inputs) {
  const ElementwiseOp *op = findForm(node.opType());
  return op && op->accepts(inputs) ? op : nullptr;
}

} // namespace treadle::codegen
