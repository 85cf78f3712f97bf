// Maps that store sparse tensors under integer handles, which queues and batches can pass on.
#include "treadle/kernels/Handles.h"
#include "treadle/kernels/sparse/SparseBatch.h"
#include "treadle/tensor/BudgetedMemory.h"

#include <algorithm>
#include <unordered_map>

namespace treadle {
namespace {

/// A map of sparse tensors; handles count from 0. Thread-safe.
class SparseTensorMap final : public Resource {
public:
  static constexpr std::string_view kindName = "map of sparse tensors";
  std::string_view kind() const override { return kindName; }

  int64_t add(SparseTensorValue sparse) {
    std::lock_guard lock(mutex);
    kept.emplace(next, std::move(sparse));
    return next++;
  }

  /// Removes a tensor and returns it.
  Expected<SparseTensorValue> take(int64_t number) {
    std::lock_guard lock(mutex);
    auto node = kept.extract(number);
    if (node.empty())
      return Unexpected(
          invalidArgument("the map has no sparse tensor with number ", number,
                          "; expected the number of one that was added and not yet taken"));
    return std::move(node.mapped());
  }

private:
  const MemoryShare share;
  std::mutex mutex;
  std::unordered_map<int64_t, SparseTensorValue, std::hash<int64_t>, std::equal_to<>,
                     BudgetedAllocator<std::pair<const int64_t, SparseTensorValue>>>
      kept{share};
  int64_t next = 0;
};

struct MapState {
  ResourceName resource;
  DType dtype;
};

Ref<SparseTensorMap> mapOf(OpContext &ctx) {
  const ResourceName &name = ctx.state<MapState>().resource;
  return ctx.run().resources.lookupOrCreate<SparseTensorMap>(
      name.container, name.name, [] { return makeRef<SparseTensorMap>(); });
}

// Whether indices are within the shape, unique, and in row-major order; fails the op otherwise.
bool isInOrder(OpContext &ctx, const SparseTensorValue &sparse) {
  int64_t rank = sparse.shape.count();
  const int64_t *index = sparse.indices.data<int64_t>(), *dims = sparse.shape.data<int64_t>();
  for (int64_t e = 0; e < sparse.values.count(); ++e, index += rank) {
    bool isInside = true;
    for (int64_t d = 0; d < rank; ++d)
      isInside &= index[d] >= 0 && index[d] < dims[d];
    bool isNext = e == 0 || std::lexicographical_compare(index - rank, index, index, index + rank);
    if (isInside && isNext)
      continue;
    ctx.fail(invalidArgument("indices[", e, "] is ",
                             isInside ? "out of order" : "outside of sparse_shape",
                             ", expected indices in row-major order within the shape"));
    return false;
  }
  return true;
}

void add(OpContext &ctx) {
  if (auto sparse = sparseTensorInput(ctx))
    ctx.setOutput(0, Tensor::scalar(DType::Int64, mapOf(ctx)->add(std::move(*sparse))));
}

void addMany(OpContext &ctx) {
  auto sparse = sparseTensorInput(ctx);
  auto size = sparse ? rowCount(ctx, *sparse) : std::nullopt;
  Tensor *numbers = TREADLE_OR_RETURN(
      size && isInOrder(ctx, *sparse) ? ctx.allocateOutput(0, DType::Int64, {*size}) : nullptr);
  Ref<SparseTensorMap> map = mapOf(ctx);
  std::vector<std::pair<int64_t, SparseTensorValue>> empty; // TensorFlow adds these last
  forEachRow(ctx, *sparse, [&](int64_t row, SparseTensorValue part) {
    if (part.values.count())
      numbers->data<int64_t>()[row] = map->add(std::move(part));
    else
      empty.emplace_back(row, std::move(part));
  });
  for (auto &[row, part] : empty)
    numbers->data<int64_t>()[row] = map->add(std::move(part));
}

void takeMany(OpContext &ctx) {
  const Tensor &numbers = ctx.input(0);
  DType dtype = ctx.state<MapState>().dtype;
  if (numbers.rank() != 1 || numbers.count() == 0)
    return ctx.fail(invalidArgument("sparse_handles are ", tensorTypeText(numbers),
                                    ", expected a vector of one at least"));
  Ref<SparseTensorMap> map = mapOf(ctx);
  std::vector<SparseTensorValue> all;
  for (int64_t number : numbers.values<int64_t>()) {
    auto sparse = TREADLE_OR_RETURN(ctx.check(map->take(number)));
    if (sparse.values.dtype() != dtype ||
        (!all.empty() && sparse.shape.count() != all[0].shape.count()))
      return ctx.fail(invalidArgument(
          "sparse tensor ", number, " holds ", tensorTypeText(sparse.values), " and has rank ",
          sparse.shape.count(), ", expected ", dtypeName(dtype), " and the rank of the first"));
    all.push_back(std::move(sparse));
  }
  outputBatch(ctx, all, numbers.dims(), dtype);
}

template <KernelFn fn> Expected<BoundKernel> bindMap(const BindContext &node) {
  return boundWith(fn, MapState{ResourceName::ofOrNode(node),
                                node.op == "TakeManySparseFromTensorsMap" ? node.outputTypes[1]
                                                                          : DType::Invalid});
}

const KernelEntry sparseTensorMapTable[] = {
    {"AddManySparseToTensorsMap", bindMap<addMany>},
    {"AddSparseToTensorsMap", bindMap<add>},
    {"TakeManySparseFromTensorsMap", bindMap<takeMany>},
};

} // namespace

std::span<const KernelEntry> sparseTensorMapKernels() { return sparseTensorMapTable; }

} // namespace treadle
