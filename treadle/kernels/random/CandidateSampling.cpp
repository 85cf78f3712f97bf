// Ops that sample candidate classes for sampled losses, with their expected counts; and
// ComputeAccidentalHits.
#include "treadle/kernels/RunFileAccess.h"
#include "treadle/kernels/random/CandidateSampler.h"
#include "treadle/kernels/random/RandomStream.h"
#include "treadle/kernels/text/StringNumbers.h"

#include "treadle/checkpoint/Files.h"

#include <cmath>
#include <mutex>
#include <sstream>
#include <unordered_set>

namespace treadle {
namespace {

// The state of a learning sampler, kept in the session.
class LearningSamplerResource : public Resource {
public:
  static constexpr std::string_view kindName = "learned classes";
  explicit LearningSamplerResource(int64_t range) : sampler(range) {}
  std::string_view kind() const override { return kindName; }

  std::mutex mutex;
  LearningSampler sampler;
};

struct SamplingState {
  int64_t trueClasses, samples, range;
  bool isUnique;
  NodeStream stream;
  std::shared_ptr<const CandidateSampler> sampler; // null: learning, or all classes
  std::string name;
};

struct DrawnClasses {
  Tensor *ids, *trueCounts, *counts;
};

// Returns the expected count of a class among the samples, given the number of tries they took.
float expectedCount(float p, int64_t samples, int64_t tries) {
  if (tries == samples)
    return p * static_cast<float>(samples);
  return static_cast<float>(
      -std::expm1(static_cast<double>(tries) * std::log1p(static_cast<double>(-p))));
}

void draw(const SamplingState &s, const CandidateSampler &sampler, PhiloxNumbers &numbers,
          const Tensor &trueIds, const DrawnClasses &out) {
  auto *ids = out.ids->data<int64_t>();
  int64_t tries = 0;
  std::unordered_set<int64_t> drawn;
  for (int64_t i = 0; i < s.samples; ++tries) {
    ids[i] = sampler.sample(numbers);
    i += !s.isUnique || drawn.insert(ids[i]).second;
  }
  auto count = [&](int64_t id) { return expectedCount(sampler.probability(id), s.samples, tries); };
  std::transform(ids, ids + s.samples, out.counts->data<float>(), count);
  std::ranges::transform(trueIds.values<int64_t>(), out.trueCounts->data<float>(), count);
}

std::optional<DrawnClasses> allocate(OpContext &ctx, const SamplingState &s) {
  const Tensor &in = ctx.input(0);
  if (in.rank() != 2 || in.dim(1) != s.trueClasses) {
    ctx.fail(invalidArgument("true_classes must be a matrix of ", s.trueClasses,
                             " columns, but has shape ", dimsText(in.dims())));
    return std::nullopt;
  }
  if (s.isUnique && s.samples > s.range) {
    ctx.fail(invalidArgument(s.samples, " unique classes can't be drawn from ", s.range));
    return std::nullopt;
  }
  for (int64_t id : in.values<int64_t>())
    if (id < 0 || id >= s.range) {
      ctx.fail(invalidArgument("there is no class ", id, "; expected one of [0, ", s.range, ")"));
      return std::nullopt;
    }
  DrawnClasses out;
  out.ids = ctx.allocateOutput(0, DType::Int64, {s.samples});
  out.trueCounts = ctx.allocateOutput(1, DType::Float32, in.dims());
  out.counts = ctx.allocateOutput(2, DType::Float32, {s.samples});
  if (!out.ids || !out.trueCounts || !out.counts)
    return std::nullopt;
  return out;
}

Philox reserve(OpContext &ctx, const SamplingState &s) {
  return s.stream.reserve(ctx, (2048 * static_cast<uint64_t>(s.samples) + 3) / 4);
}

void drawFrom(OpContext &ctx, const SamplingState &s, const CandidateSampler &sampler) {
  auto out = TREADLE_OR_RETURN(allocate(ctx, s));
  Philox stream = reserve(ctx, s);
  PhiloxNumbers numbers(stream);
  draw(s, sampler, numbers, ctx.input(0), out);
}

void runFixed(OpContext &ctx) {
  const auto &s = ctx.state<SamplingState>();
  drawFrom(ctx, s, *s.sampler);
}

void runLearning(OpContext &ctx) {
  const auto &s = ctx.state<SamplingState>();
  auto out = TREADLE_OR_RETURN(allocate(ctx, s));
  auto trueIds = ctx.input(0).values<int64_t>();
  Philox stream = reserve(ctx, s);
  PhiloxNumbers numbers(stream);
  auto learnt = ctx.run().resources.lookupOrCreate<LearningSamplerResource>(
      "", s.name, [&] { return makeRef<LearningSamplerResource>(s.range); });
  std::lock_guard lock(learnt->mutex);
  draw(s, learnt->sampler, numbers, ctx.input(0), out);
  learnt->sampler.learn(trueIds);
}

void runAll(OpContext &ctx) {
  const auto &s = ctx.state<SamplingState>();
  auto out = TREADLE_OR_RETURN(allocate(ctx, s));
  for (int64_t i = 0; i < s.samples; ++i)
    out.ids->data<int64_t>()[i] = i;
  std::fill_n(out.counts->data<float>(), s.samples, 1.0f);
  std::fill_n(out.trueCounts->data<float>(), out.trueCounts->count(), 1.0f);
}

// --- binding -------------------------------------------------------------------------------------

Expected<SamplingState> stateOf(const BindContext &node) {
  SamplingState s{node.attrs.getOr<int64_t>("num_true", 1),
                  node.attrs.getOr<int64_t>("num_sampled", 1),
                  0,
                  node.attrs.getOr<bool>("unique", false),
                  NodeStream::of(node),
                  nullptr,
                  str(node.node, "/", node.op)};
  s.range = node.attrs.getOr<int64_t>("range_max", s.samples);
  if (s.trueClasses < 1 || s.samples < 1 || s.range < 1)
    return Unexpected(invalidArgument("num_true, num_sampled and range_max must be positive, but "
                                      "are ",
                                      s.trueClasses, ", ", s.samples, " and ", s.range));
  return s;
}

template <auto makeSampler> Expected<BoundKernel> bindFixed(const BindContext &node) {
  return stateOf(node).map([](SamplingState s) {
    s.sampler = makeSampler(s.range);
    return boundWith(runFixed, std::move(s));
  });
}

template <KernelFn fn> Expected<BoundKernel> bindSampling(const BindContext &node) {
  auto s = TREADLE_TRY(stateOf(node));
  if (s.range > std::numeric_limits<int32_t>::max())
    return Unexpected(
        invalidArgument("range_max is ", s.range, ", which is too large for learned classes"));
  return boundWith(fn, std::move(s));
}

// --- FixedUnigramCandidateSampler ----------------------------------------------------------------

// Returns the last column of each line of a file.
Expected<std::vector<float>> readWeights(const std::string &path, const FileAccess &files) {
  std::string text = TREADLE_TRY(readWholeFile(path, files));
  std::istringstream file(std::move(text));
  std::vector<float> weights;
  for (std::string line; std::getline(file, line);) {
    std::string column = line.substr(line.rfind(',') + 1);
    if (!parseNumber(column, weights.emplace_back()))
      return Unexpected(invalidArgument("line ", weights.size(), " of '", path,
                                        "' doesn't end with a number: '", line, "'"));
  }
  return weights;
}

/// Classes with weights, given directly or in a file, which is read on first use.
struct Unigrams {
  SamplingState sampling; // except its sampler
  std::vector<float> given;
  std::string path; // empty: given directly
  int64_t numReserved, numShards, shard;
  float distortion;

