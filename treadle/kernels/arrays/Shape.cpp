// Shape and size ops, and reshapes.
#include "treadle/kernels/Element.h"
#include "treadle/kernels/ElementCopy.h"
#include "treadle/kernels/Families.h"

#include <algorithm>
#include <limits>

namespace treadle {
namespace {

// --- reading shapes ----------------------------------------------------------------------------

// Writes integers as int32 or int64 elements; false, with ctx failed, if one doesn't fit.
bool writeIndices(OpContext &ctx, Tensor &out, Dims values) {
  if (out.dtype() == DType::Int64) {
    std::ranges::copy(values, out.data<int64_t>());
    return true;
  }
  auto *to = out.data<int32_t>();
  for (int64_t value : values) {
    if (value > std::numeric_limits<int32_t>::max()) {
      ctx.fail(invalidArgument("value ", value, " does not fit int32; use out_type int64"));
      return false;
    }
    *to++ = static_cast<int32_t>(value);
  }
  return true;
}

void setIndices(OpContext &ctx, int output, DType dtype, Dims values) {
  Tensor *out = ctx.allocateOutput(output, dtype, {static_cast<int64_t>(values.size())});
  if (out)
    writeIndices(ctx, *out, values);
}

void shapeN(OpContext &ctx) {
  for (int i = 0; i < ctx.numInputs() && !ctx.hasFailed(); ++i)
    setIndices(ctx, i, ctx.state<DType>(), ctx.input(i).dims());
}

void size(OpContext &ctx) {
  Tensor out = Tensor::makeScalar(ctx.state<DType>());
  int64_t count = ctx.input(0).count();
  if (writeIndices(ctx, out, Dims(&count, 1)))
    ctx.setOutput(0, std::move(out));
}

void rank(OpContext &ctx) {
  ctx.setOutput(0, Tensor::scalar<int32_t>(DType::Int32, ctx.input(0).rank()));
}

template <KernelFn fn> Expected<BoundKernel> bindOutType(const BindContext &node) {
  DType dtype = node.outputTypes.empty() ? DType::Int32 : node.outputTypes[0];
  if (dtype != DType::Int32 && dtype != DType::Int64)
    return unsupportedDType(node, dtype);
  return boundWith(fn, dtype);
}

// --- changing shapes ---------------------------------------------------------------------------

void setWithDims(OpContext &ctx, Dims dims) {
  Tensor in = ctx.takeInput(0);
  ctx.setOutput(0, std::ranges::equal(in.dims(), dims) ? std::move(in) : in.withDims(dims));
}

// Infers the size of the dimension -1 in `dims` from the number of elements. As in TensorFlow,
// zeros of the input count only if `dims` has none, and the sizes of an empty input need not
// divide.
std::optional<int64_t> inferMissingSize(const Tensor &in, Dims dims) {
  bool asksForNone = std::ranges::find(dims, 0) != dims.end();
  int64_t have = 1, asked = 1;
  for (int64_t d : in.dims())
    have *= asksForNone ? std::max<int64_t>(d, 1) : d;
  for (int64_t d : dims)
    asked *= std::max<int64_t>(d, 1);
  return have % asked && in.count() ? std::nullopt : std::optional(have / asked);
}

// Returns the dimensions of a Reshape, with a single -1 inferred.
Expected<DimVector> reshapedDims(const Tensor &in, const Tensor &shape) {
  if (shape.rank() > 1)
    return Unexpected(invalidArgument("shape must be a vector, but it is ", tensorTypeText(shape)));
  if (shape.count() > 254)
    return Unexpected(
        invalidArgument("shape has ", shape.count(), " dimensions, expected at most 254"));
  DimVector dims = readIndices(shape);
  int open = -1;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] == -1 && open < 0)
      open = static_cast<int>(i);
    else if (dims[i] < 0)
      return Unexpected(
          invalidArgument("shape ", dimsText(dims),
                          dims[i] == -1 ? " has more than one -1" : " has a negative dimension"));
  }
  DimVector known = dims;
  if (open >= 0)
    known[open] = 1;
  std::optional<int64_t> count = countElements(known);
  if (count && open >= 0) {
    if (std::optional<int64_t> size = inferMissingSize(in, dims)) {
      dims[open] = *size;
      count = countElements(dims);
    }
  }
  if (count != in.count())
    return Unexpected(invalidArgument("cannot reshape input of shape ", dimsText(in.dims()),
                                      " with ", in.count(), " elements to shape ", dimsText(dims)));
  return dims;
}

void reshape(OpContext &ctx) {
  if (auto dims = ctx.check(reshapedDims(ctx.input(0), ctx.input(1))))
    setWithDims(ctx, *dims);
}

