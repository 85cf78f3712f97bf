// Products and convolutions of TensorFlow's Uniform ops: sums of products of integers minus their
// zero points, rescaled to the result. The hybrid ops quantize their left operand, a batch of
// floats, row by row, and return floats.
#include "treadle/kernels/ElementCopy.h"
#include "treadle/kernels/arrays/DimensionNumbers.h"
#include "treadle/kernels/products/Families.h"
#include "treadle/kernels/quantized/UniformParameters.h"
#include "treadle/kernels/windows/Families.h"
#include "treadle/runtime/RunOp.h"

#include <vector>

namespace treadle {
namespace {

using namespace uniform;

/// The window of a convolution and its dimension numbers: as given by the attributes, or completed
/// for operands of a rank.
struct WindowState {
  std::vector<int64_t> strides, lhsDilation, rhsDilation, paddings;
  std::string padding, numbers; // TensorFlow's message; once completed, XLA's
  // batch and feature (of filters: output and input), then spatial
  std::vector<int64_t> input, filter;
  int64_t outputBatch = 0, outputFeature = 1, featureGroups = 1, batchGroups = 1;
};

struct ProductState {
  std::optional<QuantizedRange> lhs, out; // none in hybrid ops
  QuantizedRange rhs;
  std::optional<WindowState> window;
};

// --- operands ----------------------------------------------------------------------------------

/// Returns the integers minus their zero points, as int32.
Expected<Tensor> centred(const Tensor &x, const QuantizationParameters &p) {
  Tensor out = TREADLE_TRY(Tensor::make(DType::Int32, x.dims()));
  for (int64_t i = 0; i < x.count(); ++i)
    out.data<int32_t>()[i] = x.data<int8_t>()[i] - p.zero(p.slice(i));
  return out;
}

/// Floats quantized to integers minus the zero point of their slice of the batch, and the slices'
/// scales.
struct QuantizedBatch {
  Tensor integers;
  std::vector<float> scales;
};

/// The scale and zero point of a slice, for 8 bits.
struct SliceQuantization {
  double low = 0, high = 0;
  float scale = 0, inverse = 0;
  int32_t zero = 0;

  static constexpr QuantizedRange range{-1, INT8_MIN, INT8_MAX};

