// Ops that draw from a stream of random numbers that goes on from run to run: RandomUniform and its
// kin. A node's stream is its session's, whatever is fetched, and starts from its seeds.
#include "treadle/kernels/Families.h"
#include "treadle/kernels/Handles.h"
#include "treadle/kernels/Move.h"
#include "treadle/kernels/RandomFill.h"

#include <mutex>
#include <random>

namespace treadle {
namespace {

class RandomStream : public Resource {
public:
  static constexpr std::string_view kindName = "random stream";
  explicit RandomStream(Philox start) : stream(start) {}
  std::string_view kind() const override { return kindName; }

  /// A part of the stream for one use: `blocks` blocks that nobody else gets.
  Philox reserve(uint64_t blocks) {
    std::lock_guard lock(mutex);
    Philox own = stream;
    stream.skip(blocks);
    return own;
  }

private:
  std::mutex mutex;
  Philox stream;
};

struct RandomState {
  RandomFill fill;
  DType dtype;
  uint64_t seed, seed2;
  std::string name; // of the stream
  CachedHandle stream = {};
};

// Seeds of 0 and 0 ask for numbers that differ each time.
Philox startOf(const RandomState &s) {
  if (s.seed || s.seed2)
    return Philox::fromSeeds(s.seed, s.seed2);
  std::random_device source;
  auto word = [&] { return uint64_t{source()} << 32 | source(); };
  uint64_t seed = word();
  return Philox::fromSeeds(seed, word());
}

RandomStream &streamOf(OpContext &ctx, const RandomState &s) {
  ResourceManager &manager = ctx.run().resources;
  Tensor handle = s.stream.get(manager, [&] {
    return makeHandle(manager.lookupOrCreate<RandomStream>(
        "", s.name, [&] { return makeRef<RandomStream>(startOf(s)); }));
  });
  return static_cast<RandomStream &>(*handle.data<ResourceHandle>()->resource); // the session's own
}

// Sets aside for an output what TensorFlow does: 256 blocks an element.
Philox reserveFor(OpContext &ctx, const RandomState &s, int64_t elements) {
  return streamOf(ctx, s).reserve(static_cast<uint64_t>(elements) * 256);
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

RandomState stateOf(const BindContext &node) {
  RandomState s;
  s.dtype = node.outputTypes[0];
  s.seed = static_cast<uint64_t>(node.attrs.getOr<int64_t>("seed", 0));
  s.seed2 = static_cast<uint64_t>(node.attrs.getOr<int64_t>("seed2", 0));
  s.name = str(node.node, "/", node.op, "/", s.seed, "/", s.seed2);
  return s;
}

template <Distribution distribution, KernelFn fn>
Expected<BoundKernel> bindRandom(const BindContext &node) {
  RandomState s = stateOf(node);
  s.fill = randomFillFor(distribution, s.dtype);
  if (!s.fill.fn)
    return unsupportedDType(node, s.dtype);
  return boundWith(fn, std::move(s));
}

// --- RandomShuffle -------------------------------------------------------------------------------

// Rows change places as in Fisher and Yates' shuffle, with one number a place.
void runShuffle(OpContext &ctx) {
  const Tensor in = ctx.input(0);
  if (in.rank() == 0 || in.dim(0) < 2)
    return ctx.setOutput(0, in);
  int64_t rows = in.dim(0), width = in.count() / rows;
  Tensor *out = ctx.allocateOutput(0, in.dtype(), in.dims());
  if (!out)
    return;
  std::vector<int64_t> order(static_cast<size_t>(rows));
  for (int64_t i = 0; i < rows; ++i)
    order[static_cast<size_t>(i)] = i;
  uint64_t numbers = static_cast<uint64_t>(rows - 1);
  Philox stream = streamOf(ctx, ctx.state<RandomState>()).reserve((numbers + 3) / 4);
  PhiloxNumbers source(stream);
  for (int64_t i = 0; i + 1 < rows; ++i) {
    auto rest = static_cast<uint32_t>(rows - i);
    std::swap(order[static_cast<size_t>(i)], order[static_cast<size_t>(i + source.next() % rest)]);
  }
  for (int64_t i = 0; i < rows; ++i)
    copyElements(in.dtype(), elementAt(in.dtype(), out->raw(), i * width),
                 elementAt(in.dtype(), in.raw(), order[static_cast<size_t>(i)] * width), width);
}

Expected<BoundKernel> bindShuffle(const BindContext &node) {
  return boundWith(runShuffle, stateOf(node));
}

const KernelEntry table[] = {
    {"RandomUniform", bindRandom<Distribution::Uniform, runReal>},
    {"RandomStandardNormal", bindRandom<Distribution::Normal, runReal>},
    {"TruncatedNormal", bindRandom<Distribution::TruncatedNormal, runReal>},
    {"RandomUniformInt", bindRandom<Distribution::UniformInt, runIntegers>},
    {"RandomShuffle", bindShuffle},
};

} // namespace

std::span<const KernelEntry> randomKernels() { return table; }

} // namespace treadle
