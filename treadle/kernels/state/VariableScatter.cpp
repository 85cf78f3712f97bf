// Rows and slices of variables, by handle and by v1 reference: reads and updates.
#include "treadle/kernels/arrays/Families.h"
#include "treadle/kernels/arrays/IndexedOffsets.h"
#include "treadle/kernels/arrays/Scatter.h"
#include "treadle/kernels/arrays/Slice.h"
#include "treadle/kernels/state/Variables.h"
#include "treadle/runtime/Execution.h"
#include "treadle/runtime/RunOp.h"

#include <algorithm>

namespace treadle {
namespace {

// --- reads: tensor ops on the variable's value ------------------------------------------------

struct ReaderState {
  BoundKernel onTensors;
  Tensor axis; // an input that only the tensor op has
};

void readWith(OpContext &ctx) {
  const auto &state = ctx.state<ReaderState>();
  Tensor inputs[] = {readVariable(ctx, 0), ctx.input(1), state.axis};
  if (ctx.hasFailed())
    return;
  constexpr uint32_t inOrder[] = {0, 1, 2};
  Execution inner;
  inner.bases[0] = inputs;
  inner.inputIndex = inOrder;
  inner.inputCount = state.axis ? 3 : 2;
  inner.outputs = &ctx.output(0);
  inner.outputCount = 1;
  inner.boundState = state.onTensors.state.get();
  inner.runState = &ctx.run();
  state.onTensors.fn(inner);
  if (inner.hasFailed())
    ctx.fail(std::move(*inner.error));
}

Expected<BoundKernel> bindReader(const BindContext &node, std::string_view op, Tensor axis) {
  DType inputTypes[] = {node.outputTypes[0], node.inputTypes[1], DType::Int64};
  BindContext onTensors{node.node, op, node.attrs, std::span(inputTypes, axis ? 3 : 2),
                        node.outputTypes};
  return findKernel({gatherKernels}, op)->bind(onTensors).map([&](BoundKernel bound) {
    return boundWith(readWith, ReaderState{std::move(bound), std::move(axis)});
  });
}

Expected<BoundKernel> bindGather(const BindContext &node) {
  int64_t batchDims = node.attrs.getOr<int64_t>("batch_dims", 0);
  return bindReader(node, "GatherV2", Tensor::scalar(DType::Int64, batchDims));
}

Expected<BoundKernel> bindGatherNd(const BindContext &node) {
  return bindReader(node, "GatherNd", {});
}

// --- rows by index -----------------------------------------------------------------------------

/// Returns a row of `width` elements, all of them the scalar's.
Expected<Tensor> broadcastRow(const Tensor &scalar, int64_t width) {
  return Tensor::make(scalar.dtype(), {width}).map([&](Tensor row) {
    fillElements(row.dtype(), row.raw(), scalar.raw(), width);
    return row;
  });
}

bool checkRows(OpContext &ctx, const Tensor &whole, const Tensor &indices, const Tensor &updates) {
  if (whole.rank() == 0) {
    ctx.fail(invalidArgument("the variable is a scalar, which has no rows to update"));
    return false;
  }
  DimVector expected(indices.dims());
  for (int64_t d : whole.dims().subspan(1))
    expected.push(d);
  if (updates.dtype() != whole.dtype() ||
      (!updates.isScalar() && !std::ranges::equal(updates.dims(), Dims(expected)))) {
    ctx.fail(invalidArgument("updates are ", tensorTypeText(updates), ", expected ",
                             dtypeName(whole.dtype()), dimsText(expected), " or a scalar"));
    return false;
  }
  for (int64_t i = 0; i < indices.count(); ++i)
    if (int64_t row = indexAt(indices, i); row < 0 || row >= whole.dim(0)) {
      ctx.fail(invalidArgument("indices[", i, "] is ", row, ", but the variable has ", whole.dim(0),
                               " rows"));
      return false;
    }
  return true;
}

void updateRowsAt(OpContext &ctx, Tensor &whole, const Tensor &indices, const Tensor &updates) {
  RowsUpdateLoop update = ctx.state<RowsUpdateLoop>();
  int64_t width = whole.dim(0) ? whole.count() / whole.dim(0) : 0;
  Tensor rows =
      updates.isScalar() ? TREADLE_OR_RETURN(ctx.check(broadcastRow(updates, width))) : updates;
  IndexedOffsets offsets(indices, indices.rank(), IndexedOffsets::Bounds::Reject);
  offsets.addCoordinate(width, whole.dim(0) - 1);
  int64_t targets[offsetsPerBlock], sources[offsetsPerBlock] = {};
  bool isValid = true;
  forEachOffsetBlock(0, offsets.count(), [&](int64_t first, int64_t count) {
    offsets.compute(first, count, targets);
    if (!updates.isScalar())
      for (int64_t i = 0; i < count; ++i)
        sources[i] = (first + i) * width;
    isValid = isValid && update(whole.raw(), targets, rows.raw(), sources, count, width);
  });
  if (!isValid)
    ctx.fail(invalidArgument("integer division by zero"));
}

void scatterRows(OpContext &ctx) {
  const Tensor &indices = ctx.input(1), &updates = ctx.input(2);
  VariableWriter writer(ctx, 0);
  if (!writer.isOpen() || !checkRows(ctx, writer.value(), indices, updates))
    return;
  if (Tensor *whole = writer.writable(ctx))
    updateRowsAt(ctx, *whole, indices, updates);
}

// --- rows by coordinates -----------------------------------------------------------------------

struct NdState {
  RowsUpdateLoop update;
  BadIndices bad;
};

void scatterByCoordinates(OpContext &ctx) {
  const auto &state = ctx.state<NdState>();
  VariableWriter writer(ctx, 0);
  if (!writer.isOpen())
    return;
  if (Tensor *whole = writer.writable(ctx))
    if (auto done = scatterNd(*whole, ctx.input(1), ctx.input(2), state.update, state.bad); !done)
      ctx.fail(std::move(done.error()));
}

// --- slices ------------------------------------------------------------------------------------

// Inputs: variable, begin, end, strides, value.
void assignSlice(OpContext &ctx) {
  const Tensor &value = ctx.input(4);
  VariableWriter writer(ctx, 0);
  if (!writer.isOpen())
    return;
  if (writer.value().dtype() != value.dtype())
    return ctx.fail(invalidArgument("variable '", writer.get().name, "' is ",
                                    tensorTypeText(writer.value()), ", but is assigned ",
                                    tensorTypeText(value)));
  auto region = ctx.check(resolveRegion(writer.value().dims(), ctx.input(1), ctx.input(2),
                                        ctx.input(3), ctx.state<SliceMasks>()));
  Tensor *whole = TREADLE_OR_RETURN(region ? writer.writable(ctx) : nullptr);
  if (auto done = assignRegion(*whole, *region, value); !done)
    ctx.fail(std::move(done.error()));
}

// --- binding -----------------------------------------------------------------------------------

// Wraps a kernel for v1 ops, which return the reference.
template <KernelFn fn> void returningReference(OpContext &ctx) {
  fn(ctx);
  passReference(ctx);
}

template <KernelFn fn, typename State> BoundKernel bindUpdater(State state) {
  return takingRefs(boundWith(returningReference<fn>, std::move(state)));
}

Expected<RowsUpdateLoop> checkedLoop(const BindContext &node, Update update) {
  DType index = node.inputTypes[1], dtype = node.inputTypes[2];
  if (index != DType::Int32 && index != DType::Int64)
    return unsupportedDType(node, index);
  if (RowsUpdateLoop loop = rowsUpdateLoop(update, dtype))
    return loop;
  return unsupportedDType(node, dtype);
}

template <Update update> Expected<BoundKernel> bindScatter(const BindContext &node) {
  return checkedLoop(node, update).map(bindUpdater<scatterRows, RowsUpdateLoop>);
}

template <Update update> Expected<BoundKernel> bindScatterNd(const BindContext &node) {
  bool ignores = node.attrs.getOr("bad_indices_policy", std::string()) == "IGNORE";
  return checkedLoop(node, update).map([&](RowsUpdateLoop loop) {
    return bindUpdater<scatterByCoordinates>(
        NdState{loop, ignores ? BadIndices::Ignore : BadIndices::Fail});
  });
}

Expected<BoundKernel> bindAssignSlice(const BindContext &node) {
  return bindUpdater<assignSlice>(SliceMasks::of(node.attrs));
}

const KernelEntry variableScatterTable[] = {
    {"ResourceGather", bindGather},
    {"ResourceGatherNd", bindGatherNd},
    {"ResourceScatterAdd", bindScatter<Update::Add>},
    {"ResourceScatterDiv", bindScatter<Update::Div>},
    {"ResourceScatterMax", bindScatter<Update::Max>},
    {"ResourceScatterMin", bindScatter<Update::Min>},
    {"ResourceScatterMul", bindScatter<Update::Mul>},
    {"ResourceScatterNdAdd", bindScatterNd<Update::Add>},
    {"ResourceScatterNdMax", bindScatterNd<Update::Max>},
    {"ResourceScatterNdMin", bindScatterNd<Update::Min>},
    {"ResourceScatterNdSub", bindScatterNd<Update::Sub>},
    {"ResourceScatterNdUpdate", bindScatterNd<Update::Assign>},
    {"ResourceScatterSub", bindScatter<Update::Sub>},
    {"ResourceScatterUpdate", bindScatter<Update::Assign>},
    {"ResourceStridedSliceAssign", bindAssignSlice},
    {"ScatterAdd", bindScatter<Update::Add>},
    {"ScatterDiv", bindScatter<Update::Div>},
    {"ScatterMax", bindScatter<Update::Max>},
    {"ScatterMin", bindScatter<Update::Min>},
    {"ScatterMul", bindScatter<Update::Mul>},
    {"ScatterNdAdd", bindScatterNd<Update::Add>},
    {"ScatterNdMax", bindScatterNd<Update::Max>},
    {"ScatterNdMin", bindScatterNd<Update::Min>},
    {"ScatterNdSub", bindScatterNd<Update::Sub>},
    {"ScatterNdUpdate", bindScatterNd<Update::Assign>},
    {"ScatterSub", bindScatter<Update::Sub>},
    {"ScatterUpdate", bindScatter<Update::Assign>},
    {"StridedSliceAssign", bindAssignSlice},
};

} // namespace

std::span<const KernelEntry> variableScatterKernels() { return variableScatterTable; }

} // namespace treadle
