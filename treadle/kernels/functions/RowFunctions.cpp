// Functions over rows. BatchFunction calls its function with whole batches: TensorFlow merges the
// inputs of concurrent runs into one batch; here each run is a batch of its own, padded to an
// allowed size. MapDefun calls its function once per row.
#include "treadle/runtime/FunctionOps.h"
#include "treadle/tensor/Resource.h"

#include <algorithm>
#include <cstring>

namespace treadle {
namespace {

/// Copies to[at...] = from[begin, begin + count), of one dtype.
void copyElements(Tensor &to, int64_t at, const Tensor &from, int64_t begin, int64_t count) {
  auto copy = [&]<typename T>() { std::copy_n(from.data<T>() + begin, count, to.data<T>() + at); };
  switch (from.dtype()) {
  case DType::String:
    return copy.template operator()<std::string>();
  case DType::Resource:
    return copy.template operator()<ResourceHandle>();
  case DType::Variant:
    return copy.template operator()<Variant>();
  default:
    auto size = static_cast<int64_t>(dtypeSize(from.dtype()));
    std::memcpy(static_cast<char *>(to.raw()) + at * size,
                static_cast<const char *>(from.raw()) + begin * size,
                static_cast<size_t>(count * size));
  }
}

std::vector<int64_t> dimsOf(const Tensor &t) { return {t.dims().begin(), t.dims().end()}; }

/// Returns the number of rows that the first `count` inputs have in common; an error if they
/// differ.
Expected<int64_t> commonRows(OpContext &ctx, int count) {
  for (int i = 0; i < count; ++i) {
    const Tensor &t = ctx.input(i);
    if (t.rank() == 0 || t.dim(0) != ctx.input(0).dim(0))
      return Unexpected(invalidArgument("input ", i, " is ", tensorTypeText(t), " and input 0 ",
                                        tensorTypeText(ctx.input(0)),
                                        ", expected the same number of rows"));
  }
  return ctx.input(0).dim(0);
}

// --- BatchFunction -----------------------------------------------------------------------------

/// Pads `t` to `rows` rows by repeating its first row; with zeros if it has no rows.
Expected<Tensor> padRows(const Tensor &t, int64_t rows) {
  std::vector<int64_t> dims = dimsOf(t);
  dims[0] = rows;
  Expected<Tensor> filled = Tensor::make(t.dtype(), dims);
  if (!filled || filled->count() == 0)
    return filled;
  int64_t own = t.dim(0), width = filled->count() / rows;
  copyElements(*filled, 0, t, 0, own * width);
  for (int64_t row = own; own && row < rows; ++row)
    copyElements(*filled, row * width, t, 0, width);
  if (!own && isPlain(t.dtype()))
    std::memset(filled->raw(), 0, filled->bytes());
  return filled;
}

struct FillState {
  std::vector<int64_t> allowed; // batch sizes, ascending
  int64_t largest;              // of a run's batch; 0: unlimited
};

void padBatch(OpContext &ctx) {
  const auto &state = ctx.state<FillState>();
  auto rows = TREADLE_OR_RETURN(ctx.check(commonRows(ctx, ctx.numInputs())));
  if (state.largest && rows > state.largest)
    return ctx.fail(invalidArgument("the batch has ", rows, " rows, expected at most ",
                                    state.largest, " (max_batch_size)"));
  auto size = std::ranges::lower_bound(state.allowed, std::max<int64_t>(rows, 1));
  int64_t wanted = size == state.allowed.end() ? std::max<int64_t>(rows, 1) : *size;
  for (int i = 0; i < ctx.numInputs(); ++i) {
    auto filled = wanted == rows ? ctx.takeInput(i) : ctx.check(padRows(ctx.input(i), wanted));
    if (!filled)
      return;
    ctx.setOutput(i, std::move(*filled));
  }
}

// Inputs: the original tensors, the padded ones, and the function's results.
void sliceBatch(OpContext &ctx) {
  const Tensor &passed = ctx.input(0), &whole = ctx.input(1);
  if (passed.rank() == 0 || whole.rank() == 0 || passed.dim(0) > whole.dim(0))
    return ctx.fail(invalidArgument("the batch is ", tensorTypeText(passed), ", padded to ",
                                    tensorTypeText(whole),
                                    ", expected at least the rows of the batch"));
  int64_t rows = passed.dim(0), filled = whole.dim(0);
  for (int i = 0; i < ctx.numOutputs(); ++i) {
    const Tensor &result = ctx.input(i + 2);
    if (result.rank() == 0 || result.dim(0) != filled)
      return ctx.fail(failedPrecondition("result ", i, " of the function is ",
                                         tensorTypeText(result), " for a batch of ", filled,
                                         " rows, expected the same number of rows"));
    std::vector<int64_t> dims = dimsOf(result);
    dims[0] = rows;
    if (rows == 0)
      dims = {0};
    ctx.setOutput(i, rows == filled ? result : result.view(0, dims));
  }
}

// --- MapDefun ----------------------------------------------------------------------------------

struct MapState {
  Caller caller;
  Callee function;
  int rowInputs; // number of inputs passed row by row; the others are passed whole
  std::vector<PartialShape> shapes;
  std::vector<ValueType> outputTypes;
};

/// Writes row `row` of output `i`, which the first row allocates.
Expected<void> putRow(OpContext &ctx, int i, const Tensor &value, int64_t row, int64_t rows) {
  const auto &shapes = ctx.state<MapState>().shapes;
  std::vector<int64_t> dims = dimsOf(value);
  bool isDeclared = i >= std::ssize(shapes) || shapes[i].accepts(dims);
  dims.insert(dims.begin(), rows);
  if (row == 0 && isDeclared && !ctx.allocateOutput(i, value.dtype(), dims))
    return {}; // ctx has failed
  Tensor &out = ctx.output(i);
  if (!isDeclared || !std::ranges::equal(out.dims(), dims))
    return Unexpected(invalidArgument(
        "result ", i, " of the function has shape ", dimsText(value.dims()), " for row ", row,
        ", expected ", isDeclared ? dimsText(out.dims().subspan(1)) : shapes[i].text()));
  copyElements(out, row * value.count(), value, 0, value.count());
  return {};
}

void mapNothing(OpContext &ctx, const MapState &self) {
  for (int i = 0; i < ctx.numOutputs(); ++i) {
    if (i >= std::ssize(self.shapes) || !self.shapes[i].isFullyKnown())
      return self.caller.fail(
          ctx,
          invalidArgument(
              "the inputs have no rows, and output_shapes does not state the shape of result ", i));
    std::vector<int64_t> dims = self.shapes[i].dims;
    dims.insert(dims.begin(), 0);
    ctx.allocateOutput(i, self.outputTypes[i].dtype, dims);
  }
}

void runMap(OpContext &ctx) {
  const auto &self = ctx.state<MapState>();
  auto rows = commonRows(ctx, self.rowInputs);
  if (!rows)
    return self.caller.fail(ctx, std::move(rows.error()));
  if (*rows == 0)
    return mapNothing(ctx, self);
  Expected<const Plan *> plan = self.function.plan(ctx.numInputs());
  if (!plan)
    return self.caller.fail(ctx, std::move(plan.error()));
  for (int64_t row = 0; row < *rows; ++row) {
    std::vector<Tensor> args(ctx.numInputs()), results(ctx.numOutputs());
    for (int i = 0; i < ctx.numInputs(); ++i) {
      const Tensor &input = ctx.input(i);
      if (i < self.rowInputs) {
        Dims dims = input.dims().subspan(1);
        args[i] = input.view(row * (input.count() / *rows), dims);
      } else {
        args[i] = input;
      }
      if (Expected<void> ok = convertArgument(**plan, i, args[i]); !ok)
        return self.caller.fail(ctx, std::move(ok.error()));
    }
    if (!callFunction(**plan, args, results, ctx))
      return;
    for (int i = 0; i < ctx.numOutputs(); ++i)
      if (Expected<void> ok = putRow(ctx, i, results[i], row, *rows); !ok)
        return self.caller.fail(ctx, std::move(ok.error()));
    if (ctx.hasFailed())
      return;
  }
}

Expected<BoundKernel> bindMapDefun(const NodeSpec &spec, FunctionLibrary *library) {
  auto rowInputs = spec.attrs.getOr("Targuments", std::vector<DType>()).size();
  if (rowInputs == 0 || rowInputs > spec.inputs.size())
    return Unexpected(invalidArgument("Targuments has ", rowInputs, " types, expected 1 to ",
                                      spec.inputs.size()));
  return spec.attrs.get<FunctionRef>("f").map([&](const FunctionRef &f) {
    return boundWith(runMap,
                     MapState{{spec.name, spec.op},
                              Callee(f, spec.outputTypes, ArgMode::Owned, library),
                              static_cast<int>(rowInputs),
                              spec.attrs.getOr("output_shapes", std::vector<PartialShape>()),
                              spec.outputTypes});
  });
}

Expected<BoundKernel> bindPadBatch(const BindContext &node) {
  bool splits = node.attrs.getOr("enable_large_batch_splitting", false);
  FillState state{node.attrs.getOr("allowed_batch_sizes", std::vector<int64_t>()),
                  splits ? 0 : node.attrs.getOr<int64_t>("max_batch_size", 0)};
  if (!std::ranges::is_sorted(state.allowed))
    return Unexpected(invalidArgument("allowed_batch_sizes must be ascending"));
  return boundWith(padBatch, std::move(state));
}

constexpr KernelEntry batchTable[] = {
    {"_FillBatch", bindPadBatch},
    {"_CutBatch",
     [](const BindContext &) -> Expected<BoundKernel> { return BoundKernel{sliceBatch}; }},
};

constexpr FunctionKernelEntry rowTable[] = {{"MapDefun", bindMapDefun}};

} // namespace

std::span<const KernelEntry> batchFunctionKernels() { return batchTable; }
std::span<const FunctionKernelEntry> rowFunctionKernels() { return rowTable; }

} // namespace treadle
