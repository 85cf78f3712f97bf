// CheckNumerics, histograms of values, and the conversion of flat indices to coordinates.
#include "treadle/kernels/ElementCopy.h"
#include "treadle/kernels/elementwise/Elementwise.h"

#include <cmath>
#include <string>

namespace treadle {
namespace {

// --- CheckNumerics -------------------------------------------------------------------------------

struct CheckState {
  std::string message;
  bool distinguishesSigns; // distinguishes the signs of infinities
};

struct NonFiniteKinds {
  bool nan = false, positive = false, negative = false;
};

std::string textOf(const NonFiniteKinds &found, bool distinguishesSigns) {
  std::string text;
  auto add = [&](bool is, const char *name) {
    if (is)
      text += std::string(text.empty() ? "" : ", ") + name;
  };
  if (distinguishesSigns) {
    add(found.negative, "-Inf");
    add(found.positive, "+Inf");
  } else {
    add(found.positive || found.negative, "Inf");
  }
  add(found.nan, "NaN");
  return text;
}

template <typename T> struct CheckNumerics {
  static void run(OpContext &ctx) {
    const auto &s = ctx.state<CheckState>();
    const Tensor &in = ctx.input(0);
    NonFiniteKinds found;
    for (T element : in.values<T>()) {
      Computed<T> x(element);
      found.nan |= std::isnan(x);
      found.positive |= std::isinf(x) && x > 0;
      found.negative |= std::isinf(x) && x < 0;
    }
    if (found.nan || found.positive || found.negative)
      return ctx.fail(invalidArgument(s.message, " : tensor had ",
                                      textOf(found, s.distinguishesSigns), " values"));
    ctx.setOutput(0, ctx.takeInput(0));
  }
};

template <bool distinguishesSigns> Expected<BoundKernel> bindCheck(const BindContext &node) {
  Expected<BoundKernel> bound = bindByType<CheckNumerics, FloatTypes>(node);
  return bound ? boundWith(bound->fn, CheckState{node.attrs.getOr("message", std::string()),
                                                 distinguishesSigns})
               : bound;
}

// --- UnravelIndex --------------------------------------------------------------------------------

bool checkUnravelled(OpContext &ctx, const DimVector &dims) {
  for (int64_t d : dims)
    if (d <= 0) {
      ctx.fail(invalidArgument("dims must be positive, but has ", d));
      return false;
    }
  std::optional<int64_t> count = countElements(dims);
  if (!count) {
    ctx.fail(invalidArgument("dims ", dimsText(dims), " have too many elements"));
    return false;
  }
  for (int64_t i = 0; i < ctx.input(0).count(); ++i)
    if (int64_t index = indexAt(ctx.input(0), i); index >= *count) {
      ctx.fail(invalidArgument("index ", index, " is outside dimensions ", dimsText(dims)));
      return false;
    }
  return true;
}

// Inputs: indices (a scalar or a vector), and the dimensions of the shape.
template <typename T> struct UnravelIndex {
  static void run(OpContext &ctx) {
    const Tensor indices = ctx.input(0);
    if (indices.rank() > 1 || ctx.input(1).rank() != 1)
      return ctx.fail(invalidArgument("indices must be a scalar or a vector and dims a vector, but "
                                      "have shapes ",
                                      dimsText(indices.dims()), " and ",
                                      dimsText(ctx.input(1).dims())));
    if (!indices.count())
      return ctx.fail(invalidArgument("indices must not be empty"));
    DimVector dims = readIndices(ctx.input(1));
    if (!checkUnravelled(ctx, dims))
      return;
    DimVector shape;
    shape.push(static_cast<int64_t>(dims.size()));
    if (indices.rank() == 1)
      shape.push(indices.count());
    Tensor *out = TREADLE_OR_RETURN(ctx.allocateOutput(0, indices.dtype(), shape));
    DimVector strides = rowMajorStrides(dims);
    T *to = out->data<T>();
    for (size_t d = 0; d < dims.size(); ++d)
      for (int64_t i = 0; i < indices.count(); ++i)
        *to++ = static_cast<T>(indices.data<T>()[i] / strides[d] % dims[d]);
  }
};

// --- HistogramFixedWidth -------------------------------------------------------------------------

struct HistogramState {
  DType countType;
};

bool checkHistogram(OpContext &ctx, int64_t &bins) {
  const Tensor &range = ctx.input(1), &size = ctx.input(2);
  if (range.rank() != 1 || range.count() != 2) {
    ctx.fail(invalidArgument("value_range must be a vector of 2 numbers, but has shape ",
                             dimsText(range.dims())));
    return false;
  }
  if (!size.isScalar()) {
    ctx.fail(invalidArgument("nbins must be a scalar, but has shape ", dimsText(size.dims())));
    return false;
  }
  bins = indexAt(size, 0);
  if (bins > 0)
    return true;
  ctx.fail(invalidArgument("nbins must be positive, but is ", bins));
  return false;
}

// Inputs: values, their range, the number of bins. Values out of range fall into the outer bins.
template <typename T> struct Histogram {
  static int64_t binOf(T value, T low, double step, int64_t bins) {
    double at = std::floor((static_cast<double>(value) - static_cast<double>(low)) / step);
    // The comparison puts NaN into the first bin.
    return at > 0 ? static_cast<int64_t>(std::min(at, static_cast<double>(bins - 1))) : 0;
  }

  static void run(OpContext &ctx) {
    const Tensor values = ctx.input(0), range = ctx.input(1);
    int64_t bins = 0;
    if (!checkHistogram(ctx, bins))
      return;
    T low = range.data<T>()[0], high = range.data<T>()[1];
    if (!(low < high))
      return ctx.fail(invalidArgument("value_range must be [low, high] with low < high, but is [",
                                      low, ",", high, "]"));
    DType dtype = ctx.state<HistogramState>().countType;
    Tensor *out = TREADLE_OR_RETURN(ctx.allocateOutput(0, dtype, {bins}));
    double step =
        (static_cast<double>(high) - static_cast<double>(low)) / static_cast<double>(bins);
    auto count = [&]<typename Count>() {
      auto *counts = out->data<Count>();
      std::fill_n(counts, bins, Count(0));
      for (T value : values.values<T>())
        ++counts[binOf(value, low, step, bins)];
    };
    if (dtype == DType::Int32)
      count.template operator()<int32_t>();
    else
      count.template operator()<int64_t>();
  }
};

Expected<BoundKernel> bindHistogram(const BindContext &node) {
  Expected<BoundKernel> bound =
      bindByType<Histogram, TypeList<int32_t, int64_t, float, double>>(node);
  return bound ? boundWith(bound->fn, HistogramState{node.outputTypes[0]}) : bound;
}

const KernelEntry numericCheckTable[] = {
    {"CheckNumerics", bindCheck<false>},
    {"CheckNumericsV2", bindCheck<true>},
    {"UnravelIndex", bindByType<UnravelIndex, TypeList<int32_t, int64_t>>},
    {"HistogramFixedWidth", bindHistogram},
};

} // namespace

std::span<const KernelEntry> numericCheckKernels() { return numericCheckTable; }

} // namespace treadle
