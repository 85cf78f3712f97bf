// Shape functions of slicing, gathering, splitting and scattering.
#include "treadle/shapes/ShapeFunctions.h"

#include <algorithm>

namespace treadle {
namespace {

ShapeResults slice(const ShapeQuery &query) {
  const Shape &input = query.shape(0);
  const std::optional<Shape::Dims> &begin = query.integers(1), &size = query.integers(2);
  int64_t rank = input.hasRank() ? input.rank()
                 : size          ? static_cast<int64_t>(size->size())
                                 : query.shape(1).dim(0);
  if (!dims::isKnown(rank))
    return {};
  auto isOfRank = [&](const auto &values) {
    return values && static_cast<int64_t>(values->size()) == rank;
  };
  if (size && !isOfRank(size))
    return shapeError(
        str("a size of ", size->size(), " elements doesn't match shape ", input.text()));
  Shape out = Shape::ofRank(rank);
  for (int64_t i = 0; size && i < rank; ++i) {
    int64_t first = isOfRank(begin) ? (*begin)[i] : Shape::unknown;
    int64_t end = dims::plus(first, (*size)[i]);
    if (dims::isKnown(end) && dims::isKnown(input.dim(i)) && (*size)[i] >= 0 && end > input.dim(i))
      return shapeError(str("elements ", first, " to ", end, " of dimension ", i,
                            " are out of range for shape ", input.text()));
    out.setDim(i, (*size)[i] == -1 ? dims::minus(input.dim(i), first) : (*size)[i]);
  }
  return {out};
}

/// The masks of a strided slice, by position in begin, end and strides.
struct StridedSpec {
  std::optional<Shape::Dims> begin, end, strides;
  int64_t size = 0;
  int64_t beginMask = 0, endMask = 0, ellipsisMask = 0, newAxisMask = 0, shrinkMask = 0;