  /// Computes them. The range contains 0; the zero point is the integer nearest to it.
  void choose() {
    if (low == high)
      return;
    constexpr double steps = static_cast<double>(range.max) - range.min;
    scale = static_cast<float>((high - low) / steps);
    inverse = static_cast<float>(steps / (high - low));
    double fromLow = range.min - low / scale, fromHigh = range.max - high / scale;
    bool isLowBetter =
        std::abs(range.min) + std::abs(low / scale) < std::abs(range.max) + std::abs(high / scale);
    double nearest = std::round(isLowBetter ? fromLow : fromHigh); // NaN if a float is infinite
    if (!std::isnan(nearest))
      zero = static_cast<int32_t>(std::clamp<double>(nearest, range.min, range.max));
  }
  int32_t operator()(float x) const {
    return scale == 0 ? 0 : quantized(x, inverse, zero, range) - zero;
  }
};

/// Quantizes slice by slice along dimension `batch`.
Expected<QuantizedBatch> quantizeBatch(const Tensor &x, int64_t batch) {
  QuantizedBatch result{TREADLE_TRY(Tensor::make(DType::Int32, x.dims())), {}};
  auto dim = static_cast<size_t>(batch);
  int64_t stride = rowMajorStrides(x.dims())[dim];
  std::vector<SliceQuantization> slices(static_cast<size_t>(x.dims()[dim]));
  auto sliceOf = [&](int64_t i) -> SliceQuantization & {
    return slices[static_cast<size_t>(i / stride % x.dims()[dim])];
  };
  const float *in = x.data<float>();
  for (int64_t i = 0; i < x.count(); ++i) {
    SliceQuantization &slice = sliceOf(i);
    slice.low = std::min<double>(slice.low, in[i]);
    slice.high = std::max<double>(slice.high, in[i]);
  }
  for (SliceQuantization &slice : slices) {
    slice.choose();
    result.scales.push_back(slice.scale);
  }
  for (int64_t i = 0; i < x.count(); ++i)
    result.integers.data<int32_t>()[i] = sliceOf(i)(in[i]);
  return result;
}

// --- the window --------------------------------------------------------------------------------

void appendField(std::string &bytes, int number, int64_t value) {
  bytes += static_cast<char>(number << 3);
  bytes += static_cast<char>(value); // a dimension
}

/// Converts TensorFlow's message of dimension numbers to XLA's.
Expected<void> readNumbers(std::string_view bytes, int64_t rank, WindowState &w) {
  std::vector<int64_t> fields[9], *places[9];
  for (size_t i = 0; i < 9; ++i)
    places[i] = &fields[i];
  if (!readDimensionNumbers(bytes, places))
    return Unexpected(invalidArgument("attribute 'dimension_numbers' does not parse as "
                                      "UniformQuantizedConvolutionDimensionNumbersAttr"));
  // batch, features, spatial; output and input features, spatial
  bool isDefault = fields[2].empty();
  constexpr int64_t maxDims = 128; // the numbers of a one-byte varint
  auto isDimension = [&](int64_t d) { return d >= 0 && d < std::min(rank, maxDims); };
  auto dimension = [&](size_t field, int64_t otherwise) {
    return isDefault ? otherwise : fields[field].empty() ? 0 : fields[field].back();
  };
  w.numbers.clear();
  for (size_t field : {2, 5, 8}) {
    for (int64_t d = 2; isDefault && d < rank; ++d)
      fields[field].push_back(d);
    if (std::ssize(fields[field]) != rank - 2)
      return Unexpected(invalidArgument("dimension_numbers have ", fields[field].size(),
                                        " spatial dimensions, expected ", rank - 2));
  }
  const std::pair<int, size_t> lists[] = {{11, 2}, {6, 5}, {12, 8}};
  w.input = {dimension(0, 0), dimension(1, 1)};
  w.filter = {dimension(4, 0), dimension(3, 1)};
  w.outputBatch = dimension(6, 0);
  w.outputFeature = dimension(7, 1);
  const std::pair<int, int64_t> single[] = {{3, w.filter[1]},   {4, w.filter[0]},
                                            {7, w.input[0]},    {8, w.input[1]},
                                            {9, w.outputBatch}, {10, w.outputFeature}};
  auto append = [&](int number, int64_t d) -> Expected<void> {
    if (!isDimension(d))
      return Unexpected(invalidArgument("dimension_numbers contain dimension ", d,
                                        ", expected one of the operands'"));
    appendField(w.numbers, number, d);
    return {};
  };
  for (auto [number, d] : single)
    TREADLE_TRY(append(number, d));
  for (auto [number, field] : lists)
    for (int64_t d : fields[field])
      TREADLE_TRY(append(number, d));
  w.input.insert(w.input.end(), fields[2].begin(), fields[2].end());
  w.filter.insert(w.filter.end(), fields[5].begin(), fields[5].end());
  return {};
}

/// Reads the attributes.
Expected<WindowState> readWindow(const BindContext &node) {
  auto list = [&](std::string_view name) { return node.attrs.getOr(name, std::vector<int64_t>()); };
  WindowState w;
  w.strides = list("window_strides");
  w.lhsDilation = list("lhs_dilation");
  w.rhsDilation = list("rhs_dilation");
  w.paddings = list("explicit_padding");
  w.padding = node.attrs.getOr("padding", std::string("VALID"));
  w.featureGroups = node.attrs.getOr<int64_t>("feature_group_count", 1);
  w.batchGroups = node.attrs.getOr<int64_t>("batch_group_count", 1);
  w.numbers = node.attrs.getOr("dimension_numbers", std::string());
  if (w.padding != "SAME" && w.padding != "VALID" && w.padding != "EXPLICIT")
    return Unexpected(
        invalidArgument("padding is '", w.padding, "', expected SAME, VALID or EXPLICIT"));
  if (w.padding != "EXPLICIT" && !w.paddings.empty())
    return Unexpected(invalidArgument("explicit_padding is set, but padding is '", w.padding, "'"));
  if (std::ranges::any_of(w.paddings, [](int64_t n) { return n < 0; }))
    return Unexpected(invalidArgument("explicit_padding has negative numbers"));
  return w;
}

/// Returns low and high padding of each spatial dimension, from the sizes of dilated operands.
std::vector<int64_t> paddingsOf(const WindowState &w, const std::vector<int64_t> &sizes,
                                const std::vector<int64_t> &windows) {
  if (w.padding == "EXPLICIT")
    return w.paddings;
  std::vector<int64_t> list(2 * w.strides.size());
  for (size_t i = 0; w.padding == "SAME" && i < w.strides.size(); ++i) {
    int64_t places = (sizes[i] + w.strides[i] - 1) / w.strides[i];
    int64_t all = std::max<int64_t>(0, (places - 1) * w.strides[i] + windows[i] - sizes[i]);
    list[2 * i] = all / 2;
    list[2 * i + 1] = all - all / 2;
  }
  return list;
}

std::vector<int64_t> dilatedSizes(const Tensor &t, const std::vector<int64_t> &dims,
                                  const std::vector<int64_t> &dilation) {
  std::vector<int64_t> sizes;
  for (size_t i = 0; i < dilation.size(); ++i) {
    int64_t size = t.dims()[static_cast<size_t>(dims[i + 2])];
    sizes.push_back(size ? (size - 1) * dilation[i] + 1 : 0);
  }
  return sizes;
}

/// Returns the window with all defaults filled in.
Expected<WindowState> completed(WindowState w, const Tensor &lhs, const Tensor &rhs) {
  if (lhs.rank() != rhs.rank() || lhs.rank() < 3)
    return Unexpected(invalidArgument("operands of shapes ", dimsText(lhs.dims()), " and ",
                                      dimsText(rhs.dims()), " do not match"));
  size_t spatial = static_cast<size_t>(lhs.rank()) - 2;
  constexpr int64_t most = INT32_MAX;
  for (auto *stated : {&w.strides, &w.lhsDilation, &w.rhsDilation}) {
    if (stated->empty())
      stated->assign(spatial, 1);
    if (stated->size() != spatial || std::ranges::min(*stated) < 1 ||
        std::ranges::max(*stated) > most)
      return Unexpected(
          invalidArgument("strides and dilations must be ", spatial, " numbers each, 1 or more"));
  }
  if (w.padding == "EXPLICIT" && w.paddings.size() != 2 * spatial)
    return Unexpected(invalidArgument("explicit_padding has ", w.paddings.size(),
                                      " numbers, expected ", 2 * spatial));
  TREADLE_TRY(readNumbers(std::string(w.numbers), lhs.rank(), w));
  std::vector<int64_t> sizes = dilatedSizes(lhs, w.input, w.lhsDilation),
                       windows = dilatedSizes(rhs, w.filter, w.rhsDilation);
  w.paddings = paddingsOf(w, sizes, windows);
  for (size_t i = 0; i < spatial; ++i)
    if (sizes[i] + w.paddings[2 * i] + w.paddings[2 * i + 1] - windows[i] <= -2 * w.strides[i])
      return Unexpected(invalidArgument("a window of ", windows[i], " is larger than the input, ",
                                        sizes[i], " with padding ", w.paddings[2 * i], " and ",
                                        w.paddings[2 * i + 1]));
  return w;
}

// --- the product -------------------------------------------------------------------------------

Tensor vectorOf(const std::vector<int64_t> &list) {
  Tensor t = *Tensor::make(DType::Int64, {std::ssize(list)});
  std::ranges::copy(list, t.data<int64_t>());
  return t;
}

/// The product of two operands: the meaning of the result's dimensions.
struct QuantizedProduct {
  std::optional<WindowState> window;

