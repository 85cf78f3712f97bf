// Batch and Unbatch: TensorFlow combines the inputs of concurrent runs into one batch. Here each
// run is a batch of its own, and its tensors pass through unchanged.
#include "treadle/kernels/ElementShapes.h"

#include <algorithm>
#include <array>
#include <atomic>

namespace treadle {
namespace {

// Outputs: the batch; for each run in it [its number, its first row, the row after its last]; this
// run's number.
void batch(OpContext &ctx) {
  static std::atomic<int64_t> next{1};
  int64_t limit = ctx.state<int64_t>(), rows = 0;
  for (int i = 0; i < ctx.numInputs(); ++i) {
    const Tensor &t = ctx.input(i);
    if (t.rank() == 0 || t.dim(0) != ctx.input(0).dim(0))
      return ctx.fail(invalidArgument("in_tensors[", i, "] is ", tensorTypeText(t),
                                      ", expected the number of rows of in_tensors[0], ",
                                      tensorTypeText(ctx.input(0))));
    rows = t.dim(0);
  }
  if (rows > limit)
    return ctx.fail(invalidArgument("there are ", rows, " rows, expected at most ", limit,
                                    " (max_batch_size)"));
  for (int i = 0; i < ctx.numInputs(); ++i)
    ctx.setOutput(i, ctx.takeInput(i));
  int64_t id = next++, dims[] = {1, 3};
  ctx.setOutput(
      ctx.numInputs(),
      Tensor::vector<int64_t>(DType::Int64, std::array{id, int64_t{0}, rows}).withDims(dims));
  ctx.setOutput(ctx.numInputs() + 1, Tensor::scalar(DType::Int64, id));
}

Expected<BoundKernel> bindBatch(const BindContext &node) {
  return boundWith(batch, node.attrs.getOr<int64_t>("max_batch_size", INT64_MAX));
}

/// The rows [begin, end) of the run whose number is in input `id`; nullopt after failing the op.
struct RowRange {
  int64_t begin, end;
};
std::optional<RowRange> rowsOfRun(OpContext &ctx, int id) {
  const Tensor &index = ctx.input(1), &run = ctx.input(id);
  if (index.rank() != 2 || index.dim(1) != 3 || run.count() != 1) {
    ctx.fail(invalidArgument("batch_index and id are ", tensorTypeText(index), " and ",
                             tensorTypeText(run), ", expected the outputs of Batch"));
    return std::nullopt;
  }
  for (const int64_t *row = index.data<int64_t>(), *end = row + index.count(); row != end; row += 3)
    if (row[0] == run.scalarValue<int64_t>() && 0 <= row[1] && row[1] <= row[2])
      return RowRange{row[1], row[2]};
  ctx.fail(invalidArgument("the batch has no rows of run ", run.scalarValue<int64_t>()));
  return std::nullopt;
}

// Inputs: batched tensor, batch_index, id.
void unbatch(OpContext &ctx) {
  auto rows = TREADLE_OR_RETURN(rowsOfRun(ctx, 2));
  const Tensor &batched = ctx.input(0);
  if (batched.rank() == 0 || rows.end > batched.dim(0))
    return ctx.fail(invalidArgument("batched_tensor is ", tensorTypeText(batched), ", expected ",
                                    rows.end, " or more rows"));
  ctx.setOutput(0, rowsOf(batched, rows.begin, rows.end - rows.begin));
}

// Inputs: batch, batch_index, the gradient of this run's rows, id.
void unbatchGrad(OpContext &ctx) {
  auto rows = TREADLE_OR_RETURN(rowsOfRun(ctx, 3));
  const Tensor &whole = ctx.input(0), &grad = ctx.input(2);
  if (!std::ranges::equal(whole.dims(), grad.dims()))
    return ctx.fail(invalidArgument("grad is ", tensorTypeText(grad), ", expected ",
                                    tensorTypeText(whole), ", the batch of this run alone"));
  ctx.setOutput(0, grad);
}

const KernelEntry batchTable[] = {
    {"Batch", bindBatch},
    {"Unbatch", bindPlain<unbatch>},
    {"UnbatchGrad", bindPlain<unbatchGrad>},
};

} // namespace

std::span<const KernelEntry> batchKernels() { return batchTable; }

} // namespace treadle
