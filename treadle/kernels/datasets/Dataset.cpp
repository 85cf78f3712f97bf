#include "treadle/kernels/datasets/Dataset.h"

#include "treadle/kernels/ElementCopy.h"
#include "treadle/runtime/Run.h"

#include <algorithm>

namespace treadle {

IterationStep failed(OpContext &ctx, const Caller &caller, Error error) {
  caller.fail(ctx, std::move(error));
  return IterationStep::Failed;
}

Ref<Dataset> datasetInput(OpContext &ctx, int i, const Caller &caller) {
  auto *dataset = variantIn<Dataset>(ctx.input(i));
  if (!dataset)
    caller.fail(ctx, invalidArgument("input ", i, " (", tensorTypeText(ctx.input(i)),
                                     ") is not a dataset"));
  return Ref<Dataset>::share(dataset);
}

void outputDataset(OpContext &ctx, const Caller &caller, const std::vector<Ref<Dataset>> &sources,
                   int64_t cardinality, std::function<Next()> iterate) {
  constexpr int maxDatasets = 1000; // nested iteration uses the stack
  int depth = 1;
  for (const Ref<Dataset> &source : sources)
    depth = std::max(depth, source->depth + 1);
  if (depth > maxDatasets)
    return caller.fail(ctx, resourceExhausted("more than ", maxDatasets, " datasets are chained"));
  ctx.setOutput(0, makeVariant(makeRef<Dataset>(cardinality, depth, std::move(iterate))));
}

IterationStep nextElement(const Next &source, OpContext &ctx, Tensors &element) {
  if (ctx.run().isStopped()) {
    ctx.fail(ctx.run().stopReason());
    return IterationStep::Failed;
  }
  return source(ctx, element);
}

IterationStep skip(const Next &source, OpContext &ctx, int64_t count) {
  Tensors element;
  for (int64_t i = 0; i < count; ++i)
    if (IterationStep step = nextElement(source, ctx, element); step != IterationStep::Element)
      return step;
  return IterationStep::Element;
}

IterationStep stack(OpContext &ctx, const Caller &caller, const std::vector<Tensors> &rows,
                    Tensors &batch) {
  batch.clear();
  for (size_t c = 0; c < rows[0].size(); ++c) {
    const Tensor &first = rows[0][c];
    DimVector dims;
    dims.push(std::ssize(rows));
    for (int64_t dim : first.dims())
      dims.push(dim);
    auto whole = ctx.check(Tensor::make(first.dtype(), dims));
    if (!whole)
      return IterationStep::Failed;
    for (size_t row = 0; row < rows.size(); ++row) {
      const Tensor *part = c < rows[row].size() ? &rows[row][c] : nullptr;
      if (!part || part->dtype() != first.dtype() ||
          !std::ranges::equal(part->dims(), first.dims()))
        return failed(ctx, caller,
                      invalidArgument("component ", c, " of element ", row, " of a batch is ",
                                      part ? tensorTypeText(*part) : "not there", ", expected ",
                                      tensorTypeText(first), " as in the first element"));
      int64_t at = static_cast<int64_t>(row) * first.count();
      copyElements(first.dtype(), elementAt(first.dtype(), whole->raw(), at), part->raw(),
                   first.count());
    }
    batch.push_back(std::move(*whole));
  }
  return IterationStep::Element;
}

void outputElement(OpContext &ctx, const Caller &caller, std::span<const DType> types,
                   Tensors element) {
  if (element.size() != types.size())
    return caller.fail(ctx, invalidArgument("the dataset's elements have ", element.size(),
                                            " components, expected ", types.size()));
  for (size_t i = 0; i < types.size(); ++i) {
    if (element[i].dtype() != types[i])
      return caller.fail(ctx, invalidArgument("component ", i, " of the element is ",
                                              tensorTypeText(element[i]), ", expected ",
                                              dtypeName(types[i])));
    ctx.setOutput(static_cast<int>(i), std::move(element[i]));
  }
}

std::optional<int64_t> scalarInput(OpContext &ctx, int i, const Caller &caller) {
  const Tensor &input = ctx.input(i);
  if (input.isScalar())
    return input.dtype() == DType::Bool ? input.scalarValue<bool>() : indexAt(input, 0);
  caller.fail(ctx,
              invalidArgument("input ", i, " is ", tensorTypeText(input), ", expected a scalar"));
  return std::nullopt;
}

int64_t batches(int64_t count, int64_t size, bool dropsRemainder) {
  return count < 0 ? count : count / size + (!dropsRemainder && count % size != 0);
}

Next batched(Next source, int64_t size, bool dropsRemainder, JoinRows join) {
  return [=](OpContext &ctx, Tensors &element) {
    std::vector<Tensors> rows;
    while (std::ssize(rows) < size) {
      Tensors row;
      IterationStep step = nextElement(source, ctx, row);
      if (step == IterationStep::Failed)
        return step;
      if (step == IterationStep::End)
        break;
      rows.push_back(std::move(row));
    }
    if (rows.empty() || (dropsRemainder && std::ssize(rows) < size))
      return IterationStep::End;
    return join(ctx, rows, element);
  };
}

} // namespace treadle