  static bool has(int64_t mask, int64_t i) { return mask >> i & 1; }
};

/// Returns the number of elements that position `i` takes of a dimension.
int64_t slicedDim(const StridedSpec &spec, int64_t i, int64_t dim) {
  if (!spec.strides || (*spec.strides)[i] == Shape::unknown || (*spec.strides)[i] == 0)
    return Shape::unknown;
  int64_t stride = (*spec.strides)[i];
  if (!dims::isKnown(dim))
    return Shape::unknown;
  auto place = [&](const std::optional<Shape::Dims> &values, bool isMasked,
                   int64_t otherwise) -> std::optional<int64_t> {
    if (isMasked)
      return otherwise;
    if (!values || (*values)[i] == Shape::unknown)
      return std::nullopt;
    int64_t value = (*values)[i] < 0 ? (*values)[i] + dim : (*values)[i];
    return stride > 0 ? std::clamp<int64_t>(value, 0, dim)
                      : std::clamp<int64_t>(value, -1, dim - 1);
  };
  auto first = place(spec.begin, StridedSpec::has(spec.beginMask, i), stride > 0 ? 0 : dim - 1);
  auto last = place(spec.end, StridedSpec::has(spec.endMask, i), stride > 0 ? dim : -1);
  if (!first || !last)
    return Shape::unknown;
  int64_t length = stride > 0 ? *last - *first : *first - *last;
  return length <= 0 ? 0 : (length - 1) / std::abs(stride) + 1;
}

std::optional<StridedSpec> specOf(const ShapeQuery &query) {
  StridedSpec spec{query.integers(1), query.integers(2), query.integers(3)};
  for (size_t i = 1; i <= 3; ++i)
    if (const auto &values = query.integers(i))
      spec.size = static_cast<int64_t>(values->size());
    else if (dims::isKnown(query.shape(i).dim(0)))
      spec.size = query.shape(i).dim(0);
  if (spec.size > 62)
    return std::nullopt;
  // An empty specification is valid too: it takes the whole input.
  bool isSizeKnown = query.integers(1) || query.integers(2) || query.integers(3) ||
                     query.shape(1).isStatic() || query.shape(2).isStatic();
  for (const auto *values : {&spec.begin, &spec.end, &spec.strides})
    if (*values && static_cast<int64_t>((*values)->size()) != spec.size)
      return std::nullopt;
  spec.beginMask = query.intAttr("begin_mask");
  spec.endMask = query.intAttr("end_mask");
  spec.ellipsisMask = query.intAttr("ellipsis_mask");
  spec.newAxisMask = query.intAttr("new_axis_mask");
  spec.shrinkMask = query.intAttr("shrink_axis_mask");
  return isSizeKnown ? std::optional(spec) : std::nullopt;
}

ShapeResults stridedSlice(const ShapeQuery &query) {
  const Shape &input = query.shape(0);
  std::optional<StridedSpec> spec = specOf(query);
  if (!input.hasRank() || !spec)
    return {};
  // Number of dimensions that the ellipsis (or the end of the specification) covers.
  int64_t taken = 0;
  for (int64_t i = 0; i < spec->size; ++i)
    if (!StridedSpec::has(spec->ellipsisMask, i) && !StridedSpec::has(spec->newAxisMask, i))
      ++taken;
  int64_t rest = input.rank() - taken;
  if (rest < 0)
    return shapeError(
        str("a slice of ", taken, " dimensions is out of range for shape ", input.text()));
  Shape::Dims dims;
  int64_t at = 0;
  for (int64_t i = 0; i < spec->size; ++i) {
    if (StridedSpec::has(spec->ellipsisMask, i)) {
      for (; rest > 0; --rest)
        dims.push_back(input.dim(at++));
    } else if (StridedSpec::has(spec->newAxisMask, i)) {
      dims.push_back(1);
    } else {
      int64_t dim = input.dim(at++);
      if (!StridedSpec::has(spec->shrinkMask, i))
        dims.push_back(slicedDim(*spec, i, dim));
    }
  }
  while (at < input.rank())
    dims.push_back(input.dim(at++));
  return {Shape(dims)};
}

Shape gathered(const Shape &params, const Shape &indices, int64_t axis, int64_t batch) {
  std::optional<int64_t> at = params.axis(axis);
  if (batch < 0)
    batch = indices.hasRank() ? batch + indices.rank() : -1;
  if (!at || batch < 0 || batch > *at)
    return {};
  return params.take(*at) + indices.drop(batch) + params.drop(*at + 1);
}

ShapeResults gatherV2(const ShapeQuery &query) {
  const Shape &params = query.shape(0), &indices = query.shape(1);
  int64_t batch = query.intAttr("batch_dims");
  std::optional<int64_t> axis = query.integer(2);
  if (axis)
    return {gathered(params, indices, *axis, batch)};
  // The axis is replaced by the dimensions of the indices.
  bool isRankKnown = params.hasRank() && indices.hasRank() && batch >= 0 && params.rank() > 0;
  return {isRankKnown ? Shape::ofRank(params.rank() - 1 + indices.rank() - batch) : Shape()};
}

ShapeResults gatherFromVariable(const ShapeQuery &query) {
  int64_t batch = query.intAttr("batch_dims");
  return {gathered(query.held(0), query.shape(1), batch, batch)};
}

ShapeResults gatheredNd(const Shape &params, const Shape &indices) {
  int64_t depth = indices.dim(-1);
  if (!dims::isKnown(depth))
    return {};
  if (params.hasRank() && depth > params.rank())
    return shapeError(
        str("indices of ", depth, " elements are too long for shape ", params.text()));
  return {indices.take(-1) + params.drop(depth)};
}

ShapeResults gatherNd(const ShapeQuery &query) {
  return gatheredNd(query.shape(0), query.shape(1));
}

ShapeResults gatherNdFromVariable(const ShapeQuery &query) {
  return gatheredNd(query.held(0), query.shape(1));
}

ShapeResults splitEvenly(const ShapeQuery &query) {
  const Shape &input = query.shape(1);
  std::optional<int64_t> axis = query.integer(0);
  int64_t parts = static_cast<int64_t>(query.numResults());
  if (!input.hasRank())
    return {};
  Shape out = Shape::ofRank(input.rank());
  if (axis && input.axis(*axis)) {
    int64_t dim = input.dim(*axis);
    if (parts > 0 && dims::isKnown(dim) && dim % parts)
      return shapeError(str("dimension ", *axis, " of shape ", input.text(),
                            " can't be split evenly into ", parts));
    out = input.with(*axis, dims::exactly(dim, parts));
  } else if (parts == 1) {
    out = input;
  }
  return ShapeResults::all(parts, out);
}

// One of the sizes may be -1: the remaining size.
ShapeResults splitBySizes(const ShapeQuery &query) {
  const Shape &input = query.shape(0);
  const std::optional<Shape::Dims> &sizes = query.integers(1);
  std::optional<int64_t> axis = query.integer(2);
  size_t parts = query.numResults();
  if (!input.hasRank())
    return {};
  if (!axis || !input.axis(*axis))
    return ShapeResults::all(parts, parts == 1 ? input : Shape::ofRank(input.rank()));
  ShapeResults out =
      ShapeResults::all(parts, input.with(*axis, parts == 1 ? input.dim(*axis) : Shape::unknown));
  if (!sizes || sizes->size() != parts)
    return out;
  int64_t rest = input.dim(*axis);
  for (int64_t size : *sizes)
    rest = dims::minus(rest, size == -1 ? 0 : size);
  for (size_t i = 0; i < parts; ++i)
    out.values[i] = input.with(*axis, (*sizes)[i] == -1 ? rest : (*sizes)[i]);
  return out;
}

ShapeResults topK(const ShapeQuery &query) {
  const Shape &input = query.shape(0);
  int64_t k = query.numInputs() > 1 ? query.dimFrom(1) : query.intAttr("k", Shape::unknown);
  if (dims::isKnown(k) && dims::isKnown(input.dim(-1)) && input.dim(-1) < k)
    return shapeError(
        str("the last dimension of shape ", input.text(), " has fewer than ", k, " elements"));
  Shape out = input.with(-1, k);
  return {out, out};
}

// Approximate top-k: without aggregation there may be more results.
ShapeResults approximateTopK(const ShapeQuery &query) {
  bool isWhole = query.boolAttr("aggregate_to_topk", true);
  int64_t k = isWhole ? query.intAttr("k", Shape::unknown) : Shape::unknown;
  Shape out = query.shape(0).with(query.intAttr("reduction_dimension", -1), k);
  return {out, out};
}

// The axis is a vector of at most one element.
ShapeResults uniqueAlong(const ShapeQuery &query) {
  const Shape &input = query.shape(0);
  const std::optional<Shape::Dims> &axes = query.integers(1);
  bool isWhole = axes && axes->empty();
  int64_t axis = axes && axes->size() == 1 ? axes->front() : 0;
  bool isKnown = (isWhole && input.isRank(1)) || (axes && axes->size() == 1);
  Shape values = isKnown && input.axis(axis) ? input.with(axis, Shape::unknown)
                 : input.hasRank()           ? Shape::ofRank(input.rank())
                                             : Shape();
  Shape indices{isKnown ? input.dim(axis) : Shape::unknown};
  return {values, indices, Shape{Shape::unknown}};
}

// The gradient of a slice has the shape of the sliced value, the first input.
ShapeResults sliceGradient(const ShapeQuery &query) { return {query.shapeFrom(0)}; }

const std::vector<SignatureEntry> &signatures() {
  static const std::vector<SignatureEntry> table = {
      {"[n,R], I -> [I,R]", {"Gather"}},
      {"[B,n], [] -> [B]", {"NthElement"}},
      {"[B,n] -> [B,n], [B,n]", {"IsotonicRegression"}},
      {"[n,d], [m,d], [] -> [n,?], [n,?]", {"NearestNeighbors"}},
      {"*:X, [n], [n], [n], * -> ", {"ResourceStridedSliceAssign"}},
      {"X, [n], [n], [n], * -> X", {"StridedSliceAssign", "TensorStridedSliceUpdate"}},
      {"X, [I,d], [V] -> X",
       {"TensorScatterUpdate", "TensorScatterAdd", "TensorScatterSub", "TensorScatterMax",
        "TensorScatterMin", "ScatterNdNonAliasingAdd", "ScatterNdUpdate", "ScatterNdAdd",
        "ScatterNdSub", "ScatterNdMax", "ScatterNdMin"}},
      {"[I,d], *, [r] -> =2", {"ScatterNd"}},
      {"*, [I,d], * -> ",
       {"ResourceScatterNdUpdate", "ResourceScatterNdAdd", "ResourceScatterNdSub",
        "ResourceScatterNdMax", "ResourceScatterNdMin"}},
      {"X, *, * -> X",
       {"ScatterUpdate", "ScatterAdd", "ScatterSub", "ScatterMul", "ScatterDiv", "ScatterMax",
        "ScatterMin"}},
      {"*, *, * -> ",
       {"ResourceScatterUpdate", "ResourceScatterAdd", "ResourceScatterSub", "ResourceScatterMul",
        "ResourceScatterDiv", "ResourceScatterMax", "ResourceScatterMin"}},
  };
  return table;
}

// One index has one coordinate for each dimension, several have a column each.
ShapeResults unravelled(const ShapeQuery &query) {
  const Shape &indices = query.shape(0);
  if (!indices.hasRank())
    return {};
  Shape coordinates{query.shape(1).dim(0)};
  return {indices.rank() == 0 ? coordinates : coordinates + Shape{indices.count()}};
}

const std::vector<ShapeEntry> &functions() {
  static const std::vector<ShapeEntry> table = {
      {"Slice", slice},
      {"StridedSlice", stridedSlice},
      {"StridedSliceGrad", sliceGradient},
      {"GatherV2", gatherV2},
      {"GatherNd", gatherNd},
      {"ResourceGather", gatherFromVariable},
      {"ResourceGatherNd", gatherNdFromVariable},
      {"Split", splitEvenly},
      {"SplitV", splitBySizes},
      {"ApproxTopK", approximateTopK},
      {"TopK", topK},
      {"TopKV2", topK},
      {"_TopK", topK},
      {"UniqueV2", uniqueAlong},
      {"UniqueWithCountsV2", uniqueAlong},
      {"UnravelIndex", unravelled},
  };
  return table;
}

} // namespace

ShapeFamily sliceShapes() { return {signatures(), functions()}; }

} // namespace treadle
