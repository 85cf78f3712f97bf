// LSTMBlockCell: one step of a long short-term memory, and its gradient. Gates lie in the order
// input, cell, forget, output.
#include "treadle/kernels/Elementwise.h"
#include "treadle/kernels/Families.h"

#include <cmath>

namespace treadle {
namespace {

struct CellState {
  float forgetBias, cellClip;
  bool usesPeephole;
};

template <typename T> T sigmoid(T x) { return T(1) / (T(1) + std::exp(-x)); }

/// What all inputs of a cell must agree in.
struct CellSize {
  int64_t batch = 0, input = 0, cell = 0;
};

bool checkDims(OpContext &ctx, int i, std::initializer_list<int64_t> expected) {
  Dims dims(expected.begin(), expected.size());
  if (std::ranges::equal(ctx.input(i).dims(), dims))
    return true;
  ctx.fail(invalidArgument("input ", i, " has shape ", dimsText(ctx.input(i).dims()), ", expected ",
                           dimsText(dims)));
  return false;
}

// Inputs 0 to 7 of both ops: x, cs_prev, h_prev, w, wci, wcf, wco, b.
bool readCell(OpContext &ctx, CellSize &size) {
  const Tensor &x = ctx.input(0), &previous = ctx.input(1);
  if (x.rank() != 2 || previous.rank() != 2) {
    ctx.fail(invalidArgument("x and cs_prev must be matrices, but have shapes ", dimsText(x.dims()),
                             " and ", dimsText(previous.dims())));
    return false;
  }
  size = {x.dim(0), x.dim(1), previous.dim(1)};
  bool isRight = checkDims(ctx, 1, {size.batch, size.cell}) &&
                 checkDims(ctx, 2, {size.batch, size.cell}) &&
                 checkDims(ctx, 3, {size.input + size.cell, 4 * size.cell}) &&
                 checkDims(ctx, 7, {4 * size.cell});
  for (int i = 4; isRight && i < 7; ++i) // without peepholes their weights don't count
    isRight =
        checkDims(ctx, i, {ctx.state<CellState>().usesPeephole ? size.cell : ctx.input(i).count()});
  if (isRight && (!size.batch || !size.cell))
    ctx.fail(invalidArgument("cs_prev has no elements: its shape is ", dimsText(previous.dims())));
  return !ctx.hasFailed();
}

template <typename T> struct LstmCellKernel {
  using C = Computed<T>;

  // One row of [x, h] * w + b.
  static void addGates(OpContext &ctx, const CellSize &size, int64_t row, std::vector<C> &gates) {
    const T *w = ctx.input(3).data<T>(), *b = ctx.input(7).data<T>();
    std::copy_n(b, gates.size(), gates.begin());
    auto add = [&](const T *values, int64_t n) {
      for (int64_t k = 0; k < n; ++k, w += gates.size())
        for (size_t g = 0; g < gates.size(); ++g)
          gates[g] += C(values[k]) * C(w[g]);
    };
    add(ctx.input(0).data<T>() + row * size.input, size.input);
    add(ctx.input(2).data<T>() + row * size.cell, size.cell);
  }

  static void run(OpContext &ctx) {
    const CellState &s = ctx.state<CellState>();
    CellSize size;
    if (!readCell(ctx, size))
      return;
    T *out[7]; // i, cs, f, o, ci, co, h
    for (int k = 0; k < 7; ++k) {
      Tensor *t = ctx.allocateOutput(k, dtypeOf<T>, {size.batch, size.cell});
      if (!t)
        return;
      out[k] = t->data<T>();
    }
    std::vector<C> gates(static_cast<size_t>(4 * size.cell));
    auto peephole = [&](int input, int64_t c, C state) {
      return s.usesPeephole ? C(ctx.input(input).data<T>()[c]) * state : C(0);
    };
    for (int64_t row = 0; row < size.batch; ++row) {
      addGates(ctx, size, row, gates);
      for (int64_t c = 0; c < size.cell; ++c) {
        const C *gate = gates.data() + c;
        int64_t at = row * size.cell + c;
        C previous(ctx.input(1).data<T>()[at]);
        C i = sigmoid(gate[0] + peephole(4, c, previous));
        C ci = std::tanh(gate[size.cell]);
        C f = sigmoid(gate[2 * size.cell] + C(s.forgetBias) + peephole(5, c, previous));
        C cs = f * previous + i * ci;
        if (s.cellClip > 0)
          cs = std::clamp(cs, C(-s.cellClip), C(s.cellClip));
        C o = sigmoid(gate[3 * size.cell] + peephole(6, c, cs));
        C co = std::tanh(cs);
        const C results[] = {i, cs, f, o, ci, co, o * co};
        for (int k = 0; k < 7; ++k)
          out[k][at] = T(results[k]);
      }
    }
  }
};

// Inputs 8 to 15: i, cs, f, o, ci, co, cs_grad, h_grad. Outputs: cs_prev_grad, dicfo, and those of
// the three peephole weights.
template <typename T> struct LstmCellGradKernel {
  using C = Computed<T>;

  static void run(OpContext &ctx) {
    const CellState &s = ctx.state<CellState>();
    CellSize size;
    if (!readCell(ctx, size))
      return;
    for (int i = 8; i < 16; ++i)
      if (!checkDims(ctx, i, {size.batch, size.cell}))
        return;
    Tensor *previous = ctx.allocateOutput(0, dtypeOf<T>, {size.batch, size.cell});
    Tensor *gates = ctx.allocateOutput(1, dtypeOf<T>, {size.batch, 4 * size.cell});
    Tensor *weights[3];
    for (int k = 0; k < 3; ++k)
      weights[k] = ctx.allocateOutput(k + 2, dtypeOf<T>, ctx.input(4 + k).dims());
    if (ctx.hasFailed())
      return;
    std::vector<C> sums(static_cast<size_t>(3 * size.cell));
    for (int64_t row = 0; row < size.batch; ++row)
      for (int64_t c = 0; c < size.cell; ++c) {
        int64_t at = row * size.cell + c;
        auto in = [&](int i) { return C(ctx.input(i).data<T>()[at]); };
        auto weight = [&](int i) { return s.usesPeephole ? C(ctx.input(i).data<T>()[c]) : C(0); };
        C before = in(1), i = in(8), cs = in(9), f = in(10), o = in(11), ci = in(12), co = in(13);
        C csGradient = in(14), hGradient = in(15);
        C dO = o * (1 - o) * hGradient * co;
        C dCs = (1 - co * co) * hGradient * o + csGradient + dO * weight(6);
        C dCi = (1 - ci * ci) * dCs * i;
        C dF = f * (1 - f) * dCs * before;
        C dI = i * (1 - i) * dCs * ci;
        previous->data<T>()[at] = T(dCs * f + dI * weight(4) + dF * weight(5));
        T *gate = gates->data<T>() + row * 4 * size.cell + c;
        const C slopes[] = {dI, dCi, dF, dO};
        for (int k = 0; k < 4; ++k)
          gate[k * size.cell] = T(slopes[k]);
        sums[static_cast<size_t>(c)] += dI * before;
        sums[static_cast<size_t>(size.cell + c)] += dF * before;
        sums[static_cast<size_t>(2 * size.cell + c)] += dO * cs;
      }
    for (int k = 0; k < 3; ++k)
      for (int64_t c = 0; c < weights[k]->count(); ++c)
        weights[k]->data<T>()[c] =
            T(s.usesPeephole ? sums[static_cast<size_t>(k * size.cell + c)] : C(0));
  }
};

template <template <typename> class Kernel>
Expected<BoundKernel> bindCell(const BindContext &node) {
  Expected<BoundKernel> bound = bindByType<Kernel, TypeList<float, Half>>(node);
  if (bound)
    bound->state = std::make_shared<const CellState>(CellState{
        node.attrs.getOr<float>("forget_bias", 1), node.attrs.getOr<float>("cell_clip", 3),
        node.attrs.getOr<bool>("use_peephole", false)});
  return bound;
}

const KernelEntry table[] = {
    {"LSTMBlockCell", bindCell<LstmCellKernel>},
    {"LSTMBlockCellGrad", bindCell<LstmCellGradKernel>},
};

} // namespace

std::span<const KernelEntry> lstmKernels() { return table; }

} // namespace treadle
