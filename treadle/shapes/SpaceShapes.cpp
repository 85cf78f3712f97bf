// Shape functions of moves between space, depth and batch dimensions.
#include "treadle/shapes/ShapeFunctions.h"

namespace treadle {
namespace {

/// Spatial dimensions grow or shrink by the block size, and the depth by its square.
template <bool isDeeper> ShapeResults depth(const ShapeQuery &query) {
  const Shape &input = query.shape(0);
  int64_t block = query.intAttr("block_size", Shape::unknown);
  std::string format = query.textAttr("data_format", "NHWC");
  if ((format != "NHWC" && format != "NCHW") || !input.isRank(4))
    return {input.hasRank() ? Shape() : Shape::ofRank(format == "NCHW_VECT_C" ? 5 : 4)};
  int64_t channel = format == "NHWC" ? 3 : 1, first = format == "NHWC" ? 1 : 2;
  int64_t area = dims::times(block, block);
  Shape out = input;
  for (int64_t i = first; i < first + 2; ++i)
    out.setDim(i, isDeeper ? dims::exactly(input.dim(i), block) : dims::times(input.dim(i), block));
  out.setDim(channel, isDeeper ? dims::times(input.dim(channel), area)
                               : dims::exactly(input.dim(channel), area));
  return {out};
}

/// Applies blocks of `sizes` to the dimensions from the second on; `edges` are paddings before, or
/// crops after, a pair for each.
Shape blocks(const Shape &input, const std::vector<int64_t> &sizes,
             const std::optional<Shape::Dims> &edges, bool isToBatch) {
  int64_t count = static_cast<int64_t>(sizes.size());
  if (!input.hasRank() || input.rank() < count + 1)
    return {};
  Shape out = input;
  int64_t batch = input.dim(0);
  for (int64_t i = 0; i < count; ++i) {
    bool isKnown = edges && edges->size() == 2 * sizes.size();
    int64_t edge = isKnown ? dims::plus((*edges)[2 * i], (*edges)[2 * i + 1]) : Shape::unknown;
    int64_t dim = input.dim(i + 1);
    out.setDim(i + 1, isToBatch ? dims::exactly(dims::plus(dim, edge), sizes[i])
                                : dims::minus(dims::times(dim, sizes[i]), edge));
    batch = isToBatch ? dims::times(batch, sizes[i]) : dims::exactly(batch, sizes[i]);
  }
  return out.with(0, batch);
}

/// Sizes are an input: if they are unknown, the dimensions are unknown too.
template <bool isToBatch> ShapeResults blocksByInput(const ShapeQuery &query) {
  const Shape &input = query.shape(0);
  int64_t count = query.shape(1).dim(0);
  std::vector<int64_t> sizes;
  if (query.integers(1))
    sizes = *query.integers(1);
  else if (dims::isKnown(count) && count < 64)
    sizes.assign(count, Shape::unknown);
  else
    return {input.hasRank() ? Shape::ofRank(input.rank()) : Shape()};
  return {blocks(input, sizes, query.integers(2), isToBatch)};
}

template <bool isToBatch> ShapeResults blocksByAttr(const ShapeQuery &query) {
  int64_t size = query.intAttr("block_size", Shape::unknown);
  Shape input = query.shape(0).hasRank() ? query.shape(0) : Shape::ofRank(4);
  return {blocks(input, {size, size}, query.integers(1), isToBatch)};
}

constexpr ShapeEntry functions[] = {
    {"SpaceToDepth", depth<true>},           {"DepthToSpace", depth<false>},
    {"SpaceToBatchND", blocksByInput<true>}, {"BatchToSpaceND", blocksByInput<false>},
    {"SpaceToBatch", blocksByAttr<true>},    {"BatchToSpace", blocksByAttr<false>},
};

} // namespace

ShapeFamily spaceShapes() { return {{}, functions}; }

} // namespace treadle
