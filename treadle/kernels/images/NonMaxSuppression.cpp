// Non-maximum suppression: selects the best boxes greedily by score, without those that overlap a
// better one too much. With a sigma ("soft"), an overlap lowers the score instead (Bodla et al.,
// "Soft-NMS", 2017).
#include "treadle/kernels/elementwise/Elementwise.h"
#include "treadle/kernels/images/Overlap.h"

#include <algorithm>
#include <queue>
#include <vector>

namespace treadle {
namespace {

// --- the selection -------------------------------------------------------------------------------

template <typename T> struct Thresholds {
  T overlap{}, score = std::numeric_limits<T>::lowest(), sigma{};

  bool isSoft() const { return sigma > T(0); }
  /// Returns the factor of a score for that overlap.
  T weightAt(T similarity) const {
    T scale = isSoft() ? T(-0.5f) / sigma : T(0);
    T weight = T(std::exp(Computed<T>(scale * similarity * similarity)));
    return isSoft() || similarity <= overlap ? weight : T(0);
  }
};

template <typename T> struct Candidate {
  int32_t box;
  T score;
  size_t compared; // number of selected boxes that it has been compared with

  bool operator<(const Candidate &other) const {
    return score < other.score || (score == other.score && box > other.box);
  }
};

template <typename T> struct Selection {
  std::vector<int32_t> boxes;
  std::vector<T> scores;
};

// Lowers the candidate's score by its overlap with the boxes that were selected since its last
// comparison; false if an overlap rules it out.
template <typename T, typename Similarity>
bool lowerScore(Candidate<T> &next, const Selection<T> &selection, const Thresholds<T> &limits,
                Similarity &&similarity) {
  size_t begin = next.compared;
  next.compared = selection.boxes.size();
  for (size_t j = selection.boxes.size(); j-- > begin;) {
    T overlap = T(similarity(next.box, selection.boxes[j]));
    next.score = T(next.score * limits.weightAt(overlap));
    if (!limits.isSoft() && overlap > limits.overlap)
      return false;
    if (next.score <= limits.score)
      break;
  }
  return true;
}

template <typename T, typename Similarity>
Selection<T> select(std::span<const T> scores, size_t size, const Thresholds<T> &limits,
                    Similarity &&similarity) {
  std::priority_queue<Candidate<T>> queue;
  for (size_t i = 0; i < scores.size(); ++i)
    if (scores[i] > limits.score)
      queue.push({static_cast<int32_t>(i), scores[i], 0});
  Selection<T> selection;
  while (selection.boxes.size() < size && !queue.empty()) {
    Candidate<T> next = queue.top();
    queue.pop();
    T before = next.score;
    if (!lowerScore(next, selection, limits, similarity))
      continue;
    if (next.score == before) {
      selection.boxes.push_back(next.box);
      selection.scores.push_back(next.score);
    } else if (next.score > limits.score) {
      queue.push(next);
    }
  }
  return selection;
}

// --- inputs --------------------------------------------------------------------------------------

bool checkScalar(OpContext &ctx, int i, const char *what) {
  if (ctx.input(i).isScalar())
    return true;
  ctx.fail(
      invalidArgument(what, " must be a scalar, but has shape ", dimsText(ctx.input(i).dims())));
  return false;
}

// Reads a number, which may have another floating-point dtype than the boxes.
template <typename T> std::optional<T> readNumber(OpContext &ctx, int i, const char *what) {
  if (!checkScalar(ctx, i, what))
    return std::nullopt;
  T value{};
  visitType(ctx.input(i).dtype(), FloatTypes(),
            [&]<typename From>() { value = T(ctx.input(i).scalarValue<From>()); });
  return value;
}

std::optional<size_t> readSize(OpContext &ctx, int i, const char *what) {
  if (!checkScalar(ctx, i, what))
    return std::nullopt;
  int32_t size = ctx.input(i).scalarValue<int32_t>();
  if (size >= 0)
    return static_cast<size_t>(size);
  ctx.fail(invalidArgument(what, " must not be negative, but is ", size));
  return std::nullopt;
}

template <typename T> bool checkFraction(OpContext &ctx, T value, const char *what) {
  if (value >= T(0) && value <= T(1))
    return true;
  ctx.fail(invalidArgument(what, " must be in [0, 1], but is ", static_cast<float>(value)));
  return false;
}

// Checks inputs 0 and 1: a row of `columns` numbers for each box, and its score.
bool checkBoxes(OpContext &ctx, const char *what, int64_t columns) {
  const Tensor &boxes = ctx.input(0), &scores = ctx.input(1);
  if (boxes.rank() == 2 && boxes.dim(1) == columns && scores.rank() == 1 &&
      scores.dim(0) == boxes.dim(0))
    return true;
  ctx.fail(invalidArgument(what, " must have shape [boxes, ", columns,
                           "] and scores [boxes], but they have ", dimsText(boxes.dims()), " and ",
                           dimsText(scores.dims())));
  return false;
}

struct SuppressState {
  int version;
  float overlap; // attribute of version 1
  bool pads;
};

// Reads inputs 3 to 5, as far as the version has them.
template <typename T> bool readThresholds(OpContext &ctx, Thresholds<T> &limits) {
  const auto &s = ctx.state<SuppressState>();
  limits.overlap = T(s.overlap);
  auto read = [&](int i, const char *what, T &to) {
    auto value = readNumber<T>(ctx, i, what);
    to = value.value_or(T(0));
    return value.has_value();
  };
  return (s.version < 2 || read(3, "iou_threshold", limits.overlap)) &&
         checkFraction(ctx, limits.overlap, "iou_threshold") &&
         (s.version < 3 || read(4, "score_threshold", limits.score)) &&
         (s.version < 5 || read(5, "soft_nms_sigma", limits.sigma));
}

template <typename T>
void setSelection(OpContext &ctx, const Selection<T> &selection, size_t padded, bool hasScores) {
  size_t count = selection.boxes.size();
  Tensor *boxes =
      TREADLE_OR_RETURN(ctx.allocateOutput(0, DType::Int32, {static_cast<int64_t>(padded)}));
  std::fill_n(std::copy_n(selection.boxes.data(), count, boxes->data<int32_t>()), padded - count,
              0);
  if (!hasScores)
    return;
  if (Tensor *out = ctx.allocateOutput(1, dtypeOf<T>, {static_cast<int64_t>(padded)}))
    std::fill_n(std::copy_n(selection.scores.data(), count, out->data<T>()), padded - count, T(0));
}

// --- the ops -------------------------------------------------------------------------------------

template <typename T> struct Suppress {
  static void run(OpContext &ctx) {
    const auto &s = ctx.state<SuppressState>();
    const Tensor boxes = ctx.input(0), scores = ctx.input(1);
    Thresholds<T> limits;
    auto size = readSize(ctx, 2, "max_output_size");
    if (!size || !readThresholds(ctx, limits) || !checkBoxes(ctx, "boxes", 4))
      return;
    const T *box = boxes.data<T>();
    Selection<T> selection =
        select<T>(scores.values<T>(), *size, limits,
                  [&](int64_t i, int64_t j) { return overlapOf(box + 4 * i, box + 4 * j); });
    size_t count = selection.boxes.size();
    setSelection(ctx, selection, s.pads ? *size : count, s.version == 5);
    if (s.version >= 4)
      ctx.setOutput(s.version - 3, Tensor::scalar(DType::Int32, static_cast<int32_t>(count)));
  }
};

// Inputs: the overlap of each pair, scores, the size, the thresholds of overlap and score.
void runOnOverlapMatrix(OpContext &ctx) {
  const Tensor overlaps = ctx.input(0), scores = ctx.input(1);
  Thresholds<float> limits;
  auto size = readSize(ctx, 2, "max_output_size");
  auto overlap = size ? readNumber<float>(ctx, 3, "overlap_threshold") : std::nullopt;
  auto score = overlap ? readNumber<float>(ctx, 4, "score_threshold") : std::nullopt;
  if (!score || !checkBoxes(ctx, "overlaps", overlaps.rank() ? overlaps.dim(0) : 0))
    return;
  limits.overlap = *overlap;
  limits.score = *score;
  const auto *pairs = overlaps.data<float>();
  int64_t n = overlaps.dim(0);
  auto selection = select<float>(scores.values<float>(), *size, limits,
                                 [&](int64_t i, int64_t j) { return pairs[i * n + j]; });
  setSelection(ctx, selection, selection.boxes.size(), false);
}

Expected<BoundKernel> bindSuppress(const BindContext &node, int version) {
  SuppressState s{version, node.attrs.getOr("iou_threshold", 0.5f),
                  node.attrs.getOr("pad_to_max_output_size", false)};
  return withState(bindForType<Suppress, TypeList<float, Half>>(node, node.inputTypes[0]), s);
}
template <int version> Expected<BoundKernel> bindVersion(const BindContext &node) {
  return bindSuppress(node, version);
}

const KernelEntry nonMaxSuppressionTable[] = {
    {"NonMaxSuppression", bindVersion<1>},
    {"NonMaxSuppressionV2", bindVersion<2>},
    {"NonMaxSuppressionV3", bindVersion<3>},
    {"NonMaxSuppressionV4", bindVersion<4>},
    {"NonMaxSuppressionV5", bindVersion<5>},
    {"NonMaxSuppressionWithOverlaps", bindPlain<runOnOverlapMatrix>},
};

} // namespace

std::span<const KernelEntry> nonMaxSuppressionKernels() { return nonMaxSuppressionTable; }

} // namespace treadle
