// Shape functions of matrix products, decompositions, diagonals and recurrent cells.
#include "treadle/shapes/ShapeFunctions.h"

#include <algorithm>
#include <map>

namespace treadle {
namespace {

ShapeResults product(const Shape &left, const Shape &right, int64_t inner, int64_t otherInner,
                     const Shape &out) {
  if (dims::isKnown(inner) && dims::isKnown(otherInner) && inner != otherInner)
    return shapeError(str("matrices of shapes ", left.text(), " and ", right.text(),
                          " can't be multiplied: ", inner, " columns, ", otherInner, " rows"));
  return {out};
}

ShapeResults matMul(const ShapeQuery &query) {
  const Shape &left = query.shape(0), &right = query.shape(1);
  for (size_t i = 0; i < 2; ++i)
    if (query.shape(i).hasRank() && query.shape(i).rank() != 2)
      return shapeError(
          str("input ", i, " has shape ", query.shape(i).text(), ", expected a matrix"));
  int a = query.boolAttr("transpose_a"), b = query.boolAttr("transpose_b");
  return product(left, right, left.dim(1 - a), right.dim(b), Shape{left.dim(a), right.dim(1 - b)});
}

ShapeResults batchMatMul(const ShapeQuery &query) {
  const Shape &left = query.shape(0), &right = query.shape(1);
  for (size_t i = 0; i < 2; ++i)
    if (query.shape(i).hasRank() && query.shape(i).rank() < 2)
      return shapeError(
          str("input ", i, " has shape ", query.shape(i).text(), ", expected matrices"));
  std::optional<Shape> batch = broadcast(left.take(-2), right.take(-2));
  if (!batch)
    return shapeError(str("batches of shapes ", left.text(), " and ", right.text(),
                          " can't be broadcast to each other"));
  bool x = query.boolAttr("adj_x"), y = query.boolAttr("adj_y");
  return product(left, right, left.dim(x ? -2 : -1), right.dim(y ? -1 : -2),
                 *batch + Shape{left.dim(x ? -1 : -2), right.dim(y ? -2 : -1)});
}

ShapeResults quantizedMatMul(const ShapeQuery &query) { return withRange(matMul(query)); }

// --- Einsum --------------------------------------------------------------------------------------

/// Dimensions of an equation's labels, and of the ellipsis.
struct EinsumLabels {
  std::map<char, int64_t> sizes;
  Shape ellipsis = Shape::scalar();
  bool isEllipsisKnown = true;

