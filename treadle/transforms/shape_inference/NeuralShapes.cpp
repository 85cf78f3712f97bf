// Matrix products, convolutions, pooling and normalization.
#include "treadle/transforms/shape_inference/ShapeFunctions.h"

using namespace mlir;

namespace treadle::tfg {
namespace {

Results matMul(const ShapeQuery &query) {
  int64_t rows = query.shape(0).dim(query.boolAttr("transpose_a") ? 1 : 0);
  int64_t columns = query.shape(1).dim(query.boolAttr("transpose_b") ? 0 : 1);
  return only(Shape({rows, columns}));
}

Results batchMatMul(const ShapeQuery &query) {
  const Shape &left = query.shape(0), &right = query.shape(1);
  if (!left.hasRank() || !right.hasRank() || left.rank() < 2 || right.rank() < 2)
    return {};
  Shape batch = broadcast(Shape(left.all().drop_back(2)), Shape(right.all().drop_back(2)));
  if (!batch.hasRank())
    return {};
  Shape::Dims dims(batch.all());
  dims.push_back(left.dim(query.boolAttr("adj_x") ? -1 : -2));
  dims.push_back(right.dim(query.boolAttr("adj_y") ? -2 : -1));
  return only(Shape(dims));
}

/// Where the dimensions of a picture stand.
struct Layout {
  unsigned batch = 0, channel = 3, firstSpatial = 1;
};

std::optional<Layout> layoutOf(const ShapeQuery &query) {
  StringRef format = query.textAttr("data_format", "NHWC");
  if (format == "NHWC")
    return Layout{0, 3, 1};
  if (format == "NCHW")
    return Layout{0, 1, 2};
  return std::nullopt;
}

/// How many windows fit; unknown where a size is.
int64_t windows(const ShapeQuery &query, int64_t size, int64_t window, int64_t stride,
                int64_t dilation, unsigned dim) {
  if (size == Shape::unknown || window == Shape::unknown || stride <= 0)
    return Shape::unknown;
  int64_t reach = (window - 1) * dilation + 1;
  StringRef padding = query.textAttr("padding");
  if (padding == "SAME")
    return (size + stride - 1) / stride;
  if (padding == "EXPLICIT") {
    SmallVector<int64_t> pads = query.intsAttr("explicit_paddings");
    if (pads.size() != 8)
      return Shape::unknown;
    size += pads[2 * dim] + pads[2 * dim + 1];
  } else if (padding != "VALID") {
    return Shape::unknown;
  }
  return size < reach ? Shape::unknown : (size - reach) / stride + 1;
}

int64_t at(ArrayRef<int64_t> values, unsigned index, int64_t otherwise) {
  return index < values.size() ? values[index] : otherwise;
}

/// A picture of `channels` with windows of rows by columns over it.
Shape overWindows(const ShapeQuery &query, const Layout &layout, ArrayRef<int64_t> window,
                  int64_t channels) {
  const Shape &input = query.shape(0);
  SmallVector<int64_t> strides = query.intsAttr("strides"), dilations = query.intsAttr("dilations");
  Shape out = Shape::ofRank(4);
  out.setDim(layout.batch, input.dim(layout.batch));
  out.setDim(layout.channel, channels);
  for (unsigned i = 0; i < 2; ++i) {
    unsigned dim = layout.firstSpatial + i;
    out.setDim(dim, windows(query, input.dim(dim), window[i], at(strides, dim, 0),
                            at(dilations, dim, 1), dim));
  }
  return out;
}

template <bool isDepthwise> Results convolution(const ShapeQuery &query) {
  const Shape &input = query.shape(0), &filter = query.shape(1);
  std::optional<Layout> layout = layoutOf(query);
  if (!layout || (input.hasRank() && input.rank() != 4))
    return {};
  int64_t channels = filter.dim(3);
  if (isDepthwise && channels != Shape::unknown)
    channels = filter.dim(2) == Shape::unknown ? Shape::unknown : channels * filter.dim(2);
  return only(overWindows(query, *layout, {filter.dim(0), filter.dim(1)}, channels));
}

Results pool(const ShapeQuery &query) {
  std::optional<Layout> layout = layoutOf(query);
  SmallVector<int64_t> window = query.intsAttr("ksize");
  if (!layout || window.size() != 4 || window[layout->channel] != 1 ||
      (query.shape(0).hasRank() && query.shape(0).rank() != 4))
    return {};
  return only(overWindows(query, *layout,
                          {window[layout->firstSpatial], window[layout->firstSpatial + 1]},
                          query.shape(0).dim(layout->channel)));
}

Results batchNorm(const ShapeQuery &query) {
  const Shape &input = query.shape(0);
  std::optional<Layout> layout = layoutOf(query);
  if (!layout)
    return {{input}};
  KnownValue statistics{Shape({input.hasRank() ? input.dim(layout->channel) : Shape::unknown})};
  // The reserve spaces after these belong to the kernel.
  return {{input}, statistics, statistics};
}

Results sparseCrossEntropy(const ShapeQuery &query) {
  const Shape &logits = query.shape(0);
  return {{Shape({logits.dim(0)})}, {logits.hasRank() ? logits : Shape::ofRank(2)}};
}

// Logits and labels are broadcast to each other.
Results crossEntropy(const ShapeQuery &query) {
  Shape both = broadcast(query.shape(0), query.shape(1));
  if (both.rank() != 2)
    both = Shape::ofRank(2);
  return {{Shape({both.dim(0)})}, {both}};
}

Results resized(const ShapeQuery &query) {
  auto size = query.integers(1);
  Shape out = Shape::ofRank(4);
  out.setDim(0, query.shape(0).dim(0));
  out.setDim(3, query.shape(0).dim(3));
  if (size && size->size() == 2) {
    out.setDim(1, (*size)[0]);
    out.setDim(2, (*size)[1]);
  }
  return only(out);
}

/// The labels of one operand, an ellipsis counted out: nothing where that can't be told.
bool bindLabels(StringRef labels, const Shape &shape, llvm::DenseMap<char, int64_t> &sizes) {
  if (labels.contains('.') ||
      (shape.hasRank() && shape.rank() != static_cast<int64_t>(labels.size())))
    return false;
  for (auto [i, label] : llvm::enumerate(labels)) {
    int64_t &size = sizes.try_emplace(label, Shape::unknown).first->second;
    if (size == Shape::unknown || size == 1)
      if (int64_t dim = shape.dim(i); dim != Shape::unknown)
        size = dim;
  }
  return true;
}

Results einsum(const ShapeQuery &query) {
  auto [inputs, output] = query.textAttr("equation").split("->");
  SmallVector<StringRef> operands;
  inputs.split(operands, ',');
  llvm::DenseMap<char, int64_t> sizes;
  if (operands.size() != query.numInputs() || output.contains('.'))
    return {};
  for (auto [i, labels] : llvm::enumerate(operands))
    if (!bindLabels(labels.trim(), query.shape(i), sizes))
      return {};
  Shape::Dims dims;
  for (char label : output.trim())
    dims.push_back(sizes.try_emplace(label, Shape::unknown).first->second);
  return only(Shape(dims));
}

constexpr ShapeEntry table[] = {
    {"MatMul", matMul},
    {"_FusedMatMul", matMul},
    {"BatchMatMul", batchMatMul},
    {"BatchMatMulV2", batchMatMul},
    {"BatchMatMulV3", batchMatMul},
    {"Conv2D", convolution<false>},
    {"_FusedConv2D", convolution<false>},
    {"DepthwiseConv2dNative", convolution<true>},
    {"_FusedDepthwiseConv2dNative", convolution<true>},
    {"MaxPool", pool},
    {"AvgPool", pool},
    {"FusedBatchNorm", batchNorm},
    {"FusedBatchNormV2", batchNorm},
    {"FusedBatchNormV3", batchNorm},
    {"SoftmaxCrossEntropyWithLogits", crossEntropy},
    {"SparseSoftmaxCrossEntropyWithLogits", sparseCrossEntropy},
    {"ResizeBilinear", resized},
    {"ResizeNearestNeighbor", resized},
    {"ResizeBicubic", resized},
    {"Einsum", einsum},
};

} // namespace

ArrayRef<ShapeEntry> neuralShapes() { return table; }

} // namespace treadle::tfg
