// Generates a few random numbers in registers, with the bits that the kernels draw from the Philox
// stream. Larger amounts are left to the kernels.
#include "treadle/codegen/Elementwise.h"
#include "treadle/codegen/FastMath.h"
#include "treadle/codegen/Translator.h"
#include "treadle/kernels/random/Philox.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Utils/IndexingUtils.h"

#include <numbers>

using namespace mlir;

namespace treadle::codegen {
namespace {

using Block = std::array<Value, 4>; // 32 bits each

/// Emits the Philox generator of the kernels. Key and counter are 64-bit words.
class Stream {
public:
  Stream(OpBuilder &b, Location loc, Value key, Value low, Value high)
      : key(key), low(low), high(high), b(b), loc(loc) {}

  /// Returns the block at this offset.
  Block blockAt(int64_t index) {
    Value first = arith::AddIOp::create(b, loc, low, number(index));
    Value overflows = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, first, low);
    Value carry = arith::ExtUIOp::create(b, loc, b.getI64Type(), overflows);
    Value second = arith::AddIOp::create(b, loc, high, carry);
    Block block = {lower(first), upper(first), lower(second), upper(second)};
    Value keys[2] = {lower(key), upper(key)};
    for (int round = 0; round < Philox::rounds; ++round) {
      auto a = product(Philox::factors[0], block[0]), c = product(Philox::factors[1], block[2]);
      block = {mixed(upper(c), block[1], keys[0]), lower(c), mixed(upper(a), block[3], keys[1]),
               lower(a)};
      keys[0] = arith::AddIOp::create(b, loc, keys[0], bits(Philox::keySteps[0]));
      keys[1] = arith::AddIOp::create(b, loc, keys[1], bits(Philox::keySteps[1]));
    }
    return block;
  }

  Value key, low, high;

private:
  Value number(int64_t value) {
    return arith::ConstantOp::create(b, loc, b.getI64IntegerAttr(value));
  }
  Value bits(uint32_t value) {
    return arith::ConstantOp::create(b, loc, b.getI32IntegerAttr(static_cast<int32_t>(value)));
  }
  Value lower(Value word) { return arith::TruncIOp::create(b, loc, b.getI32Type(), word); }
  Value upper(Value word) {
    return lower(arith::ShRUIOp::create(b, loc, word, number(32)).getResult());
  }
  Value product(uint32_t factor, Value value) {
    Value wide = arith::ExtUIOp::create(b, loc, b.getI64Type(), value);
    return arith::MulIOp::create(b, loc, wide, number(factor));
  }
  Value mixed(Value x, Value y, Value z) {
    return arith::XOrIOp::create(b, loc, arith::XOrIOp::create(b, loc, x, y), z);
  }