  bool bind(std::string_view labels, const Shape &shape);
  bool bindDim(char label, int64_t dim);
  Shape make(std::string_view labels) const;
};

bool EinsumLabels::bindDim(char label, int64_t dim) {
  int64_t &size = sizes.try_emplace(label, Shape::unknown).first->second;
  if (size == Shape::unknown || size == 1)
    size = dims::isKnown(dim) ? dim : size;
  return !dims::isKnown(dim) || dim == 1 || size == dim;
}

bool EinsumLabels::bind(std::string_view labels, const Shape &shape) {
  size_t dots = labels.find("...");
  std::string_view before = labels.substr(0, dots);
  std::string_view after = dots == std::string_view::npos ? "" : labels.substr(dots + 3);
  int64_t fixed = static_cast<int64_t>(before.size() + after.size());
  bool isList = dots != std::string_view::npos;
  if (shape.hasRank() && (isList ? shape.rank() < fixed : shape.rank() != fixed))
    return false;
  for (size_t i = 0; i < before.size(); ++i)
    if (!bindDim(before[i], shape.dim(static_cast<int64_t>(i))))
      return false;
  for (size_t i = 1; i <= after.size(); ++i)
    if (!bindDim(after[after.size() - i], shape.dim(-static_cast<int64_t>(i))))
      return false;
  if (!isList)
    return true;
  isEllipsisKnown &= shape.hasRank();
  if (!isEllipsisKnown)
    return true;
  std::optional<Shape> both = broadcast(
      ellipsis, shape.drop(static_cast<int64_t>(before.size())).take(shape.rank() - fixed));
  ellipsis = both.value_or(ellipsis);
  return both.has_value();
}

Shape EinsumLabels::make(std::string_view labels) const {
  Shape out = Shape::scalar();
  for (size_t i = 0; i < labels.size(); ++i) {
    if (labels.substr(i).starts_with("...")) {
      out = out + (isEllipsisKnown ? ellipsis : Shape());
      i += 2;
      continue;
    }
    auto found = sizes.find(labels[i]);
    out = out + Shape{found == sizes.end() ? Shape::unknown : found->second};
  }
  return out;
}

ShapeResults einsum(const ShapeQuery &query) {
  std::string equation = query.textAttr("equation");
  std::erase(equation, ' ');
  size_t arrow = equation.find("->");
  if (arrow == std::string::npos)
    return {};
  std::string_view inputs = std::string_view(equation).substr(0, arrow);
  EinsumLabels labels;
  for (size_t i = 0; i < query.numInputs(); ++i) {
    size_t comma = inputs.find(',');
    std::string_view operand = inputs.substr(0, comma);
    if (!labels.bind(operand, query.shape(i)))
      return shapeError(str("input ", i, " has shape ", query.shape(i).text(),
                            ", which doesn't match '", operand, "' of '", equation, "'"));
    bool isLast = comma == std::string_view::npos;
    if (isLast != (i + 1 == query.numInputs()))
      return {};
    inputs.remove_prefix(isLast ? inputs.size() : comma + 1);
  }
  return {labels.make(std::string_view(equation).substr(arrow + 2))};
}

// --- Decompositions ------------------------------------------------------------------------------

int64_t lesser(int64_t a, int64_t b) {
  return dims::isKnown(a) && dims::isKnown(b) ? std::min(a, b) : Shape::unknown;
}

ShapeResults qr(const ShapeQuery &query) {
  const Shape &input = query.shape(0);
  int64_t m = input.dim(-2), n = input.dim(-1), p = lesser(m, n);
  Shape batch = input.take(-2);
  if (query.boolAttr("full_matrices"))
    return {batch + Shape{m, m}, batch + Shape{m, n}};
  return {batch + Shape{m, p}, batch + Shape{p, n}};
}

ShapeResults svdOf(const ShapeQuery &query, bool isFull) {
  const Shape &input = query.shape(0);
  int64_t m = input.dim(-2), n = input.dim(-1), p = lesser(m, n);
  Shape batch = input.take(-2);
  return {batch + Shape{p}, batch + Shape{m, isFull ? m : p}, batch + Shape{n, isFull ? n : p}};
}

ShapeResults svd(const ShapeQuery &query) {
  if (query.boolAttr("compute_uv", true))
    return svdOf(query, query.boolAttr("full_matrices"));
  const Shape &input = query.shape(0);
  return {input.take(-2) + Shape{lesser(input.dim(-2), input.dim(-1))}, Shape{0}, Shape{0}};
}

ShapeResults fullSvd(const ShapeQuery &query) { return svdOf(query, /*isFull=*/true); }

ShapeResults selfAdjointEig(const ShapeQuery &query) {
  const Shape &input = query.shape(0);
  int64_t n = dims::meet(input.dim(-2), input.dim(-1));
  Shape batch = input.take(-2);
  return {batch + Shape{n}, query.boolAttr("compute_v", true) ? batch + Shape{n, n} : Shape{0}};
}

// In a triangular solve, a single matrix is broadcast to the batch.
ShapeResults triangularSolve(const ShapeQuery &query) {
  const Shape &matrix = query.shape(0), &right = query.shape(1);
  std::optional<Shape> batch = broadcast(matrix.take(-2), right.take(-2));
  if (!batch)
    return {};
  return {*batch + Shape{dims::meet(matrix.dim(-2), right.dim(-2)), right.dim(-1)}};
}

// The bands of a matrix, [k,n].
ShapeResults bandedSolve(const ShapeQuery &query) {
  const Shape &bands = query.shape(0), &right = query.shape(1);
  std::optional<Shape> batch = broadcast(bands.take(-2), right.take(-2));
  return batch ? ShapeResults{*batch + right.drop(-2)} : ShapeResults();
}

// The eigenvalues are in a row above the eigenvectors.
ShapeResults valuesOverVectors(const ShapeQuery &query) {
  const Shape &input = query.shape(0);
  int64_t n = dims::meet(input.dim(-2), input.dim(-1));
  return {input.take(-2) + Shape{dims::plus(n, 1), n}};
}

// --- Diagonals -----------------------------------------------------------------------------------

ShapeResults diagonalPart(const ShapeQuery &query) {
  const Shape &input = query.shape(0);
  return {input.take(-2) + Shape{lesser(input.dim(-2), input.dim(-1))}};
}

/// Returns the band of diagonals in an input of one or two elements, or nullopt if it isn't known.
std::optional<std::pair<int64_t, int64_t>> bandOf(const ShapeQuery &query, size_t input) {
  const std::optional<Shape::Dims> &k = query.integers(input);
  if (!k || k->empty() || k->size() > 2 || k->front() == Shape::unknown ||
      k->back() == Shape::unknown || k->front() > k->back() || k->front() < -INT32_MAX ||
      k->back() > INT32_MAX)
    return std::nullopt;
  return std::pair(k->front(), k->back());
}

ShapeResults diagonalBandPart(const ShapeQuery &query) {
  const Shape &input = query.shape(0);
  auto band = bandOf(query, 1);
  if (!input.hasRank() || input.rank() < 2 || !band)
    return {};
  auto [lower, upper] = *band;
  int64_t rows = dims::minus(input.dim(-2), std::max<int64_t>(-upper, 0)),
          columns = dims::minus(input.dim(-1), std::max<int64_t>(lower, 0)),
          length = Shape::unknown;
  if (dims::isKnown(rows) && dims::isKnown(columns))
    length = std::min(rows, columns);
  Shape bands = lower == upper ? Shape::scalar() : Shape{upper - lower + 1};
  return {input.take(-2) + bands + Shape{length}};
}

/// Number of rows or columns: as given, or as few as the diagonals need.
ShapeResults diagonalBand(const ShapeQuery &query) {
  const Shape &input = query.shape(0);
  auto band = bandOf(query, 1);
  if (!input.hasRank() || !band)
    return {};
  auto [lower, upper] = *band;
  int64_t length = input.dim(-1);
  int64_t minRows = dims::plus(length, std::max<int64_t>(-upper, 0));
  int64_t minColumns = dims::plus(length, std::max<int64_t>(lower, 0));
  std::optional<int64_t> rows = query.integer(2), columns = query.integer(3);
  int64_t givenRows = rows ? *rows : Shape::unknown,
          givenColumns = columns ? *columns : Shape::unknown;
  if (!rows || !columns)
    return {input.take(lower == upper ? -1 : -2) +
            Shape{givenRows == -1 ? Shape::unknown : givenRows,
                  givenColumns == -1 ? Shape::unknown : givenColumns}};
  // One that isn't given is minimal; if neither is given, the matrix is square.
  if (*rows == -1 && *columns == -1)
    givenRows = givenColumns = std::max(minRows, minColumns);
  else if (*rows == -1)
    givenRows = minRows;
  else if (*columns == -1)
    givenColumns = minColumns;
  return {input.take(lower == upper ? -1 : -2) + Shape{givenRows, givenColumns}};
}

ShapeResults diagonalTensor(const ShapeQuery &query) { return {query.shape(0) + query.shape(0)}; }

ShapeResults diagonalTensorPart(const ShapeQuery &query) {
  const Shape &input = query.shape(0);
  if (!input.hasRank())
    return {};
  std::optional<Shape> half =
      input.rank() % 2 ? std::nullopt
                       : merge(input.take(input.rank() / 2), input.drop(input.rank() / 2));
  if (!half)
    return shapeError(
        str("input 0 has shape ", input.text(), ", expected the same dimensions twice"));
  return {*half};
}

const std::vector<SignatureEntry> &signatures() {
  static const std::vector<SignatureEntry> table = {
      {"[B,n,n] -> [B,n,n]",
       {"Cholesky", "MatrixInverse", "MatrixExponential", "MatrixSquareRoot", "MatrixLogarithm",
        "BatchCholesky", "BatchMatrixInverse"}},
      {"[B,n,n], [B,n,n] -> [B,n,n]", {"CholeskyGrad", "BatchCholeskyGrad"}},
      {"[B,n,n] -> [B]", {"MatrixDeterminant", "BatchMatrixDeterminant"}},
      {"[B,n,n] -> [B], [B]", {"LogMatrixDeterminant"}},
      {"[B,n,n] -> [B,n,n], [B,n]", {"Lu"}},
      {"[B,3], [B,3] -> [B,3]", {"Cross"}},
      {"*, *, *, X -> X", {"TridiagonalMatMul"}},
      {"[B,m,k], [B,n,k], [B,n,v], *+ -> [B,m,v], [B,m]", {"_Attention"}},
      {"[B,m,k], [B,n,k], [B,n,v], *, *, *, *+ -> [B,m,k], [B,n,k], [B,n,v]", {"_AttentionGrad"}},
      {"*, X -> X", {"TridiagonalSolve"}},
      {"[B,n,n], [B,n,k] -> [B,n,k]", {"MatrixSolve", "BatchMatrixSolve"}},
      {"[B,m,n], [B,m,k], [] -> [B,n,k]", {"MatrixSolveLs", "BatchMatrixSolveLs"}},
      {"[B,m,n], [], [] -> [B,m,n]", {"MatrixBandPart", "BatchMatrixBandPart"}},
      {"[B,n] -> [B,n,n]", {"MatrixDiag", "BatchMatrixDiag"}},
      {"[B,m,n], [B,?] -> [B,m,n]", {"MatrixSetDiag", "BatchMatrixSetDiag"}},
      {"[B,m,n], *, * -> [B,m,n]", {"MatrixSetDiagV2", "MatrixSetDiagV3"}},
      {"[b,i], [b,u], [b,u], [?,4u], *, *, *, [4u] -> "
       "[b,u], [b,u], [b,u], [b,u], [b,u], [b,u], [b,u]",
       {"LSTMBlockCell"}},
      {"[b,i], [b,u], [b,u], [?,4u], *, *, *, [4u], [b,u], [b,u], [b,u], [b,u], [b,u], "
       "[b,u], [b,u], [b,u] -> [b,u], [b,4u], [u], [u], [u]",
       {"LSTMBlockCellGrad"}},
      {"[], [t,b,?], *, *, *, *, *, *, [4u] -> "
       "[t,b,u], [t,b,u], [t,b,u], [t,b,u], [t,b,u], [t,b,u], [t,b,u]",
       {"BlockLSTM", "BlockLSTMV2"}},
      {"[], X, C, H, W, I, F, O, B, *, *, *, *, *, *, *, *, * -> X, C, H, W, I, F, O, B",
       {"BlockLSTMGrad", "BlockLSTMGradV2"}},
      {"[b,i], [b,u], *, *, *, * -> [b,u], [b,u], [b,u], [b,u]", {"GRUBlockCell"}},
      {"[b,i], [b,u], *, *, *, *, *, *, *, * -> [b,i], [b,u], [b,u], [b,2u]", {"GRUBlockCellGrad"}},
  };
  return table;
}

const std::vector<ShapeEntry> &functions() {
  static const std::vector<ShapeEntry> table = {
      {"MatMul", matMul},
      {"_FusedMatMul", matMul},
      {"SparseMatMul", matMul},
      {"BatchMatMul", batchMatMul},
      {"BatchMatMulV2", batchMatMul},
      {"BatchMatMulV3", batchMatMul},
      {"_MklFusedBatchMatMulV2", batchMatMul},
      {"Einsum", einsum},
      {"XlaEinsum", einsum},
      {"Qr", qr},
      {"Svd", svd},
      {"XlaSvd", fullSvd},
      {"SelfAdjointEigV2", selfAdjointEig},
      {"XlaSelfAdjointEig", selfAdjointEig},
      {"MatrixTriangularSolve", triangularSolve},
      {"BatchMatrixTriangularSolve", triangularSolve},
      {"BandedTriangularSolve", bandedSolve},
      {"BatchSvd", svd},
      {"Eig", selfAdjointEig},
      {"BatchSelfAdjointEigV2", selfAdjointEig},
      {"SelfAdjointEig", valuesOverVectors},
      {"BatchSelfAdjointEig", valuesOverVectors},
      {"BatchMatrixDiagPart", diagonalPart},
      {"QuantizedMatMul", quantizedMatMul},
      {"QuantizedMatMulWithBias", quantizedMatMul},
      {"QuantizedMatMulWithBiasAndRelu", quantizedMatMul},
      {"QuantizedMatMulWithBiasAndReluAndRequantize", quantizedMatMul},
      {"QuantizedMatMulWithBiasAndRequantize", quantizedMatMul},
      {"QuantizedMatMulWithBiasAndDequantize", matMul},
      {"MatrixDiagPart", diagonalPart},
      {"MatrixDiagPartV2", diagonalBandPart},
      {"MatrixDiagPartV3", diagonalBandPart},
      {"MatrixDiagV2", diagonalBand},
      {"MatrixDiagV3", diagonalBand},
      {"Diag", diagonalTensor},
      {"DiagPart", diagonalTensorPart},
  };
  return table;
}

} // namespace

ShapeFamily matrixShapes() { return {signatures(), functions()}; }

} // namespace treadle
