// Random ops on generator variables (tf.random.Generator): each op draws from the state and
// advances it. Also NonDeterministicInts and RandomIndexShuffle.
#include "treadle/kernels/ElementCopy.h"
#include "treadle/kernels/random/RandomFill.h"
#include "treadle/kernels/random/RandomStream.h"

#include <random>

namespace treadle {
namespace {

// --- random ops ----------------------------------------------------------------------------------

struct StatefulState {
  RandomFill fill;
  DType dtype;
};

// Inputs: state, algorithm, shape, and for some the range.
template <bool hasRange> void runStateful(OpContext &ctx) {
  const auto &s = ctx.state<StatefulState>();
  const Tensor &algorithm = ctx.input(1);
  IntegerRange range;
  if (!algorithm.isScalar())
    return ctx.fail(
        invalidArgument("algorithm must be a scalar, but has shape ", dimsText(algorithm.dims())));
  if (hasRange && !readIntegerRange(ctx, 3, 4, range))
    return;
  Philox stream;
  Tensor *out = allocateRandomOutput(ctx, 2, s.dtype);
  if (out && checkAlgorithm(ctx, indexAt(algorithm, 0)) &&
      advanceState(ctx, 0, static_cast<uint64_t>(out->count()) * blocksPerElement, stream))
    fillRandom(ctx, s.fill, stream, range, *out);
}

// V1 has no algorithm input: the state begins with it.
void runAlgorithmInState(OpContext &ctx) {
  const auto &s = ctx.state<StatefulState>();
  Tensor *out = allocateRandomOutput(ctx, 1, s.dtype);
  Philox stream;
  if (out && advanceState(ctx, 1, static_cast<uint64_t>(out->count()) * blocksPerElement, stream))
    fillRandom(ctx, s.fill, stream, {}, *out);
}

template <Distribution distribution, KernelFn fn>
Expected<BoundKernel> bindStateful(const BindContext &node) {
  DType dtype = node.outputTypes[0];
  StatefulState s{randomFillFor(distribution, dtype), dtype};
  if (!s.fill.fn)
    return unsupportedDType(node, dtype);
  return boundWith(fn, s);
}

// --- operations on the state ---------------------------------------------------------------------

// Inputs: state, algorithm, number of elements to skip.
void runSkip(OpContext &ctx) {
  const Tensor &algorithm = ctx.input(1), &delta = ctx.input(2);
  if (!algorithm.isScalar() || !delta.isScalar())
    return ctx.fail(invalidArgument("algorithm and delta must be scalars, but have shapes ",
                                    dimsText(algorithm.dims()), " and ", dimsText(delta.dims())));
  Philox stream;
  int64_t before[3];
  if (!checkAlgorithm(ctx, indexAt(algorithm, 0)) ||
      !advanceState(ctx, 0, delta.scalarValue<uint64_t>() * blocksPerElement, stream, before))
    return;
  if (ctx.numOutputs())
    ctx.setOutput(0, Tensor::vector<int64_t>(DType::Int64, before));
}

template <typename T> struct NonDeterministicIntegers {
  static void run(OpContext &ctx) {
    Tensor *out = TREADLE_OR_RETURN(allocateRandomOutput(ctx, 0, dtypeOf<T>));
    std::random_device source;
    for (int64_t i = 0; i < out->count(); ++i)
      out->data<T>()[i] = static_cast<T>(uint64_t{source()} << 32 | source());
  }
};

Expected<BoundKernel> bindNonDeterministic(const BindContext &node) {
  return bindForType<NonDeterministicIntegers, TypeList<int32_t, int64_t, uint32_t, uint64_t>>(
      node, node.outputTypes[0]);
}

// --- RandomIndexShuffle --------------------------------------------------------------------------

// A permutation of [0, 2^(2 * width)): the block cipher Simon (Beaulieu et al., "The Simon and
// Speck families of lightweight block ciphers", 2013) with words of any width.
class IndexCipher {
public:
  IndexCipher(const std::array<uint32_t, 3> &key, int width, int64_t rounds)
      : width(width), mask(~uint64_t{0} >> (64 - width)) {
    for (uint32_t word : key)
      keys.push_back(word & mask);
    uint64_t sequence = 0x7369f885192c0ef5 & mask, constant = 0xfffffffc & mask;
    for (auto i = keys.size(); i < static_cast<size_t>(rounds); ++i, sequence >>= 1)
      keys.push_back(constant ^ (sequence & 1) ^ keys[i - 3] ^ rotated(keys[i - 1], width - 3) ^
                     rotated(keys[i - 1], width - 4));
  }

