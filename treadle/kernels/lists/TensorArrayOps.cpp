// TensorArray ops of versions 1 to 3: the same ops with different handles, with or without a flow
// value that orders them.
#include "treadle/kernels/Handles.h"
#include "treadle/kernels/lists/TensorArray.h"

#include <algorithm>
#include <numeric>

namespace treadle {
namespace {

/// The bind-time state of an op on an array.
struct OpState {
  DType dtype = DType::Invalid;
  PartialShape shape; // of elements; without dimension 0 for Concat and Split
};

DType elementDType(const AttrMap &attrs) {
  return attrs.getOr("dtype", attrs.getOr("T", DType::Invalid));
}
template <KernelFn fn> Expected<BoundKernel> bindOp(const BindContext &node) {
  return boundWith(fn, OpState{elementDType(node.attrs), {}});
}
template <KernelFn fn, const char *shapeName>
Expected<BoundKernel> bindShaped(const BindContext &node) {
  return boundWith(fn,
                   OpState{elementDType(node.attrs), node.attrs.getOr(shapeName, PartialShape())});
}
constexpr char elementShape[] = "element_shape";
constexpr char elementShapeExcept0[] = "element_shape_except0";

/// Returns the array of input 0, whose elements must have the op's dtype; null after failing the
/// op.
TensorArray *arrayInput(OpContext &ctx) {
  auto *array = resourceInput<TensorArray>(ctx, 0);
  DType dtype = ctx.state<OpState>().dtype;
  if (!array || dtype == DType::Invalid || array->dtype() == dtype)
    return array;
  ctx.fail(invalidArgument("the tensor array's elements are ", dtypeName(array->dtype()),
                           ", but the op's are ", dtypeName(dtype)));
  return nullptr;
}

bool check(OpContext &ctx, std::optional<Error> error) {
  if (error)
    ctx.fail(std::move(*error));
  return !ctx.hasFailed();
}

std::optional<int64_t> scalarInput(OpContext &ctx, int i, std::string_view what) {
  if (ctx.input(i).isScalar())
    return indexAt(ctx.input(i), 0);
  ctx.fail(
      invalidArgument("the ", what, " must be a scalar, found ", tensorTypeText(ctx.input(i))));
  return std::nullopt;
}

bool isVectorInput(OpContext &ctx, int i, std::string_view what) {
  if (ctx.input(i).rank() == 1)
    return true;
  ctx.fail(
      invalidArgument("the ", what, " must be a vector, found ", tensorTypeText(ctx.input(i))));
  return false;
}

Tensor zeroFlow() { return Tensor::scalar(DType::Float32, 0.0f); }

/// Ops that change an array forward its flow, the last input.
void passFlow(OpContext &ctx) { ctx.setOutput(0, ctx.takeInput(ctx.numInputs() - 1)); }

// --- creation ----------------------------------------------------------------------------------

struct MakeState {
  TensorArrayTraits traits;
  std::string name;
  bool isRef;
};

void makeArray(OpContext &ctx) {
  const auto &state = ctx.state<MakeState>();
  auto size = TREADLE_OR_RETURN(scalarInput(ctx, 0, "size"));
  if (size < 0)
    return ctx.fail(invalidArgument("the size is ", size, ", expected 0 or more"));
  if (size > maxTensorArraySize)
    return ctx.fail(resourceExhausted("a tensor array of ", size,
                                      " elements is too large, at most ", maxTensorArraySize));
  ctx.setOutput(0,
                makeHandleFor(ctx.numOutputs() > 1 ? DType::Resource : DType::String, state.isRef,
                              makeRef<TensorArray>(state.traits, size), state.name));
  if (ctx.numOutputs() > 1)
    ctx.setOutput(1, zeroFlow());
}

Expected<BoundKernel> bindMake(const BindContext &node) {
  const AttrMap &attrs = node.attrs;
  DType dtype = TREADLE_TRY(attrs.get<DType>("dtype"));
  TensorArrayTraits traits{
      .dtype = dtype,
      .elementShape = attrs.getOr(elementShape, PartialShape()),
      .isDynamic = attrs.getOr("dynamic_size", false),
      .clearsAfterRead = attrs.getOr("clear_after_read", true),
      .hasIdenticalShapes = attrs.getOr("identical_element_shapes", false),
  };
  std::string name = attrs.getOr("tensor_array_name", std::string());
  return boundWith(makeArray,
                   MakeState{std::move(traits), name.empty() ? std::string(node.node) : name,
                             node.op == "TensorArray"});
}

struct GradientState {
  std::string source;
  bool isRef;
  bool takesShape;
};

void makeGradient(OpContext &ctx) {
  const auto &state = ctx.state<GradientState>();
  auto *array = resourceInput<TensorArray>(ctx, 0);
  if (!array || (state.takesShape && !isVectorInput(ctx, 2, "shape to prepend")))
    return;
  DimVector prepended = state.takesShape ? readIndices(ctx.input(2)) : DimVector();
  auto gradient = TREADLE_OR_RETURN(ctx.check(array->gradient(state.source, prepended)));
  ctx.setOutput(0, makeHandleFor(ctx.numOutputs() > 1 ? DType::Resource : DType::String,
                                 state.isRef, std::move(gradient), state.source));
  if (ctx.numOutputs() > 1)
    ctx.setOutput(1, zeroFlow());
}

Expected<BoundKernel> bindGradient(const BindContext &node) {
  return boundWith(makeGradient, GradientState{node.attrs.getOr("source", std::string()),
                                               node.op == "TensorArrayGrad",
                                               node.op == "TensorArrayGradWithShape"});
}

// --- single elements ---------------------------------------------------------------------------

void write(OpContext &ctx) {
  TensorArray *array = arrayInput(ctx);
  auto index = scalarInput(ctx, 1, "index");
  if (array && index && check(ctx, array->write(*index, ctx.takeInput(2))))
    passFlow(ctx);
}

void read(OpContext &ctx) {
  TensorArray *array = arrayInput(ctx);
  auto index = scalarInput(ctx, 1, "index");
  if (!array || !index)
    return;
  if (auto value = ctx.check(array->read(*index)))
    ctx.setOutput(0, std::move(*value));
}

void size(OpContext &ctx) {
  TensorArray *array = TREADLE_OR_RETURN(arrayInput(ctx));
  if (auto size = ctx.check(array->size()))
    ctx.setOutput(0, Tensor::scalar(DType::Int32, static_cast<int32_t>(*size)));
}

void close(OpContext &ctx) {
  if (TensorArray *array = arrayInput(ctx))
    array->close();
}

// --- several elements --------------------------------------------------------------------------

bool readAll(OpContext &ctx, TensorArray &array, std::span<const int64_t> indices,
             std::vector<Tensor> &out) {
  out.reserve(indices.size());
  for (int64_t index : indices) {
    auto value = ctx.check(array.read(index));
    if (!value)
      return false;
    out.push_back(std::move(*value));
  }
  return true;
}

/// Outputs an empty tensor with rows of the op's shape, which must be known.
void outputEmpty(OpContext &ctx) {
  const auto &state = ctx.state<OpState>();
  if (!state.shape.isFullyKnown())
    return ctx.fail(invalidArgument("there are no elements, and their shape ", state.shape.text(),
                                    " is not fully known, so the shape of the result is unknown"));
  if (auto out = ctx.check(Tensor::make(state.dtype, withLeading(0, state.shape).dims)))
    ctx.setOutput(0, std::move(*out));
}

void gatherAt(OpContext &ctx, TensorArray &array, std::span<const int64_t> indices) {
  const auto &state = ctx.state<OpState>();
  if (!check(ctx, array.setElementShape(state.shape)))
    return;
  if (indices.empty())
    return outputEmpty(ctx);
  std::vector<Tensor> elements;
  if (!readAll(ctx, array, indices, elements))
    return;
  for (const Tensor &element : elements)
    if (!std::ranges::equal(element.dims(), elements[0].dims()))
      return ctx.fail(invalidArgument(
          "elements of different shapes can't be stacked: ", dimsText(elements[0].dims()), " and ",
          dimsText(element.dims())));
  if (auto out = ctx.check(stackTensors(state.dtype, elements, elements[0].dims())))
    ctx.setOutput(0, std::move(*out));
}

void gather(OpContext &ctx) {
  TensorArray *array = arrayInput(ctx);
  if (array && isVectorInput(ctx, 1, "indices"))
    gatherAt(ctx, *array, Dims(readIndices(ctx.input(1))));
}

/// Returns the indices of all joined elements, in order: 0, 1, ...
std::optional<std::vector<int64_t>> allIndices(OpContext &ctx, const TensorArray &array) {
  auto size = ctx.check(array.concatenatedSize());
  if (!size)
    return std::nullopt;
  std::vector<int64_t> indices(*size);
  std::iota(indices.begin(), indices.end(), 0);
  return indices;
}

void pack(OpContext &ctx) {
  TensorArray *array = TREADLE_OR_RETURN(arrayInput(ctx));
  if (auto indices = allIndices(ctx, *array))
    gatherAt(ctx, *array, *indices);
}

void scatterAt(OpContext &ctx, TensorArray &array, std::span<const int64_t> indices,
               const Tensor &value) {
  if (value.rank() < 1)
    return ctx.fail(invalidArgument("the value must have a first dimension to scatter by, found ",
                                    tensorTypeText(value)));
  if (value.dim(0) != static_cast<int64_t>(indices.size()))
    return ctx.fail(invalidArgument("there are ", indices.size(), " indices, but the value is ",
                                    tensorTypeText(value), ": expected one row for each"));
  for (size_t i = 0; i < indices.size(); ++i)
    if (!check(ctx, array.write(indices[i], rowOf(value, static_cast<int64_t>(i)))))
      return;
  passFlow(ctx);
}

void scatter(OpContext &ctx) {
  TensorArray *array = arrayInput(ctx);
  if (array && isVectorInput(ctx, 1, "indices"))
    scatterAt(ctx, *array, Dims(readIndices(ctx.input(1))), ctx.input(2));
}

void unpack(OpContext &ctx) {
  TensorArray *array = TREADLE_OR_RETURN(arrayInput(ctx));
  auto size = TREADLE_OR_RETURN(ctx.check(array->size()));
  const Tensor &value = ctx.input(1);
  int64_t rows = value.rank() && array->isDynamic() ? std::max(size, value.dim(0)) : size;
  std::vector<int64_t> indices(rows);
  std::iota(indices.begin(), indices.end(), 0);
  array->recordSplit(rows);
  scatterAt(ctx, *array, indices, value);
}

// --- rows of different lengths -----------------------------------------------------------------

/// Returns the dimensions of the concatenation of all elements; nullopt after failing the op.
std::optional<DimVector> concatenatedDims(OpContext &ctx, std::span<const Tensor> elements) {
  const PartialShape &expected = ctx.state<OpState>().shape;
  DimVector dims(elements[0].dims());
  for (int64_t i = 0; const Tensor &element : elements) {
    if (element.rank() == 0) {
      ctx.fail(
          invalidArgument("element ", i, " is a scalar: expected a first dimension to join by"));
      return std::nullopt;
    }
    Dims rest = element.dims().subspan(1);
    if (!expected.accepts(rest) || element.rank() != elements[0].rank() ||
        !std::ranges::equal(rest, elements[0].dims().subspan(1))) {
      ctx.fail(invalidArgument("element ", i, " has the shape ", dimsText(element.dims()),
                               ", which can't be joined with ", dimsText(elements[0].dims()),
                               " and rows of ", expected.text()));
      return std::nullopt;
    }
    if (i++ > 0)
      dims[0] += element.dim(0);
  }
  return dims;
}

void concat(OpContext &ctx) {
  TensorArray *array = arrayInput(ctx);
  auto indices = array ? allIndices(ctx, *array) : std::nullopt;
  std::vector<Tensor> elements;
  if (!indices || !readAll(ctx, *array, *indices, elements))
    return;
  auto count = static_cast<int64_t>(elements.size());
  Tensor *lengths = TREADLE_OR_RETURN(ctx.allocateOutput(1, DType::Int64, {count}));
  if (elements.empty())
    return outputEmpty(ctx);
  auto dims = concatenatedDims(ctx, elements);
  DType dtype = ctx.state<OpState>().dtype;
  Tensor *out = TREADLE_OR_RETURN(dims ? ctx.allocateOutput(0, dtype, *dims) : nullptr);
  for (int64_t i = 0, offset = 0; i < count; ++i) {
    lengths->data<int64_t>()[i] = elements[i].dim(0);
    copyElements(dtype, elementAt(dtype, out->raw(), offset), elements[i].raw(),
                 elements[i].count());
    offset += elements[i].count();
  }
}

/// Whether the lengths sum up to the value's, and the array has room for each part.
bool checkSplit(OpContext &ctx, const TensorArray &array, const Tensor &value, Dims lengths) {
  if (value.rank() < 1) {
    ctx.fail(invalidArgument("the value must have a first dimension to split by, found ",
                             tensorTypeText(value)));
    return false;
  }
  int64_t left = value.dim(0);
  for (int64_t length : lengths)
    left = length < 0 || length > left ? -1 : left - length;
  if (left != 0) {
    ctx.fail(invalidArgument("the lengths ", dimsText(lengths), " don't add up to the ",
                             value.dim(0), " rows of the value"));
    return false;
  }
  auto size = ctx.check(array.size());
  auto count = static_cast<int64_t>(lengths.size());
  if (!size || *size == count || (array.isDynamic() && *size < count))
    return size.has_value();
  ctx.fail(invalidArgument("there are ", count, " lengths, but the tensor array's size is ", *size,
                           array.isDynamic() ? "" : " and it can't grow"));
  return false;
}

void split(OpContext &ctx) {
  TensorArray *array = arrayInput(ctx);
  if (!array || !isVectorInput(ctx, 2, "lengths"))
    return;
  const Tensor &value = ctx.input(1);
  DimVector lengths = readIndices(ctx.input(2));
  if (!checkSplit(ctx, *array, value, lengths))
    return;
  array->recordSplit(static_cast<int64_t>(lengths.size()));
  for (int64_t i = 0, row = 0; int64_t length : lengths) {
    if (!check(ctx, array->write(i++, rowsOf(value, row, length))))
      return;
    row += length;
  }
  passFlow(ctx);
}

const KernelEntry tensorArrayTable[] = {
    {"TensorArray", bindMake},
    {"TensorArrayV2", bindMake},
    {"TensorArrayV3", bindMake},
    {"TensorArrayGrad", bindGradient},
    {"TensorArrayGradV2", bindGradient},
    {"TensorArrayGradV3", bindGradient},
    {"TensorArrayGradWithShape", bindGradient},
    {"TensorArrayWrite", bindOp<write>},
    {"TensorArrayWriteV2", bindOp<write>},
    {"TensorArrayWriteV3", bindOp<write>},
    {"TensorArrayRead", bindOp<read>},
    {"TensorArrayReadV2", bindOp<read>},
    {"TensorArrayReadV3", bindOp<read>},
    {"TensorArrayGather", bindShaped<gather, elementShape>},
    {"TensorArrayGatherV2", bindShaped<gather, elementShape>},
    {"TensorArrayGatherV3", bindShaped<gather, elementShape>},
    {"TensorArrayPack", bindShaped<pack, elementShape>},
    {"TensorArrayScatter", bindOp<scatter>},
    {"TensorArrayScatterV2", bindOp<scatter>},
    {"TensorArrayScatterV3", bindOp<scatter>},
    {"TensorArrayUnpack", bindOp<unpack>},
    {"TensorArrayConcat", bindShaped<concat, elementShapeExcept0>},
    {"TensorArrayConcatV2", bindShaped<concat, elementShapeExcept0>},
    {"TensorArrayConcatV3", bindShaped<concat, elementShapeExcept0>},
    {"TensorArraySplit", bindOp<split>},
    {"TensorArraySplitV2", bindOp<split>},
    {"TensorArraySplitV3", bindOp<split>},
    {"TensorArraySize", bindOp<size>},
    {"TensorArraySizeV2", bindOp<size>},
    {"TensorArraySizeV3", bindOp<size>},
    {"TensorArrayClose", bindOp<close>},
    {"TensorArrayCloseV2", bindOp<close>},
    {"TensorArrayCloseV3", bindOp<close>},
};

} // namespace

std::span<const KernelEntry> tensorArrayKernels() { return tensorArrayTable; }

} // namespace treadle
