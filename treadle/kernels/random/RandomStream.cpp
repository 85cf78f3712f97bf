#include "treadle/kernels/random/RandomStream.h"
#include "treadle/kernels/ElementCopy.h"
#include "treadle/kernels/state/Variables.h"

#include <mutex>
#include <random>

namespace treadle {

// --- streams of nodes ----------------------------------------------------------------------------

namespace {

class RandomStream : public Resource {
public:
  static constexpr std::string_view kindName = "random stream";
  explicit RandomStream(Philox start) : stream(start) {}
  std::string_view kind() const override { return kindName; }

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

} // namespace

NodeStream NodeStream::of(const BindContext &node) {
  NodeStream s;
  s.seed = static_cast<uint64_t>(node.attrs.getOr<int64_t>("seed", 0));
  s.seed2 = static_cast<uint64_t>(node.attrs.getOr<int64_t>("seed2", 0));
  s.name = str(node.node, "/", node.op, "/", s.seed, "/", s.seed2);
  return s;
}

Philox NodeStream::start() const {
  if (seed || seed2)
    return Philox::fromSeeds(seed, seed2);
  std::random_device source;
  auto word = [&] { return uint64_t{source()} << 32 | source(); };
  uint64_t first = word();
  return Philox::fromSeeds(first, word());
}

Philox NodeStream::reserve(OpContext &ctx, uint64_t blocks) const {
  ResourceManager &manager = ctx.run().resources;
  Tensor handle = stream.get(manager, [&] {
    return makeHandle(manager.lookupOrCreate<RandomStream>(
        "", name, [&] { return makeRef<RandomStream>(start()); }));
  });
  Resource &own = *handle.data<ResourceHandle>()->resource; // the session's
  return static_cast<RandomStream &>(own).reserve(blocks);
}

// --- seeds, keys and counters --------------------------------------------------------------------

// Derives key and counter from the seed with one block of a fixed stream.
bool readSeed(OpContext &ctx, int i, Philox &stream) {
  const Tensor &seed = ctx.input(i);
  if (seed.rank() != 1 || seed.count() != 2) {
    ctx.fail(
        invalidArgument("seed must be a vector of 2 numbers, but it is ", tensorTypeText(seed)));
    return false;
  }
  auto word = [&](int64_t k) { return static_cast<uint64_t>(indexAt(seed, k)); };
  Philox spread = Philox::fromKey(Philox::spreadingKey, word(0), word(1));
  Philox::Block mixed = spread.next();
  stream = {{0, 0, mixed[2], mixed[3]}, {mixed[0], mixed[1]}};
  return true;
}

bool checkAlgorithm(OpContext &ctx, int64_t algorithm, bool isStateful) {
  enum : int64_t { philox = 1, threeFry = 2, any = 3 };
  if (algorithm == philox || algorithm == any)
    return true;
  if (algorithm == threeFry && isStateful)
    ctx.fail(unimplemented("algorithm 2 (ThreeFry) is not supported; use 1 (Philox)"));
  else
    ctx.fail(invalidArgument("unknown algorithm ", algorithm, "; use 1 (Philox)"));
  return false;
}

bool readKeyCounter(OpContext &ctx, int first, Philox &stream) {
  const Tensor &key = ctx.input(first), &counter = ctx.input(first + 1);
  const Tensor &algorithm = ctx.input(first + 2);
  if (!algorithm.isScalar()) {
    ctx.fail(invalidArgument("alg must be a scalar, but has shape ", dimsText(algorithm.dims())));
    return false;
  }
  if (!checkAlgorithm(ctx, algorithm.scalarValue<int32_t>(), /*isStateful=*/false))
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

// --- state in variables --------------------------------------------------------------------------

bool advanceState(OpContext &ctx, int64_t skipped, uint64_t blocks, Philox &stream,
                  int64_t *before) {
  VariableWriter variable(ctx, 0);
  if (!variable.isOpen())
    return false;
  const Tensor &state = variable.value();
  if (state.dtype() != DType::Int64 || state.rank() != 1 || state.count() < skipped + 3) {
    ctx.fail(invalidArgument("the state of Philox is an int64 vector of at least ", skipped + 3,
                             " elements, but the variable is ", tensorTypeText(state)));
    return false;
  }
  if (skipped && !checkAlgorithm(ctx, *state.data<int64_t>()))
    return false;
  Tensor *own = variable.writable(ctx);
  if (!own)
    return false;
  auto *words = reinterpret_cast<uint64_t *>(own->data<int64_t>() + skipped);
  if (before)
    std::copy_n(words, 3, before);
  stream = Philox::fromKey(words[2], words[0], words[1]);
  Philox after = stream;
  after.skip(blocks);
  for (int i = 0; i < 2; ++i)
    words[i] = uint64_t{after.counter[2 * i]} | uint64_t{after.counter[2 * i + 1]} << 32;
  return true;
}

} // namespace treadle
