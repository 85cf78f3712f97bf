// Products and convolutions of TensorFlow's Uniform ops: sums of products of integers less their
// zero points, brought to the scale of the result. The hybrid ones quantize their left operand, a
// batch of floats, row by row, and give floats.
#include "treadle/kernels/ElementCopy.h"
#include "treadle/kernels/Families.h"
#include "treadle/kernels/arrays/DimensionNumbers.h"
#include "treadle/kernels/products/Families.h"
#include "treadle/kernels/quantized/UniformParameters.h"
#include "treadle/kernels/windows/Families.h"
#include "treadle/runtime/RunOp.h"

#include <vector>

namespace treadle {
namespace {

using namespace uniform;

/// Where the dimensions of an operand are, and a convolution's window. Empty of a product.
struct WindowState {
  std::vector<int64_t> strides, lhsDilation, rhsDilation, paddings;
  std::string padding, numbers; // ConvolutionDimensionNumbers of XLA
  std::vector<int64_t> input, filter;
  int64_t outputBatch = 0, outputFeature = 1, featureGroups = 1, batchGroups = 1;
};

struct ProductState {
  std::optional<Range> lhs, out; // of those that aren't hybrid
  Range rhs;
  std::optional<WindowState> window;

  int64_t features() const { return window ? window->outputFeature : 1; }
};

// --- operands ----------------------------------------------------------------------------------

/// Integers less their zero points, as int32.
Expected<Tensor> centred(const Tensor &x, const Parameters &p) {
  Tensor out = TREADLE_TRY(Tensor::make(DType::Int32, x.dims()));
  for (int64_t i = 0; i < x.count(); ++i)
    out.data<int32_t>()[i] = x.data<int8_t>()[i] - p.zero(p.slice(i));
  return out;
}

/// Rows of floats as integers less the zero point that suits each, and their scales.
struct QuantizedRows {
  Tensor integers;
  std::vector<float> scales;
};

/// The range of a row holds 0; the zero point is the integer that is nearest to it.
float quantizeRow(const float *row, int64_t count, const Range &range, int32_t *out) {
  double low = 0, high = 0;
  for (int64_t i = 0; i < count; ++i) {
    low = std::min<double>(low, row[i]);
    high = std::max<double>(high, row[i]);
  }
  if (low == high) {
    std::fill_n(out, count, 0);
    return 0;
  }
  double steps = static_cast<double>(range.max) - range.min;
  auto scale = static_cast<float>((high - low) / steps);
  auto inverse = static_cast<float>(steps / (high - low));
  double fromLow = range.min - low / scale, fromHigh = range.max - high / scale;
  bool isLowBetter =
      std::abs(range.min) + std::abs(low / scale) < std::abs(range.max) + std::abs(high / scale);
  double zero =
      std::clamp<double>(std::round(isLowBetter ? fromLow : fromHigh), range.min, range.max);
  auto whole = static_cast<int32_t>(zero);
  for (int64_t i = 0; i < count; ++i)
    out[i] = quantized(row[i], inverse, whole, range) - whole;
  return scale;
}

/// Row by row along dimension `batch`, which must be the outermost.
Expected<QuantizedRows> quantizeRows(const Tensor &x, const Range &range) {
  QuantizedRows rows{TREADLE_TRY(Tensor::make(DType::Int32, x.dims())), {}};
  int64_t count = x.dim(0), size = count ? x.count() / count : 0;
  for (int64_t i = 0; i < count; ++i)
    rows.scales.push_back(quantizeRow(x.data<float>() + i * size, size, range,
                                      rows.integers.data<int32_t>() + i * size));
  return rows;
}

// --- the product -------------------------------------------------------------------------------

Tensor vectorOf(const std::vector<int64_t> &list) {
  Tensor t = *Tensor::make(DType::Int64, {std::ssize(list)});
  std::ranges::copy(list, t.data<int64_t>());
  return t;
}

/// Low and high padding of each spatial dimension.
std::vector<int64_t> paddingsOf(const WindowState &w, const Tensor &x, const Tensor &filter) {
  if (w.padding != "SAME")
    return w.padding == "EXPLICIT" ? w.paddings : std::vector<int64_t>(2 * w.strides.size(), 0);
  std::vector<int64_t> list;
  for (size_t i = 0; i < w.strides.size(); ++i) {
    int64_t size = x.dims()[static_cast<size_t>(w.input[i + 2])];
    int64_t window = filter.dims()[static_cast<size_t>(w.filter[i + 2])];
    size = size ? (size - 1) * w.lhsDilation[i] + 1 : 0;
    window = (window - 1) * w.rhsDilation[i] + 1;
    int64_t places = (size + w.strides[i] - 1) / w.strides[i];
    int64_t all = std::max<int64_t>(0, (places - 1) * w.strides[i] + window - size);
    list.push_back(all / 2);
    list.push_back(all - all / 2);
  }
  return list;
}

/// Sums of products, as int32.
Expected<Tensor> multiplied(const ProductState &s, const Tensor &lhs, const Tensor &rhs) {
  std::vector<Tensor> inputs{lhs, rhs};
  AttrMap attrs;
  if (!s.window)
    return std::move(
        TREADLE_TRY(runOp({matMulKernels}, "MatMul", attrs, inputs, {DType::Int32}))[0]);
  const WindowState &w = *s.window;
  Tensor paddings = vectorOf(paddingsOf(w, lhs, rhs));
  inputs.insert(inputs.end(), {vectorOf(w.strides), paddings, vectorOf(w.lhsDilation),
                               vectorOf(w.rhsDilation), vectorOf({w.featureGroups})});
  attrs.set("dimension_numbers", w.numbers);
  attrs.set("batch_group_count", w.batchGroups);
  return std::move(
      TREADLE_TRY(runOp({xlaConvolutionKernels}, "XlaConvV2", attrs, inputs, {DType::Int32}))[0]);
}

/// The shapes of operands, before anything looks at their dimensions.
bool checkRanks(OpContext &ctx, const ProductState &s) {
  const Tensor &lhs = ctx.input(0), &rhs = ctx.input(1);
  auto rank = static_cast<int>(s.window ? s.window->input.size() : 2);
  bool fits = lhs.rank() == rank && rhs.rank() == rank && (s.window || lhs.dim(1) == rhs.dim(0));
  if (!fits)
    ctx.fail(invalidArgument("operands of shapes ", dimsText(lhs.dims()), " and ",
                             dimsText(rhs.dims()), " don't go together"));
  return fits;
}

void runProduct(OpContext &ctx) {
  const auto &s = ctx.state<ProductState>();
  if (!checkRanks(ctx, s))
    return;
  auto lhs = Parameters::read(ctx, 2, s.lhs->axis, ctx.input(0).dims());
  auto rhs = lhs ? Parameters::read(ctx, 4, s.rhs.axis, ctx.input(1).dims()) : std::nullopt;
  auto a = rhs ? ctx.check(centred(ctx.input(0), *lhs)) : std::nullopt;
  auto b = a ? ctx.check(centred(ctx.input(1), *rhs)) : std::nullopt;
  auto sums = b ? ctx.check(multiplied(s, *a, *b)) : std::nullopt;
  auto to = sums ? Parameters::read(ctx, 6, s.out->axis, sums->dims()) : std::nullopt;
  Tensor *out = to ? ctx.allocateOutput(0, DType::QInt32, sums->dims()) : nullptr;
  if (!out)
    return;
  int64_t features = sums->dims()[static_cast<size_t>(s.features())], stride = 1;
  for (size_t d = static_cast<size_t>(s.features()) + 1; d < sums->dims().size(); ++d)
    stride *= sums->dims()[d];
  auto sliceOf = [&](const Parameters &p, int64_t feature) {
    return p.slices() == 1 ? 0 : feature;
  };
  if (rhs->slices() != 1 && rhs->slices() != features)
    return ctx.fail(invalidArgument("rhs is quantized in ", rhs->slices(),
                                    " slices, but there are ", features, " features"));
  std::vector<Multiplier> factors;
  for (int64_t i = 0; i < features; ++i)
    factors.emplace_back(static_cast<double>(lhs->scale(0)) * rhs->scale(sliceOf(*rhs, i)) /
                         to->scale(sliceOf(*to, i)));
  for (int64_t i = 0; i < sums->count(); ++i) {
    int64_t feature = i / stride % features;
    int32_t x = factors[static_cast<size_t>(feature)](sums->data<int32_t>()[i]);
    out->data<int32_t>()[i] = s.out->clamped(wrappingSum(x, to->zero(sliceOf(*to, feature))));
  }
}

void runHybrid(OpContext &ctx) {
  const auto &s = ctx.state<ProductState>();
  if (!checkRanks(ctx, s))
    return;
  if (s.window && (s.window->input[0] != 0 || s.window->batchGroups != 1))
    return ctx.fail(unimplemented("batches that aren't the first dimension, or are in groups"));
  auto rhs = Parameters::read(ctx, 2, s.rhs.axis, ctx.input(1).dims());
  auto rows = rhs ? ctx.check(quantizeRows(ctx.input(0), s.rhs)) : std::nullopt;
  auto b = rows ? ctx.check(centred(ctx.input(1), *rhs)) : std::nullopt;
  auto sums = b ? ctx.check(multiplied(s, rows->integers, *b)) : std::nullopt;
  Tensor *out = sums ? ctx.allocateOutput(0, DType::Float32, sums->dims()) : nullptr;
  if (!out)
    return;
  DimVector strides = rowMajorStrides(sums->dims());
  auto at = [&](int64_t i, int64_t d) {
    return i / strides[static_cast<size_t>(d)] % sums->dims()[static_cast<size_t>(d)];
  };
  if (rhs->slices() != 1 && rhs->slices() != sums->dims()[static_cast<size_t>(s.features())])
    return ctx.fail(invalidArgument("rhs is quantized in ", rhs->slices(), " slices"));
  int64_t batchDim = s.window ? s.window->outputBatch : 0;
  for (int64_t i = 0; i < sums->count(); ++i) {
    float scale = rows->scales[static_cast<size_t>(at(i, batchDim))] *
                  rhs->scale(rhs->slices() == 1 ? 0 : at(i, s.features()));
    out->data<float>()[i] = static_cast<float>(sums->data<int32_t>()[i]) * scale;
  }
}

// --- attributes --------------------------------------------------------------------------------

void appendField(std::string &bytes, int number, int64_t value) {
  bytes += static_cast<char>(number << 3);
  bytes += static_cast<char>(value); // a dimension
}

/// TensorFlow's message for dimensions, as XLA's.
Expected<void> readNumbers(std::string_view bytes, size_t spatial, WindowState &w) {
  std::vector<int64_t> fields[9], *places[9];
  for (size_t i = 0; i < 9; ++i)
    places[i] = &fields[i];
  if (!readDimensionNumbers(bytes, places))
    return Unexpected(invalidArgument("dimension_numbers is no message "
                                      "UniformQuantizedConvolutionDimensionNumbersAttr"));
  bool isDefault = bytes.empty(); // batch, features, space; output and input features, space
  auto dimension = [&](size_t field, int64_t otherwise) {
    return isDefault ? otherwise : fields[field].empty() ? 0 : fields[field].back();
  };
  auto space = [&](size_t field) {
    for (size_t i = 0; isDefault && i < spatial; ++i)
      fields[field].push_back(static_cast<int64_t>(i) + 2);
    return fields[field];
  };
  int64_t batch = dimension(0, 0), feature = dimension(1, 1);
  w.input = {batch, feature};
  int64_t filterIn = dimension(3, 1), filterOut = dimension(4, 0);
  w.filter = {filterOut, filterIn};
  w.outputBatch = dimension(6, 0);
  w.outputFeature = dimension(7, 1);
  constexpr int64_t mostDims = 128; // of a varint of one byte
  auto isDimension = [&](int64_t d) { return d >= 0 && d < static_cast<int64_t>(spatial) + 2; };
  for (int64_t d : {batch, feature, filterIn, filterOut, w.outputBatch, w.outputFeature})
    if (!isDimension(d) || d >= mostDims)
      return Unexpected(invalidArgument("dimension_numbers name dimension ", d));
  const std::pair<int, int64_t> single[] = {{3, filterIn},      {4, filterOut},
                                            {7, batch},         {8, feature},
                                            {9, w.outputBatch}, {10, w.outputFeature}};
  for (auto [number, value] : single)
    appendField(w.numbers, number, value);
  const std::pair<int, size_t> lists[] = {{11, 2}, {6, 5}, {12, 8}};
  for (auto [number, field] : lists)
    for (int64_t d : space(field)) {
      if (!isDimension(d))
        return Unexpected(invalidArgument("dimension_numbers name dimension ", d));
      appendField(w.numbers, number, d);
    }
  w.input.insert(w.input.end(), fields[2].begin(), fields[2].end());
  w.filter.insert(w.filter.end(), fields[5].begin(), fields[5].end());
  if (fields[2].size() != spatial || fields[5].size() != spatial)
    return Unexpected(invalidArgument("dimension_numbers have ", fields[2].size(), " and ",
                                      fields[5].size(), " spatial dimensions, expected ", spatial));
  return {};
}

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
  size_t spatial = 2; // of images, where no attribute tells
  for (const auto *stated : {&w.strides, &w.lhsDilation, &w.rhsDilation})
    spatial = stated->empty() ? spatial : stated->size();
  if (!w.paddings.empty())
    spatial = w.paddings.size() / 2;
  for (auto *stated : {&w.strides, &w.lhsDilation, &w.rhsDilation}) {
    if (stated->empty())
      stated->assign(spatial, 1);
    if (stated->size() != spatial || std::ranges::min(*stated) < 1)
      return Unexpected(
          invalidArgument("strides and dilations must be ", spatial, " numbers each, from 1 on"));
  }
  if (w.padding != "SAME" && w.padding != "VALID" && w.padding != "EXPLICIT")
    return Unexpected(invalidArgument("padding is '", w.padding, "'"));
  std::string bytes = node.attrs.getOr("dimension_numbers", std::string());
  TREADLE_TRY(readNumbers(bytes, spatial, w));
  return w;
}

template <bool isHybrid, bool isConvolution>
Expected<BoundKernel> bindProduct(const BindContext &node) {
  ProductState s;
  DType lhs = isHybrid ? DType::Float32 : DType::QInt8;
  if (node.inputTypes[0] != lhs || node.inputTypes[1] != DType::QInt8)
    return unsupportedDType(node, node.inputTypes[node.inputTypes[0] != lhs ? 0 : 1]);
  s.rhs = TREADLE_TRY(Range::of(node, "rhs_"));
  if (!isHybrid) {
    s.lhs = TREADLE_TRY(Range::of(node, "lhs_"));
    s.out = TREADLE_TRY(Range::of(node, "output_"));
  }
  if (!isHybrid && s.lhs->axis != -1)
    return Unexpected(unimplemented("a left operand that is quantized along an axis"));
  if (isConvolution)
    s.window = TREADLE_TRY(readWindow(node));
  BoundKernel bound = boundWith(isHybrid ? runHybrid : runProduct, std::move(s));
  bound.isExpensive = true;
  return bound;
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
