// XlaConv and XlaConvV2: convolutions with dimensions in any order, with dilated inputs and
// filters, and with feature groups or batch groups. The operands are converted to channels-last
// layout; input dilation and negative padding are applied by copying.
#include "treadle/kernels/ElementCopy.h"
#include "treadle/kernels/arrays/DimensionNumbers.h"
#include "treadle/kernels/arrays/Rearrange.h"
#include "treadle/kernels/elementwise/Families.h"
#include "treadle/kernels/products/MatMul.h"
#include "treadle/kernels/windows/ConvolutionPlan.h"
#include "treadle/kernels/windows/Depthwise.h"
#include "treadle/runtime/RunOp.h"
#include "treadle/runtime/ThreadPool.h"

#include <algorithm>

namespace treadle {
namespace {

/// The order of an operand's dimensions: batch, spatial, feature for the input; spatial, input
/// feature, output feature for the filter.
using Order = std::vector<int64_t>;

struct XlaConvolution {
  Order input, filter, output;
  int64_t batchGroups;
  DType computed, out;
  std::shared_ptr<const ConvolutionPlans> plans = std::make_shared<const ConvolutionPlans>();
};

/// The parameters of each spatial dimension from the node's inputs, and the number of groups.
struct Placement {
  std::vector<int64_t> strides, low, high, inputDilation, filterDilation;
  int64_t groups;
};

/// The operands in channels-last layout: [batch, in...] with [window..., channels / groups, result
/// channels].
struct Operands {
  Tensor x, filter;
};

// --- inputs ------------------------------------------------------------------------------------

constexpr int64_t maxSpacing = int64_t{1} << 31;

/// Reads the numbers of input `i`: one per spatial dimension; none if all are 1.
Expected<std::vector<int64_t>> spacings(OpContext &ctx, int i, size_t rank, std::string_view name) {
  std::vector<int64_t> list = rearrange::numbers(ctx.input(i));
  if (list.empty())
    list.assign(rank, 1);
  for (int64_t n : list)
    if (n < 1 || n > maxSpacing)
      return Unexpected(invalidArgument(name, " has ", n, ", expected 1 to ", maxSpacing));
  if (list.size() != rank)
    return Unexpected(invalidArgument(name, " has ", list.size(), " numbers, expected ", rank));
  return list;
}

Expected<void> readPadding(const Tensor &padding, size_t rank, Placement &place) {
  std::vector<int64_t> list = rearrange::numbers(padding);
  if (list.empty())
    list.assign(2 * rank, 0);
  if (list.size() != 2 * rank)
    return Unexpected(invalidArgument("padding has shape ", dimsText(padding.dims()),
                                      ", expected [", rank, ",2]"));
  for (size_t i = 0; i < list.size(); ++i) {
    if (list[i] < -maxSpacing || list[i] > maxSpacing)
      return Unexpected(invalidArgument("padding has ", list[i], ", expected at most ", maxSpacing,
                                        " in magnitude"));
    (i % 2 ? place.high : place.low).push_back(list[i]);
  }
  return {};
}

Expected<Placement> readPlacement(OpContext &ctx, size_t rank) {
  Placement place;
  place.strides = TREADLE_TRY(spacings(ctx, 2, rank, "window_strides"));
  TREADLE_TRY(readPadding(ctx.input(3), rank, place));
  place.inputDilation = TREADLE_TRY(spacings(ctx, 4, rank, "lhs_dilation"));
  place.filterDilation = TREADLE_TRY(spacings(ctx, 5, rank, "rhs_dilation"));
  place.groups = ctx.input(6).count() == 1 ? indexAt(ctx.input(6), 0) : 0;
  if (place.groups < 1)
    return Unexpected(invalidArgument("feature_group_count must be a scalar of 1 or more"));
  return place;
}

// --- operands ----------------------------------------------------------------------------------

Expected<Tensor> castTo(Tensor x, DType dtype) {
  if (x.dtype() == dtype)
    return x;
  return std::move(TREADLE_TRY(runOp({castKernels}, "Cast", {}, {std::move(x)}, {dtype}))[0]);
}

bool isOrderOf(const Order &order, int rank) {
  Order sorted = order;
  std::ranges::sort(sorted);
  for (size_t i = 0; i < sorted.size(); ++i)
    if (sorted[i] != static_cast<int64_t>(i))
      return false;
  return std::ssize(order) == rank;
}

Expected<Tensor> inOrder(const Tensor &x, const Order &order, DType dtype, std::string_view name) {
  if (!isOrderOf(order, x.rank()))
    return Unexpected(
        invalidArgument("dimension_numbers do not match ", name, ", which is ", tensorTypeText(x)));
  return castTo(TREADLE_TRY(rearrange::permuted(x, order)), dtype);
}

/// Applies input dilation and negative padding; padding that a window supports stays in `place`.
Expected<Tensor> padded(const Tensor &x, Placement &place) {
  auto isOne = [](int64_t n) { return n == 1; };
  auto isAdded = [](int64_t n) { return n >= 0; };
  if (std::ranges::all_of(place.inputDilation, isOne) && std::ranges::all_of(place.low, isAdded) &&
      std::ranges::all_of(place.high, isAdded))
    return x;
  auto framed = [](std::vector<int64_t> list) {
    list.insert(list.begin(), 0);
    list.push_back(0);
    return list;
  };
  std::vector<int64_t> holes = place.inputDilation;
  for (int64_t &hole : holes)
    --hole;
  Tensor zero = TREADLE_TRY(Tensor::make(x.dtype(), Dims()));
  zeroElements(x.dtype(), zero.raw(), 1);
  Tensor out =
      TREADLE_TRY(rearrange::padded(x, zero, framed(place.low), framed(place.high), framed(holes)));
  std::ranges::fill(place.low, 0);
  std::ranges::fill(place.high, 0);
  return out;
}

/// Converts batch groups to channel groups.
Expected<Tensor> batchToChannels(const Tensor &x, int64_t groups) {
  if (groups == 1)
    return x;
  if (x.dim(0) % groups)
    return Unexpected(
        invalidArgument("a batch of ", x.dim(0), " cannot be split into ", groups, " groups"));
  DimVector dims = x.dims(), parts = x.dims();
  size_t last = dims.size() - 1;
  int64_t channels = dims[last];
  dims[0] = parts[0] = dims[0] / groups;
  dims[last] *= groups;
  parts[last] = groups;
  parts.push(channels);
  Tensor out = TREADLE_TRY(Tensor::make(x.dtype(), dims));
  DimVector from = rowMajorStrides(x.dims());
  from[last] = from[0] * parts[0];
  from.push(1);
  if (out.count())
    copyStrided(x.dtype(), parts, out.raw(), rowMajorStrides(parts), x.raw(), from);
  return out;
}

Expected<Operands> readOperands(OpContext &ctx, const XlaConvolution &s, Placement &place) {
  Operands o;
  o.x = TREADLE_TRY(inOrder(ctx.input(0), s.input, s.computed, "lhs"));
  o.filter = TREADLE_TRY(inOrder(ctx.input(1), s.filter, s.computed, "rhs"));
  if (s.batchGroups > 1 && place.groups > 1)
    return Unexpected(
        invalidArgument("feature_group_count and batch_group_count are both greater than 1"));
  o.x = TREADLE_TRY(batchToChannels(TREADLE_TRY(padded(o.x, place)), s.batchGroups));
  place.groups *= s.batchGroups;
  int rank = o.x.rank();
  int64_t channels = o.x.dim(rank - 1), each = o.filter.dim(rank - 2), out = o.filter.dim(rank - 1);
  if (channels % place.groups || out % place.groups || channels / place.groups != each)
    return Unexpected(invalidArgument("operands of shapes ", dimsText(ctx.input(0).dims()), " and ",
                                      dimsText(ctx.input(1).dims()), " cannot be convolved in ",
                                      place.groups, " groups"));
  return o;
}

Expected<PlacedConvolution> placed(const Operands &o, const Placement &p) {
  size_t rank = p.strides.size();
  PlacedConvolution c{{{1, 1, 1}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}, {0, 0, 0}},
                      o.x.dim(0),
                      o.x.dims()[rank + 1],
                      o.filter.dims()[rank + 1]};
  for (size_t i = 0; i < rank; ++i) {
    size_t d = 3 - rank + i;
    Window &w = c.window;
    w.in[d] = o.x.dims()[i + 1];
    w.size[d] = o.filter.dims()[i];
    w.stride[d] = p.strides[i];
    w.dilation[d] = p.filterDilation[i];
    w.padBefore[d] = p.low[i];
    if (w.size[d] < 1 || w.size[d] > maxSpacing || w.in[d] > maxSpacing * maxSpacing / 2)
      return Unexpected(invalidArgument("the window of a filter of shape ",
                                        dimsText(o.filter.dims()), " does not fit into ",
                                        dimsText(o.x.dims())));
    int64_t room = w.in[d] + p.low[i] + p.high[i] - (w.size[d] - 1) * w.dilation[d] - 1;
    w.out[d] = room < 0 ? 0 : room / w.stride[d] + 1;
  }
  return c;
}

// --- convolution -------------------------------------------------------------------------------

template <typename T>
void convolveByTaps(OpContext &ctx, const PlacedConvolution &c, int64_t groups, const T *in,
                    const T *filter, T *out) {
  const Window &w = c.window;
  auto positions = [](const Volume &v) { return v[0] * v[1] * v[2]; };
  int64_t each = c.inChannels / groups, results = c.outChannels / groups;
  double cost = 0.3 * static_cast<double>(positions(w.out) * positions(w.size) * each) *
                static_cast<double>(c.outChannels);
  ctx.parallelFor(c.batch, cost, [&](int64_t begin, int64_t end) {
    for (int64_t n = begin; n < end; ++n)
      forEachTap(w, [&](int64_t o, int64_t i, int64_t k) {
        const T *x = in + (n * positions(w.in) + i) * c.inChannels;
        T *sums = out + (n * positions(w.out) + o) * c.outChannels;
        for (int64_t channel = 0; channel < c.inChannels; ++channel) {
          int64_t group = channel / each;
          const T *weights = filter + (k * each + channel % each) * c.outChannels + group * results;
          for (int64_t r = 0; r < results; ++r)
            sums[group * results + r] += x[channel] * weights[r];
        }
      });
  });
}

/// Runs the plan if there is one; returns whether there was.
bool convolveByPlan(OpContext &ctx, const XlaConvolution &s, const PlacedConvolution &c,
                    int64_t groups, const float *in, const float *filter, float *out) {
  ConvolutionForm form{.place = c, .groups = groups};
  form.parts = form.partsFor(ctx.pool() ? ctx.pool()->numWorkers() + 1 : 1);
  std::shared_ptr<const ConvolutionPlan> plan = s.plans->find(form);
  if (!plan || !plan->supportsElements(in))
    return false;
  if (auto ordered = plan->order(ctx, filter, nullptr))
    plan->run(ctx, in, *ordered, nullptr, out, {});
  return true;
}

template <typename T>
void convolve(OpContext &ctx, const XlaConvolution &s, const PlacedConvolution &c, int64_t groups,
              const Operands &o, Tensor &out) {
  const T *in = o.x.data<T>(), *filter = o.filter.data<T>();
  if constexpr (std::is_same_v<T, float>)
    if (convolveByPlan(ctx, s, c, groups, in, filter, out.data<T>()))
      return;
  if constexpr (std::is_floating_point_v<T>) {
    if (groups == c.inChannels && groups == c.outChannels)
      return convolveDepthwise(ctx, c, in, filter, out.data<T>(), nullptr);
    if (groups == 1)
      return convolveByMatrix<T>(ctx, c, in, filter, out.data<T>(), nullptr);
  }
  convolveByTaps<T>(ctx, c, groups, in, filter, out.data<T>());
}

// --- the ops -----------------------------------------------------------------------------------

Expected<Tensor> convolved(OpContext &ctx, const XlaConvolution &s) {
  size_t rank = s.input.size() - 2;
  Placement place = TREADLE_TRY(readPlacement(ctx, rank));
  Operands o = TREADLE_TRY(readOperands(ctx, s, place));
  PlacedConvolution c = TREADLE_TRY(placed(o, place));
  DimVector dims;
  dims.push(c.batch);
  for (size_t d = 3 - rank; d < 3; ++d)
    dims.push(c.window.out[d]);
  dims.push(c.outChannels);
  Tensor out = TREADLE_TRY(Tensor::make(s.computed, dims));
  zeroElements(s.computed, out.raw(), out.count());
  if (out.count() && c.inChannels)
    visitType(s.computed, Join<TypeList<float, double, uint32_t, uint64_t>, ComplexTypes>(),
              [&]<typename T>() { convolve<T>(ctx, s, c, place.groups, o, out); });
  Order back(s.output.size());
  for (size_t i = 0; i < back.size(); ++i)
    back[static_cast<size_t>(s.output[i])] = static_cast<int64_t>(i);
  return castTo(TREADLE_TRY(rearrange::permuted(out, back)), s.out);
}

void runConvolution(OpContext &ctx) {
  auto out = ctx.check(convolved(ctx, ctx.state<XlaConvolution>()));
  if (out)
    ctx.setOutput(0, std::move(*out));
}

/// Returns the unsigned type for integers, so that they wrap around.
DType wrapping(DType dtype) {
  return dtype == DType::Int32 ? DType::UInt32 : dtype == DType::Int64 ? DType::UInt64 : dtype;
}

/// Reads the message ConvolutionDimensionNumbers, whose fields are numbered from 3 on.
bool readOrders(std::string_view bytes, XlaConvolution &s) {
  std::vector<int64_t> fields[12], *places[12];
  for (size_t i = 0; i < 12; ++i)
    places[i] = &fields[i];
  if (!readDimensionNumbers(bytes, places))
    return false;
  auto order = [&](std::initializer_list<size_t> numbers) {
    Order list; // unstated numbers are 0
    for (size_t number : numbers) {
      const std::vector<int64_t> &field = fields[number - 1];
      bool isSpatial = number == 6 || number > 10;
      list.insert(list.end(), field.begin(), field.end());
      if (!isSpatial && field.empty())
        list.push_back(0);
    }
    return list;
  };
  s.input = order({7, 11, 8});
  s.filter = order({6, 3, 4});
  s.output = order({9, 12, 10});
  auto rank = static_cast<int>(s.input.size());
  return isOrderOf(s.input, rank) && isOrderOf(s.filter, rank) && isOrderOf(s.output, rank);
}

Expected<BoundKernel> bindConvolution(const BindContext &node) {
  XlaConvolution s;
  constexpr size_t maxDims = 5;
  if (!readOrders(node.attrs.getOr("dimension_numbers", std::string()), s))
    return Unexpected(invalidArgument(
        "attribute 'dimension_numbers' does not parse as ConvolutionDimensionNumbers"));
  if (s.input.size() > maxDims)
    return Unexpected(
        unimplemented("a convolution over ", s.input.size() - 2, " dimensions is not supported"));
  s.batchGroups = node.attrs.getOr<int64_t>("batch_group_count", 1);
  if (s.batchGroups < 1)
    return Unexpected(
        invalidArgument("batch_group_count is ", s.batchGroups, ", expected 1 or more"));
  s.out = node.outputTypes[0];
  DType computed = productDType(node.inputTypes[0], node.inputTypes[1], s.out);
  bool isSmall = computed == DType::Float16 || computed == DType::BFloat16;
  s.computed = isSmall ? DType::Float32 : wrapping(computed);
  return expensive(boundWith(runConvolution, std::move(s)));
}

const KernelEntry xlaConvolutionTable[] = {
    {"XlaConv", bindConvolution},
    {"XlaConvV2", bindConvolution},
};

} // namespace

std::span<const KernelEntry> xlaConvolutionKernels() { return xlaConvolutionTable; }

} // namespace treadle
