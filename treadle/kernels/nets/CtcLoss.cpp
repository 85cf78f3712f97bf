// CTCLoss: the negative log-likelihood of a label sequence, summed over all its alignments with the
// inputs, and its gradient (A. Graves, "Supervised sequence labelling with recurrent neural
// networks", chapter 7; variables are named as there). The last class is the blank; in CTCLossV2
// the first.
#include "treadle/kernels/nets/Ctc.h"

#include <algorithm>

namespace treadle {
namespace {

struct LossOptions {
  bool collapsesRepeated, mergesRepeated, ignoresLonger, isBlankFirst;

  int32_t blankOf(int64_t classes) const {
    return isBlankFirst ? 0 : static_cast<int32_t>(classes - 1);
  }
};

// --- labels --------------------------------------------------------------------------------------

using Labels = std::vector<int32_t>;

/// Returns the labels of each batch row; nullopt, with ctx failed, if they are invalid.
std::optional<std::vector<Labels>> readLabels(OpContext &ctx, int64_t batch) {
  const Tensor &indices = ctx.input(1), &values = ctx.input(2);
  if (indices.rank() != 2 || indices.dim(1) != 2 || values.rank() != 1 ||
      values.count() != indices.dim(0)) {
    ctx.fail(invalidArgument("labels_indices and labels_values must have shapes "
                             "[count,2] and [count], but are ",
                             tensorTypeText(indices), " and ", tensorTypeText(values)));
    return std::nullopt;
  }
  std::vector<Labels> rows(static_cast<size_t>(batch));
  const int64_t *index = indices.data<int64_t>();
  for (int64_t i = 0; i < values.count(); ++i) {
    int64_t row = index[2 * i], column = index[2 * i + 1];
    bool isAscending =
        i == 0 || row > index[2 * i - 2] || (row == index[2 * i - 2] && column > index[2 * i - 1]);
    if (row < 0 || row >= batch || column < 0 || !isAscending) {
      ctx.fail(invalidArgument("labels_indices[", i, "] is [", row, ",", column,
                               "], which is out of order or outside of a batch of ", batch));
      return std::nullopt;
    }
    rows[static_cast<size_t>(row)].push_back(values.data<int32_t>()[i]);
  }
  return rows;
}

/// Returns the labels with a blank before each and one at the end.
Expected<Labels> withBlanks(const Labels &labels, const LossOptions &options, int64_t classes) {
  int32_t blank = options.blankOf(classes);
  Labels out;
  bool hasEnded = false;
  for (size_t i = 0; i < labels.size(); ++i) {
    if (i && options.collapsesRepeated && labels[i] == labels[i - 1])
      continue;
    if (labels[i] < 0)
      return Unexpected(invalidArgument("label ", labels[i], " is negative"));
    if (options.isBlankFirst && labels[i] >= classes)
      return Unexpected(
          invalidArgument("label ", labels[i], " is outside of ", classes, " classes"));
    if (options.isBlankFirst ? labels[i] == blank : labels[i] >= blank) {
      hasEnded = true;
      continue;
    }
    if (hasEnded)
      return Unexpected(
          invalidArgument("label ", labels[i], " follows a blank, which ends the labels of a row"));
    out.push_back(blank);
    out.push_back(labels[i]);
  }
  out.push_back(blank);
  return out;
}

// --- one row of a batch --------------------------------------------------------------------------

template <typename T> class Alignment {
public:
  Alignment(const Labels &labels, int64_t steps, int64_t classes, const LossOptions &options)
      : labels(labels), steps(steps), size(std::ssize(labels)), classes(classes),
        blank(options.blankOf(classes)), mergesRepeated(options.mergesRepeated),
        y(static_cast<size_t>(steps * classes)),
        alpha(static_cast<size_t>(steps * size), logZero<T>), beta(alpha) {}

  void setStep(int64_t t, const T *activations) {
    T highest = *std::max_element(activations, activations + classes), sum = 0;
    T *out = &y[static_cast<size_t>(t * classes)];
    for (int64_t c = 0; c < classes; ++c)
      sum += out[c] = std::exp(activations[c] - highest);
    for (int64_t c = 0; c < classes; ++c)
      out[c] /= sum;
  }

  /// Returns the log-likelihood of the labels.
  T solve() {
    forward();
    backward();
    T sum = logZero<T>;
    for (int64_t u = 0; u < size; ++u)
      sum = logSum(sum, at(alpha, 0, u) + at(beta, 0, u));
    return sum;
  }

  void slope(int64_t t, T logProbability, T *out) const {
    const T *probabilities = &y[static_cast<size_t>(t * classes)];
    if (logProbability == logZero<T>) {
      std::copy_n(probabilities, classes, out);
      return;
    }
    std::fill_n(out, classes, logZero<T>);
    for (int64_t u = 0; u < size; ++u) {
      T &sum = out[label(u)];
      sum = logSum(sum, at(alpha, t, u) + at(beta, t, u));
    }
    for (int64_t c = 0; c < classes; ++c)
      out[c] =
          probabilities[c] - static_cast<T>(std::exp(static_cast<float>(out[c] - logProbability)));
  }

private:
  T &at(std::vector<T> &table, int64_t t, int64_t u) {
    return table[static_cast<size_t>(t * size + u)];
  }
  T at(const std::vector<T> &table, int64_t t, int64_t u) const {
    return table[static_cast<size_t>(t * size + u)];
  }
  int32_t label(int64_t u) const { return labels[static_cast<size_t>(u)]; }
  bool isBlank(int64_t u) const { return label(u) == blank; }
  T logY(int64_t t, int64_t u) const {
    return std::log(y[static_cast<size_t>(t * classes + label(u))]);
  }
  // The range of labels at step t: enough steps remain for the labels that follow, and enough have
  // passed for those before.
  int64_t first(int64_t t) const { return std::max<int64_t>(0, size - 2 * (steps - t)); }
  int64_t last(int64_t t) const { return std::min(size, 2 * (t + 1)); }
  bool mayStay(int64_t u) const { return mergesRepeated || isBlank(u); }
  bool maySkip(int64_t from, int64_t to) const {
    return !isBlank(to) && !isBlank(from) && !(mergesRepeated && label(from) == label(to));
  }

  void forward() {
    for (int64_t u = 0; u < std::min<int64_t>(size, 2); ++u)
      at(alpha, 0, u) = logY(0, u);
    for (int64_t t = 1; t < steps; ++t)
      for (int64_t u = first(t); u < last(t); ++u) {
        T sum = mayStay(u) ? at(alpha, t - 1, u) : logZero<T>;
        if (u > 0)
          sum = logSum(sum, at(alpha, t - 1, u - 1));
        if (u > 1 && maySkip(u - 2, u))
          sum = logSum(sum, at(alpha, t - 1, u - 2));
        at(alpha, t, u) = logY(t, u) + sum;
      }
  }

  void backward() {
    for (int64_t u = std::max<int64_t>(0, size - 2); u < size; ++u)
      at(beta, steps - 1, u) = 0;
    for (int64_t t = steps - 2; t >= 0; --t)
      for (int64_t u = first(t); u < last(t); ++u) {
        T sum = mayStay(u) ? at(beta, t + 1, u) + logY(t + 1, u) : logZero<T>;
        if (u + 1 < size)
          sum = logSum(sum, at(beta, t + 1, u + 1) + logY(t + 1, u + 1));
        if (u + 2 < size && maySkip(u, u + 2))
          sum = logSum(sum, at(beta, t + 1, u + 2) + logY(t + 1, u + 2));
        at(beta, t, u) = sum;
      }
  }

  const Labels &labels;
  int64_t steps, size, classes;
  int32_t blank;
  bool mergesRepeated;
  std::vector<T> y, alpha, beta;
};

// --- the op --------------------------------------------------------------------------------------

template <typename T> struct CtcLoss {
  static void run(OpContext &ctx) {
    const auto &options = ctx.state<LossOptions>();
    const Tensor &in = ctx.input(0), &lengths = ctx.input(3);
    if (!checkInputs(ctx, in, lengths))
      return;
    int64_t batch = in.dim(1), classes = in.dim(2);
    auto rows = TREADLE_OR_RETURN(readLabels(ctx, batch));
    std::vector<Labels> labels;
    for (int64_t b = 0; b < batch; ++b) {
      auto row = TREADLE_OR_RETURN(
          ctx.check(check(options, rows[static_cast<size_t>(b)], lengths, in.dim(0), b, classes)));
      labels.push_back(std::move(row));
    }
    Tensor *loss = ctx.allocateOutput(0, dtypeOf<T>, {batch});
    Tensor *slopes = ctx.allocateOutput(1, dtypeOf<T>, in.dims());
    if (!loss || !slopes)
      return;
    std::fill_n(loss->data<T>(), batch, T(0));
    std::fill_n(slopes->data<T>(), slopes->count(), T(0));
    double cost = 50.0 * static_cast<double>(in.dim(0) * classes);
    ctx.parallelFor(batch, cost, [&](int64_t begin, int64_t end) {
      for (int64_t b = begin; b < end; ++b) {
        int64_t steps = lengths.data<int32_t>()[b];
        if (steps && std::ssize(rows[static_cast<size_t>(b)]) <= steps)
          solveRow(in, b, steps, labels[static_cast<size_t>(b)], options, *loss, *slopes);
      }
    });
  }

  static void solveRow(const Tensor &in, int64_t b, int64_t steps, const Labels &labels,
                       const LossOptions &options, Tensor &loss, Tensor &slopes) {
    int64_t batch = in.dim(1), classes = in.dim(2);
    Alignment<T> alignment(labels, steps, classes, options);
    for (int64_t t = 0; t < steps; ++t)
      alignment.setStep(t, in.data<T>() + (t * batch + b) * classes);
    T logProbability = alignment.solve();
    loss.data<T>()[b] = -logProbability;
    for (int64_t t = 0; t < steps; ++t)
      alignment.slope(t, logProbability, slopes.data<T>() + (t * batch + b) * classes);
  }

  static bool checkInputs(OpContext &ctx, const Tensor &in, const Tensor &lengths) {
    if (in.rank() == 3 && in.dim(1) && in.dim(0) && in.dim(2) && lengths.rank() == 1 &&
        lengths.count() == in.dim(1))
      return true;
    ctx.fail(invalidArgument("inputs must be of [time,batch,classes] and sequence_length of "
                             "[batch], none of them 0, but they are ",
                             tensorTypeText(in), " and ", tensorTypeText(lengths)));
    return false;
  }

  static Expected<Labels> check(const LossOptions &options, const Labels &labels,
                                const Tensor &lengths, int64_t time, int64_t b, int64_t classes) {
    int64_t steps = lengths.data<int32_t>()[b];
    if (steps < 0 || steps > time)
      return Unexpected(
          invalidArgument("sequence_length[", b, "] is ", steps, ", expected 0 to ", time));
    if (labels.empty() && !options.isBlankFirst)
      return Unexpected(invalidArgument("row ", b, " of the batch has no labels"));
    if (!options.ignoresLonger && std::ssize(labels) > steps)
      return Unexpected(
          invalidArgument("row ", b, " of the batch has ", labels.size(), " labels for ", steps,
                          " steps; set ignore_longer_outputs_than_inputs to skip such rows"));
    return withBlanks(labels, options, classes);
  }
};

template <bool isBlankFirst> Expected<BoundKernel> bindLoss(const BindContext &node) {
  return withState(bindByType<CtcLoss, TypeList<float, double>>(node),
                   LossOptions{node.attrs.getOr("preprocess_collapse_repeated", false),
                               node.attrs.getOr("ctc_merge_repeated", true),
                               node.attrs.getOr("ignore_longer_outputs_than_inputs", false),
                               isBlankFirst});
}

const KernelEntry ctcLossTable[] = {
    {"CTCLoss", bindLoss<false>},
    {"CTCLossV2", bindLoss<true>}, // cuDNN's order of classes
};

} // namespace

std::span<const KernelEntry> ctcLossKernels() { return ctcLossTable; }

} // namespace treadle
