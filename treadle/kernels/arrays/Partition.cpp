// DynamicPartition and DynamicStitch: distribute rows to several tensors, and merge them again.
#include "treadle/kernels/Element.h"
#include "treadle/kernels/ElementCopy.h"

#include <algorithm>

namespace treadle {
namespace {

bool startsWith(Dims dims, Dims prefix) {
  return dims.size() >= prefix.size() && std::ranges::equal(dims.first(prefix.size()), prefix);
}

// --- partition ---------------------------------------------------------------------------------

// Returns the number of rows for each output.
Expected<std::vector<int64_t>> countRows(const Tensor &partitions, int outputs) {
  std::vector<int64_t> counts(static_cast<size_t>(outputs));
  const int32_t *to = partitions.data<int32_t>();
  for (int64_t i = 0; i < partitions.count(); ++i) {
    if (to[i] < 0 || to[i] >= outputs)
      return Unexpected(invalidArgument("partitions[", i, "] is ", to[i], ", expected one in [0, ",
                                        outputs, ")"));
    ++counts[static_cast<size_t>(to[i])];
  }
  return counts;
}

void dynamicPartition(OpContext &ctx) {
  const Tensor &data = ctx.input(0), &partitions = ctx.input(1);
  if (!startsWith(data.dims(), partitions.dims()))
    return ctx.fail(invalidArgument("data has shape ", dimsText(data.dims()),
                                    ", expected one that starts with that of partitions, ",
                                    dimsText(partitions.dims())));
  auto counts = TREADLE_OR_RETURN(ctx.check(countRows(partitions, ctx.numOutputs())));
  DimVector dims(1);
  for (int64_t d : data.dims().subspan(static_cast<size_t>(partitions.rank())))
    dims.push(d);
  std::vector<void *> next;
  for (int o = 0; o < ctx.numOutputs(); ++o) {
    dims[0] = counts[static_cast<size_t>(o)];
    Tensor *out = TREADLE_OR_RETURN(ctx.allocateOutput(o, data.dtype(), dims));
    next.push_back(out->raw());
  }
  int64_t width = countBetween(dims, 1, dims.size());
  const int32_t *to = partitions.data<int32_t>();
  for (int64_t i = 0; i < partitions.count(); ++i) {
    void *&out = next[static_cast<size_t>(to[i])];
    copyElements(data.dtype(), out, elementAt(data.dtype(), data.raw(), i * width), width);
    out = elementAt(data.dtype(), out, width);
  }
}

// --- stitch ------------------------------------------------------------------------------------

// The shape of a row, and the highest index plus one.
struct Stitch {
  DimVector dims;
  int64_t width;
};

Expected<Stitch> checkStitch(OpContext &ctx) {
  int n = ctx.numInputs() / 2;
  Stitch stitch{DimVector(1), 0};
  for (int i = 0; i < n; ++i) {
    const Tensor &indices = ctx.input(i), &data = ctx.input(n + i);
    if (!startsWith(data.dims(), indices.dims()))
      return Unexpected(invalidArgument("data[", i, "] has shape ", dimsText(data.dims()),
                                        ", expected one that starts with that of indices[", i,
                                        "], ", dimsText(indices.dims())));
    Dims row = data.dims().subspan(static_cast<size_t>(indices.rank()));
    if (i == 0)
      for (int64_t d : row)
        stitch.dims.push(d);
    else if (!std::ranges::equal(row, Dims(stitch.dims).subspan(1)))
      return Unexpected(invalidArgument("rows of data[", i, "] have shape ", dimsText(row),
                                        ", but those of data[0] have ",
                                        dimsText(Dims(stitch.dims).subspan(1))));
    for (int32_t index : indices.values<int32_t>()) {
      if (index < 0)
        return Unexpected(
            invalidArgument("indices[", i, "] holds ", index, ", expected 0 or more"));
      stitch.dims[0] = std::max<int64_t>(stitch.dims[0], int64_t{index} + 1);
    }
  }
  stitch.width = countBetween(stitch.dims, 1, stitch.dims.size());
  return stitch;
}

// For repeated indices, the last row wins; rows without an index are zero.
void dynamicStitch(OpContext &ctx) {
  auto stitch = TREADLE_OR_RETURN(ctx.check(checkStitch(ctx)));
  int n = ctx.numInputs() / 2;
  DType dtype = ctx.input(n).dtype();
  Tensor *out = ctx.allocateOutput(0, dtype, stitch.dims);
  if (!out || !out->count())
    return;
  std::vector<bool> isSet(static_cast<size_t>(stitch.dims[0]));
  for (int i = 0; i < n; ++i) {
    const Tensor &indices = ctx.input(i), &data = ctx.input(n + i);
    for (int64_t k = 0; k < indices.count(); ++k) {
      int64_t row = indices.data<int32_t>()[k];
      isSet[static_cast<size_t>(row)] = true;
      copyElements(dtype, elementAt(dtype, out->raw(), row * stitch.width),
                   elementAt(dtype, data.raw(), k * stitch.width), stitch.width);
    }
  }
  for (size_t row = 0; row < isSet.size(); ++row)
    if (!isSet[row])
      zeroElements(dtype, elementAt(dtype, out->raw(), static_cast<int64_t>(row) * stitch.width),
                   stitch.width);
}

const KernelEntry partitionTable[] = {
    {"DynamicPartition", bindPlain<dynamicPartition>},
    {"DynamicStitch", bindPlain<dynamicStitch>},
    {"ParallelDynamicStitch", bindPlain<dynamicStitch>},
};

} // namespace

std::span<const KernelEntry> partitionKernels() { return partitionTable; }

} // namespace treadle
