// Gradients of decompositions, solutions of linear systems, and parts of matrices.
#include "treadle/gradients/GradientTable.h"

using namespace mlir;

namespace treadle::tfg {
namespace {

Value product(Emitter &e, Value x, Value y, bool xIsAdjoint, bool yIsAdjoint) {
  return e.same("BatchMatMulV2", {x, y},
                {e.attr("adj_x", xIsAdjoint), e.attr("adj_y", yIsAdjoint)});
}

Value band(Emitter &e, Value x, int32_t lower, int32_t upper) {
  Type i32 = e.builder.getI32Type();
  return e.same("MatrixBandPart", {x, e.integer(lower), e.integer(upper)}, e.attr("Tindex", i32));
}

Value adjointInverse(Emitter &e, Value x) {
  return e.same("MatrixInverse", x, e.attr("adjoint", true));
}

/// Reshapes one number per matrix to 1x1 matrices.
Value asMatrices(Emitter &e, Value x) {
  Type i32 = e.builder.getI32Type();
  Value column = e.same("ExpandDims", {x, e.integer(-1)}, e.attr("Tdim", i32));
  return e.same("ExpandDims", {column, e.integer(-1)}, e.attr("Tdim", i32));
}

Values inverseGradient(Emitter &e, const DifferentiatedNode &f) {
  bool isAdjoint = f.flag("adjoint");
  Value y = f.y(0);
  if (isAdjoint) // y = inv(x)^H: dx = -(y dy^H y)
    return {e.same("Neg", product(e, product(e, y, f.dy(), false, true), y, false, false))};
  return {e.same("Neg", product(e, product(e, y, f.dy(), true, false), y, false, true))};
}

Values determinantGradient(Emitter &e, const DifferentiatedNode &f) {
  Value each = asMatrices(e, e.same("Mul", {f.dy(), f.y(0)}));
  return {e.same("Mul", {each, adjointInverse(e, f.x(0))})};
}

Values logDeterminantGradient(Emitter &e, const DifferentiatedNode &f) {
  return {e.same("Mul", {asMatrices(e, f.dy(1)), adjointInverse(e, f.x(0))})};
}

/// Returns the gradient of the matrix, given the gradient of the solution.
Value matrixGradient(Emitter &e, const DifferentiatedNode &f, Value db) {
  return e.same("Neg", f.flag("adjoint") ? product(e, f.y(0), db, false, true)
                                         : product(e, db, f.y(0), false, true));
}

Values solveGradient(Emitter &e, const DifferentiatedNode &f) {
  Value db = e.same("MatrixSolve", {f.x(0), f.dy()}, e.attr("adjoint", !f.flag("adjoint")));
  return {matrixGradient(e, f, db), db};
}

Values triangularSolveGradient(Emitter &e, const DifferentiatedNode &f) {
  auto stated = f.node.attr<BoolAttr>("lower");
  bool isLower = !stated || stated.getValue();
  Value db = e.same("MatrixTriangularSolve", {f.x(0), f.dy()},
                    {e.attr("lower", isLower), e.attr("adjoint", !f.flag("adjoint"))});
  Value da = matrixGradient(e, f, db);
  return summedOverBatches(e, f, isLower ? band(e, da, -1, 0) : band(e, da, 0, -1), db);
}

/// With l l^H = x: l^-H P(l^H dl) l^-1, made Hermitian, where P takes the lower triangle with half
/// of the diagonal.
Values choleskyGradient(Emitter &e, const DifferentiatedNode &f) {
  Value middle = band(e, product(e, f.y(0), f.dy(), true, false), -1, 0);
  Value half = e.number(0.5, f.element());
  Value lower = e.same("Sub", {middle, e.same("Mul", {band(e, middle, 0, 0), half})});
  Value inverse = e.same("MatrixInverse", f.y(0));
  Value dx = product(e, product(e, inverse, lower, true, false), inverse, false, false);
  Value adjoint = product(e, product(e, inverse, lower, true, true), inverse, false, false);
  return {e.same("Mul", {e.same("AddV2", {dx, adjoint}), half})};
}

Values bandPartGradient(Emitter &e, const DifferentiatedNode &f) {
  return {e.same("MatrixBandPart", {f.dy(), f.x(1), f.x(2)}, e.attrsOf(f.node, {"Tindex"}))};
}

Values diagGradient(Emitter &e, const DifferentiatedNode &f) {
  return {e.same("DiagPart", f.dy())};
}
Values diagPartGradient(Emitter &e, const DifferentiatedNode &f) {
  return {e.same("Diag", f.dy())};
}

Values matrixDiagGradient(Emitter &e, const DifferentiatedNode &f) {
  return {e.same("MatrixDiagPart", f.dy())};
}

Values matrixDiagV3Gradient(Emitter &e, const DifferentiatedNode &f) {
  Value padding = e.number(0, f.element());
  return {e.same("MatrixDiagPartV3", {f.dy(), f.x(1), padding}, e.attrsOf(f.node, {"align"}))};
}

/// Sets the diagonal of a zero matrix in the input's shape.
Values matrixDiagPartGradient(Emitter &e, const DifferentiatedNode &f) {
  return {e.same("MatrixSetDiag", {e.zerosLike(f.x(0)), f.dy()})};
}

Values matrixDiagPartV3Gradient(Emitter &e, const DifferentiatedNode &f) {
  return {e.same("MatrixSetDiagV3", {e.zerosLike(f.x(0)), f.dy(), f.x(1)},
                 e.attrsOf(f.node, {"align"}))};
}

Values matrixSetDiagGradient(Emitter &e, const DifferentiatedNode &f) {
  return {e.same("MatrixSetDiag", {f.dy(), e.zerosLike(f.x(1))}), e.same("MatrixDiagPart", f.dy())};
}

Values matrixSetDiagV3Gradient(Emitter &e, const DifferentiatedNode &f) {
  SmallVector<NamedAttribute> attrs = e.attrsOf(f.node, {"align"});
  Value padding = e.number(0, f.element());
  return {e.same("MatrixSetDiagV3", {f.dy(), e.zerosLike(f.x(1)), f.x(2)}, attrs),
          e.same("MatrixDiagPartV3", {f.dy(), f.x(2), padding}, attrs)};
}

Values crossGradient(Emitter &e, const DifferentiatedNode &f) {
  return {e.same("Cross", {f.x(1), f.dy()}), e.same("Cross", {f.dy(), f.x(0)})};
}

const std::pair<const char *, Values (*)(Emitter &, const DifferentiatedNode &)> gradients[] = {
    {"MatrixInverse", inverseGradient},
    {"MatrixDeterminant", determinantGradient},
    {"LogMatrixDeterminant", logDeterminantGradient},
    {"MatrixSolve", solveGradient},
    {"MatrixTriangularSolve", triangularSolveGradient},
    {"Cholesky", choleskyGradient},
    {"MatrixBandPart", bandPartGradient},
    {"Diag", diagGradient},
    {"DiagPart", diagPartGradient},
    {"MatrixDiag", matrixDiagGradient},
    {"MatrixDiagV3", matrixDiagV3Gradient},
    {"MatrixDiagPart", matrixDiagPartGradient},
    {"MatrixDiagPartV3", matrixDiagPartV3Gradient},
    {"MatrixSetDiag", matrixSetDiagGradient},
    {"MatrixSetDiagV3", matrixSetDiagV3Gradient},
    {"Cross", crossGradient},
};

} // namespace

void addLinearAlgebraGradients(GradientTable &table) {
  for (auto [op, gradient] : gradients)
    table[op] = gradient;
}

} // namespace treadle::tfg
