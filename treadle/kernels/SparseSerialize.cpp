// Sparse tensors packed into elements of one tensor, as maps over sparse tensors pass them: an
// element each for indices, values and shape. The elements are variants or texts.
#include "treadle/kernels/ElementShapes.h"
#include "treadle/kernels/Families.h"
#include "treadle/kernels/SerializedTensor.h"
#include "treadle/kernels/Variants.h"

#include <algorithm>

namespace treadle {
namespace {

// --- one tensor as an element ------------------------------------------------------------------

void putElement(Tensor &packed, int64_t i, const Tensor &value) {
  if (packed.dtype() == DType::Variant)
    packed.data<Variant>()[i].object = makeRef<TensorObject>(value);
  else
    packed.data<std::string>()[i] = serializedTensor(value);
}

Expected<Tensor> elementOf(const Tensor &packed, int64_t i) {
  if (packed.dtype() == DType::String)
    return parsedTensor(packed.data<std::string>()[i]);
  const VariantObject *object = packed.data<Variant>()[i].object.get();
  if (object && object->kind() == TensorObject::kindName)
    return static_cast<const TensorObject *>(object)->value;
  return Unexpected(invalidArgument("element ", i, " is not a part of a serialized sparse tensor"));
}

// --- packing -----------------------------------------------------------------------------------

struct Sparse {
  Tensor indices, values, shape;
};

void put(Tensor &packed, int64_t at, const Sparse &sparse) {
  putElement(packed, at, sparse.indices);
  putElement(packed, at + 1, sparse.values);
  putElement(packed, at + 2, sparse.shape);
}

Expected<void> checkSparse(const Sparse &s) {
  auto fail = [](std::string_view what, const Tensor &found, std::string_view expected) {
    return Unexpected(invalidArgument("the sparse tensor's ", what, " are ", tensorTypeText(found),
                                      ", expected ", expected));
  };
  if (s.indices.dtype() != DType::Int64 || s.indices.rank() != 2)
    return fail("indices", s.indices, "an int64 matrix");
  if (s.values.rank() != 1 || s.values.dim(0) != s.indices.dim(0))
    return fail("values", s.values, "a vector with one for each row of the indices");
  if (s.shape.dtype() != DType::Int64 || s.shape.rank() != 1 || s.shape.dim(0) != s.indices.dim(1))
    return fail("dimensions", s.shape, "an int64 vector with one for each column of the indices");
  return {};
}

std::optional<Sparse> sparseInput(OpContext &ctx) {
  Sparse sparse{ctx.input(0), ctx.input(1), ctx.input(2)};
  if (auto good = checkSparse(sparse); !good) {
    ctx.fail(std::move(good.error()));
    return std::nullopt;
  }
  return sparse;
}

void serializeSparse(OpContext &ctx) {
  auto sparse = sparseInput(ctx);
  Tensor *packed = sparse ? ctx.allocateOutput(0, ctx.state<DType>(), {3}) : nullptr;
  if (packed)
    put(*packed, 0, *sparse);
}

// The entries [begin, end) without their first coordinate.
Expected<Sparse> slab(const Sparse &whole, int64_t begin, int64_t end) {
  int64_t rank = whole.indices.dim(1);
  Expected<Tensor> indices = Tensor::make(DType::Int64, {end - begin, rank - 1});
  if (!indices)
    return Unexpected(std::move(indices.error()));
  for (int64_t i = begin; i < end; ++i)
    std::copy_n(whole.indices.data<int64_t>() + i * rank + 1, rank - 1,
                indices->data<int64_t>() + (i - begin) * (rank - 1));
  return Sparse{std::move(*indices), rowsOf(whole.values, begin, end - begin),
                rowsOf(whole.shape, 1, rank - 1)};
}

// One sparse tensor for each index of the first dimension; entries are in order of it.
void serializeManySparse(OpContext &ctx) {
  auto sparse = sparseInput(ctx);
  if (!sparse)
    return;
  int64_t rank = sparse->shape.count(), count = sparse->values.count();
  if (rank < 2)
    return ctx.fail(invalidArgument("the sparse tensor has rank ", rank, ", expected 2 at least"));
  int64_t size = sparse->shape.data<int64_t>()[0];
  Tensor *packed = ctx.allocateOutput(0, ctx.state<DType>(), {size, 3});
  if (!packed)
    return;
  const int64_t *indices = sparse->indices.data<int64_t>();
  int64_t begin = 0;
  for (int64_t row = 0; row < size; ++row) {
    int64_t end = begin;
    while (end < count && indices[end * rank] == row)
      ++end;
    auto part = ctx.check(slab(*sparse, begin, end));
    if (!part)
      return;
    put(*packed, row * 3, *part);
    begin = end;
  }
  if (begin < count)
    ctx.fail(invalidArgument("entry ", begin, " has the first coordinate ", indices[begin * rank],
                             ", expected one in [0, ", size, ") and entries in order of it"));
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

std::optional<std::vector<Sparse>> unpacked(OpContext &ctx, const Tensor &packed, DType dtype) {
  std::vector<Sparse> all;
  for (int64_t i = 0; i < packed.count(); i += 3) {
    auto indices = ctx.check(elementOf(packed, i));
    auto values = ctx.check(elementOf(packed, i + 1));
    auto shape = ctx.check(elementOf(packed, i + 2));
    if (ctx.hasFailed())
      return std::nullopt;
    Sparse sparse{std::move(*indices), std::move(*values), std::move(*shape)};
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

// Tensor `i` of a batch: its entries with the batch's coordinates before their own.
void appendEntries(const Sparse &part, int64_t i, Dims batch, int64_t at, Tensor &indices,
                   Tensor &values) {
  int64_t rank = indices.dim(1), own = part.indices.dim(1), lead = rank - own;
  int64_t coordinates[256];
  for (int64_t d = lead - 1, rest = i; d >= 0; --d) {
    coordinates[d] = rest % batch[d];
    rest /= batch[d];
  }
  for (int64_t e = 0; e < part.values.count(); ++e) {
    int64_t *to = indices.data<int64_t>() + (at + e) * rank;
    std::copy_n(coordinates, lead, to);
    std::copy_n(part.indices.data<int64_t>() + e * own, own, to + lead);
  }
  copyElements(values.dtype(), elementAt(values.dtype(), values.raw(), at), part.values.raw(),
               part.values.count());
}

void joinSparse(OpContext &ctx, const std::vector<Sparse> &all, Dims batch, DType dtype) {
  auto lead = static_cast<int64_t>(batch.size()), own = all[0].shape.count();
  int64_t count = 0;
  for (const Sparse &part : all)
    count += part.values.count();
  Tensor *indices = ctx.allocateOutput(0, DType::Int64, {count, lead + own});
  Tensor *values = indices ? ctx.allocateOutput(1, dtype, {count}) : nullptr;
  Tensor *shape = values ? ctx.allocateOutput(2, DType::Int64, {lead + own}) : nullptr;
  if (!shape)
    return;
  int64_t *dims = std::ranges::copy(batch, shape->data<int64_t>()).out;
  std::fill_n(dims, own, 0);
  int64_t at = 0;
  for (size_t i = 0; i < all.size(); ++i) {
    for (int64_t d = 0; d < own; ++d)
      dims[d] = std::max(dims[d], all[i].shape.data<int64_t>()[d]);
    appendEntries(all[i], static_cast<int64_t>(i), batch, at, *indices, *values);
    at += all[i].values.count();
  }
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
                                    ", expected one at least"));
  auto all = unpacked(ctx, packed, dtype);
  if (!all)
    return;
  if (packed.rank() > 1)
    return joinSparse(ctx, *all, packed.dims().first(packed.rank() - 1), dtype);
  ctx.setOutput(0, std::move(all->front().indices));
  ctx.setOutput(1, std::move(all->front().values));
  ctx.setOutput(2, std::move(all->front().shape));
}

Expected<BoundKernel> bindDeserialize(const BindContext &node) {
  return boundWith(deserializeSparse, node.outputTypes[1]);
}

const KernelEntry table[] = {
    {"DeserializeManySparse", bindDeserialize},
    {"DeserializeSparse", bindDeserialize},
    {"SerializeManySparse", bindSerialize<serializeManySparse>},
    {"SerializeSparse", bindSerialize<serializeSparse>},
};

} // namespace

std::span<const KernelEntry> sparseSerializeKernels() { return table; }

} // namespace treadle
