// Serialization of sparse tensors: an element each for indices, values and shape. Elements are
// variants or strings.
#include "treadle/kernels/SerializedTensor.h"
#include "treadle/kernels/Variants.h"
#include "treadle/kernels/sparse/SparseBatch.h"

namespace treadle {
namespace {

// --- components --------------------------------------------------------------------------------

void putElement(Tensor &packed, int64_t i, const Tensor &value) {
  if (packed.dtype() == DType::Variant)
    packed.data<Variant>()[i].object = makeRef<TensorObject>(value);
  else
    packed.data<std::string>()[i] = serializeTensorProto(value);
}

Expected<Tensor> elementOf(const Tensor &packed, int64_t i) {
  if (packed.dtype() == DType::String)
    return parseTensorProto(packed.data<std::string>()[i]);
  const VariantObject *object = packed.data<Variant>()[i].object.get();
  if (object && object->kind() == TensorObject::kindName)
    return static_cast<const TensorObject *>(object)->value;
  return Unexpected(invalidArgument("element ", i, " is not a part of a serialized sparse tensor"));
}

// --- packing -----------------------------------------------------------------------------------

void put(Tensor &packed, int64_t at, const SparseTensorValue &sparse) {
  putElement(packed, at, sparse.indices);
  putElement(packed, at + 1, sparse.values);
  putElement(packed, at + 2, sparse.shape);
}

void serializeSparse(OpContext &ctx) {
  auto sparse = sparseTensorInput(ctx);
  Tensor *packed = sparse ? ctx.allocateOutput(0, ctx.state<DType>(), {3}) : nullptr;
  if (packed)
    put(*packed, 0, *sparse);
}

// Serializes one sparse tensor for each index of the first dimension, by which entries must be
// sorted.
void serializeManySparse(OpContext &ctx) {
  auto sparse = sparseTensorInput(ctx);
  auto size = sparse ? rowCount(ctx, *sparse) : std::nullopt;
  Tensor *packed = size ? ctx.allocateOutput(0, ctx.state<DType>(), {*size, 3}) : nullptr;
  if (packed)
    forEachRow(ctx, *sparse,
               [&](int64_t row, const SparseTensorValue &part) { put(*packed, row * 3, part); });
}

Expected<BoundKernel> bindWithDType(const BindContext &node, KernelFn fn, DType dtype) {
  if (dtype == DType::Variant || dtype == DType::String)
    return boundWith(fn, dtype);
  return unsupportedDType(node, dtype);
}
template <KernelFn fn> Expected<BoundKernel> bindSerialize(const BindContext &node) {
  return bindWithDType(node, fn, node.outputTypes[0]);
}

// --- unpacking ---------------------------------------------------------------------------------

std::optional<std::vector<SparseTensorValue>> unpacked(OpContext &ctx, const Tensor &packed,
                                                       DType dtype) {
  std::vector<SparseTensorValue> all;
  for (int64_t i = 0; i < packed.count(); i += 3) {
    auto indices = ctx.check(elementOf(packed, i));
    auto values = ctx.check(elementOf(packed, i + 1));
    auto shape = ctx.check(elementOf(packed, i + 2));
    if (ctx.hasFailed())
      return std::nullopt;
    SparseTensorValue sparse{std::move(*indices), std::move(*values), std::move(*shape)};
    auto good = checkSparse(sparse);
    if (good && sparse.values.dtype() != dtype)
      good = Unexpected(invalidArgument("sparse tensor ", i / 3, " holds ",
                                        dtypeName(sparse.values.dtype()), ", expected ",
                                        dtypeName(dtype)));
    if (good && sparse.shape.count() != (all.empty() ? sparse : all[0]).shape.count())
      good = Unexpected(invalidArgument("sparse tensor ", i / 3, " has rank ", sparse.shape.count(),
                                        ", but the first has rank ", all[0].shape.count()));
    if (!good) {
      ctx.fail(std::move(good.error()));
      return std::nullopt;
    }
    all.push_back(std::move(sparse));
  }
  return all;
}

void deserializeSparse(OpContext &ctx) {
  DType dtype = ctx.state<DType>();
  const Tensor &packed = ctx.input(0);
  if (packed.rank() == 0 || packed.dim(packed.rank() - 1) != 3)
    return ctx.fail(invalidArgument("serialized sparse tensors must have 3 elements in the last "
                                    "dimension, found ",
                                    tensorTypeText(packed)));
  if (packed.count() == 0)
    return ctx.fail(invalidArgument("there are no sparse tensors in ", tensorTypeText(packed),
                                    ", expected at least one"));
  auto all = TREADLE_OR_RETURN(unpacked(ctx, packed, dtype));
  if (packed.rank() > 1)
    return outputBatch(ctx, all, packed.dims().first(packed.rank() - 1), dtype);
  ctx.setOutput(0, std::move(all.front().indices));
  ctx.setOutput(1, std::move(all.front().values));
  ctx.setOutput(2, std::move(all.front().shape));
}

Expected<BoundKernel> bindDeserialize(const BindContext &node) {
  return boundWith(deserializeSparse, node.outputTypes[1]);
}

const KernelEntry sparseSerializeTable[] = {
    {"DeserializeManySparse", bindDeserialize},
    {"DeserializeSparse", bindDeserialize},
    {"SerializeManySparse", bindSerialize<serializeManySparse>},
    {"SerializeSparse", bindSerialize<serializeSparse>},
};

} // namespace

std::span<const KernelEntry> sparseSerializeKernels() { return sparseSerializeTable; }

} // namespace treadle
