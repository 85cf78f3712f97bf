// Concatenation of tensors along an axis, and splitting.
#include "treadle/kernels/Element.h"
#include "treadle/kernels/ElementCopy.h"

#include <algorithm>

namespace treadle {
namespace {

// Parts of at least this size are returned as views of the whole; smaller ones are cheaper to copy.
constexpr size_t minViewBytes = 512;

bool readAxis(OpContext &ctx, int input, int64_t &axis) {
  const Tensor &t = ctx.input(input);
  if (t.count() != 1 || t.rank() > 1) {
    ctx.fail(invalidArgument("axis must be a scalar, but it is ", tensorTypeText(t)));
    return false;
  }
  axis = indexAt(t, 0);
  return true;
}

bool checkAxis(OpContext &ctx, int64_t &axis, int64_t rank) {
  int64_t normal = normalizedAxis(axis, rank);
  if (normal < 0) {
    ctx.fail(invalidArgument("axis is ", axis, ", expected one in [", -rank, ", ", rank,
                             ") for tensors of rank ", rank));
    return false;
  }
  axis = normal;
  return true;
}

// --- concat ------------------------------------------------------------------------------------

bool checkConcatShapes(OpContext &ctx, int first, int count, int64_t axis) {
  const Tensor &model = ctx.input(first);
  for (int i = 1; i < count; ++i) {
    const Tensor &in = ctx.input(first + i);
    bool matches = in.rank() == model.rank();
    for (int d = 0; matches && d < model.rank(); ++d)
      matches = d == axis || in.dim(d) == model.dim(d);
    if (!matches) {
      ctx.fail(invalidArgument("input ", i, " has shape ", dimsText(in.dims()),
                               ", but input 0 has ", dimsText(model.dims()), "; only dimension ",
                               axis, " may differ"));
      return false;
    }
  }
  return true;
}

// Writes inputs [first, first + count) side by side; each has `rows` rows.
void interleave(OpContext &ctx, int first, int count, int64_t rows, Tensor &out) {
  DType dtype = out.dtype();
  int64_t outRow = rows ? out.count() / rows : 0;
  auto copyRange = [&](int64_t begin, int64_t end) {
    int64_t offset = 0;
    for (int i = 0; i < count; ++i) {
      const Tensor &in = ctx.input(first + i);
      int64_t row = in.count() / rows;
      copyRows(dtype, elementAt(dtype, out.raw(), begin * outRow + offset), outRow,
               elementAt(dtype, in.raw(), begin * row), row, end - begin, row);
      offset += row;
    }
  };
  constexpr double nsPerElement = 0.15;
  ctx.parallelFor(rows, nsPerElement * static_cast<double>(outRow), copyRange);
}

void concat(OpContext &ctx, int first, int count, int axisInput) {
  int64_t axis;
  if (!readAxis(ctx, axisInput, axis) || !checkAxis(ctx, axis, ctx.input(first).rank()) ||
      !checkConcatShapes(ctx, first, count, axis))
    return;
  DimVector dims(ctx.input(first).dims());
  for (int i = 1; i < count; ++i)
    dims[axis] += ctx.input(first + i).dim(static_cast<int>(axis));
  if (count == 1)
    return ctx.setOutput(0, ctx.takeInput(first));
  Tensor *out = ctx.allocateOutput(0, ctx.input(first).dtype(), dims);
  if (out)
    interleave(ctx, first, count, countBetween(dims, 0, axis), *out);
}

void concatV1(OpContext &ctx) { concat(ctx, 1, ctx.numInputs() - 1, 0); }
void concatV2(OpContext &ctx) { concat(ctx, 0, ctx.numInputs() - 1, ctx.numInputs() - 1); }

// Computes the offsets of the gradients' slices: of each input along the axis.
void concatOffset(OpContext &ctx) {
  int count = ctx.numInputs() - 1;
  int64_t axis, offset = 0;
  if (!readAxis(ctx, 0, axis) || !checkAxis(ctx, axis, ctx.input(1).count()))
    return;
  for (int i = 0; i < count; ++i) {
    const Tensor &shape = ctx.input(1 + i), &model = ctx.input(1);
    bool matches = shape.rank() == 1 && shape.count() == model.count();
    for (int64_t d = 0; matches && d < model.count(); ++d)
      matches = d == axis || indexAt(shape, d) == indexAt(model, d);
    if (!matches)
      return ctx.fail(invalidArgument(
          "shape ", i, " differs from shape 0 in a dimension other than the concatenated one, ",
          axis));
    Tensor *out = TREADLE_OR_RETURN(ctx.allocateOutput(i, shape.dtype(), {shape.count()}));
    zeroElements(out->dtype(), out->raw(), out->count());
    if (out->dtype() == DType::Int64)
      out->data<int64_t>()[axis] = offset;
    else
      out->data<int32_t>()[axis] = static_cast<int32_t>(offset);
    offset += indexAt(shape, axis);
  }
}

Expected<BoundKernel> bindConcatOffset(const BindContext &node) {
  DType dtype = node.inputTypes.back();
  if (dtype != DType::Int32 && dtype != DType::Int64)
    return unsupportedDType(node, dtype);
  return BoundKernel{concatOffset};
}

// --- pack --------------------------------------------------------------------------------------

void pack(OpContext &ctx) {
  const Tensor &model = ctx.input(0);
  int count = ctx.numInputs();
  int64_t axis = ctx.state<int64_t>();
  if (!checkAxis(ctx, axis, model.rank() + 1))
    return;
  for (int i = 1; i < count; ++i)
    if (!std::ranges::equal(ctx.input(i).dims(), model.dims()))
      return ctx.fail(invalidArgument("input ", i, " has shape ", dimsText(ctx.input(i).dims()),
                                      ", but input 0 has ", dimsText(model.dims()),
                                      "; packed tensors must have one shape"));
  DimVector dims;
  for (int d = 0; d <= model.rank(); ++d)
    dims.push(d == axis ? count : model.dim(d < axis ? d : d - 1));
  if (count == 1)
    return ctx.setOutput(0, ctx.takeInput(0).withDims(dims));
  Tensor *out = ctx.allocateOutput(0, model.dtype(), dims);
  if (out)
    interleave(ctx, 0, count, countBetween(dims, 0, axis), *out);
}

Expected<BoundKernel> bindPack(const BindContext &node) {
  if (node.inputTypes.empty())
    return Unexpected(invalidArgument("op '", node.op, "' has no inputs, expected at least one"));
  return boundWith(pack, node.attrs.getOr<int64_t>("axis", 0));
}

// The inputs are slices of one row each.
void parallelConcat(OpContext &ctx) {
  const Tensor &model = ctx.input(0);
  int count = ctx.numInputs();
  for (int i = 0; i < count; ++i) {
    const Tensor &in = ctx.input(i);
    if (in.rank() < 1 || in.dim(0) != 1 || !std::ranges::equal(in.dims(), model.dims()))
      return ctx.fail(invalidArgument("input ", i, " has shape ", dimsText(in.dims()),
                                      ", expected one row, of the shape of the others"));
  }
  DimVector dims(model.dims());
  dims[0] = count;
  if (!ctx.state<PartialShape>().accepts(dims))
    return ctx.fail(invalidArgument("result has shape ", dimsText(dims), ", expected ",
                                    ctx.state<PartialShape>().text()));
  Tensor *out = ctx.allocateOutput(0, model.dtype(), dims);
  if (out)
    interleave(ctx, 0, count, 1, *out);
}

Expected<BoundKernel> bindParallelConcat(const BindContext &node) {
  return node.attrs.get<PartialShape>("shape").map(
      [](PartialShape shape) { return boundWith(parallelConcat, std::move(shape)); });
}

// --- split -------------------------------------------------------------------------------------

// Sets output `i` to columns [offset, offset + width) of `rows` rows of the whole.
bool setColumns(OpContext &ctx, int i, const Tensor &whole, int64_t rows, int64_t offset,
                int64_t width, Dims dims) {
  DType dtype = whole.dtype();
  if (rows == 1 && static_cast<size_t>(width) * dtypeSize(dtype) >= minViewBytes) {
    ctx.setOutput(i, whole.view(offset, dims));
    return true;
  }
  Tensor *out = ctx.allocateOutput(i, dtype, dims);
  if (!out)
    return false;
  int64_t wholeRow = rows ? whole.count() / rows : 0;
  if (width && rows)
    copyRows(dtype, out->raw(), width, elementAt(dtype, whole.raw(), offset), wholeRow, rows,
             width);
  return true;
}

void split(OpContext &ctx) {
  const Tensor &whole = ctx.input(1);
  int count = ctx.numOutputs();
  int64_t axis;
  if (!readAxis(ctx, 0, axis) || !checkAxis(ctx, axis, whole.rank()))
    return;
  if (whole.dim(static_cast<int>(axis)) % count)
    return ctx.fail(invalidArgument("dimension ", axis, " of size ",
                                    whole.dim(static_cast<int>(axis)),
                                    " cannot be split evenly into ", count, " parts"));
  if (count == 1)
    return ctx.setOutput(0, ctx.takeInput(1));
  DimVector dims(whole.dims());
  dims[axis] /= count;
  int64_t rows = countBetween(dims, 0, axis), width = countBetween(dims, axis, dims.size());
  for (int i = 0; i < count; ++i)
    if (!setColumns(ctx, i, whole, rows, i * width, width, dims))
      return;
}

// Returns the sizes of the parts, with a single -1 inferred.
Expected<DimVector> splitSizes(const Tensor &sizes, int parts, int64_t total) {
  if (sizes.rank() != 1 || sizes.count() != parts)
    return Unexpected(invalidArgument("size_splits is ", tensorTypeText(sizes),
                                      ", expected a vector of ", parts));
  DimVector out = readIndices(sizes);
  int unknown = -1;
  int64_t sum = 0;
  for (int i = 0; i < parts; ++i) {
    if (out[i] == -1 && unknown < 0)
      unknown = i;
    else if (out[i] < 0 || __builtin_add_overflow(sum, out[i], &sum))
      return Unexpected(invalidArgument("size_splits is ", dimsText(out),
                                        ", expected non-negative sizes and at most one -1"));
  }
  if (sum > total || (unknown < 0 && sum != total))
    return Unexpected(invalidArgument("size_splits ", dimsText(out), " sum to ", sum,
                                      ", but the dimension has size ", total));
  if (unknown >= 0)
    out[unknown] = total - sum;
  return out;
}

void splitV(OpContext &ctx) {
  const Tensor &whole = ctx.input(0);
  int64_t axis;
  if (!readAxis(ctx, 2, axis) || !checkAxis(ctx, axis, whole.rank()))
    return;
  auto sizes = TREADLE_OR_RETURN(
      ctx.check(splitSizes(ctx.input(1), ctx.numOutputs(), whole.dim(static_cast<int>(axis)))));
  DimVector dims(whole.dims());
  int64_t rows = countBetween(dims, 0, axis), inner = countBetween(dims, axis + 1, dims.size());
  int64_t offset = 0;
  for (int i = 0; i < ctx.numOutputs(); ++i) {
    dims[axis] = sizes[i];
    int64_t width = dims[axis] * inner;
    if (!setColumns(ctx, i, whole, rows, offset, width, dims))
      return;
    offset += width;
  }
}

void unpack(OpContext &ctx) {
  const Tensor &whole = ctx.input(0);
  int64_t axis = ctx.state<int64_t>();
  int count = ctx.numOutputs();
  if (!checkAxis(ctx, axis, whole.rank()))
    return;
  if (whole.dim(static_cast<int>(axis)) != count)
    return ctx.fail(invalidArgument("dimension ", axis, " has size ",
                                    whole.dim(static_cast<int>(axis)), ", but the op unpacks ",
                                    count));
  DimVector dims;
  for (int d = 0; d < whole.rank(); ++d)
    if (d != axis)
      dims.push(whole.dim(d));
  int64_t rows = countBetween(dims, 0, axis), width = countBetween(dims, axis, dims.size());
  for (int i = 0; i < count; ++i)
    if (!setColumns(ctx, i, whole, rows, i * width, width, dims))
      return;
}

Expected<BoundKernel> bindUnpack(const BindContext &node) {
  return boundWith(unpack, node.attrs.getOr<int64_t>("axis", 0));
}

const KernelEntry concatTable[] = {
    {"Concat", bindPlain<concatV1>},        {"ConcatOffset", bindConcatOffset},
    {"ConcatV2", bindPlain<concatV2>},      {"Pack", bindPack},
    {"ParallelConcat", bindParallelConcat}, {"Split", bindPlain<split>},
    {"SplitV", bindPlain<splitV>},          {"Unpack", bindUnpack},
};

} // namespace

std::span<const KernelEntry> concatKernels() { return concatTable; }

} // namespace treadle