  struct Made {
    std::mutex mutex;
    std::shared_ptr<const CandidateSampler> sampler; // null before the first use
  };
  std::shared_ptr<Made> made = std::make_shared<Made>();

  static Expected<Unigrams> of(const BindContext &node);
  /// Returns the weights of the classes in the node's shard.
  Expected<std::vector<float>> weights(const FileAccess &files) const;
  Expected<std::shared_ptr<const CandidateSampler>> sampler(const FileAccess &files) const;
};

Expected<Unigrams> Unigrams::of(const BindContext &node) {
  SamplingState sampling = TREADLE_TRY(stateOf(node));
  Unigrams s{std::move(sampling),
             node.attrs.getOr("unigrams", std::vector<float>()),
             node.attrs.getOr("vocab_file", std::string()),
             node.attrs.getOr<int64_t>("num_reserved_ids", 0),
             node.attrs.getOr<int64_t>("num_shards", 1),
             node.attrs.getOr<int64_t>("shard", 0),
             node.attrs.getOr("distortion", 1.0f)};
  if (s.path.empty() == s.given.empty())
    return Unexpected(invalidArgument("exactly one of vocab_file and unigrams must be given"));
  if (s.shard < 0 || s.shard >= s.numShards)
    return Unexpected(invalidArgument("shard is ", s.shard, ", expected one of ", s.numShards));
  if (s.numReserved < 0 || s.numReserved > s.sampling.range)
    return Unexpected(invalidArgument("num_reserved_ids is ", s.numReserved, ", expected at most ",
                                      s.sampling.range, ", the number of classes"));
  return s;
}

Expected<std::vector<float>> Unigrams::weights(const FileAccess &files) const {
  std::vector<float> unigrams = TREADLE_TRY(path.empty() ? given : readWeights(path, files));
  std::vector<float> weights(static_cast<size_t>(numReserved));
  auto id = static_cast<int64_t>(weights.size());
  for (float weight : unigrams)
    if (id++ % numShards == shard)
      weights.push_back(std::pow(weight, distortion));
  if (std::ssize(weights) != sampling.range)
    return Unexpected(invalidArgument("range_max is ", sampling.range, ", but there are ",
                                      weights.size(), " weights"));
  auto possible = std::ranges::count_if(weights, [](float w) { return w > 0; });
  if (sampling.isUnique && possible < sampling.samples)
    return Unexpected(invalidArgument(sampling.samples, " unique classes can't be drawn: only ",
                                      possible, " have a weight"));
  return weights;
}

Expected<std::shared_ptr<const CandidateSampler>> Unigrams::sampler(const FileAccess &files) const {
  std::lock_guard lock(made->mutex);
  if (!made->sampler) {
    std::vector<float> found = TREADLE_TRY(weights(files));
    made->sampler = makeWeightedSampler(std::move(found));
  }
  return made->sampler;
}

void runUnigrams(OpContext &ctx) {
  const auto &s = ctx.state<Unigrams>();
  if (auto sampler = ctx.check(s.sampler(filesOf(ctx))))
    drawFrom(ctx, s.sampling, **sampler);
}

Expected<BoundKernel> bindUnigrams(const BindContext &node) {
  return Unigrams::of(node).map([](Unigrams s) { return boundWith(runUnigrams, std::move(s)); });
}

const KernelEntry candidateSamplingTable[] = {
    {"UniformCandidateSampler", bindFixed<makeUniformSampler>},
    {"LogUniformCandidateSampler", bindFixed<makeLogUniformSampler>},
    {"FixedUnigramCandidateSampler", bindUnigrams},
    {"LearnedUnigramCandidateSampler", bindSampling<runLearning>},
    {"ThreadUnsafeUnigramCandidateSampler", bindSampling<runLearning>},
    {"AllCandidateSampler", bindSampling<runAll>},
};

} // namespace

std::span<const KernelEntry> candidateSamplingKernels() { return candidateSamplingTable; }

} // namespace treadle
