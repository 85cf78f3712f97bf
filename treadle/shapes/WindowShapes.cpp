// Shape functions of convolutions, pooling and their gradients, and of batch normalization.
#include "treadle/shapes/ShapeFunctions.h"

namespace treadle {
namespace {

/// Positions of the dimensions of an image with two or three spatial dimensions.
struct ImageLayout {
  int64_t rank = 4, channel = 3, firstSpatial = 1;

  int64_t spatial() const { return rank - 2; }
};

std::optional<ImageLayout> layoutOf(const ShapeQuery &query, std::string_view otherwise = "NHWC") {
  std::string format = query.textAttr("data_format", otherwise);
  if (format == "NHWC")
    return ImageLayout{4, 3, 1};
  if (format == "NCHW")
    return ImageLayout{4, 1, 2};
  if (format == "NDHWC")
    return ImageLayout{5, 4, 1};
  if (format == "NCDHW")
    return ImageLayout{5, 1, 2};
  return std::nullopt;
}

int64_t at(std::span<const int64_t> values, size_t index, int64_t otherwise) {
  return index < values.size() ? values[index] : otherwise;
}

/// Number of windows; unknown if a size is unknown.
int64_t windows(const ShapeQuery &query, int64_t size, int64_t window, int64_t stride,
                int64_t dilation, int64_t dim) {
  if (!dims::isKnown(size) || stride <= 0)
    return Shape::unknown;
  std::string padding = query.textAttr("padding");
  std::vector<int64_t> pads = query.intsAttr("padding_list"); // oneDNN's, with VALID
  if (pads.empty() && padding == "SAME")
    return size / stride + (size % stride != 0);
  if (!pads.empty() || padding == "EXPLICIT") {
    if (pads.empty())
      pads = query.intsAttr("explicit_paddings");
    size = dims::plus(size, dims::plus(at(pads, 2 * dim, 0), at(pads, 2 * dim + 1, 0)));
  } else if (padding != "VALID") {
    return Shape::unknown;
  }
  if (!dims::isKnown(window) || window <= 0 || dilation <= 0)
    return Shape::unknown;
  int64_t reach = dims::plus(dims::times(window - 1, dilation), 1);
  int64_t rest = dims::minus(size, reach);
  return dims::isKnown(rest) ? rest / stride + 1 : Shape::unknown;
}

/// An image with `channels` and with windows over its spatial dimensions.
ShapeResults overWindows(const ShapeQuery &query, const ImageLayout &layout,
                         std::span<const int64_t> window, int64_t channels,
                         std::span<const int64_t> strides) {
  const Shape &input = query.shape(0);
  std::vector<int64_t> dilations = query.intsAttr("dilations");
  if (input.hasRank() && input.rank() != layout.rank)
    return shapeError(
        str("input 0 has shape ", input.text(), ", expected ", layout.rank, " dimensions"));
  Shape out = Shape::ofRank(layout.rank);
  out.setDim(0, input.dim(0));
  out.setDim(layout.channel, channels);
  for (int64_t i = 0; i < layout.spatial(); ++i) {
    int64_t dim = layout.firstSpatial + i, sampling = query.intAttr("sampling", 1);
    int64_t size = windows(query, input.dim(dim), at(window, i, Shape::unknown),
                           at(strides, dim, 0), at(dilations, dim, 1), dim);
    bool isSampled = dims::isKnown(size) && sampling > 1;
    out.setDim(dim, isSampled ? size / sampling + (size % sampling != 0) : size);
  }
  return {out};
}

/// Converts [out, in, window...] to [window..., in, out].
Shape windowFirst(const Shape &filter) {
  Shape turned = Shape::ofRank(filter.rank());
  for (int64_t i = 0; i < filter.rank(); ++i)
    turned.setDim(i, filter.dim(i + 2 < filter.rank() ? i + 2 : filter.rank() - 1 - i));
  return turned;
}

template <bool isDepthwise>
ShapeResults convolve(const ShapeQuery &query, const ImageLayout &layout) {
  const Shape &input = query.shape(0);
  Shape filter = query.shape(1);
  if (filter.hasRank() && filter.rank() == layout.rank &&
      query.textAttr("filter_format", "HWIO") == "OIHW")
    filter = windowFirst(filter);
  if (filter.hasRank() && filter.rank() != layout.rank)
    return shapeError(
        str("the filter has shape ", filter.text(), ", expected ", layout.rank, " dimensions"));
  int64_t channels = filter.dim(-1), given = input.dim(layout.channel), taken = filter.dim(-2);
  if (isDepthwise)
    channels = dims::times(channels, dims::meet(taken, given));
  bool fit = !dims::isKnown(given) || !dims::isKnown(taken) ||
             (isDepthwise ? given == taken : taken > 0 && given % taken == 0);
  if (input.isRank(layout.rank) && !fit)
    return shapeError(str("an input of shape ", input.text(), " has ", given,
                          " channels, but the filter of shape ", filter.text(), " expects ",
                          taken));
  std::vector<int64_t> window;
  for (int64_t i = 0; i < layout.spatial(); ++i)
    window.push_back(filter.dim(i));
  return overWindows(query, layout, window, channels, query.intsAttr("strides"));
}

template <bool isDepthwise> ShapeResults convolution(const ShapeQuery &query) {
  std::optional<ImageLayout> layout = layoutOf(query);
  return layout ? convolve<isDepthwise>(query, *layout) : ShapeResults();
}

ShapeResults volumeConvolution(const ShapeQuery &query) {
  std::optional<ImageLayout> layout = layoutOf(query, "NDHWC");
  return layout ? convolve<false>(query, *layout) : ShapeResults();
}

// Any number of spatial dimensions, and of batch dimensions before them.
ShapeResults anyConvolution(const ShapeQuery &query) {
  const Shape &input = query.shape(0), &filter = query.shape(1);
  int64_t batch = query.intAttr("batch_dims", 1);
  if (!input.hasRank() || !filter.hasRank() || filter.rank() < 3 || filter.rank() > 5 ||
      batch < 1 || batch != input.rank() - filter.rank() + 1)
    return {};
  bool isLast = query.textAttr("data_format", "CHANNELS_LAST") == "CHANNELS_LAST";
  int64_t spatial = filter.rank() - 2, first = batch + !isLast;
  std::vector<int64_t> strides = query.intsAttr("strides"), dilations = query.intsAttr("dilations");
  Shape out = input;
  out.setDim(isLast ? input.rank() - 1 : batch, filter.dim(-1));
  for (int64_t i = 0; i < spatial; ++i) {
    // Strides are given for an input with one batch dimension.
    int64_t place = i + 1 + !isLast;
    out.setDim(first + i, windows(query, input.dim(first + i), filter.dim(i), at(strides, place, 0),
                                  at(dilations, place, 1), place));
  }
  return {out};
}

ShapeResults poolOf(const ShapeQuery &query, const std::optional<ImageLayout> &layout,
                    const std::vector<int64_t> &window, const std::vector<int64_t> &strides) {
  if (!layout || static_cast<int64_t>(window.size()) != layout->rank || window[0] != 1)
    return {};
  std::vector<int64_t> spatial(window.begin() + layout->firstSpatial,
                               window.begin() + layout->firstSpatial + layout->spatial());
  // Windows along channels don't overlap.
  int64_t channels = query.shape(0).dim(layout->channel), width = window[layout->channel];
  bool overlap = at(strides, layout->channel, 1) != width;
  channels = overlap ? Shape::unknown : dims::exactly(channels, width);
  return overWindows(query, *layout, spatial, channels, strides);
}

ShapeResults pool(const ShapeQuery &query) {
  return poolOf(query, layoutOf(query), query.intsAttr("ksize"), query.intsAttr("strides"));
}

ShapeResults volumePool(const ShapeQuery &query) {
  return poolOf(query, layoutOf(query, "NDHWC"), query.intsAttr("ksize"),
                query.intsAttr("strides"));
}

ShapeResults quantizedPool(const ShapeQuery &query) { return withRange(pool(query)); }

template <bool isDepthwise> ShapeResults quantizedConvolution(const ShapeQuery &query) {
  return withRange(convolution<isDepthwise>(query));
}

// With a range for each channel if the filter has these.
template <bool isDepthwise> ShapeResults fusedQuantizedConvolution(const ShapeQuery &query) {
  ShapeResults out = convolution<isDepthwise>(query);
  out.values.resize(1);
  return out;
}

// The filter has no input channels.
ShapeResults dilation(const ShapeQuery &query) {
  const Shape &input = query.shape(0), &filter = query.shape(1);
  std::vector<int64_t> strides = query.intsAttr("strides"), rates = query.intsAttr("rates");
  Shape out = input.isRank(4) ? input : Shape::ofRank(4);
  for (int64_t i = 1; i < 3; ++i)
    out.setDim(
        i, windows(query, input.dim(i), filter.dim(i - 1), at(strides, i, 0), at(rates, i, 1), i));
  return {out};
}

ShapeResults poolByInputs(const ShapeQuery &query) {
  return poolOf(query, layoutOf(query), query.integers(1).value_or(Shape::Dims()),
                query.integers(2).value_or(Shape::Dims()));
}

ShapeResults poolWithPlaces(const ShapeQuery &query) {
  ShapeResults out = pool(query);
  if (!out.values.empty())
    out.values.push_back(out.values.front());
  return out;
}

int64_t channelsOf(const ShapeQuery &query, const Shape &input) {
  bool isFirst = query.textAttr("data_format", "NHWC").starts_with("NC");
  return input.dim(isFirst ? 1 : -1);
}

/// Fills in the number of channels.
Shape withChannels(const ShapeQuery &query, const Shape &input, int64_t channels) {
  std::optional<ImageLayout> layout = layoutOf(query);
  if (!layout || (input.hasRank() && input.rank() != layout->rank))
    return input;
  return meet(input, Shape::ofRank(layout->rank)).with(layout->channel, channels);
}

/// The input, and two vectors with an element for each channel. Reserve spaces depend on the
/// kernel.
ShapeResults batchNorm(const ShapeQuery &query) {
  const Shape &input = query.shape(0);
  int64_t channels = channelsOf(query, input);
  for (size_t i = 1; i < 5; ++i)
    if (query.shape(i).dim(0) != 0)
      channels = dims::meet(channels, query.shape(i).dim(0));
  return {withChannels(query, input, channels), Shape{channels}, Shape{channels}};
}

ShapeResults batchNormGradient(const ShapeQuery &query) {
  Shape input = meet(query.shape(0), query.shape(1));
  int64_t channels = dims::meet(channelsOf(query, input), query.shape(2).dim(0));
  return {withChannels(query, input, channels), Shape{channels}, Shape{channels}, Shape{0},
          Shape{0}};
}

ShapeResults biasAdd(const ShapeQuery &query) {
  const Shape &input = query.shape(0), &bias = query.shape(1);
  int64_t channels = channelsOf(query, input);
  if (dims::isKnown(channels) && dims::isKnown(bias.dim(0)) && channels != bias.dim(0))
    return shapeError(str("a bias of shape ", bias.text(), " doesn't match an input of shape ",
                          input.text(), " with ", channels, " channels"));
  if (!input.hasRank())
    return {};
  bool isFirst = query.textAttr("data_format", "NHWC").starts_with("NC");
  return {input.with(isFirst ? 1 : -1, dims::meet(channels, bias.dim(0)))};
}

ShapeResults biasGradient(const ShapeQuery &query) {
  return {Shape{channelsOf(query, query.shape(0))}};
}

// Logits and labels are broadcast to each other.
ShapeResults crossEntropy(const ShapeQuery &query) {
  auto matrix = [&](size_t i) { return meet(Shape::ofRank(2), query.shape(i)); };
  std::optional<Shape> both = broadcast(matrix(0), matrix(1));
  if (!both)
    return shapeError(str("logits of shape ", query.shape(0).text(), " and labels of shape ",
                          query.shape(1).text(), " can't be broadcast to each other"));
  return {Shape{both->dim(0)}, *both};
}

const std::vector<SignatureEntry> &signatures() {
  static const std::vector<SignatureEntry> table = {
      {"[4], [?,?,?,?] -> =0", {"AvgPoolGrad"}},
      {"[5], [?,?,?,?,?] -> =0", {"AvgPool3DGrad"}},
      {"[n], *, * -> =0",
       {"Conv2DBackpropInput", "Conv3DBackpropInputV2", "DepthwiseConv2dNativeBackpropInput"}},
      {"*, [n], * -> =1",
       {"Conv2DBackpropFilter", "Conv3DBackpropFilterV2", "DepthwiseConv2dNativeBackpropFilter"}},
      {"[n,h,w,c], *, * -> [n,h,w,c]", {"MaxPoolGrad", "MaxPoolGradWithArgmax"}},
      {"[n,d,h,w,c], *, * -> [n,d,h,w,c]", {"MaxPool3DGrad"}},
      {"[n,h,w,c], *, *, *, * -> [n,h,w,c]", {"MaxPoolGradV2"}},
      {"[b,c], [b] -> [b], [b,c]", {"SparseSoftmaxCrossEntropyWithLogits"}},
      {"[b,c], [b] -> [b]", {"InTopK"}},
      {"*, X, * -> X",
       {"Conv2DBackpropFilterV2", "Conv3DBackpropFilter", "Dilation2DBackpropFilter",
        "MaxPoolGradGrad", "MaxPool3DGradGrad"}},
      {"*, X, *, *, * -> X", {"MaxPoolGradGradV2"}},
      {"X, *, * -> X", {"Conv2DBackpropInputV2", "Conv3DBackpropInput", "Dilation2DBackpropInput"}},
      {"X, *, *, *, * -> X", {"FractionalMaxPoolGrad"}},
      {"[4], *, *, * -> =0", {"FractionalAvgPoolGrad"}},
      {"[n,h,w,c] -> [n,?,?,c], [?], [?]", {"FractionalMaxPool", "FractionalAvgPool"}},
      {"[b,?,?,?], *, [?,?,?,c] -> [b,?,?,c]", {"FusedPadConv2D"}},
      {"[b,?,?,?], [2], *, [?,?,?,c] -> [b,?,?,c]", {"FusedResizeAndPadConv2D"}},
      {"[b,h,w,c], [c], [c], [c], [c] -> [b,h,w,c]", {"BatchNormWithGlobalNormalization"}},
      {"[b,h,w,c], [c], [c], [c], [b,h,w,c] -> [b,h,w,c], [c], [c], [c], [c]",
       {"BatchNormWithGlobalNormalizationGrad"}},
      {"[b,c], [b], [] -> [b]", {"InTopKV2"}},
      {"[b,h,w,c] -> [b,h,w,c]", {"LRN"}},
      {"[b,h,w,c], [b,h,w,c], [b,h,w,c] -> [b,h,w,c]", {"LRNGrad"}},
      {"X, *, * -> X", {"_MklLayerNorm", "_MklFusedInstanceNorm"}},
      {"*, [n], [?,?,?,c] -> =1, [c]", {"_MklNativeConv2DBackpropFilterWithBias"}},
      {"[b,X], *, * -> [b,X], [b,{groups}], [b,{groups}]", {"_GroupNorm"}},
  };
  return table;
}

const std::vector<ShapeEntry> &functions() {
  static const std::vector<ShapeEntry> table = {
      {"Conv", anyConvolution},
      {"Conv2D", convolution<false>},
      {"_FusedConv2D", convolution<false>},
      {"_MklNativeConv2DWithBias", convolution<false>},
      {"DepthwiseConv2dNative", convolution<true>},
      {"_FusedDepthwiseConv2dNative", convolution<true>},
      {"Conv3D", volumeConvolution},
      {"_FusedConv3D", volumeConvolution},
      {"QuantizedConv2D", fusedQuantizedConvolution<false>},
      {"QuantizedConv2DAndRelu", fusedQuantizedConvolution<false>},
      {"QuantizedConv2DPerChannel", fusedQuantizedConvolution<false>},
      {"QuantizedConv2DWithBias", fusedQuantizedConvolution<false>},
      {"QuantizedConv2DWithBiasAndRelu", fusedQuantizedConvolution<false>},
      {"QuantizedConv2DWithBiasSumAndRelu", fusedQuantizedConvolution<false>},
      {"QuantizedConv2DAndReluAndRequantize", quantizedConvolution<false>},
      {"QuantizedConv2DAndRequantize", quantizedConvolution<false>},
      {"QuantizedConv2DWithBiasAndReluAndRequantize", quantizedConvolution<false>},
      {"QuantizedConv2DWithBiasAndRequantize", quantizedConvolution<false>},
      {"QuantizedConv2DWithBiasSignedSumAndReluAndRequantize", quantizedConvolution<false>},
      {"QuantizedConv2DWithBiasSumAndReluAndRequantize", quantizedConvolution<false>},
      {"QuantizedDepthwiseConv2D", fusedQuantizedConvolution<true>},
      {"QuantizedDepthwiseConv2DWithBias", fusedQuantizedConvolution<true>},
      {"QuantizedDepthwiseConv2DWithBiasAndRelu", fusedQuantizedConvolution<true>},
      {"QuantizedDepthwiseConv2DWithBiasAndReluAndRequantize", quantizedConvolution<true>},
      {"QuantizedAvgPool", quantizedPool},
      {"QuantizedMaxPool", quantizedPool},
      {"Dilation2D", dilation},
      {"MaxPool", pool},
      {"AvgPool", pool},
      {"MaxPoolV2", poolByInputs},
      {"MaxPool3D", volumePool},
      {"AvgPool3D", volumePool},
      {"MaxPoolWithArgmax", poolWithPlaces},
      {"_MaxPool", pool},
      {"_MaxPoolWithPlaces", poolWithPlaces},
      {"FusedBatchNorm", batchNorm},
      {"FusedBatchNormV2", batchNorm},
      {"FusedBatchNormV3", batchNorm},
      {"_FusedBatchNormEx", batchNorm},
      {"FusedBatchNormGrad", batchNormGradient},
      {"FusedBatchNormGradV2", batchNormGradient},
      {"FusedBatchNormGradV3", batchNormGradient},
      {"BiasAdd", biasAdd},
      {"BiasAddGrad", biasGradient},
      {"SoftmaxCrossEntropyWithLogits", crossEntropy},
  };
  return table;
}

} // namespace

ShapeFamily windowShapes() { return {signatures(), functions()}; }

} // namespace treadle