  static Expected<QuantizedProduct> of(const ProductState &s, const Tensor &lhs,
                                       const Tensor &rhs) {
    if (s.window)
      return QuantizedProduct{TREADLE_TRY(completed(*s.window, lhs, rhs))};
    if (lhs.rank() != 2 || rhs.rank() != 2 || lhs.dim(1) != rhs.dim(0))
      return Unexpected(invalidArgument("operands of shapes ", dimsText(lhs.dims()), " and ",
                                        dimsText(rhs.dims()), " do not match"));
    return QuantizedProduct{};
  }

  int64_t inputBatch() const { return window ? window->input[0] : 0; }
  int64_t outputBatch() const { return window ? window->outputBatch : 0; }
  int64_t features() const { return window ? window->outputFeature : 1; }
  /// Returns the feature dimension of the right operand.
  int64_t filterFeatures() const { return window ? window->filter[0] : 1; }
  int64_t batchGroups() const { return window ? window->batchGroups : 1; }

  /// Returns the sums of products as int32.
  Expected<Tensor> sums(const Tensor &lhs, const Tensor &rhs) const {
    std::vector<Tensor> inputs{lhs, rhs};
    AttrMap attrs;
    if (!window)
      return std::move(
          TREADLE_TRY(runOp({matMulKernels}, "MatMul", attrs, inputs, {DType::Int32}))[0]);
    const WindowState &w = *window;
    inputs.insert(inputs.end(), {vectorOf(w.strides), vectorOf(w.paddings), vectorOf(w.lhsDilation),
                                 vectorOf(w.rhsDilation), vectorOf({w.featureGroups})});
    attrs.set("dimension_numbers", w.numbers);
    attrs.set("batch_group_count", w.batchGroups);
    return std::move(
        TREADLE_TRY(runOp({xlaConvolutionKernels}, "XlaConvV2", attrs, inputs, {DType::Int32}))[0]);
  }
};

/// Computes the coordinate of row-major element `i` along a dimension.
class Coordinate {
public:
  Coordinate(Dims dims, int64_t dim)
      : stride(rowMajorStrides(dims)[static_cast<size_t>(dim)]),
        size(dims[static_cast<size_t>(dim)]) {}
  int64_t operator()(int64_t i) const { return i / stride % size; }

