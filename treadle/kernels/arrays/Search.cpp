// Where, tests for nonzero elements, and searches in sorted lists.
#include "treadle/kernels/Element.h"
#include "treadle/kernels/ElementCopy.h"

#include <algorithm>
#include <ranges>
#include <unordered_map>

namespace treadle {
namespace {

// --- nonzero elements --------------------------------------------------------------------------

// One flag per element; booleans are used in place.
template <typename T> struct Flags {
  explicit Flags(const Tensor &in) : own(static_cast<size_t>(in.count())) {
    std::ranges::transform(in.values<T>(), own.begin(), [](T value) { return value != T(0); });
  }
  const uint8_t *data() const { return own.data(); }

  std::vector<uint8_t> own;
};
template <> struct Flags<bool> {
  explicit Flags(const Tensor &in) : flags(in.data<uint8_t>()) {}
  const uint8_t *data() const { return flags; }

  const uint8_t *flags;
};

void outputPositions(OpContext &ctx, const uint8_t *flags) {
  const Tensor &in = ctx.input(0);
  int rank = in.rank();
  Tensor *out = TREADLE_OR_RETURN(ctx.allocateOutput(
      0, DType::Int64, {in.count() - std::count(flags, flags + in.count(), 0), rank}));
  int64_t *to = out->data<int64_t>();
  DimVector strides = rowMajorStrides(in.dims());
  for (int64_t i = 0; i < in.count(); ++i) {
    if (!flags[i])
      continue;
    for (int d = 0; d < rank; ++d)
      *to++ = i / strides[static_cast<size_t>(d)] % in.dim(d);
  }
}

template <typename T> struct Where {
  static void run(OpContext &ctx) {
    if (ctx.input(0).isScalar())
      return ctx.fail(
          invalidArgument("input must have at least one dimension, but it is a scalar"));
    outputPositions(ctx, Flags<T>(ctx.input(0)).data());
  }
};

bool isTrue(const std::string &value) { return !value.empty(); }
template <typename T> bool isTrue(const T &value) { return value != T(0); }

// A scalar is true unless it is zero or empty; any other tensor, if it has elements.
template <typename T> struct ToBool {
  static void run(OpContext &ctx) {
    const Tensor &in = ctx.input(0);
    bool value = in.isScalar() ? isTrue(in.scalarValue<T>()) : in.count() > 0;
    ctx.setOutput(0, Tensor::scalar(DType::Bool, value));
  }
};

// --- sorted lists ------------------------------------------------------------------------------

template <typename T, typename Index, bool isUpper> void bound(OpContext &ctx) {
  const Tensor &sorted = ctx.input(0), &values = ctx.input(1);
  if (sorted.rank() != 2 || values.rank() != 2 || sorted.dim(0) != values.dim(0))
    return ctx.fail(invalidArgument("sorted_inputs and values are ", tensorTypeText(sorted),
                                    " and ", tensorTypeText(values),
                                    ", expected matrices with the same number of rows"));
  if (sorted.dim(1) > std::numeric_limits<Index>::max())
    return ctx.fail(invalidArgument("rows of ", sorted.dim(1), " elements need indices of int64"));
  Tensor *out = TREADLE_OR_RETURN(ctx.allocateOutput(0, dtypeOf<Index>, values.dims()));
  const T *value = values.data<T>();
  Index *to = out->data<Index>();
  for (int64_t row = 0; row < sorted.dim(0); ++row) {
    const T *first = sorted.data<T>() + row * sorted.dim(1), *last = first + sorted.dim(1);
    for (int64_t i = 0; i < values.dim(1); ++i, ++value)
      *to++ = static_cast<Index>((isUpper ? std::upper_bound(first, last, *value)
                                          : std::lower_bound(first, last, *value)) -
                                 first);
  }
}

template <bool isUpper> Expected<BoundKernel> bindBound(const BindContext &node) {
  DType dtype = node.inputTypes[0];
  BoundKernel kernel;
  bool wide = node.outputTypes[0] == DType::Int64;
  if (!visitType(dtype, RealTypes(), [&]<typename T>() {
        kernel.fn = wide ? bound<T, int64_t, isUpper> : bound<T, int32_t, isUpper>;
      }))
    return unsupportedDType(node, dtype);
  return kernel;
}

// --- accidental hits ---------------------------------------------------------------------------

// If a class was sampled more than once, its last position counts.
void accidentalHits(OpContext &ctx) {
  const Tensor &classes = ctx.input(0), &samples = ctx.input(1);
  if (classes.rank() != 2 || classes.dim(1) != ctx.state<int64_t>() || samples.rank() != 1)
    return ctx.fail(invalidArgument("true_classes and sampled_candidates are ",
                                    tensorTypeText(classes), " and ", tensorTypeText(samples),
                                    ", expected [batch,", ctx.state<int64_t>(), "] and a vector"));
  std::unordered_map<int64_t, int64_t> places;
  for (int64_t i = 0; i < samples.count(); ++i)
    places[samples.data<int64_t>()[i]] = i;
  std::vector<std::pair<int32_t, int64_t>> hits; // batch row, position among the samples
  for (int64_t i = 0; i < classes.count(); ++i)
    if (auto found = places.find(classes.data<int64_t>()[i]); found != places.end())
      hits.emplace_back(static_cast<int32_t>(i / classes.dim(1)), found->second);
  auto n = static_cast<int64_t>(hits.size());
  Tensor *rows = ctx.allocateOutput(0, DType::Int32, {n});
  Tensor *ids = ctx.allocateOutput(1, DType::Int64, {n});
  Tensor *weights = ctx.allocateOutput(2, DType::Float32, {n});
  if (!rows || !ids || !weights)
    return;
  std::ranges::copy(hits | std::views::keys, rows->data<int32_t>());
  std::ranges::copy(hits | std::views::values, ids->data<int64_t>());
  std::fill_n(weights->data<float>(), n, std::numeric_limits<float>::lowest());
}

Expected<BoundKernel> bindAccidentalHits(const BindContext &node) {
  return node.attrs.get<int64_t>("num_true").map([](int64_t width) {
    return boundWith(accidentalHits, width);
  });
}

const KernelEntry searchTable[] = {
    {"ComputeAccidentalHits", bindAccidentalHits},
    {"LowerBound", bindBound<false>},
    {"ToBool", bindByType<ToBool, Join<PlainTypes, TypeList<std::string>>>},
    {"UpperBound", bindBound<true>},
    {"Where", bindByType<Where, PlainTypes>},
};

} // namespace

std::span<const KernelEntry> searchKernels() { return searchTable; }

} // namespace treadle