void expandDims(OpContext &ctx) {
  const Tensor &in = ctx.input(0), &axisInput = ctx.input(1);
  if (axisInput.count() != 1)
    return ctx.fail(
        invalidArgument("axis must be one number, but it is ", tensorTypeText(axisInput)));
  int64_t asked = indexAt(axisInput, 0), axis = normalizedAxis(asked, in.rank() + 1);
  if (axis < 0)
    return ctx.fail(invalidArgument("axis is ", asked, ", expected one in [", -in.rank() - 1, ", ",
                                    in.rank(), "] for an input of rank ", in.rank()));
  DimVector dims;
  for (int i = 0; i < axis; ++i)
    dims.push(in.dim(i));
  dims.push(1);
  for (int i = static_cast<int>(axis); i < in.rank(); ++i)
    dims.push(in.dim(i));
  setWithDims(ctx, dims);
}

void squeezeAll(OpContext &ctx) {
  DimVector dims;
  for (int64_t d : ctx.input(0).dims())
    if (d != 1)
      dims.push(d);
  setWithDims(ctx, dims);
}

void squeezeSome(OpContext &ctx) {
  const Tensor &in = ctx.input(0);
  DimVector keep(in.rank(), 1);
  for (int64_t asked : ctx.state<std::vector<int64_t>>()) {
    int64_t axis = normalizedAxis(asked, in.rank());
    if (axis < 0)
      return ctx.fail(invalidArgument("axis is ", asked, ", expected one in [", -in.rank(), ", ",
                                      in.rank(), ")"));
    if (in.dim(static_cast<int>(axis)) != 1)
      return ctx.fail(invalidArgument("cannot squeeze dimension ", axis, " of shape ",
                                      dimsText(in.dims()), ": expected a size of 1"));
    keep[axis] = 0;
  }
  DimVector dims;
  for (int i = 0; i < in.rank(); ++i)
    if (keep[i])
      dims.push(in.dim(i));
  setWithDims(ctx, dims);
}

Expected<BoundKernel> bindSqueeze(const BindContext &node) {
  auto axes = node.attrs.getOr("squeeze_dims", std::vector<int64_t>());
  if (axes.empty())
    return BoundKernel{squeezeAll};
  return boundWith(squeezeSome, std::move(axes));
}

// --- broadcasting shapes -----------------------------------------------------------------------

bool checkVectors(OpContext &ctx) {
  for (int i = 0; i < 2; ++i)
    if (ctx.input(i).rank() != 1) {
      ctx.fail(invalidArgument("input ", i, " must be a vector, but it is ",
                               tensorTypeText(ctx.input(i))));
      return false;
    }
  return true;
}

void failIncompatible(OpContext &ctx, Dims a, Dims b) {
  ctx.fail(invalidArgument("incompatible shapes: ", dimsText(a), " and ", dimsText(b)));
}

DimVector paddedWithOnes(Dims dims, size_t rank) {
  DimVector out(rank - dims.size(), 1);
  for (int64_t d : dims)
    out.push(d);
  return out;
}

void broadcastArgs(OpContext &ctx) {
  if (!checkVectors(ctx))
    return;
  DimVector a = readIndices(ctx.input(0)), b = readIndices(ctx.input(1));
  size_t rank = std::max(a.size(), b.size());
  DimVector x = paddedWithOnes(a, rank), y = paddedWithOnes(b, rank);
  for (size_t i = 0; i < rank; ++i) {
    if (x[i] != y[i] && x[i] != 1 && y[i] != 1)
      return failIncompatible(ctx, a, b);
    if (x[i] == 1)
      x[i] = y[i];
  }
  setIndices(ctx, 0, ctx.input(0).dtype(), x);
}

// Computes the axes over which a gradient of the broadcast result is summed, for each operand.
void broadcastGradientArgs(OpContext &ctx) {
  if (!checkVectors(ctx))
    return;
  DimVector a = readIndices(ctx.input(0)), b = readIndices(ctx.input(1));
  DimVector reduceA, reduceB;
  if (!std::ranges::equal(a, b)) {
    size_t rank = std::max(a.size(), b.size());
    DimVector x = paddedWithOnes(a, rank), y = paddedWithOnes(b, rank);
    for (size_t i = 0; i < rank; ++i) {
      if (x[i] != y[i] && x[i] != 1 && y[i] != 1)
        return failIncompatible(ctx, a, b);
      if (x[i] == 1)
        reduceA.push(static_cast<int64_t>(i));
      if (y[i] == 1)
        reduceB.push(static_cast<int64_t>(i));
    }
  }
  DType dtype = ctx.input(0).dtype();
  setIndices(ctx, 0, dtype, reduceA);
  setIndices(ctx, 1, dtype, reduceB);
}

const KernelEntry shapeTable[] = {
    {"BroadcastArgs", bindPlain<broadcastArgs>},
    {"BroadcastGradientArgs", bindPlain<broadcastGradientArgs>},
    {"ExpandDims", bindPlain<expandDims>},
    {"Rank", bindPlain<rank>},
    {"Reshape", bindPlain<reshape>},
    {"Shape", bindOutType<shapeN>},
    {"ShapeN", bindOutType<shapeN>},
    {"Size", bindOutType<size>},
    {"Squeeze", bindSqueeze},
};

} // namespace

std::span<const KernelEntry> shapeKernels() { return shapeTable; }

} // namespace treadle
