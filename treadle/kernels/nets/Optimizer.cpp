#include "treadle/kernels/nets/Optimizer.h"

#include "treadle/kernels/ElementCopy.h"

#include <algorithm>

namespace treadle {

// Locks in the order of addresses, so that two steps on the same variables can't deadlock.
void OptimizerVariables::lockAll(OpContext &ctx, int count) {
  std::array<std::pair<Variable *, int>, maxCount> order;
  for (int i = 0; i < count; ++i)
    if (order[i] = {variableInput(ctx, i), i}; !order[i].first)
      return;
  std::sort(order.begin(), order.begin() + count);
  for (int i = 0; i < count; ++i) {
    if (i > 0 && order[i].first == order[i - 1].first)
      return ctx.fail(invalidArgument("inputs ", order[i - 1].second, " and ", order[i].second,
                                      " are the same variable '", order[i].first->name, "'"));
    int input = order[i].second;
    if (!writers[input].emplace(ctx, input).isOpen())
      return;
  }
}

OptimizerVariables::OptimizerVariables(OpContext &ctx, int count, DType dtype) {
  lockAll(ctx, count);
  for (int i = 0; i < count && !ctx.hasFailed(); ++i) {
    const Tensor &value = writers[i]->value();
    Dims dims = writers[0]->value().dims();
    if (value.dtype() == dtype && std::ranges::equal(value.dims(), dims))
      tensors[i] = writers[i]->writable(ctx);
    else
      ctx.fail(invalidArgument("variable '", writers[i]->get().name, "' is ", tensorTypeText(value),
                               ", expected ", dtypeName(dtype), dimsText(dims),
                               " like the others"));
  }
  isGood = !ctx.hasFailed();
}

static bool checkRows(OpContext &ctx, const Tensor &gradient, const Tensor &rows,
                      const Tensor &variable) {
  bool isRowwise = variable.rank() > 0 && rows.rank() == 1 && gradient.rank() == variable.rank() &&
                   gradient.dim(0) == rows.dim(0) &&
                   std::ranges::equal(gradient.dims().subspan(1), variable.dims().subspan(1));
  if (!isRowwise) {
    ctx.fail(invalidArgument("the gradient is ", tensorTypeText(gradient), " for the rows ",
                             tensorTypeText(rows), ", expected one row of ",
                             tensorTypeText(variable), " for each of them"));
    return false;
  }
  for (int64_t i = 0; i < rows.count(); ++i)
    if (int64_t row = indexAt(rows, i); row < 0 || row >= variable.dim(0)) {
      ctx.fail(invalidArgument("indices[", i, "] is ", row, ", but the variable has ",
                               variable.dim(0), " rows"));
      return false;
    }
  return true;
}

bool checkGradient(OpContext &ctx, const OptimizerLayout &layout, const Tensor &variable) {
  const Tensor &gradient = ctx.input(layout.gradient);
  if (layout.isSparse)
    return checkRows(ctx, gradient, ctx.input(layout.gradient + 1), variable);
  if (std::ranges::equal(gradient.dims(), variable.dims()))
    return true;
  ctx.fail(invalidArgument("the gradient is ", tensorTypeText(gradient),
                           ", expected the variable's ", tensorTypeText(variable)));
  return false;
}

bool checkScalars(OpContext &ctx, const OptimizerLayout &layout) {
  for (int i = layout.variables; i < ctx.numInputs(); ++i) {
    bool isOther = i == layout.gradient || (layout.isSparse && i == layout.gradient + 1);
    if (isOther || ctx.input(i).isScalar())
      continue;
    ctx.fail(
        invalidArgument("input ", i, " is ", tensorTypeText(ctx.input(i)), ", expected a scalar"));
    return false;
  }
  return true;
}

} // namespace treadle
