// Stateless random ops: pure functions of a seed, or in their V2 forms of the key and counter that
// StatelessRandomGetKeyCounter derives from it.
#include "treadle/kernels/random/RandomFill.h"
#include "treadle/kernels/random/RandomStream.h"

namespace treadle {
namespace {

constexpr int32_t philoxAlgorithm = 1;

// --- keys and counters --------
// -------------------------------------------------------------------

uint64_t wordOf(uint32_t low, uint32_t high) { return uint64_t{low} | uint64_t{high} << 32; }

void outputKeyCounter(OpContext &ctx) {
  Philox stream;
  if (!readSeed(ctx, 0, stream))
    return;
  Tensor *key = ctx.allocateOutput(0, DType::UInt64, {1});
  Tensor *counter = ctx.allocateOutput(1, DType::UInt64, {2});
  if (!key || !counter)
    return;
  *key->data<uint64_t>() = wordOf(stream.key[0], stream.key[1]);
  counter->data<uint64_t>()[0] = wordOf(stream.counter[0], stream.counter[1]);
  counter->data<uint64_t>()[1] = wordOf(stream.counter[2], stream.counter[3]);
}

void outputKeyCounterAlgorithm(OpContext &ctx) {
  outputKeyCounter(ctx);
  ctx.setOutput(2, Tensor::scalar<int32_t>(DType::Int32, philoxAlgorithm));
}

void outputAlgorithm(OpContext &ctx) {
  ctx.setOutput(0, Tensor::scalar<int32_t>(DType::Int32, philoxAlgorithm));
}

// --- ops -----------------------------------------------------------------------------------------

struct StatelessState {
  RandomFill fill;
  DType dtype;
  int rangeInput; // index of minval; 0: no range
};

template <bool isV2> void runStateless(OpContext &ctx) {
  const StatelessState &s = ctx.state<StatelessState>();
  Philox stream;
  if (!(isV2 ? readKeyCounter(ctx, 1, stream) : readSeed(ctx, 1, stream)))
    return;
  IntegerRange range;
  Tensor *out = allocateRandomOutput(ctx, 0, s.dtype);
  if (!out || !out->count())
    return;
  if (s.rangeInput && !readIntegerRange(ctx, s.rangeInput, s.rangeInput + 1, range))
    return;
  fillRandom(ctx, s.fill, stream, range, *out);
}

template <Distribution distribution, bool isV2>
Expected<BoundKernel> bindStateless(const BindContext &node) {
  StatelessState s{randomFillFor(distribution, node.outputTypes[0]), node.outputTypes[0], 0};
  if (!s.fill.fn)
    return unsupportedDType(node, s.dtype);
  if (distribution == Distribution::UniformInt)
    s.rangeInput = isV2 ? 4 : 2;
  return boundWith(runStateless<isV2>, s);
}

void runShuffle(OpContext &ctx) {
  Philox stream;
  if (readKeyCounter(ctx, 1, stream))
    shuffleRows(ctx, [&](uint64_t) { return stream; });
}

using enum Distribution;
const KernelEntry randomStatelessTable[] = {
    {"StatelessRandomUniform", bindStateless<Uniform, false>},
    {"StatelessRandomNormal", bindStateless<Normal, false>},
    {"StatelessTruncatedNormal", bindStateless<TruncatedNormal, false>},
    {"StatelessRandomUniformInt", bindStateless<UniformInt, false>},
    {"StatelessRandomUniformFullInt", bindStateless<UniformFullInt, false>},
    {"StatelessRandomUniformV2", bindStateless<Uniform, true>},
    {"StatelessRandomNormalV2", bindStateless<Normal, true>},
    {"StatelessTruncatedNormalV2", bindStateless<TruncatedNormal, true>},
    {"StatelessRandomUniformIntV2", bindStateless<UniformInt, true>},
    {"StatelessRandomUniformFullIntV2", bindStateless<UniformFullInt, true>},
    {"StatelessShuffle", bindPlain<runShuffle>},
    {"StatelessRandomGetKeyCounter", bindPlain<outputKeyCounter>},
    {"StatelessRandomGetAlg", bindPlain<outputAlgorithm>},
    {"StatelessRandomGetKeyCounterAlg", bindPlain<outputKeyCounterAlgorithm>},
};

} // namespace

std::span<const KernelEntry> randomStatelessKernels() { return randomStatelessTable; }

} // namespace treadle
