// _FusedLstmGates: computes the next cell and the output from the gate sums and the cell of an
// LSTM. Not a TensorFlow op: the lowering of a graph fuses nodes into it. Shapes other than those
// of such a step run the replaced ops one by one.
#include "treadle/kernels/Element.h"
#include "treadle/kernels/arrays/Families.h"
#include "treadle/kernels/elementwise/Elementwise.h"
#include "treadle/kernels/elementwise/Families.h"
#include "treadle/kernels/elementwise/VectorMath.h"
#include "treadle/kernels/nets/Families.h"
#include "treadle/runtime/RunOp.h"

#include <algorithm>
#include <array>

// No contraction, so that the values equal those of the separate ops.
#pragma clang fp contract(off)

namespace treadle {
namespace {

struct LstmGates {
  int64_t axis;
  float forgetBias;
  std::vector<int64_t> part; // position of the input, forget, cell and output gates

  bool fits(const Tensor &sums, const Tensor &cell, const Tensor *bias) const {
    return sums.rank() == 2 && cell.rank() == 2 && (axis == 1 || axis == -1) &&
           sums.dim(0) == cell.dim(0) && sums.dim(1) == 4 * cell.dim(1) &&
           (!bias || (bias->rank() == 1 && bias->dim(0) == sums.dim(1)));
  }
};

/// The four gates of a row, and its results.
struct LstmGateRow {
  const float *sums[4], *bias[4], *cell;
  float *nextCell, *output;
};

/// Computes a row in blocks, one function at a time: all functions at once need too many registers.
template <bool hasBias> void computeRow(const LstmGateRow &row, float forgetBias, int64_t n) {
  constexpr int64_t block = 64;
  float kept[block], input[block], open[block];
  for (int64_t at = 0; at < n; at += block) {
    int64_t count = std::min(block, n - at);
    auto sum = [&](int gate, int64_t i) {
      float value = row.sums[gate][at + i];
      return hasBias ? value + row.bias[gate][at + i] : value;
    };
    const float *cell = row.cell + at;
    float *next = row.nextCell + at, *output = row.output + at;
    TREADLE_VECTORISE
    for (int64_t i = 0; i < count; ++i)
      kept[i] = vectorLogistic(sum(1, i) + forgetBias) * cell[i];
    TREADLE_VECTORISE
    for (int64_t i = 0; i < count; ++i)
      input[i] = vectorLogistic(sum(0, i));
    TREADLE_VECTORISE
    for (int64_t i = 0; i < count; ++i)
      open[i] = vectorLogistic(sum(3, i));
    TREADLE_VECTORISE
    for (int64_t i = 0; i < count; ++i)
      next[i] = kept[i] + input[i] * vectorTanh(sum(2, i));
    TREADLE_VECTORISE
    for (int64_t i = 0; i < count; ++i)
      output[i] = open[i] * vectorTanh(next[i]);
  }
}

// --- other shapes: op by op ----------------------------------------------------------------------

/// Runs ops one after the other until one fails.
class OpSequence {
public:
  explicit OpSequence(OpContext &ctx) : ctx(ctx) {}

  Tensor operator()(std::string_view op, std::vector<Tensor> inputs) {
    std::vector<Tensor> out = all(op, std::move(inputs), 1);
    return out.empty() ? Tensor() : std::move(out.front());
  }
  std::vector<Tensor> all(std::string_view op, std::vector<Tensor> inputs, int64_t outputs) {
    if (ctx.hasFailed())
      return {};
    AttrMap attrs;
    attrs.set("T", TypeAttr{DType::Float32});
    attrs.set("num_split", outputs);
    std::vector<DType> types(static_cast<size_t>(outputs), DType::Float32);
    auto out = ctx.check(
        runOp({elementwiseArithmeticKernels, elementwiseMathKernels, biasKernels, concatKernels},
              op, attrs, std::move(inputs), types));
    return out ? std::move(*out) : std::vector<Tensor>();
  }

private:
  OpContext &ctx;
};

void runUnfused(OpContext &ctx, const LstmGates &gates) {
  OpSequence run(ctx);
  Tensor sums = ctx.input(0), cell = ctx.input(1);
  if (ctx.numInputs() > 2)
    sums = run("BiasAdd", {sums, ctx.input(2)});
  Tensor axis = Tensor::scalar(DType::Int32, static_cast<int32_t>(gates.axis));
  std::vector<Tensor> parts = run.all("Split", {axis, sums}, 4);
  if (ctx.hasFailed())
    return;
  auto part = [&](size_t gate) { return parts[static_cast<size_t>(gates.part[gate])]; };
  Tensor toForget = part(1);
  if (gates.forgetBias != 0)
    toForget = run("AddV2", {toForget, Tensor::scalar(DType::Float32, gates.forgetBias)});
  Tensor kept = run("Mul", {run("Sigmoid", {toForget}), cell});
  Tensor added = run("Mul", {run("Sigmoid", {part(0)}), run("Tanh", {part(2)})});
  Tensor next = run("AddV2", {kept, added});
  Tensor output = run("Mul", {run("Sigmoid", {part(3)}), run("Tanh", {next})});
  if (ctx.hasFailed())
    return;
  ctx.setOutput(0, std::move(next));
  ctx.setOutput(1, std::move(output));
}

// --- the op --------------------------------------------------------------------------------------

/// Nanoseconds per element.
constexpr double costOfElement = 6;

void runGates(OpContext &ctx) {
  const auto &gates = ctx.state<LstmGates>();
  const Tensor sums = ctx.input(0), cell = ctx.input(1);
  const Tensor *bias = ctx.numInputs() > 2 ? &ctx.input(2) : nullptr;
  if (!gates.fits(sums, cell, bias))
    return runUnfused(ctx, gates);
  Tensor *nextCell = ctx.allocateOutput(0, DType::Float32, cell.dims());
  Tensor *output = ctx.allocateOutput(1, DType::Float32, cell.dims());
  if (!nextCell || !output)
    return;
  int64_t size = cell.dim(1);
  auto computeRows = [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      LstmGateRow row = {};
      for (size_t g = 0; g < 4; ++g) {
        row.sums[g] = sums.data<float>() + (4 * r + gates.part[g]) * size;
        row.bias[g] = bias ? bias->data<float>() + gates.part[g] * size : nullptr;
      }
      row.cell = cell.data<float>() + r * size;
      row.nextCell = nextCell->data<float>() + r * size;
      row.output = output->data<float>() + r * size;
      (bias ? computeRow<true> : computeRow<false>)(row, gates.forgetBias, size);
    }
  };
  ctx.parallelFor(cell.dim(0), costOfElement * static_cast<double>(size), computeRows);
}

Expected<BoundKernel> bindGates(const BindContext &node) {
  auto parts = node.attrs.getOr("gates", std::vector<int64_t>());
  if (parts.size() != 4 || node.inputTypes[0] != DType::Float32)
    return unsupportedDType(node, node.inputTypes[0]);
  if (!std::ranges::is_permutation(parts, std::array<int64_t, 4>{0, 1, 2, 3}))
    return Unexpected(invalidArgument("attribute 'gates' is ", dimsText(parts),
                                      ", expected 0 to 3 in some order"));
  return boundWith(runGates, LstmGates{node.attrs.getOr<int64_t>("axis", 1),
                                       node.attrs.getOr("forget_bias", 0.0F), std::move(parts)});
}

const KernelEntry lstmGatesTable[] = {
    {"_FusedLstmGates", bindGates},
};

} // namespace

std::span<const KernelEntry> lstmGatesKernels() { return lstmGatesTable; }

} // namespace treadle
