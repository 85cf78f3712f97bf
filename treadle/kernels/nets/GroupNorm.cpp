// _GroupNorm: normalization of each image over the positions and channels of a group of channels
// (Y. Wu and K. He, "Group normalization", arXiv 1803.08494).
#include "treadle/kernels/Element.h"

#include <cmath>
#include <vector>

namespace treadle {
namespace {

struct GroupNormState {
  int64_t groups;
  float epsilon;
  bool channelsFirst;
};

struct Shape {
  int64_t images, channels, positions, groups;

  int64_t perGroup() const { return channels / groups; }
};

/// Number of positions that are summed in float before the sum is added to a double.
constexpr int64_t positionsPerSum = 64;

/// For each of channels [begin, end) of one image, sums `term` of the elements over all positions.
template <typename Term>
void addUp(const float *image, const Shape &s, int64_t begin, int64_t end, const Term &term,
           double *sums) {
  const int64_t count = end - begin;
  std::vector<float> some(static_cast<size_t>(count));
  std::fill_n(sums, count, 0.0);
  for (int64_t first = 0; first < s.positions; first += positionsPerSum) {
    std::ranges::fill(some, 0.0F);
    for (int64_t p = first; p < std::min(first + positionsPerSum, s.positions); ++p) {
      const float *x = image + p * s.channels + begin;
      for (int64_t c = 0; c < count; ++c)
        some[static_cast<size_t>(c)] += term(x[c], c);
    }
    for (int64_t c = 0; c < count; ++c)
      sums[c] += some[static_cast<size_t>(c)];
  }
}

struct GroupNormArrays {
  const float *x, *scale, *offset;
  float *y, *mean, *rstd;
};

/// Normalizes groups [begin, end) of image `n` in channels-last layout.
void normaliseLast(const GroupNormArrays &a, const Shape &s, float epsilon, int64_t n,
                   int64_t begin, int64_t end) {
  const int64_t per = s.perGroup(), first = begin * per, count = (end - begin) * per;
  const float *image = a.x + n * s.positions * s.channels;
  const double elements = static_cast<double>(per * s.positions);
  std::vector<double> sums(static_cast<size_t>(count));
  std::vector<float> centre(static_cast<size_t>(count)), factor(static_cast<size_t>(count));
  auto overGroups = [&](const auto &visit) {
    for (int64_t g = begin; g < end; ++g) {
      double sum = 0;
      for (int64_t c = (g - begin) * per; c < (g - begin + 1) * per; ++c)
        sum += sums[static_cast<size_t>(c)];
      visit(g, sum / elements);
    }
  };
  addUp(image, s, first, first + count, [](float x, int64_t) { return x; }, sums.data());
  overGroups([&](int64_t g, double mean) {
    a.mean[n * s.groups + g] = static_cast<float>(mean);
    std::fill_n(centre.begin() + (g - begin) * per, per, static_cast<float>(mean));
  });
  auto square = [&](float x, int64_t c) {
    float from = x - centre[static_cast<size_t>(c)];
    return from * from;
  };
  addUp(image, s, first, first + count, square, sums.data());
  overGroups([&](int64_t g, double variance) {
    auto rstd = static_cast<float>(1 / std::sqrt(variance + epsilon));
    a.rstd[n * s.groups + g] = rstd;
    for (int64_t c = (g - begin) * per; c < (g - begin + 1) * per; ++c)
      factor[static_cast<size_t>(c)] = rstd * a.scale[first + c];
  });
  for (int64_t p = 0; p < s.positions; ++p) {
    const float *x = image + p * s.channels + first, *offset = a.offset + first;
    float *y = a.y + (n * s.positions + p) * s.channels + first;
    for (int64_t c = 0; c < count; ++c)
      y[c] = (x[c] - centre[static_cast<size_t>(c)]) * factor[static_cast<size_t>(c)] + offset[c];
  }
}

/// Normalizes group `g` of image `n` in channels-first layout: one block of memory.
void normaliseFirst(const GroupNormArrays &a, const Shape &s, float epsilon, int64_t n, int64_t g) {
  using Block = Eigen::Map<const Eigen::Array<float, Eigen::Dynamic, 1>>;
  const int64_t per = s.perGroup(), at = (n * s.channels + g * per) * s.positions;
  Block block(a.x + at, per * s.positions);
  double mean = block.cast<double>().mean();
  double variance = (block.cast<double>() - mean).square().mean();
  auto rstd = static_cast<float>(1 / std::sqrt(variance + epsilon));
  a.mean[n * s.groups + g] = static_cast<float>(mean);
  a.rstd[n * s.groups + g] = rstd;
  for (int64_t c = 0; c < per; ++c) {
    const float *x = a.x + at + c * s.positions;
    float *y = a.y + at + c * s.positions, factor = rstd * a.scale[g * per + c],
          offset = a.offset[g * per + c], centre = static_cast<float>(mean);
    for (int64_t p = 0; p < s.positions; ++p)
      y[p] = (x[p] - centre) * factor + offset;
  }
}

std::optional<Shape> readShape(OpContext &ctx) {
  const auto &state = ctx.state<GroupNormState>();
  const Tensor &x = ctx.input(0);
  if (x.rank() < 2) {
    ctx.fail(
        invalidArgument("the input must have rank 2 or more, but has shape ", dimsText(x.dims())));
    return std::nullopt;
  }
  int at = state.channelsFirst ? 1 : x.rank() - 1;
  Shape s{x.dim(0), x.dim(at), 1, state.groups};
  for (int d = 1; d < x.rank(); ++d)
    s.positions *= d == at ? 1 : x.dim(d);
  if (s.channels % s.groups != 0) {
    ctx.fail(invalidArgument(s.channels, " channels can't be divided into ", s.groups, " groups"));
    return std::nullopt;
  }
  for (int i = 1; i < 3; ++i)
    if (ctx.input(i).rank() != 1 || ctx.input(i).dim(0) != s.channels) {
      ctx.fail(invalidArgument("input ", i, " must be a vector of ", s.channels,
                               " elements, one per channel of ", dimsText(x.dims()),
                               ", but has shape ", dimsText(ctx.input(i).dims())));
      return std::nullopt;
    }
  return s;
}

void runGroupNorm(OpContext &ctx) {
  const auto &state = ctx.state<GroupNormState>();
  Shape shape = TREADLE_OR_RETURN(readShape(ctx));
  const Shape s = shape;
  const Tensor x = ctx.input(0), scale = ctx.input(1), offset = ctx.input(2);
  Tensor *y = ctx.allocateOutput(0, DType::Float32, x.dims());
  Tensor *mean = ctx.allocateOutput(1, DType::Float32, {s.images, s.groups});
  Tensor *rstd = ctx.allocateOutput(2, DType::Float32, {s.images, s.groups});
  if (!y || !mean || !rstd || s.images == 0)
    return;
  GroupNormArrays a{x.data<float>(),  scale.data<float>(), offset.data<float>(),
                    y->data<float>(), mean->data<float>(), rstd->data<float>()};
  // Minimum number of contiguous channels, so that they fill a few vectors.
  constexpr int64_t minChannels = 64;
  int64_t together = state.channelsFirst || s.perGroup() == 0
                         ? 1
                         : (minChannels + s.perGroup() - 1) / s.perGroup();
  int64_t parts = (s.groups + together - 1) / together;
  double cost =
      1.0 * static_cast<double>(together * s.perGroup()) * static_cast<double>(s.positions);
  ctx.parallelFor(s.images * parts, cost, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      int64_t n = i / parts, g = i % parts * together;
      if (state.channelsFirst)
        normaliseFirst(a, s, state.epsilon, n, g);
      else
        normaliseLast(a, s, state.epsilon, n, g, std::min(g + together, s.groups));
    }
  });
}

Expected<BoundKernel> bindGroupNorm(const BindContext &node) {
  if (node.inputTypes[0] != DType::Float32)
    return unsupportedDType(node, node.inputTypes[0]);
  std::string format = node.attrs.getOr<std::string>("data_format", "NHWC");
  auto groups = node.attrs.getOr<int64_t>("groups", 1);
  if (groups < 1)
    return Unexpected(invalidArgument("attribute 'groups' is ", groups, ", expected 1 or more"));
  return boundWith(runGroupNorm, GroupNormState{groups, node.attrs.getOr("epsilon", 1e-5F),
                                                format.starts_with("NC")});
}

const KernelEntry groupNormTable[] = {{"_GroupNorm", bindGroupNorm}};

} // namespace

std::span<const KernelEntry> groupNormKernels() { return groupNormTable; }

} // namespace treadle
