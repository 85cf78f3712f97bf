// Shape functions of segment reductions, counts, and partitioning and stitching of rows.
#include "treadle/shapes/ShapeFunctions.h"

#include <algorithm>

namespace treadle {
namespace {

// One row for each segment; rows have the data's dimensions after those of the ids.
ShapeResults unsortedSegments(const ShapeQuery &query) {
  const Shape &data = query.shape(0), &ids = query.shape(1);
  if (!ids.hasRank())
    return {};
  if (data.hasRank() && (data.rank() < ids.rank() || !merge(data.take(ids.rank()), ids)))
    return shapeError(str("ids of shape ", ids.text(), " don't match data of shape ", data.text()));
  return {Shape{query.dimFrom(2)} + data.drop(ids.rank())};
}

// Ids are sorted, so that the last one determines the number of segments.
ShapeResults sortedSegments(const ShapeQuery &query) {
  const Shape &data = query.shape(0), &ids = query.shape(1);
  if (ids.hasRank() && ids.rank() != 1)
    return shapeError(str("the segment ids have shape ", ids.text(), ", expected a vector"));
  return {Shape{Shape::unknown} + data.drop(1)};
}

/// Returns the largest index plus one; unknown if an index is unknown.
int64_t rowsOf(const ShapeQuery &query, size_t parts) {
  int64_t rows = 0;
  for (size_t i = 0; i < parts; ++i) {
    if (query.shape(i).isStatic() && query.shape(i).count() == 0)
      continue;
    const std::optional<Shape::Dims> &indices = query.integers(i);
    if (!indices)
      return Shape::unknown;
    for (int64_t index : *indices)
      rows = dims::isKnown(rows) ? std::max(rows, dims::plus(index, 1)) : rows;
    if (std::ranges::count(*indices, Shape::unknown))
      return Shape::unknown;
  }
  return rows;
}

ShapeResults stitched(const ShapeQuery &query) {
  size_t parts = query.numInputs() / 2;
  Shape row;
  for (size_t i = 0; i < parts; ++i) {
    const Shape &indices = query.shape(i), &data = query.shape(parts + i);
    if (!indices.hasRank())
      continue;
    if (data.hasRank() &&
        (data.rank() < indices.rank() || !merge(data.take(indices.rank()), indices)))
      return shapeError(
          str("indices of shape ", indices.text(), " don't match data of shape ", data.text()));
    std::optional<Shape> both = merge(row, data.drop(indices.rank()));
    if (!both)
      return shapeError(str("rows of shape ", data.drop(indices.rank()).text(), " and ", row.text(),
                            " can't be stitched together"));
    row = *both;
  }
  return {Shape{rowsOf(query, parts)} + row};
}

ShapeResults partitioned(const ShapeQuery &query) {
  const Shape &data = query.shape(0), &partitions = query.shape(1);
  if (!partitions.hasRank())
    return {};
  if (data.hasRank() &&
      (data.rank() < partitions.rank() || !merge(data.take(partitions.rank()), partitions)))
    return shapeError(
        str("partitions of shape ", partitions.text(), " don't match data of shape ", data.text()));
  return ShapeResults::all(query.numResults(),
                           Shape{Shape::unknown} + data.drop(partitions.rank()));
}

// Counts for each row of the input.
ShapeResults countedRows(const ShapeQuery &query) {
  const Shape &input = query.shape(0);
  if (!input.hasRank() || input.rank() == 0)
    return {};
  return {input.rank() == 2 ? Shape{input.dim(0), query.dimFrom(1)} : Shape{query.dimFrom(1)}};
}

ShapeResults countedSparseRows(const ShapeQuery &query) {
  int64_t rank = query.shape(2).dim(0);
  if (!dims::isKnown(rank))
    return {};
  return {rank == 1 ? Shape{query.dimFrom(3)} : Shape{query.shapeFrom(2).dim(0), query.dimFrom(3)}};
}

const std::vector<SignatureEntry> &signatures() {
  static const std::vector<SignatureEntry> table = {
      {"[n,R], [n], [] -> [$2,R]",
       {"SegmentSumV2", "SegmentProdV2", "SegmentMaxV2", "SegmentMinV2"}},
      {"[?,R], [i], [i] -> [?,R]", {"SparseSegmentSum", "SparseSegmentMean", "SparseSegmentSqrtN"}},
      {"[?,R], [i], [i], [] -> [$3,R]",
       {"SparseSegmentSumWithNumSegments", "SparseSegmentMeanWithNumSegments",
        "SparseSegmentSqrtNWithNumSegments", "SparseSegmentSumGrad", "SparseSegmentMeanGrad",
        "SparseSegmentSqrtNGrad"}},
      {"[?,R], [i], [i], [] -> [?,R], [?]",
       {"SparseSegmentSumGradV2", "SparseSegmentMeanGradV2", "SparseSegmentSqrtNGradV2"}},
      {"*, [], * -> [$1]", {"Bincount"}},
      {"*, *, [], * -> [?,$2]", {"RaggedBincount"}},
      {"*, [2], [] -> [$2]", {"HistogramFixedWidth"}},
      {"[b,t], [s] -> [?], [?], [?]", {"ComputeAccidentalHits"}},
  };
  return table;
}

constexpr ShapeEntry functions[] = {
    {"SegmentSum", sortedSegments},
    {"SegmentMean", sortedSegments},
    {"SegmentProd", sortedSegments},
    {"SegmentMax", sortedSegments},
    {"SegmentMin", sortedSegments},
    {"UnsortedSegmentSum", unsortedSegments},
    {"UnsortedSegmentProd", unsortedSegments},
    {"UnsortedSegmentMax", unsortedSegments},
    {"UnsortedSegmentMin", unsortedSegments},
    {"UnsortedSegmentJoin", unsortedSegments},
    {"DynamicStitch", stitched},
    {"ParallelDynamicStitch", stitched},
    {"DynamicPartition", partitioned},
    {"DenseBincount", countedRows},
    {"SparseBincount", countedSparseRows},
};

} // namespace

ShapeFamily segmentShapes() { return {signatures(), functions}; }

} // namespace treadle
