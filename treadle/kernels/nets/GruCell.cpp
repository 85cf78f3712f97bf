// GRUBlockCell: one step of a gated recurrent unit, and its gradient. Reset and update gates are
// adjacent.
#include "treadle/kernels/Element.h"
#include "treadle/kernels/InputDims.h"

#include <Eigen/Core>

#include <algorithm>

namespace treadle {
namespace {

using Matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using Array = Eigen::Array<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using Row = Eigen::Array<float, 1, Eigen::Dynamic>;

struct Sizes {
  int64_t batch = 0, input = 0, cell = 0;
};

// Reads inputs 0 to 5 of both ops: x, h_prev, w_ru, w_c, b_ru, b_c.
bool readSizes(OpContext &ctx, Sizes &s) {
  const Tensor &x = ctx.input(0), &before = ctx.input(1);
  if (x.rank() != 2 || before.rank() != 2) {
    ctx.fail(invalidArgument("x and h_prev must be matrices, but have shapes ", dimsText(x.dims()),
                             " and ", dimsText(before.dims())));
    return false;
  }
  s = {x.dim(0), x.dim(1), before.dim(1)};
  return checkDims(ctx, 1, {s.batch, s.cell}) &&
         checkDims(ctx, 2, {s.input + s.cell, 2 * s.cell}) &&
         checkDims(ctx, 3, {s.input + s.cell, s.cell}) && checkDims(ctx, 4, {2 * s.cell}) &&
         checkDims(ctx, 5, {s.cell});
}

auto matrix(const Tensor &t) {
  return Eigen::Map<const Matrix>(t.data<float>(), t.dim(0), t.dim(1));
}
auto array(const Tensor &t) { return Eigen::Map<const Array>(t.data<float>(), t.dim(0), t.dim(1)); }
auto row(const Tensor &t) { return Eigen::Map<const Row>(t.data<float>(), t.count()); }

bool store(OpContext &ctx, int i, const Array &values) {
  Tensor *out = ctx.allocateOutput(i, DType::Float32, {values.rows(), values.cols()});
  if (out)
    std::copy_n(values.data(), values.size(), out->data<float>());
  return out;
}

Array sigmoid(const Array &x) { return 1 / (1 + (-x).exp()); }

// r and u are the "reset" and "update" gates, c is the candidate for the new state.
void gru(OpContext &ctx) {
  Sizes s;
  if (!readSizes(ctx, s))
    return;
  Matrix joined(s.batch, s.input + s.cell);
  joined.leftCols(s.input) = matrix(ctx.input(0));
  joined.rightCols(s.cell) = matrix(ctx.input(1));
  Array gates = (joined * matrix(ctx.input(2))).array();
  gates.rowwise() += row(ctx.input(4));
  gates = sigmoid(gates);
  Array reset = gates.leftCols(s.cell), update = gates.rightCols(s.cell);
  Array before = array(ctx.input(1));
  joined.rightCols(s.cell) = (before * reset).matrix();
  Array candidate = (joined * matrix(ctx.input(3))).array();
  candidate.rowwise() += row(ctx.input(5));
  candidate = candidate.tanh();
  store(ctx, 0, reset) && store(ctx, 1, update) && store(ctx, 2, candidate) &&
      store(ctx, 3, update * (before - candidate) + candidate);
}

// Inputs 6 to 9: r, u, c, d_h. Outputs: the gradients of x and h_prev, of the candidate before
// tanh, and of both gates before sigmoid.
void gruGrad(OpContext &ctx) {
  Sizes s;
  if (!readSizes(ctx, s))
    return;
  for (int i = 6; i < 10; ++i)
    if (!checkDims(ctx, i, {s.batch, s.cell}))
      return;
  Array before = array(ctx.input(1)), reset = array(ctx.input(6)), update = array(ctx.input(7));
  Array candidate = array(ctx.input(8)), slope = array(ctx.input(9));
  Array dCandidate = slope * (1 - update) * (1 - candidate * candidate);
  Array dJoined = (dCandidate.matrix() * matrix(ctx.input(3)).transpose()).array();
  Array dResetBefore = dJoined.rightCols(s.cell);
  Array dGates(s.batch, 2 * s.cell);
  dGates.leftCols(s.cell) = dResetBefore * before * reset * (1 - reset);
  dGates.rightCols(s.cell) = slope * (before - candidate) * update * (1 - update);
  Array dFromGates = (dGates.matrix() * matrix(ctx.input(2)).transpose()).array();
  store(ctx, 0, dFromGates.leftCols(s.input) + dJoined.leftCols(s.input)) &&
      store(ctx, 1, dFromGates.rightCols(s.cell) + dResetBefore * reset + slope * update) &&
      store(ctx, 2, dCandidate) && store(ctx, 3, dGates);
}

template <KernelFn fn> Expected<BoundKernel> bindGru(const BindContext &node) {
  if (node.inputTypes[0] != DType::Float32)
    return unsupportedDType(node, node.inputTypes[0]);
  return bindPlain<fn>(node);
}

const KernelEntry gruTable[] = {
    {"GRUBlockCell", bindGru<gru>},
    {"GRUBlockCellGrad", bindGru<gruGrad>},
};

} // namespace

std::span<const KernelEntry> gruKernels() { return gruTable; }

} // namespace treadle
