// Stateful random ops (RandomUniform and others), which draw from a stream that persists between
// runs. Each node has its stream in the session, whatever is fetched, starting from its seeds.
#include "treadle/kernels/Families.h"
#include "treadle/kernels/random/RandomFill.h"
#include "treadle/kernels/random/RandomStream.h"

namespace treadle {
namespace {

struct RandomState {
  RandomFill fill;
  DType dtype;
  NodeStream stream;
};

Philox reserveFor(OpContext &ctx, const RandomState &s, int64_t elements) {
  return s.stream.reserve(ctx, static_cast<uint64_t>(elements) * blocksPerElement);
}

void runReal(OpContext &ctx) {
  const RandomState &s = ctx.state<RandomState>();
  Tensor *out = allocateRandomOutput(ctx, 0, s.dtype);
  if (out)
    fillRandom(ctx, s.fill, reserveFor(ctx, s, out->count()), {}, *out);
}

void runIntegers(OpContext &ctx) {
  const RandomState &s = ctx.state<RandomState>();
  IntegerRange range;
  Tensor *out = allocateRandomOutput(ctx, 0, s.dtype);
  if (out && out->count() && readIntegerRange(ctx, 1, 2, range))
    fillRandom(ctx, s.fill, reserveFor(ctx, s, out->count()), range, *out);
}

template <Distribution distribution, KernelFn fn>
Expected<BoundKernel> bindRandom(const BindContext &node) {
  DType dtype = node.outputTypes[0];
  RandomFill fill = randomFillFor(distribution, dtype);
  if (!fill.fn)
    return unsupportedDType(node, dtype);
  return boundWith(fn, RandomState{fill, dtype, NodeStream::of(node)});
}

void runShuffle(OpContext &ctx) {
  shuffleRows(ctx, [&](uint64_t blocks) { return ctx.state<NodeStream>().reserve(ctx, blocks); });
}

Expected<BoundKernel> bindShuffle(const BindContext &node) {
  return boundWith(runShuffle, NodeStream::of(node));
}

const KernelEntry randomTable[] = {
    {"RandomUniform", bindRandom<Distribution::Uniform, runReal>},
    {"RandomStandardNormal", bindRandom<Distribution::Normal, runReal>},
    {"TruncatedNormal", bindRandom<Distribution::TruncatedNormal, runReal>},
    {"RandomUniformInt", bindRandom<Distribution::UniformInt, runIntegers>},
    {"RandomShuffle", bindShuffle},
};

} // namespace

std::span<const KernelEntry> randomKernels() { return randomTable; }

} // namespace treadle
