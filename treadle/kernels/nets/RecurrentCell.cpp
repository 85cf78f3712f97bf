// LSTMBlockCell: one step of an LSTM, and its gradient. Gates are in the order input, cell, forget,
// output.
#include "treadle/kernels/InputDims.h"
#include "treadle/kernels/nets/LstmStep.h"

namespace treadle {
namespace {

/// The sizes that all inputs of a cell must agree in.
struct CellSize {
  int64_t batch = 0, input = 0, cell = 0;
};

// Reads inputs 0 to 7 of both ops: x, cs_prev, h_prev, w, wci, wcf, wco, b.
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
  for (int i = 4; isRight && i < 7; ++i) // without peepholes their weights are ignored
    isRight = checkDims(ctx, i,
                        {ctx.state<LstmOptions>().usesPeephole ? size.cell : ctx.input(i).count()});
  if (isRight && (!size.batch || !size.cell))
    ctx.fail(invalidArgument("cs_prev has no elements: its shape is ", dimsText(previous.dims())));
  return !ctx.hasFailed();
}

template <typename T> LstmStep<T> stepOf(OpContext &ctx, const CellSize &size) {
  auto weights = [&](int i) { return ctx.input(i).data<T>(); };
  return {ctx.state<LstmOptions>(),
          size.input,
          size.cell,
          weights(3),
          {weights(4), weights(5), weights(6)},
          weights(7)};
}

template <typename T> struct LstmCellKernel {
  static void run(OpContext &ctx) {
    CellSize size;
    if (!readCell(ctx, size))
      return;
    T *out[7]; // i, cs, f, o, ci, co, h
    for (int k = 0; k < 7; ++k) {
      Tensor *t = TREADLE_OR_RETURN(ctx.allocateOutput(k, dtypeOf<T>, {size.batch, size.cell}));
      out[k] = t->data<T>();
    }
    LstmStep<T> step = stepOf<T>(ctx, size);
    std::vector<Computed<T>> gates;
    for (int64_t row = 0; row < size.batch; ++row) {
      int64_t at = row * size.cell;
      step.forward(ctx.input(0).data<T>() + row * size.input, ctx.input(1).data<T>() + at,
                   ctx.input(2).data<T>() + at, gates, out);
      for (T *&o : out)
        o += size.cell;
    }
  }
};

// Inputs 8 to 15: i, cs, f, o, ci, co, cs_grad, h_grad. Outputs: cs_prev_grad, dicfo, and the
// gradients of the three peephole weights.
template <typename T> struct LstmCellGradKernel {
  using C = Computed<T>;

  static void run(OpContext &ctx) {
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
    LstmStep<T> step = stepOf<T>(ctx, size);
    for (int64_t row = 0; row < size.batch; ++row) {
      int64_t at = row * size.cell;
      auto in = [&](int i) { return ctx.input(i).data<T>() + at; };
      step.backward({in(8), in(9), in(10), in(11), in(12), in(13), in(1)}, GradientAt<T>{in(14)},
                    GradientAt<T>{in(15)}, gates->data<T>() + 4 * at, previous->data<T>() + at,
                    sums.data());
    }
    bool usesPeephole = step.options.usesPeephole;
    for (int k = 0; k < 3; ++k)
      for (int64_t c = 0; c < weights[k]->count(); ++c)
        weights[k]->data<T>()[c] =
            T(usesPeephole ? sums[static_cast<size_t>(k * size.cell + c)] : C(0));
  }
};

template <template <typename> class Kernel>
Expected<BoundKernel> bindCell(const BindContext &node) {
  return withState(bindByType<Kernel, TypeList<float, Half>>(node),
                   LstmOptions{node.attrs.getOr<float>("forget_bias", 1),
                               node.attrs.getOr<float>("cell_clip", 3),
                               node.attrs.getOr<bool>("use_peephole", false)});
}

const KernelEntry lstmTable[] = {
    {"LSTMBlockCell", bindCell<LstmCellKernel>},
    {"LSTMBlockCellGrad", bindCell<LstmCellGradKernel>},
};

} // namespace

std::span<const KernelEntry> lstmKernels() { return lstmTable; }

} // namespace treadle