  OpBuilder &b;
  Location loc;
};

Value wordOf(Translator &t, Value low, Value high) {
  Type i64 = t.b.getI64Type();
  Value shifted =
      arith::ShLIOp::create(t.b, t.loc, arith::ExtUIOp::create(t.b, t.loc, i64, high),
                            arith::ConstantOp::create(t.b, t.loc, t.b.getI64IntegerAttr(32)));
  return arith::OrIOp::create(t.b, t.loc, arith::ExtUIOp::create(t.b, t.loc, i64, low), shifted);
}

/// Returns the words of a vector of `count` 64-bit integers; nullopt for other types.
std::optional<SmallVector<Value>> wordsOf(Translator &t, const TracedValue &typed, int64_t count) {
  auto type = dyn_cast<RankedTensorType>(typed.value.getType());
  if (!type || type.getRank() != 1 || !isa<IntegerType>(type.getElementType()) ||
      type.getElementType().isInteger(1))
    return std::nullopt;
  if (type.isDynamicDim(0))
    t.check(arith::CmpIOp::create(t.b, t.loc, arith::CmpIPredicate::eq, t.dim(typed.value, 0),
                                  t.index(count)));
  else if (type.getDimSize(0) != count)
    return std::nullopt; // invalid: the kernel reports it
  SmallVector<Value> words;
  for (int64_t i = 0; i < count; ++i) {
    Value word = t.elementAt(t.b, t.loc, typed, t.index(i));
    word = reinterpreted(t.b, t.loc, word, computedIn(word.getType()));
    if (word.getType().getIntOrFloatBitWidth() < 64)
      word = arith::ExtSIOp::create(t.b, t.loc, t.b.getI64Type(), word);
    words.push_back(word);
  }
  return words;
}

/// Returns the stream of a seed, which is spread over key and counter by a block of a fixed stream.
std::optional<Stream> streamOfSeed(Translator &t, const TracedValue &seed) {
  std::optional<SmallVector<Value>> words = wordsOf(t, seed, 2);
  if (!words)
    return std::nullopt;
  auto number = [&](int64_t value) {
    return arith::ConstantOp::create(t.b, t.loc, t.b.getI64IntegerAttr(value)).getResult();
  };
  Stream spread(t.b, t.loc, number(static_cast<int64_t>(Philox::spreadingKey)), (*words)[0],
                (*words)[1]);
  Block mixed = spread.blockAt(0);
  return Stream(t.b, t.loc, wordOf(t, mixed[0], mixed[1]), number(0),
                wordOf(t, mixed[2], mixed[3]));
}

MaybeValues keyAndCounter(Translator &t, tfg::Node node, Values inputs) {
  std::optional<Stream> stream = streamOfSeed(t, inputs[0]);
  if (!stream)
    return std::nullopt;
  Type word = t.elementType(node->getResult(0));
  auto typed = [&](Value value) { return reinterpreted(t.b, t.loc, value, word); };
  return Values{t.vector({typed(stream->key)}, word, {}),
                t.vector({typed(stream->low), typed(stream->high)}, word, {})};
}

// --- numbers from bits ---------------------------------------------------------------------------

/// Uniform in [0, 1): random mantissas with the exponent of [1, 2), minus 1.
Value uniform(Translator &t, Value bits) {
  auto number = [&](int32_t value) {
    return arith::ConstantOp::create(t.b, t.loc, t.b.getI32IntegerAttr(value)).getResult();
  };
  Value mantissa = arith::AndIOp::create(t.b, t.loc, bits, number(0x7fffff));
  Value pattern = arith::OrIOp::create(t.b, t.loc, mantissa, number(127 << 23));
  Value shifted = arith::BitcastOp::create(t.b, t.loc, t.b.getF32Type(), pattern);
  Value one = arith::ConstantOp::create(t.b, t.loc, t.b.getF32FloatAttr(1));
  return arith::SubFOp::create(t.b, t.loc, shifted, one);
}

/// Converts two uniform numbers to two normal ones (Box and Muller).
std::pair<Value, Value> normalPair(Translator &t, Value x, Value y) {
  auto number = [&](float value) {
    return arith::ConstantOp::create(t.b, t.loc, t.b.getF32FloatAttr(value)).getResult();
  };
  Value log =
      math::LogOp::create(t.b, t.loc, arith::MaximumFOp::create(t.b, t.loc, x, number(1.0e-7F)));
  Value radius =
      math::SqrtOp::create(t.b, t.loc, arith::MulFOp::create(t.b, t.loc, number(-2), log));
  Type wide = t.b.getF64Type();
  Value turn = arith::ConstantOp::create(t.b, t.loc, t.b.getF64FloatAttr(2 * std::numbers::pi));
  Value angle = arith::TruncFOp::create(
      t.b, t.loc, t.b.getF32Type(),
      arith::MulFOp::create(t.b, t.loc, turn, arith::ExtFOp::create(t.b, t.loc, wide, y)));
  auto scaled = [&](Value side) { return arith::MulFOp::create(t.b, t.loc, side, radius); };
  return {scaled(math::SinOp::create(t.b, t.loc, angle)),
          scaled(math::CosOp::create(t.b, t.loc, angle))};
}

enum class Kind { Uniform, Normal, Integers, AllIntegers };

/// The range given by two integer scalars. Empty ranges cause a bailout.
struct IntegerRange {
  Value low, size;

