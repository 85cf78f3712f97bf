// Shape functions of compressed sparse matrices (a variant with the shape of the matrix or batch),
// feature crosses and counts, sparse tensor maps and CTC.
#include "treadle/shapes/ShapeFunctions.h"

#include <algorithm>

namespace treadle {
namespace {

KnownValue matrixOf(const Shape &shape) { return {Shape::scalar(), {shape}}; }

ShapeResults fromDense(const ShapeQuery &query) { return {matrixOf(query.shape(0))}; }
ShapeResults fromSparse(const ShapeQuery &query) { return {matrixOf(query.shapeFrom(2))}; }
ShapeResults zeros(const ShapeQuery &query) { return {matrixOf(query.shapeFrom(0))}; }

ShapeResults transposed(const ShapeQuery &query) {
  Shape held = query.held(0);
  return {matrixOf(held.take(-2) + Shape{held.dim(-1), held.dim(-2)})};
}

/// The shape of a matrix product, with optionally transposed operands.
Shape product(const ShapeQuery &query, const Shape &left, const Shape &right) {
  bool a = query.boolAttr("transpose_a") || query.boolAttr("adjoint_a");
  bool b = query.boolAttr("transpose_b") || query.boolAttr("adjoint_b");
  Shape out{left.dim(a ? -1 : -2), right.dim(b ? -2 : -1)};
  if (query.boolAttr("transpose_output"))
    out = Shape{out.dim(1), out.dim(0)};
  return left.take(-2) + out;
}

ShapeResults timesDense(const ShapeQuery &query) {
  return {product(query, query.held(0), query.shape(1))};
}

ShapeResults timesSparse(const ShapeQuery &query) {
  return {matrixOf(product(query, query.held(0), query.held(1)))};
}

ShapeResults toSparse(const ShapeQuery &query) {
  Shape held = query.held(0);
  int64_t rank = held.hasRank() ? held.rank() : Shape::unknown;
  return {Shape{Shape::unknown, rank}, Shape{Shape::unknown}, Shape{rank}};
}

// Number of nonzeros of a matrix, or of each matrix of a batch.
ShapeResults entryCount(const ShapeQuery &query) { return {query.held(0).take(-2)}; }

// A permutation of the rows.
ShapeResults ordering(const ShapeQuery &query) { return {query.held(0).take(-1)}; }

// One result for each of the top paths, then their log probabilities.
ShapeResults decodedPaths(const ShapeQuery &query) {
  size_t paths = query.numResults() / 3;
  ShapeResults out = ShapeResults::all(paths, Shape{Shape::unknown, 2});
  for (size_t i = 0; i < paths; ++i)
    out.values.emplace_back(Shape{Shape::unknown});
  for (size_t i = 0; i < paths; ++i)
    out.values.emplace_back(Shape{2});
  int64_t batch = dims::meet(query.shape(0).dim(1), query.shape(1).dim(0));
  out.values.emplace_back(Shape{batch, static_cast<int64_t>(paths)});
  return out;
}

// An edit distance for each pair of sequences, which are in the last dimension.
ShapeResults distances(const ShapeQuery &query) {
  Shape hypothesis = query.shapeFrom(2), truth = query.shapeFrom(5);
  if (!hypothesis.hasRank() || !truth.hasRank() || hypothesis.rank() != truth.rank())
    return {};
  Shape out = hypothesis.take(-1);
  for (int64_t i = 0; i < out.rank(); ++i)
    out.setDim(i, std::max(hypothesis.dim(i), truth.dim(i)));
  return {hypothesis.isStatic() && truth.isStatic() ? out : Shape::ofRank(out.rank())};
}

// A matrix has counts for each row; a vector counts as one row.
ShapeResults counted(const ShapeQuery &query) {
  const Shape &values = query.shape(0);
  int64_t rank = values.hasRank() ? values.rank() : Shape::unknown;
  return {Shape{Shape::unknown, rank}, Shape{Shape::unknown}, Shape{rank}};
}

const std::vector<SignatureEntry> &signatures() {
  static const std::vector<SignatureEntry> table = {
      {"[]:X -> X", {"CSRSparseMatrixToDense"}},
      {"[], [] -> [?], [?], [?]", {"CSRSparseMatrixComponents"}},
      {"[]:X, []:X, [], [] -> []:X", {"SparseMatrixAdd"}},
      {"[]:X, * -> []:X", {"SparseMatrixMul"}},
      {"[]:X -> []:X", {"SparseMatrixSoftmax"}},
      {"[]:X, []:X -> []:X", {"SparseMatrixSoftmaxGrad"}},
      {"[]:X, * -> []:X", {"SparseMatrixSparseCholesky"}},
      {"*+ -> [?,2], [?], [2]", {"SparseCross", "SparseCrossV2", "SparseCrossHashed"}},
      {"*+ -> [?], [?]", {"RaggedCross"}},
      {"[n,r], [n], [r], * -> [?,r], [?], [r]", {"SparseCountSparseOutput"}},
      {"[s], *, * -> [?,2], [?], [2]", {"RaggedCountSparseOutput"}},
      {"[n], [n], [], [] -> [?], [?], [$2], [n]", {"RaggedFillEmptyRows"}},
      {"[n], [m] -> [n], []", {"RaggedFillEmptyRowsGrad"}},
      {"[n,r], [n], [r] -> []", {"AddSparseToTensorsMap"}},
      {"[n,r], [n], [r] -> [?]", {"AddManySparseToTensorsMap"}},
      {"[n] -> [?,?], [?], [?]", {"TakeManySparseFromTensorsMap"}},
      {"[t,b,c], [n,2], [n], [b] -> [b], [t,b,c]", {"CTCLoss"}},
      {"[t,b,c], [b] -> [?,2], [?], [2], [b,1]", {"CTCGreedyDecoder"}},
  };
  return table;
}

constexpr ShapeEntry functions[] = {
    {"DenseToCSRSparseMatrix", fromDense},
    {"SparseTensorToCSRSparseMatrix", fromSparse},
    {"SparseMatrixZeros", zeros},
    {"SparseMatrixTranspose", transposed},
    {"SparseMatrixMatMul", timesDense},
    {"SparseMatrixSparseMatMul", timesSparse},
    {"SparseMatrixNNZ", entryCount},
    {"SparseMatrixOrderingAMD", ordering},
    {"CSRSparseMatrixToSparseTensor", toSparse},
    {"CTCBeamSearchDecoder", decodedPaths},
    {"EditDistance", distances},
    {"DenseCountSparseOutput", counted},
};

} // namespace

ShapeFamily compressedShapes() { return {signatures(), functions}; }

} // namespace treadle
