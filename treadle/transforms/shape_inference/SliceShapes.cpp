// Ops that take parts of their input.
#include "treadle/transforms/shape_inference/ShapeFunctions.h"

using namespace mlir;

namespace treadle::tfg {
namespace {

Results slice(const ShapeQuery &query) {
  const Shape &input = query.shape(0);
  auto begin = query.integers(1), size = query.integers(2);
  int64_t rank = input.hasRank() ? input.rank() : size ? static_cast<int64_t>(size->size()) : -1;
  if (rank < 0 || (size && static_cast<int64_t>(size->size()) != rank))
    return {};
  Shape out = Shape::ofRank(rank);
  for (int64_t i = 0; size && i < rank; ++i) {
    bool isBeginKnown =
        begin && static_cast<int64_t>(begin->size()) == rank && (*begin)[i] != Shape::unknown;
    if ((*size)[i] >= 0)
      out.setDim(i, (*size)[i]);
    else if ((*size)[i] == -1 && isBeginKnown && input.dim(i) != Shape::unknown &&
             (*begin)[i] <= input.dim(i))
      out.setDim(i, input.dim(i) - (*begin)[i]);
  }
  return only(out);
}

/// The masks of a strided slice, by the position in begin, end and strides.
struct StridedSpec {
  std::optional<Shape::Dims> begin, end, strides;
  int64_t size = 0;
  int64_t beginMask = 0, endMask = 0, ellipsisMask = 0, newAxisMask = 0, shrinkMask = 0;

