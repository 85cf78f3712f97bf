// BlockLSTM: an LSTM over all steps of a sequence at once, and its gradient.
#include "treadle/kernels/InputDims.h"
#include "treadle/kernels/nets/LstmStep.h"

namespace treadle {
namespace {

/// The sizes that all inputs must agree in.
struct Sizes {
  int64_t time = 0, batch = 0, input = 0, cell = 0;
  int64_t steps = 0; // computed steps; later ones yield 0

  int64_t row(int64_t t, int64_t b) const { return t * batch + b; }
};

// Reads inputs 0 to 8 of both ops: seq_len_max, x, cs_prev, h_prev, w, wci, wcf, wco, b.
bool readSizes(OpContext &ctx, Sizes &s) {
  const Tensor &steps = ctx.input(0), &x = ctx.input(1), &before = ctx.input(2);
  if (!steps.isScalar() || x.rank() != 3 || before.rank() != 2) {
    ctx.fail(invalidArgument(
        "seq_len_max, x and cs_prev must have ranks 0, 3 and 2, but have shapes ",
        dimsText(steps.dims()), ", ", dimsText(x.dims()), " and ", dimsText(before.dims())));
    return false;
  }
  s = {x.dim(0), x.dim(1), x.dim(2), before.dim(1), steps.scalarValue<int64_t>()};
  if (!checkDims(ctx, 2, {s.batch, s.cell}) || !checkDims(ctx, 3, {s.batch, s.cell}) ||
      !checkDims(ctx, 4, {s.input + s.cell, 4 * s.cell}) || !checkDims(ctx, 5, {s.cell}) ||
      !checkDims(ctx, 6, {s.cell}) || !checkDims(ctx, 7, {s.cell}) ||
      !checkDims(ctx, 8, {4 * s.cell}))
    return false;
  if (s.steps < 0 || s.steps > s.time)
    ctx.fail(invalidArgument("seq_len_max is ", s.steps, ", expected 0 to ", s.time));
  return !ctx.hasFailed();
}

template <typename T> LstmStep<T> stepOf(OpContext &ctx, const Sizes &s) {
  auto weights = [&](int i) { return ctx.input(i).data<T>(); };
  return {ctx.state<LstmOptions>(),
          s.input,
          s.cell,
          weights(4),
          {weights(5), weights(6), weights(7)},
          weights(8)};
}

template <typename T> T *zeroed(OpContext &ctx, int i, Dims dims) {
  Tensor *t = ctx.allocateOutput(i, dtypeOf<T>, dims);
  if (!t)
    return nullptr;
  std::fill_n(t->data<T>(), t->count(), T(0));
  return t->data<T>();
}

// --- forward -------------------------------------------------------------------------------------

template <typename T> struct BlockLstm {
  static void run(OpContext &ctx) {
    Sizes s;
    if (!readSizes(ctx, s))
      return;
    T *out[7]; // i, cs, f, o, ci, co, h
    for (int k = 0; k < 7; ++k) {
      out[k] = zeroed<T>(ctx, k, std::array{s.time, s.batch, s.cell});
      if (!out[k])
        return;
    }
    LstmStep<T> step = stepOf<T>(ctx, s);
    double cost = static_cast<double>(s.steps * (s.input + s.cell) * s.cell); // ns per row
    ctx.parallelFor(s.batch, cost, [&](int64_t begin, int64_t end) {
      std::vector<Computed<T>> gates;
      for (int64_t t = 0; t < s.steps; ++t)
        for (int64_t b = begin; b < end; ++b)
          runRow(ctx, s, step, t, b, gates, out);
    });
  }

  static void runRow(OpContext &ctx, const Sizes &s, const LstmStep<T> &step, int64_t t, int64_t b,
                     std::vector<Computed<T>> &gates, T *const out[7]) {
    T *row[7];
    for (int k = 0; k < 7; ++k)
      row[k] = out[k] + s.row(t, b) * s.cell;
    int64_t before = (t ? s.row(t - 1, b) : b) * s.cell;
    const T *cellBefore = (t ? out[1] : ctx.input(2).data<T>()) + before;
    const T *outBefore = (t ? out[6] : ctx.input(3).data<T>()) + before;
    step.forward(ctx.input(1).data<T>() + s.row(t, b) * s.input, cellBefore, outBefore, gates, row);
  }
};

// --- gradient ------------------------------------------------------------------------------------

// The gradient op. Inputs 9 to 17: i, cs, f, o, ci, co, h, cs_grad, h_grad. Outputs: the gradients
// of inputs 1 to 8.
template <typename T> class BlockLstmGrad {
  using C = Computed<T>;

public:
  static void run(OpContext &ctx) {
    Sizes s;
    if (!readSizes(ctx, s))
      return;
    for (int i = 9; i < 18; ++i)
      if (!checkDims(ctx, i, {s.time, s.batch, s.cell}))
        return;
    for (int i = 0; i < 8; ++i)
      if (!zeroed<T>(ctx, i, ctx.input(i + 1).dims()))
        return;
    BlockLstmGrad(ctx, s).sumUp();
  }

private:
  BlockLstmGrad(OpContext &ctx, const Sizes &s)
      : ctx(ctx), s(s), step(stepOf<T>(ctx, s)), gates(static_cast<size_t>(4 * s.cell)),
        weights(static_cast<size_t>(ctx.input(4).count())),
        peepholes(static_cast<size_t>(3 * s.cell)), biases(gates.size()),
        inputs(static_cast<size_t>(s.input + s.cell)) {}

  void sumUp() {
    for (int64_t t = s.steps - 1; t >= 0; --t)
      for (int64_t b = 0; b < s.batch; ++b)
        addRow(t, b);
    store(3, weights.data());
    for (int k = 0; step.options.usesPeephole && k < 3; ++k)
      store(4 + k, peepholes.data() + k * s.cell);
    store(7, biases.data());
  }

  void store(int output, const C *sums) {
    T *out = ctx.output(output).data<T>();
    for (int64_t i = 0; i < ctx.output(output).count(); ++i)
      out[i] = T(sums[i]);
  }

  // On entry, outputs 1 and 2 hold the gradients from the next step; on exit, those of this step.
  void addRow(int64_t t, int64_t b) {
    int64_t now = s.row(t, b) * s.cell, before = (t ? s.row(t - 1, b) : b) * s.cell;
    auto value = [&](int i) { return ctx.input(i).data<T>() + now; };
    const T *cellBefore = ctx.input(t ? 10 : 2).data<T>() + before;
    const T *outBefore = ctx.input(t ? 15 : 3).data<T>() + before;
    T *cellSlopes = ctx.output(1).data<T>() + b * s.cell;
    T *outSlopes = ctx.output(2).data<T>() + b * s.cell;
    auto sum = [](const T *a, const T *b) {
      return [=](int64_t c) { return C(T(C(a[c]) + C(b[c]))); };
    };
    step.backward({value(9), value(10), value(11), value(12), value(13), value(14), cellBefore},
                  sum(cellSlopes, value(16)), sum(outSlopes, value(17)), gates.data(), cellSlopes,
                  peepholes.data());
    const T *x = ctx.input(1).data<T>() + s.row(t, b) * s.input;
    addWeights(x, outBefore);
    T *xSlopes = ctx.output(0).data<T>() + s.row(t, b) * s.input;
    for (int64_t k = 0; k < s.input; ++k)
      xSlopes[k] = T(inputs[static_cast<size_t>(k)]);
    for (int64_t k = 0; k < s.cell; ++k)
      outSlopes[k] = T(inputs[static_cast<size_t>(s.input + k)]);
  }

  // Multiplies the gradients of the gates by the gates' inputs (for the weights) and by the weights
  // (for the inputs).
  void addWeights(const T *x, const T *outBefore) {
    for (size_t g = 0; g < gates.size(); ++g)
      biases[g] += C(gates[g]);
    C *sums = weights.data();
    const T *w = step.w;
    for (int64_t k = 0; k < s.input + s.cell; ++k, w += gates.size(), sums += gates.size()) {
      C in(k < s.input ? x[k] : outBefore[k - s.input]), slope = 0;
      for (size_t g = 0; g < gates.size(); ++g) {
        slope += C(gates[g]) * C(w[g]);
        sums[g] += in * C(gates[g]);
      }
      inputs[static_cast<size_t>(k)] = slope;
    }
  }

  OpContext &ctx;
  const Sizes &s;
  LstmStep<T> step;
  std::vector<T> gates;                              // gradients of a row
  std::vector<C> weights, peepholes, biases, inputs; // sums of gradients; `inputs` of one row
};

template <template <typename> class Kernel, bool isV2>
Expected<BoundKernel> bindBlock(const BindContext &node) {
  LstmOptions options{isV2 ? 0 : node.attrs.getOr<float>("forget_bias", 1),
                      node.attrs.getOr<float>("cell_clip", isV2 ? 0 : 3),
                      node.attrs.getOr("use_peephole", false), isV2};
  return withState(bindForType<Kernel, TypeList<float, Half>>(node, node.inputTypes[1]), options)
      .map(expensive);
}

const KernelEntry blockLstmTable[] = {
    {"BlockLSTM", bindBlock<BlockLstm, false>},
    {"BlockLSTMV2", bindBlock<BlockLstm, true>},
    {"BlockLSTMGrad", bindBlock<BlockLstmGrad, false>},
    {"BlockLSTMGradV2", bindBlock<BlockLstmGrad, true>},
};

} // namespace

std::span<const KernelEntry> blockLstmKernels() { return blockLstmTable; }

} // namespace treadle
