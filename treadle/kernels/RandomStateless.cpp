// Random numbers as a pure function of a seed: the Stateless ops, which take the seed itself, and
// their V2 forms, which take the key and the counter that StatelessRandomGetKeyCounter makes of it.
#include "treadle/kernels/Families.h"
#include "treadle/kernels/Move.h"
#include "treadle/kernels/RandomFill.h"

namespace treadle {
namespace {

enum Algorithm : int32_t { philoxAlgorithm = 1, anyAlgorithm = 3 };

// --- seeds, keys and counters --------------------------------------------------------------------

// The stream of a seed: one block of a fixed stream spreads the seed over key and counter.
bool readSeed(OpContext &ctx, int i, Philox &stream) {
  const Tensor &seed = ctx.input(i);
  if (seed.rank() != 1 || seed.count() != 2) {
    ctx.fail(
        invalidArgument("seed must be a vector of 2 numbers, but it is ", tensorTypeText(seed)));
    return false;
  }
  auto word = [&](int64_t k) { return static_cast<uint64_t>(indexAt(seed, k)); };
  Philox spread = Philox::fromKey(uint64_t{0x02461e29} << 32 | 0x3ec8f720, word(0), word(1));
  Philox::Block mixed = spread.next();
  stream = {{0, 0, mixed[2], mixed[3]}, {mixed[0], mixed[1]}};
  return true;
}

uint64_t wordOf(uint32_t low, uint32_t high) { return uint64_t{low} | uint64_t{high} << 32; }

void giveKeyCounter(OpContext &ctx) {
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

void giveKeyCounterAlgorithm(OpContext &ctx) {
  giveKeyCounter(ctx);
  ctx.setOutput(2, Tensor::scalar<int32_t>(DType::Int32, philoxAlgorithm));
}

void giveAlgorithm(OpContext &ctx) {
  ctx.setOutput(0, Tensor::scalar<int32_t>(DType::Int32, philoxAlgorithm));
}

bool checkAlgorithm(OpContext &ctx, int i) {
  const Tensor &alg = ctx.input(i);
  if (!alg.isScalar()) {
    ctx.fail(invalidArgument("alg must be a scalar, but has shape ", dimsText(alg.dims())));
    return false;
  }
  int32_t value = alg.scalarValue<int32_t>();
  if (value == philoxAlgorithm || value == anyAlgorithm)
    return true;
  ctx.fail(invalidArgument("there is no algorithm ", value, "; 1 is Philox"));
  return false;
}

// Inputs 1 to 3 of the V2 ops.
bool readKeyCounter(OpContext &ctx, Philox &stream) {
  const Tensor &key = ctx.input(1), &counter = ctx.input(2);
  if (!checkAlgorithm(ctx, 3))
    return false;
  if (key.rank() != 1 || key.count() != 1 || counter.rank() != 1 || counter.count() < 2) {
    ctx.fail(invalidArgument("key and counter must be vectors of 1 and 2 numbers, but have shapes ",
                             dimsText(key.dims()), " and ", dimsText(counter.dims())));
    return false;
  }
  const auto *c = counter.data<uint64_t>();
  stream = Philox::fromKey(*key.data<uint64_t>(), c[0], c[1]);
  return true;
}

// --- the ops -------------------------------------------------------------------------------------

struct StatelessState {
  RandomFill fill;
  DType dtype;
  int rangeInput; // where minval is; 0: nowhere
};

template <bool isV2> void runStateless(OpContext &ctx) {
  const StatelessState &s = ctx.state<StatelessState>();
  Philox stream;
  if (!(isV2 ? readKeyCounter(ctx, stream) : readSeed(ctx, 1, stream)))
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

using enum Distribution;
const KernelEntry table[] = {
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
    {"StatelessRandomGetKeyCounter", bindPlain<giveKeyCounter>},
    {"StatelessRandomGetAlg", bindPlain<giveAlgorithm>},
    {"StatelessRandomGetKeyCounterAlg", bindPlain<giveKeyCounterAlgorithm>},
};

} // namespace

std::span<const KernelEntry> randomStatelessKernels() { return table; }

} // namespace treadle