  uint64_t operator()(uint64_t value) const {
    uint64_t left = value >> width & mask, right = value & mask;
    for (size_t i = 0; i + 1 < keys.size(); i += 2) {
      left ^= mixed(right) ^ keys[i];
      right ^= mixed(left) ^ keys[i + 1];
    }
    return left << width | right;
  }

private:
  uint64_t rotated(uint64_t x, int left) const { return (x << left | x >> (width - left)) & mask; }
  uint64_t mixed(uint64_t x) const {
    return (rotated(x, 1) & rotated(x, 8 % width)) ^ rotated(x, 2);
  }

  int width;
  uint64_t mask;
  std::vector<uint64_t> keys;
};

// The cipher permutes a range larger than that of the indices; results outside are encrypted again
// (cycle walking).
uint64_t shuffledIndex(uint64_t index, const std::array<uint32_t, 3> &key, uint64_t greatest,
                       int64_t rounds) {
  if (greatest == 0)
    return 0;
  int bits = static_cast<int>(std::ceil(std::log2(static_cast<double>(greatest))));
  IndexCipher cipher(key, std::max(bits + bits % 2, 16) / 2, rounds);
  do
    index = cipher(index);
  while (index > greatest);
  return index;
}

// Inputs: indices, seeds of three numbers, maximum indices; each a single one for all, or a list.
template <typename T> struct IndexShuffleKernel {
  static bool checkShapes(OpContext &ctx, int64_t &count) {
    count = 1;
    for (int i = 0; i < 3; ++i) {
      const Tensor &in = ctx.input(i);
      int single = i == 1 ? 1 : 0; // rank if there is a single one
      if (in.rank() > single + 1 || in.rank() < single || (i == 1 && in.dim(in.rank() - 1) != 3)) {
        ctx.fail(invalidArgument("input ", i, " must be ",
                                 i == 1 ? "a seed of 3 numbers" : "a scalar",
                                 " or a list of these, but has shape ", dimsText(in.dims())));
        return false;
      }
      if (in.rank() == single)
        continue;
      if (count != 1 && in.dim(0) != count) {
        ctx.fail(invalidArgument(
            "the lists of indices, seeds and greatest indices differ in length: ", count, " and ",
            in.dim(0)));
        return false;
      }
      count = in.dim(0);
    }
    return true;
  }

  static void run(OpContext &ctx) {
    const Tensor &index = ctx.input(0), &seed = ctx.input(1), &greatest = ctx.input(2);
    int64_t count, rounds = ctx.state<int64_t>();
    if (!checkShapes(ctx, count))
      return;
    bool isList = index.rank() || seed.rank() > 1 || greatest.rank();
    Tensor *out = ctx.allocateOutput(0, index.dtype(), Dims(&count, isList ? 1 : 0));
    for (int64_t i = 0; out && i < count; ++i) {
      T own = index.data<T>()[index.rank() ? i : 0],
        most = greatest.data<T>()[greatest.rank() ? i : 0];
      if (own < T(0) || most < own)
        return ctx.fail(invalidArgument("index is ", own, " and max_index ", most,
                                        "; expected 0 <= index <= max_index"));
      std::array<uint32_t, 3> key;
      for (int64_t k = 0; k < 3; ++k)
        key[static_cast<size_t>(k)] =
            static_cast<uint32_t>(indexAt(seed, (seed.rank() > 1 ? 3 * i : 0) + k));
      out->data<T>()[i] = static_cast<T>(
          shuffledIndex(static_cast<uint64_t>(own), key, static_cast<uint64_t>(most), rounds));
    }
  }
};

Expected<BoundKernel> bindIndexShuffle(const BindContext &node) {
  int64_t rounds = node.attrs.getOr<int64_t>("rounds", 4);
  if (rounds < 4 || rounds % 2)
    return Unexpected(
        invalidArgument("rounds is ", rounds, ", expected an even number of 4 or more"));
  return bindByType<IndexShuffleKernel, TypeList<int32_t, int64_t, uint32_t, uint64_t>>(node).map(
      [&](BoundKernel bound) { return boundWith(bound.fn, rounds); });
}

using enum Distribution;
const KernelEntry randomStatefulTable[] = {
    {"StatefulUniform", bindStateful<Uniform, runStateful<false>>},
    {"StatefulStandardNormalV2", bindStateful<Normal, runStateful<false>>},
    {"StatefulStandardNormal", bindStateful<Normal, runAlgorithmInState>},
    {"StatefulTruncatedNormal", bindStateful<TruncatedNormal, runStateful<false>>},
    {"StatefulUniformInt", bindStateful<UniformInt, runStateful<true>>},
    {"StatefulUniformFullInt", bindStateful<UniformFullInt, runStateful<false>>},
    {"RngSkip", bindPlain<runSkip>},
    {"RngReadAndSkip", bindPlain<runSkip>},
    {"NonDeterministicInts", bindNonDeterministic},
    {"RandomIndexShuffle", bindIndexShuffle},
};

} // namespace

std::span<const KernelEntry> randomStatefulKernels() { return randomStatefulTable; }

} // namespace treadle
