// Gradients of matrix products.
#include "treadle/gradients/GradientTable.h"

using namespace mlir;

namespace treadle::tfg {
namespace {

/// One of the two products for the gradients: which operands (x, y or dz) it multiplies, and which
/// of them it transposes.
struct Product {
  enum Operand { X, Y, Dz } left;
  bool leftIsTransposed;
  Operand right;
  bool rightIsTransposed;
};

/// By whether x and whether y is transposed in the forward product.
constexpr Product forX[2][2] = {
    {{Product::Dz, false, Product::Y, true}, {Product::Dz, false, Product::Y, false}},
    {{Product::Y, false, Product::Dz, true}, {Product::Y, true, Product::Dz, true}}};
constexpr Product forY[2][2] = {
    {{Product::X, true, Product::Dz, false}, {Product::Dz, true, Product::X, false}},
    {{Product::X, false, Product::Dz, false}, {Product::Dz, true, Product::X, true}}};

struct MatMulOp {
  StringRef op, transposeX, transposeY;
  bool broadcasts;
};

std::pair<Value, Value> products(Emitter &e, const DifferentiatedNode &f, const MatMulOp &op,
                                 Value x, Value y) {
  Value operands[] = {x, y, f.dy()};
  bool isX = f.flag(op.transposeX), isY = f.flag(op.transposeY);
  auto multiply = [&](const Product &p) {
    return e.same(
        op.op, {operands[p.left], operands[p.right]},
        {e.attr(op.transposeX, p.leftIsTransposed), e.attr(op.transposeY, p.rightIsTransposed)});
  };
  return {multiply(forX[isX][isY]), multiply(forY[isX][isY])};
}

/// Returns the sizes of all axes except the last two.
Value batchShape(Emitter &e, Value shape) {
  return e.same("StridedSlice", {shape, e.integers(0), e.integers(-2), e.integers(1)},
                e.attr("Index", elementOf(shape)));
}

Values productGradient(Emitter &e, const DifferentiatedNode &f, const MatMulOp &op) {
  if (f.element() != elementOf(f.x(1)) || f.element() != elementOf(f.dy())) {
    e.fail(unimplemented("its inputs and its result have several dtypes"));
    return {};
  }
  auto [gx, gy] = products(e, f, op, f.x(0), f.x(1));
  return op.broadcasts ? summedOverBatches(e, f, gx, gy) : Values{gx, gy};
}

/// This op transposes without conjugation.
Values matMulGradient(Emitter &e, const DifferentiatedNode &f) {
  MatMulOp op = {"MatMul", "transpose_a", "transpose_b", false};
  auto conj = [&](Value x) { return isa<ComplexType>(f.element()) ? e.same("Conj", x) : x; };
  auto [gx, gy] = products(e, f, op, conj(f.x(0)), conj(f.x(1)));
  return {gx, gy};
}

} // namespace

Values summedOverBatches(Emitter &e, const DifferentiatedNode &f, Value gx, Value gy) {
  Value shapeX = e.shapeOf(f.x(0)), shapeY = e.shapeOf(f.x(1));
  auto [axesX, axesY] = e.broadcastAxes(batchShape(e, shapeX), batchShape(e, shapeY));
  return {e.reshape(e.sum(gx, axesX), shapeX), e.reshape(e.sum(gy, axesY), shapeY)};
}

void addMatrixGradients(GradientTable &table) {
  table["MatMul"] = matMulGradient;
  table["BatchMatMul"] = [](Emitter &e, const DifferentiatedNode &f) {
    return productGradient(e, f, {"BatchMatMul", "adj_x", "adj_y", false});
  };
  for (const char *op : {"BatchMatMulV2", "BatchMatMulV3"})
    table[op] = [](Emitter &e, const DifferentiatedNode &f) {
      return productGradient(e, f, {"BatchMatMulV2", "adj_x", "adj_y", true});
    };
}

} // namespace treadle::tfg