  const int64_t stride, size;
};

/// Returns the slice of a feature; 0 if there is one slice for the whole operand.
int64_t sliceOf(const QuantizationParameters &p, int64_t feature) {
  return p.slices() == 1 ? 0 : feature;
}

Expected<void> checkAxis(std::string_view operand, const QuantizedRange &range, int64_t features) {
  if (range.axis == -1 || range.axis == features)
    return {};
  return Unexpected(invalidArgument(operand, "_quantization_axis is ", range.axis,
                                    ", expected -1 or ", features, ", the dimension of features"));
}

/// Returns the factors from sums to integers of the result, for each feature.
Expected<std::vector<FixedPointMultiplier>> outputFactors(const QuantizationParameters &lhs,
                                                          const QuantizationParameters &rhs,
                                                          const QuantizationParameters &to,
                                                          int64_t features) {
  std::vector<FixedPointMultiplier> factors;
  for (int64_t i = 0; i < features; ++i)
    factors.push_back(TREADLE_TRY(
        FixedPointMultiplier::of(static_cast<double>(lhs.scale(0)) * rhs.scale(sliceOf(rhs, i)) /
                                 to.scale(sliceOf(to, i)))));
  return factors;
}

Expected<void> computeProduct(OpContext &ctx, const ProductState &s) {
  const Tensor &lhs = ctx.input(0), &rhs = ctx.input(1);
  QuantizedProduct product = TREADLE_TRY(QuantizedProduct::of(s, lhs, rhs));
  TREADLE_TRY(checkAxis("rhs", s.rhs, product.filterFeatures()));
  TREADLE_TRY(checkAxis("output", *s.out, product.features()));
  if (s.rhs.axis == -1 && s.out->axis != -1)
    return Unexpected(invalidArgument("the result is quantized along an axis, but rhs is not"));
  QuantizationParameters from =
      TREADLE_TRY(QuantizationParameters::of(ctx, 2, s.lhs->axis, lhs.dims()));
  QuantizationParameters by =
      TREADLE_TRY(QuantizationParameters::of(ctx, 4, s.rhs.axis, rhs.dims()));
  Tensor sums =
      TREADLE_TRY(product.sums(TREADLE_TRY(centred(lhs, from)), TREADLE_TRY(centred(rhs, by))));
  QuantizationParameters to =
      TREADLE_TRY(QuantizationParameters::of(ctx, 6, s.out->axis, sums.dims()));
  Coordinate feature(sums.dims(), product.features());
  std::vector<FixedPointMultiplier> factors =
      TREADLE_TRY(outputFactors(from, by, to, feature.size));
  Tensor *out = ctx.allocateOutput(0, DType::QInt32, sums.dims());
  for (int64_t i = 0; out && i < sums.count(); ++i) {
    int64_t f = feature(i);
    int32_t x = factors[static_cast<size_t>(f)](sums.data<int32_t>()[i]);
    out->data<int32_t>()[i] = s.out->clamped(wrappingSum(x, to.zero(sliceOf(to, f))));
  }
  return {};
}

Expected<void> computeHybrid(OpContext &ctx, const ProductState &s) {
  const Tensor &lhs = ctx.input(0), &rhs = ctx.input(1);
  QuantizedProduct product = TREADLE_TRY(QuantizedProduct::of(s, lhs, rhs));
  TREADLE_TRY(checkAxis("rhs", s.rhs, product.filterFeatures()));
  QuantizationParameters by =
      TREADLE_TRY(QuantizationParameters::of(ctx, 2, s.rhs.axis, rhs.dims()));
  QuantizedBatch batch = TREADLE_TRY(quantizeBatch(lhs, product.inputBatch()));
  Tensor sums = TREADLE_TRY(product.sums(batch.integers, TREADLE_TRY(centred(rhs, by))));
  Coordinate feature(sums.dims(), product.features()), row(sums.dims(), product.outputBatch());
  int64_t groupSize = feature.size / product.batchGroups();
  Tensor *out = ctx.allocateOutput(0, DType::Float32, sums.dims());
  for (int64_t i = 0; out && i < sums.count(); ++i) {
    int64_t f = feature(i);
    float scale = batch.scales[static_cast<size_t>(f / groupSize * row.size + row(i))];
    out->data<float>()[i] =
        static_cast<float>(sums.data<int32_t>()[i]) * scale * by.scale(sliceOf(by, f));
  }
  return {};
}

template <auto compute> void runComputing(OpContext &ctx) {
  if (Expected<void> done = compute(ctx, ctx.state<ProductState>()); !done)
    ctx.fail(std::move(done.error()));
}

template <bool isHybrid, bool isConvolution>
Expected<BoundKernel> bindProduct(const BindContext &node) {
  ProductState s;
  DType lhs = isHybrid ? DType::Float32 : DType::QInt8;
  if (node.inputTypes[0] != lhs || node.inputTypes[1] != DType::QInt8)
    return unsupportedDType(node, node.inputTypes[node.inputTypes[0] != lhs ? 0 : 1]);
  s.rhs = TREADLE_TRY(QuantizedRange::of(node, "rhs_"));
  if (!isHybrid) {
    s.lhs = TREADLE_TRY(QuantizedRange::of(node, "lhs_"));
    s.out = TREADLE_TRY(QuantizedRange::of(node, "output_"));
  }
  if (!isHybrid && s.lhs->axis != -1)
    return Unexpected(invalidArgument("lhs_quantization_axis is ", s.lhs->axis, ", expected -1"));
  if (isConvolution)
    s.window = TREADLE_TRY(readWindow(node));
  return expensive(boundWith(isHybrid ? runComputing<computeHybrid> : runComputing<computeProduct>,
                             std::move(s)));
}

const KernelEntry uniformProductTable[] = {
    {"UniformQuantizedConvolution", bindProduct<false, true>},
    {"UniformQuantizedConvolutionHybrid", bindProduct<true, true>},
    {"UniformQuantizedDot", bindProduct<false, false>},
    {"UniformQuantizedDotHybrid", bindProduct<true, false>},
};

} // namespace

std::span<const KernelEntry> uniformProductKernels() { return uniformProductTable; }

} // namespace treadle