  static std::optional<IntegerRange> of(Translator &t, const TracedValue &low,
                                        const TracedValue &high) {
    if (isTensor(low.value.getType()) || isTensor(high.value.getType()))
      return std::nullopt;
    Type type = low.value.getType();
    Value first = reinterpreted(t.b, t.loc, low.value, computedIn(type)),
          last = reinterpreted(t.b, t.loc, high.value, computedIn(type));
    auto isLess = type.isUnsignedInteger() ? arith::CmpIPredicate::ult : arith::CmpIPredicate::slt;
    t.check(arith::CmpIOp::create(t.b, t.loc, isLess, first, last));
    return IntegerRange{first, arith::SubIOp::create(t.b, t.loc, last, first)};
  }
};

/// Draws `count` numbers in groups of four.
SmallVector<Value> drawNumbers(Translator &t, Stream &stream, Kind kind, int64_t count,
                               const std::optional<IntegerRange> &range) {
  SmallVector<Value> numbers;
  for (int64_t group = 0; std::ssize(numbers) < count; ++group) {
    Block block = stream.blockAt(group);
    if (kind == Kind::Normal) {
      for (int i = 0; i < 4; i += 2) {
        auto [sine, cosine] = normalPair(t, uniform(t, block[i]), uniform(t, block[i + 1]));
        numbers.append({sine, cosine});
      }
      continue;
    }
    for (Value bits : block) {
      if (kind == Kind::Uniform)
        bits = uniform(t, bits);
      else if (range)
        bits = arith::AddIOp::create(t.b, t.loc, range->low,
                                     arith::RemUIOp::create(t.b, t.loc, bits, range->size));
      numbers.push_back(bits);
    }
  }
  numbers.truncate(count);
  return numbers;
}

template <Kind kind, bool isV2>
MaybeValues stateless(Translator &t, tfg::Node node, Values inputs) {
  constexpr int64_t opsOfBlock = 150;
  constexpr bool isInteger = kind == Kind::Integers || kind == Kind::AllIntegers;
  std::optional<SmallVector<int64_t>> shape = t.integers(inputs[0], 1);
  Type element = t.elementType(node->getResult(0));
  if (!shape || llvm::any_of(*shape, [](int64_t size) { return size < 1; }) ||
      !(isInteger ? element.isInteger(32) : element.isF32()))
    return std::nullopt;
  auto type = RankedTensorType::get(*shape, element);
  if (!(shape->empty() || isSmall(type)) ||
      !t.mayUnroll(opsOfBlock * (type.getNumElements() + 3) / 4))
    return std::nullopt;
  std::optional<Stream> stream;
  if (isV2) {
    constexpr int64_t philox = 1, any = 3;
    std::optional<SmallVector<int64_t>> algorithm = t.integers(inputs[3], 0);
    if (!algorithm || !(algorithm->front() == philox || algorithm->front() == any))
      return std::nullopt;
    std::optional<SmallVector<Value>> key = wordsOf(t, inputs[1], 1),
                                      counter = wordsOf(t, inputs[2], 2);
    if (key && counter)
      stream.emplace(t.b, t.loc, (*key)[0], (*counter)[0], (*counter)[1]);
  } else if (std::optional<Stream> made = streamOfSeed(t, inputs[1])) {
    stream.emplace(*made);
  }
  constexpr size_t lowInput = isV2 ? 4 : 2;
  std::optional<IntegerRange> range;
  if (kind == Kind::Integers)
    range = IntegerRange::of(t, inputs[lowInput], inputs[lowInput + 1]);
  if (!stream || (kind == Kind::Integers && !range))
    return std::nullopt;
  FastMathScope scope(t.b, t.options.fastMath);
  SmallVector<Value> numbers = drawNumbers(t, *stream, kind, type.getNumElements(), range);
  for (Value &number : numbers)
    number = reinterpreted(t.b, t.loc, number, element);
  return Values{t.small(numbers, *shape, element, t.outcome(node, inputs))};
}

constexpr std::pair<StringRef, Lowering> table[] = {
    {"StatelessRandomGetKeyCounter", keyAndCounter},
    {"StatelessRandomUniform", stateless<Kind::Uniform, false>},
    {"StatelessRandomUniformV2", stateless<Kind::Uniform, true>},
    {"StatelessRandomNormal", stateless<Kind::Normal, false>},
    {"StatelessRandomNormalV2", stateless<Kind::Normal, true>},
    {"StatelessRandomUniformInt", stateless<Kind::Integers, false>},
    {"StatelessRandomUniformIntV2", stateless<Kind::Integers, true>},
    {"StatelessRandomUniformFullInt", stateless<Kind::AllIntegers, false>},
    {"StatelessRandomUniformFullIntV2", stateless<Kind::AllIntegers, true>},
};

} // namespace

LoweringTable randomLowerings() { return table; }

} // namespace treadle::codegen
