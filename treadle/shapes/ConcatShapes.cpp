// Shape functions of concatenation, packing, splitting, tiling and padding.
#include "treadle/shapes/ShapeFunctions.h"

namespace treadle {
namespace {

ShapeResults pack(const ShapeQuery &query) {
  Shape shape;
  for (size_t i = 0; i < query.numInputs(); ++i) {
    std::optional<Shape> both = merge(shape, query.shape(i));
    if (!both)
      return shapeError(str("input ", i, " has shape ", query.shape(i).text(),
                            ", expected that of the other inputs: ", shape.text()));
    shape = *both;
  }
  if (!shape.hasRank())
    return {};
  return {shape.inserted(query.intAttr("axis"), static_cast<int64_t>(query.numInputs()))};
}

ShapeResults unpack(const ShapeQuery &query) {
  return ShapeResults::all(query.numResults(), query.shape(0).without(query.intAttr("axis")));
}

/// The concatenation of the inputs from `first` to `last` along an axis.
ShapeResults concat(const ShapeQuery &query, size_t first, size_t last,
                    std::optional<int64_t> axis) {
  Shape shape;
  for (size_t i = first; i < last && !shape.hasRank(); ++i)
    if (query.shape(i).hasRank() && query.shape(i).rank() > 0)
      shape = query.shape(i);
  if (!shape.hasRank())
    return {};
  std::optional<int64_t> at = axis ? shape.axis(*axis) : std::nullopt;
  if (!at)
    return axis ? noSuchAxis(shape, *axis) : ShapeResults{Shape::ofRank(shape.rank())};
  int64_t sum = 0;
  for (size_t i = first; i < last; ++i) {
    const Shape &part = query.shape(i);
    std::optional<Shape> both = merge(shape.with(*at, Shape::unknown),
                                      part.hasRank() ? part.with(*at, Shape::unknown) : Shape());
    if (!both || (part.hasRank() && part.rank() != shape.rank()))
      return shapeError(str("input ", i, " has shape ", part.text(), ", expected ",
                            shape.with(*at, Shape::unknown).text(),
                            " to be concatenated along axis ", *at));
    sum = dims::plus(sum, part.dim(*at));
    shape = *both;
  }
  return {shape.with(*at, sum)};
}

ShapeResults concatLast(const ShapeQuery &query) {
  size_t count = query.numInputs();
  return count ? concat(query, 0, count - 1, query.integer(count - 1)) : ShapeResults();
}

ShapeResults concatFirst(const ShapeQuery &query) {
  return concat(query, 1, query.numInputs(), query.integer(0));
}

// Inputs are the values, the axis before or after them, and a range for each value.
ShapeResults quantizedConcatFirst(const ShapeQuery &query) {
  return withRange(concat(query, 1, 1 + query.numInputs() / 3, query.integer(0)));
}
ShapeResults quantizedConcat(const ShapeQuery &query) {
  size_t count = query.numInputs() / 3;
  return withRange(concat(query, 0, count, query.integer(count)));
}

ShapeResults parallelConcat(const ShapeQuery &query) { return {query.shapeAttr("shape")}; }

// The offset of each part: nonzero only along the axis.
ShapeResults concatOffset(const ShapeQuery &query) {
  ShapeResults out;
  for (size_t i = 1; i < query.numInputs(); ++i)
    out.values.emplace_back(query.shape(i));
  int64_t rank = query.shape(1).dim(0);
  std::optional<int64_t> axis = query.integer(0);
  axis = axis ? Shape::ofRank(rank).axis(*axis) : std::nullopt;
  if (!axis || rank > static_cast<int64_t>(maxShapeElements))
    return out;
  int64_t offset = 0;
  for (size_t i = 0; i < out.values.size(); ++i) {
    out.values[i].integers = Shape::Dims(rank, 0);
    (*out.values[i].integers)[*axis] = offset;
    offset = dims::plus(offset, query.dimFrom(i + 1, *axis));
  }
  return out;
}

ShapeResults tile(const ShapeQuery &query) {
  const Shape &input = query.shape(0);
  const std::optional<Shape::Dims> &multiples = query.integers(1);
  if (!input.hasRank())
    return {multiples ? Shape::ofRank(static_cast<int64_t>(multiples->size())) : Shape()};
  Shape out = Shape::ofRank(input.rank());
  if (multiples && static_cast<int64_t>(multiples->size()) == input.rank())
    for (int64_t i = 0; i < input.rank(); ++i)
      out.setDim(i, dims::times((*multiples)[i], input.dim(i)));
  return {out};
}

// Rows of `paddings` are pairs: before and after. `sign` is -1 if they are removed.
template <int sign> ShapeResults pad(const ShapeQuery &query) {
  const Shape &input = query.shape(0);
  const std::optional<Shape::Dims> &paddings = query.integers(1);
  int64_t rank = input.hasRank() ? input.rank() : query.shape(1).dim(0);
  if (!dims::isKnown(rank))
    return {};
  Shape out = Shape::ofRank(rank);
  if (!input.hasRank() || !paddings || static_cast<int64_t>(paddings->size()) != 2 * rank)
    return {out};
  for (int64_t i = 0; i < rank; ++i) {
    int64_t both = dims::plus((*paddings)[2 * i], (*paddings)[2 * i + 1]);
    out.setDim(i, sign > 0 ? dims::plus(input.dim(i), both) : dims::minus(input.dim(i), both));
  }
  return {out};
}

constexpr ShapeEntry functions[] = {
    {"Pack", pack},
    {"Unpack", unpack},
    {"ConcatV2", concatLast},
    {"Concat", concatFirst},
    {"QuantizedConcat", quantizedConcatFirst},
    {"QuantizedConcatV2", quantizedConcat},
    {"ParallelConcat", parallelConcat},
    {"ConcatOffset", concatOffset},
    {"Tile", tile},
    {"Pad", pad<1>},
    {"PadV2", pad<1>},
    {"MirrorPad", pad<1>},
    {"MirrorPadGrad", pad<-1>},
};

} // namespace

ShapeFamily concatShapes() { return {{}, functions}; }

} // namespace treadle
