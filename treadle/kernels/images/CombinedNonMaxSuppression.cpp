// Non-maximum suppression for each class of each image of a batch, and the best boxes of all
// classes.
#include "treadle/kernels/images/Overlap.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <tuple>
#include <vector>

namespace treadle {
namespace {

struct CombineState {
  bool padsPerClass, clips;
};

struct Limits {
  int64_t perClass, total;
  float overlap, score;
};

struct SuppressionInputs {
  Tensor boxes, scores; // [batch, boxes, 1 or classes, 4], [batch, boxes, classes]
  Limits limits;

  int64_t batch() const { return boxes.dim(0); }
  int64_t count() const { return boxes.dim(1); }
  int64_t classes() const { return scores.dim(2); }
  const float *box(int64_t n, int64_t i, int64_t label) const {
    int64_t own = boxes.dim(2);
    return boxes.data<float>() + ((n * count() + i) * own + (own > 1 ? label : 0)) * 4;
  }
  float score(int64_t n, int64_t i, int64_t label) const {
    return scores.data<float>()[(n * count() + i) * classes() + label];
  }
};

// A box that was selected for a class; none if `box` is null.
struct Detection {
  const float *box = nullptr;
  float score = -std::numeric_limits<float>::infinity();
  int64_t label = 0;

  /// Orders by score, then by class and box index.
  bool operator<(const Detection &other) const {
    return std::tuple(-score, label, box) < std::tuple(-other.score, other.label, other.box);
  }
};

/// Encodes a score (not NaN) and a box index as one number: the best score is the largest, and
/// among equal scores the first box.
uint64_t rankOf(float score, int64_t box) {
  constexpr uint32_t sign = 1U << 31;
  auto bits = std::bit_cast<uint32_t>(score == 0 ? 0.0f : score);
  uint32_t ordered = bits & sign ? ~bits : bits | sign;
  return uint64_t{ordered} << 32 | static_cast<uint32_t>(~box);
}
int64_t boxOf(uint64_t rank) { return ~static_cast<uint32_t>(rank); }

/// Selects the best boxes of a class. Only few candidates are examined, so a heap is enough.
std::vector<Detection> selectClass(const SuppressionInputs &p, int64_t n, int64_t label) {
  std::vector<uint64_t> candidates;
  for (int64_t i = 0; i < p.count(); ++i)
    if (float score = p.score(n, i, label); score > p.limits.score)
      candidates.push_back(rankOf(score, i));
  std::ranges::make_heap(candidates);
  std::vector<Detection> out;
  while (!candidates.empty() && std::ssize(out) < p.limits.perClass) {
    std::ranges::pop_heap(candidates);
    int64_t i = boxOf(candidates.back());
    candidates.pop_back();
    const float *box = p.box(n, i, label);
    bool overlaps = std::ranges::any_of(
        out, [&](const Detection &d) { return overlapOf(box, d.box) > p.limits.overlap; });
    if (!overlaps)
      out.push_back({box, p.score(n, i, label), label});
  }
  return out;
}

template <typename T> std::optional<T> readScalar(OpContext &ctx, int i, const char *what) {
  if (ctx.input(i).isScalar())
    return ctx.input(i).scalarValue<T>();
  ctx.fail(
      invalidArgument(what, " must be a scalar, but has shape ", dimsText(ctx.input(i).dims())));
  return std::nullopt;
}

bool readLimits(OpContext &ctx, Limits &limits) {
  auto perClass = readScalar<int32_t>(ctx, 2, "max_output_size_per_class");
  auto total = perClass ? readScalar<int32_t>(ctx, 3, "max_total_size") : std::nullopt;
  auto overlap = total ? readScalar<float>(ctx, 4, "iou_threshold") : std::nullopt;
  auto score = overlap ? readScalar<float>(ctx, 5, "score_threshold") : std::nullopt;
  if (!score)
    return false;
  limits = {*perClass, *total, *overlap, *score};
  if (limits.perClass <= 0 || limits.total <= 0)
    ctx.fail(invalidArgument("max_output_size_per_class and max_total_size must be positive, but "
                             "are ",
                             limits.perClass, " and ", limits.total));
  else if (!(limits.overlap >= 0 && limits.overlap <= 1))
    ctx.fail(invalidArgument("iou_threshold must be in [0, 1], but is ", limits.overlap));
  return !ctx.hasFailed();
}

bool checkShapes(OpContext &ctx) {
  const Tensor &boxes = ctx.input(0), &scores = ctx.input(1);
  if (boxes.rank() == 4 && scores.rank() == 3 && boxes.dim(3) == 4 &&
      boxes.dim(0) == scores.dim(0) && boxes.dim(1) == scores.dim(1) &&
      (boxes.dim(2) == 1 || boxes.dim(2) == scores.dim(2)))
    return true;
  ctx.fail(invalidArgument("boxes must have shape [batch, boxes, 1 or classes, 4] and scores "
                           "[batch, boxes, classes], but they have ",
                           dimsText(boxes.dims()), " and ", dimsText(scores.dims())));
  return false;
}

struct Outputs {
  float *boxes, *scores, *labels;
  int32_t *valid;
};

void setImage(const std::vector<Detection> &best, int64_t n, int64_t size, bool clips,
              const Outputs &out) {
  out.valid[n] = static_cast<int32_t>(std::min(size, static_cast<int64_t>(best.size())));
  for (int64_t i = 0; i < out.valid[n]; ++i) {
    const Detection &d = best[static_cast<size_t>(i)];
    int64_t at = n * size + i;
    for (int k = 0; k < 4; ++k)
      out.boxes[4 * at + k] = clips ? std::clamp(d.box[k], 0.0f, 1.0f) : d.box[k];
    out.scores[at] = d.score;
    out.labels[at] = static_cast<float>(d.label);
  }
}

// Inputs: boxes, scores, the limits.
void runCombined(OpContext &ctx) {
  const auto &s = ctx.state<CombineState>();
  SuppressionInputs p{ctx.input(0), ctx.input(1), {}};
  if (!readLimits(ctx, p.limits) || !checkShapes(ctx))
    return;
  int64_t size = p.limits.total;
  if (s.padsPerClass)
    size = std::min(size, std::min<int64_t>(std::numeric_limits<int32_t>::max(),
                                            p.limits.perClass * p.classes()));
  Tensor *boxes = ctx.allocateOutput(0, DType::Float32, {p.batch(), size, 4});
  Tensor *scores = boxes ? ctx.allocateOutput(1, DType::Float32, {p.batch(), size}) : nullptr;
  Tensor *labels = scores ? ctx.allocateOutput(2, DType::Float32, {p.batch(), size}) : nullptr;
  Tensor *valid =
      TREADLE_OR_RETURN(labels ? ctx.allocateOutput(3, DType::Int32, {p.batch()}) : nullptr);
  for (Tensor *t : {boxes, scores, labels})
    std::fill_n(t->data<float>(), t->count(), 0.0f);
  Outputs out{boxes->data<float>(), scores->data<float>(), labels->data<float>(),
              valid->data<int32_t>()};
  std::vector<std::vector<Detection>> ofClass(static_cast<size_t>(p.batch() * p.classes()));
  constexpr double nsPerBox = 5;
  ctx.parallelFor(std::ssize(ofClass), nsPerBox * static_cast<double>(p.count()),
                  [&](int64_t begin, int64_t end) {
                    for (int64_t i = begin; i < end; ++i)
                      ofClass[static_cast<size_t>(i)] =
                          selectClass(p, i / p.classes(), i % p.classes());
                  });
  for (int64_t n = 0; n < p.batch(); ++n) {
    std::vector<Detection> all;
    for (int64_t label = 0; label < p.classes(); ++label) {
      const auto &some = ofClass[static_cast<size_t>(n * p.classes() + label)];
      all.insert(all.end(), some.begin(), some.end());
    }
    std::partial_sort(all.begin(), all.begin() + std::min<int64_t>(size, std::ssize(all)),
                      all.end());
    setImage(all, n, size, s.clips, out);
  }
}

Expected<BoundKernel> bindCombined(const BindContext &node) {
  return boundWith(runCombined, CombineState{node.attrs.getOr("pad_per_class", false),
                                             node.attrs.getOr("clip_boxes", true)});
}

const KernelEntry combinedNonMaxSuppressionTable[] = {{"CombinedNonMaxSuppression", bindCombined}};

} // namespace

std::span<const KernelEntry> combinedNonMaxSuppressionKernels() {
  return combinedNonMaxSuppressionTable;
}

} // namespace treadle