  static bool has(int64_t mask, int64_t i) { return mask >> i & 1; }
};

/// How many elements of a dimension position `i` takes.
int64_t slicedDim(const StridedSpec &spec, int64_t i, int64_t dim) {
  if (!spec.strides || (*spec.strides)[i] == Shape::unknown || (*spec.strides)[i] == 0)
    return Shape::unknown;
  int64_t stride = (*spec.strides)[i];
  bool isWhole = StridedSpec::has(spec.beginMask, i) && StridedSpec::has(spec.endMask, i);
  if (dim == Shape::unknown)
    return isWhole && std::abs(stride) == 1 ? dim : Shape::unknown;
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

Results stridedSlice(const ShapeQuery &query) {
  const Shape &input = query.shape(0);
  StridedSpec spec;
  spec.begin = query.integers(1);
  spec.end = query.integers(2);
  spec.strides = query.integers(3);
  if (!input.hasRank() || query.numInputs() < 4)
    return {};
  for (unsigned i = 1; i <= 3; ++i)
    if (auto values = query.integers(i))
      spec.size = static_cast<int64_t>(values->size());
    else if (query.shape(i).hasRank() && query.shape(i).dim(0) != Shape::unknown)
      spec.size = query.shape(i).dim(0);
  if (spec.size == 0 || spec.size > 63)
    return {};
  for (const auto *values : {&spec.begin, &spec.end, &spec.strides})
    if (*values && static_cast<int64_t>((*values)->size()) != spec.size)
      return {};
  spec.beginMask = query.intAttr("begin_mask");
  spec.endMask = query.intAttr("end_mask");
  spec.ellipsisMask = query.intAttr("ellipsis_mask");
  spec.newAxisMask = query.intAttr("new_axis_mask");
  spec.shrinkMask = query.intAttr("shrink_axis_mask");
  // What the ellipsis (or the end of the specification) stands for.
  int64_t taken = 0;
  for (int64_t i = 0; i < spec.size; ++i)
    if (!StridedSpec::has(spec.ellipsisMask, i) && !StridedSpec::has(spec.newAxisMask, i))
      ++taken;
  int64_t rest = input.rank() - taken;
  if (rest < 0)
    return {};
  Shape::Dims dims;
  int64_t at = 0;
  for (int64_t i = 0; i < spec.size; ++i) {
    if (StridedSpec::has(spec.ellipsisMask, i)) {
      for (; rest > 0; --rest)
        dims.push_back(input.dim(at++));
    } else if (StridedSpec::has(spec.newAxisMask, i)) {
      dims.push_back(1);
    } else {
      int64_t dim = input.dim(at++);
      if (!StridedSpec::has(spec.shrinkMask, i))
        dims.push_back(slicedDim(spec, i, dim));
    }
  }
  while (at < input.rank())
    dims.push_back(input.dim(at++));
  return only(Shape(dims));
}

Shape gathered(const Shape &params, const Shape &indices, int64_t axis, int64_t batch) {
  if (!params.hasRank() || !indices.hasRank() || !params.axis(axis))
    return {};
  int64_t at = *params.axis(axis);
  if (batch < 0)
    batch += indices.rank();
  if (batch < 0 || batch > at || batch > indices.rank())
    return {};
  Shape::Dims dims(params.all().take_front(at));
  llvm::append_range(dims, indices.all().drop_front(batch));
  llvm::append_range(dims, params.all().drop_front(at + 1));
  return Shape(dims);
}

Results gather(const ShapeQuery &query) {
  return only(gathered(query.shape(0), query.shape(1), 0, 0));
}

Results gatherV2(const ShapeQuery &query) {
  auto axis = query.integer(2);
  const Shape &params = query.shape(0), &indices = query.shape(1);
  if (axis)
    return only(gathered(params, indices, *axis, query.intAttr("batch_dims")));
  return {};
}

Results gatherNd(const ShapeQuery &query) {
  const Shape &params = query.shape(0), &indices = query.shape(1);
  if (!params.hasRank() || !indices.hasRank() || indices.rank() == 0)
    return {};
  int64_t depth = indices.dim(-1);
  if (depth == Shape::unknown || depth > params.rank())
    return {};
  Shape::Dims dims(indices.all().drop_back());
  llvm::append_range(dims, params.all().drop_front(depth));
  return only(Shape(dims));
}

Results splitEvenly(const ShapeQuery &query) {
  const Shape &input = query.shape(1);
  auto axis = query.integer(0);
  int64_t parts = query.node.numResults();
  if (!input.hasRank())
    return {};
  Shape out = Shape::ofRank(input.rank());
  if (axis && input.axis(*axis)) {
    out = input;
    int64_t dim = input.dim(*axis);
    if (dim != Shape::unknown && parts > 0 && dim % parts == 0)
      out.setDim(*input.axis(*axis), dim / parts);
    else
      out.setDim(*input.axis(*axis), Shape::unknown);
  }
  return Results(parts, KnownValue{out});
}

Results splitBySizes(const ShapeQuery &query) {
  const Shape &input = query.shape(0);
  auto sizes = query.integers(1);
  auto axis = query.integer(2);
  unsigned parts = query.node.numResults();
  if (!input.hasRank())
    return {};
  if (!axis || !input.axis(*axis))
    return Results(parts, KnownValue{Shape::ofRank(input.rank())});
  Results out(parts, KnownValue{input});
  for (unsigned i = 0; i < parts; ++i) {
    bool isKnown = sizes && sizes->size() == parts && (*sizes)[i] >= 0;
    out[i].shape.setDim(*input.axis(*axis), isKnown ? (*sizes)[i] : Shape::unknown);
  }
  return out;
}

// One row for each segment, as long as the input's rows.
template <unsigned countInput, unsigned idsRank> Results segments(const ShapeQuery &query) {
  const Shape &data = query.shape(0), &ids = query.shape(1);
  int64_t rank = idsRank ? idsRank : ids.hasRank() ? ids.rank() : -1;
  if (!data.hasRank() || rank < 0 || rank > data.rank())
    return {};
  Shape::Dims dims{countInput ? query.integer(countInput).value_or(Shape::unknown)
                              : Shape::unknown};
  llvm::append_range(dims, data.all().drop_front(rank));
  return only(Shape(dims));
}

Results topK(const ShapeQuery &query) {
  const Shape &input = query.shape(0);
  if (!input.hasRank() || input.rank() == 0)
    return {};
  Shape out = input;
  out.setDim(input.rank() - 1, query.numInputs() > 1 ? query.integer(1).value_or(Shape::unknown)
                                                     : query.intAttr("k", Shape::unknown));
  return {{out}, {out}};
}

Results unique(const ShapeQuery &query) {
  Results out{{Shape({Shape::unknown})}, {query.shape(0)}};
  if (query.node.numResults() == 3)
    out.push_back({Shape({Shape::unknown})});
  return out;
}

constexpr ShapeEntry table[] = {
    {"Slice", slice},
    {"StridedSlice", stridedSlice},
    {"Gather", gather},
    {"GatherV2", gatherV2},
    {"GatherNd", gatherNd},
    {"Split", splitEvenly},
    {"SplitV", splitBySizes},
    {"SegmentSum", segments<0, 1>},
    {"SegmentMean", segments<0, 1>},
    {"SegmentProd", segments<0, 1>},
    {"SegmentMax", segments<0, 1>},
    {"SegmentMin", segments<0, 1>},
    {"UnsortedSegmentSum", segments<2, 0>},
    {"UnsortedSegmentProd", segments<2, 0>},
    {"UnsortedSegmentMax", segments<2, 0>},
    {"UnsortedSegmentMin", segments<2, 0>},
    {"TopK", topK},
    {"TopKV2", topK},
    {"Unique", unique},
    {"UniqueWithCounts", unique},
};

} // namespace

ArrayRef<ShapeEntry> sliceShapes() { return table; }

} // namespace treadle::tfg
