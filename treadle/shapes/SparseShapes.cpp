// Shape functions of sparse tensors ([n,r] indices, [n] values and [r] shape) and sets.
#include "treadle/shapes/ShapeFunctions.h"

namespace treadle {
namespace {

// Reduces along axes that may be unknown; negative axes count from the end.
ShapeResults reducedDense(const ShapeQuery &query) {
  Shape shape = query.shapeFrom(2);
  const std::optional<Shape::Dims> &axes = query.integers(3);
  bool keep = query.boolAttr("keep_dims");
  if (!shape.hasRank() || !axes)
    return {};
  std::vector<bool> isGone(shape.rank(), axes->empty());
  for (int64_t axis : *axes) {
    std::optional<int64_t> at = shape.axis(axis);
    if (!at)
      return {};
    isGone[*at] = true;
  }
  Shape out = Shape::scalar();
  for (int64_t i = 0; i < shape.rank(); ++i)
    if (!isGone[i] || keep)
      out = out + Shape{isGone[i] ? 1 : shape.dim(i)};
  return {out};
}

ShapeResults split(const ShapeQuery &query) {
  const Shape &shape = query.shape(3);
  size_t parts = query.numResults() / 3;
  ShapeResults out = ShapeResults::all(parts, Shape{Shape::unknown, shape.count()});
  for (size_t i = 0; i < parts; ++i)
    out.values.emplace_back(Shape{Shape::unknown});
  for (size_t i = 0; i < parts; ++i)
    out.values.emplace_back(shape);
  return out;
}

// Inputs are N indices, N values and N shapes.
ShapeResults concatenated(const ShapeQuery &query) {
  size_t parts = query.numInputs() / 3;
  int64_t rank = Shape::unknown, count = 0;
  for (size_t i = 0; i < parts; ++i) {
    rank = dims::meet(rank, dims::meet(query.shape(i).dim(1), query.shape(2 * parts + i).dim(0)));
    count = dims::plus(count, dims::meet(query.shape(i).dim(0), query.shape(parts + i).dim(0)));
  }
  return {Shape{count, rank}, Shape{count}, Shape{rank}};
}

ShapeResults sparseTimesDense(const ShapeQuery &query) {
  Shape left = query.shapeFrom(2);
  const Shape &right = query.shape(3);
  if ((left.hasRank() && left.rank() != 2) || (right.hasRank() && right.rank() != 2))
    return shapeError("the operands aren't matrices");
  bool a = query.boolAttr("adjoint_a"), b = query.boolAttr("adjoint_b");
  int64_t inner = left.dim(!a), rows = right.dim(b);
  if (dims::isKnown(inner) && dims::isKnown(rows) && inner != rows)
    return shapeError(str("matrices of shapes ", left.text(), " and ", right.text(),
                          " can't be multiplied: ", inner, " columns, ", rows, " rows"));
  return {Shape{left.dim(a), right.dim(!b)}};
}

// The result has the shape of the dense operand, which equals the sparse one's.
ShapeResults sparsePlusDense(const ShapeQuery &query) {
  return {meet(query.shape(3), query.shapeFrom(2))};
}

const std::vector<SignatureEntry> &signatures() {
  static const std::vector<SignatureEntry> table = {
      {"*, *, *, * -> =1", {"SparseToDense"}},
      {"[n,r], [n], [r] -> [n,r], [n]", {"SparseReorder"}},
      {"[n,r], [r], [q] -> [n,q], [q]", {"SparseReshape"}},
      {"[n,r], [n], [r] -> [n]", {"SparseSoftmax"}},
      {"[n,r], [n], [r], * -> [n]",
       {"SparseDenseCwiseAdd", "SparseDenseCwiseMul", "SparseDenseCwiseDiv"}},
      {"[a,r], [a], [r], [b,r], [b], [r], [] -> [?,r], [?], [r]", {"SparseAdd"}},
      {"[n], [a,r], [b,r], [s] -> [a], [b]", {"SparseAddGrad"}},
      {"[a,r], [a], [r], [b,r], [b], [r] -> [?,r], [?]",
       {"SparseSparseMaximum", "SparseSparseMinimum"}},
      {"[n,r], [n], [r], [r], [r] -> [?,r], [?], [r]", {"SparseSlice"}},
      {"[n], [n,r], [r], [m,r] -> [n]", {"SparseSliceGrad"}},
      {"[n,r], [n], [r], [] -> [?,r], [?], [?], [n]", {"SparseFillEmptyRows"}},
      {"[n], [m] -> [n], []", {"SparseFillEmptyRowsGrad"}},
      {"[n,r], [n], [r], * -> [?,?], [?], [?]", {"SparseReduceSumSparse", "SparseReduceMaxSparse"}},
      {"[n,r], [n], [r] -> [3]", {"SerializeSparse"}},
      {"[n,r], [n], [r] -> [$2.0,3]", {"SerializeManySparse"}},
      {"[m,3] -> [?,?], [?], [?]", {"DeserializeManySparse"}},
      {"[B,3] -> [?,?], [?], [?]", {"DeserializeSparse"}},
      {"[n,r], [n], [r], [m,r], [m], [r] -> [?,r], [?], [r]", {"SparseToSparseSetOperation"}},
  };
  return table;
}

/// The last dimension is the set; the result has the operands' rank.
ShapeResults setOperation(const ShapeQuery &query) {
  int64_t rank = Shape::unknown;
  for (size_t i = 0; i < query.numInputs(); ++i) {
    bool isDense = query.op() == "DenseToDenseSetOperation" || i == 0;
    if (isDense && query.shape(i).hasRank())
      rank = query.shape(i).rank();
  }
  if (query.op() == "DenseToSparseSetOperation")
    rank = dims::meet(rank, dims::meet(query.shape(1).dim(1), query.shape(3).dim(0)));
  return {Shape{Shape::unknown, rank}, Shape{Shape::unknown}, Shape{rank}};
}

ShapeResults setSize(const ShapeQuery &query) { return {query.shapeFrom(2).take(-1)}; }

constexpr ShapeEntry functions[] = {
    {"SparseReduceSum", reducedDense},
    {"SparseReduceMax", reducedDense},
    {"SparseSplit", split},
    {"SparseConcat", concatenated},
    {"SparseTensorDenseMatMul", sparseTimesDense},
    {"SparseTensorDenseAdd", sparsePlusDense},
    {"DenseToDenseSetOperation", setOperation},
    {"DenseToSparseSetOperation", setOperation},
    {"SetSize", setSize},
};

} // namespace

ShapeFamily sparseShapes() { return {signatures(), functions}; }

} // namespace treadle
