// Sets in the last dimension of dense or sparse tensors: union, difference, intersection, size.
#include "treadle/kernels/Element.h"
#include "treadle/kernels/ElementCopy.h"

#include <algorithm>

namespace treadle {
namespace {

enum class SetOperation : uint8_t { AMinusB, BMinusA, Intersection, Union };

struct NamedOperation {
  std::string_view name;
  SetOperation operation;
};
const NamedOperation operations[] = {
    {"a-b", SetOperation::AMinusB},
    {"b-a", SetOperation::BMinusA},
    {"intersection", SetOperation::Intersection},
    {"union", SetOperation::Union},
};

// --- locating sets -----------------------------------------------------------------------------

// The elements [begin, end) of a tensor: the set with index `group` in the leading dimensions.
struct SetRange {
  int64_t group, begin, end;
};

// A tensor of sets: the leading dimensions, and each non-empty set, in order.
struct SetTensor {
  DimVector groupDims;
  std::vector<SetRange> sets;
  const Tensor *values;
};

Expected<SetTensor> denseSets(const Tensor &in) {
  if (in.rank() < 2)
    return Unexpected(
        invalidArgument("expected sets of rank 2 or more, but got ", tensorTypeText(in)));
  SetTensor out{Dims(in.dims()).first(static_cast<size_t>(in.rank()) - 1), {}, &in};
  int64_t groups = countBetween(out.groupDims, 0, out.groupDims.size());
  int64_t width = in.dim(in.rank() - 1);
  for (int64_t g = 0; width && g < groups; ++g)
    out.sets.push_back({g, g * width, (g + 1) * width});
  return out;
}

Expected<void> checkSparse(const Tensor &indices, const Tensor &values, const Tensor &shape) {
  if (indices.rank() == 2 && values.rank() == 1 && shape.rank() == 1 &&
      indices.dim(0) == values.count() && indices.dim(1) == shape.count() && shape.count() >= 2 &&
      countElements(readIndices(shape)))
    return {};
  return Unexpected(
      invalidArgument("indices, values and shape are ", tensorTypeText(indices), ", ",
                      tensorTypeText(values), " and ", tensorTypeText(shape),
                      ", expected the components of a sparse tensor of rank 2 or more"));
}

// Returns the flat index of entry `row`; -1 if it is out of range.
int64_t flatIndex(const Tensor &indices, int64_t row, Dims dims) {
  const int64_t *at = indices.data<int64_t>() + row * static_cast<int64_t>(dims.size());
  int64_t flat = 0;
  for (size_t d = 0; d < dims.size(); ++d) {
    if (at[d] < 0 || at[d] >= dims[d])
      return -1;
    flat = flat * dims[d] + at[d];
  }
  return flat;
}

Expected<SetTensor> sparseSets(const Tensor &indices, const Tensor &values, const Tensor &shape) {
  TREADLE_TRY(checkSparse(indices, values, shape));
  DimVector dims = readIndices(shape);
  size_t last = dims.size() - 1;
  SetTensor out{Dims(dims).first(last), {}, &values};
  int64_t previous = -1;
  for (int64_t row = 0; row < values.count(); ++row) {
    int64_t at = flatIndex(indices, row, dims);
    if (at < 0)
      return Unexpected(
          invalidArgument("indices[", row, "] is outside of the shape ", dimsText(dims)));
    if (at <= previous)
      return Unexpected(invalidArgument("indices[", row,
                                        "] is out of order or repeated; sort the "
                                        "sparse tensor first"));
    previous = at;
    int64_t group = at / dims[last];
    if (out.sets.empty() || out.sets.back().group != group)
      out.sets.push_back({group, row, row});
    out.sets.back().end = row + 1;
  }
  return out;
}

// --- set operations ----------------------------------------------------------------------------

template <typename T> std::vector<T> sortedSet(const SetTensor &in, const SetRange &range) {
  const T *values = in.values->data<T>();
  std::vector<T> set(values + range.begin, values + range.end);
  std::ranges::sort(set);
  set.erase(std::unique(set.begin(), set.end()), set.end());
  return set;
}

template <typename T>
std::vector<T> combine(SetOperation operation, const std::vector<T> &a, const std::vector<T> &b) {
  std::vector<T> out;
  auto into = std::back_inserter(out);
  switch (operation) {
  case SetOperation::AMinusB:
    std::ranges::set_difference(a, b, into);
    break;
  case SetOperation::BMinusA:
    std::ranges::set_difference(b, a, into);
    break;
  case SetOperation::Intersection:
    std::ranges::set_intersection(a, b, into);
    break;
  case SetOperation::Union:
    std::ranges::set_union(a, b, into);
    break;
  }
  return out;
}

// Calls `each(group, set)` for every group that either has, in order.
template <typename T, typename Each>
void combineAll(SetOperation operation, const SetTensor &a, const SetTensor &b, Each each) {
  auto atA = a.sets.begin(), atB = b.sets.begin();
  while (atA != a.sets.end() || atB != b.sets.end()) {
    int64_t group = std::min(atA == a.sets.end() ? INT64_MAX : atA->group,
                             atB == b.sets.end() ? INT64_MAX : atB->group);
    std::vector<T> setA, setB;
    if (atA != a.sets.end() && atA->group == group)
      setA = sortedSet<T>(a, *atA++);
    if (atB != b.sets.end() && atB->group == group)
      setB = sortedSet<T>(b, *atB++);
    each(group, combine(operation, setA, setB));
  }
}

// Outputs the result as a sparse tensor.
template <typename T>
void outputSets(OpContext &ctx, Dims groupDims,
                std::vector<std::pair<int64_t, std::vector<T>>> groups) {
  int64_t total = 0, longest = 0, rank = static_cast<int64_t>(groupDims.size()) + 1;
  for (auto &[group, set] : groups) {
    total += static_cast<int64_t>(set.size());
    longest = std::max(longest, static_cast<int64_t>(set.size()));
  }
  Tensor *indices = ctx.allocateOutput(0, DType::Int64, {total, rank});
  Tensor *values = ctx.allocateOutput(1, dtypeOf<T>, {total});
  Tensor *shape = ctx.allocateOutput(2, DType::Int64, {rank});
  if (!indices || !values || !shape)
    return;
  *std::ranges::copy(groupDims, shape->data<int64_t>()).out = longest;
  int64_t *at = indices->data<int64_t>();
  T *to = values->data<T>();
  DimVector strides = rowMajorStrides(groupDims);
  for (auto &[group, set] : groups)
    for (size_t i = 0; i < set.size(); ++i) {
      for (size_t d = 0; d < groupDims.size(); ++d)
        *at++ = group / strides[d] % groupDims[d];
      *at++ = static_cast<int64_t>(i);
      *to++ = std::move(set[i]);
    }
}

template <typename T>
void setOperation(OpContext &ctx, Expected<SetTensor> a, Expected<SetTensor> b) {
  if (!a || !b)
    return ctx.fail(std::move(!a ? a.error() : b.error()));
  if (!std::ranges::equal(a->groupDims, b->groupDims))
    return ctx.fail(invalidArgument("sets of shapes ", dimsText(a->groupDims), " and ",
                                    dimsText(b->groupDims), " can't be combined"));
  std::vector<std::pair<int64_t, std::vector<T>>> groups;
  combineAll<T>(ctx.state<SetOperation>(), *a, *b, [&](int64_t group, std::vector<T> set) {
    groups.emplace_back(group, std::move(set));
  });
  outputSets<T>(ctx, a->groupDims, std::move(groups));
}

template <typename T> struct DenseToDense {
  static constexpr int values = 0;
  static void run(OpContext &ctx) {
    setOperation<T>(ctx, denseSets(ctx.input(0)), denseSets(ctx.input(1)));
  }
};
template <typename T> struct DenseToSparse {
  static constexpr int values = 0;
  static void run(OpContext &ctx) {
    setOperation<T>(ctx, denseSets(ctx.input(0)),
                    sparseSets(ctx.input(1), ctx.input(2), ctx.input(3)));
  }
};
template <typename T> struct SparseToSparse {
  static constexpr int values = 1;
  static void run(OpContext &ctx) {
    setOperation<T>(ctx, sparseSets(ctx.input(0), ctx.input(1), ctx.input(2)),
                    sparseSets(ctx.input(3), ctx.input(4), ctx.input(5)));
  }
};

template <typename T> struct SetSize {
  static constexpr int values = 1;
  static void run(OpContext &ctx) {
    auto in = TREADLE_OR_RETURN(ctx.check(sparseSets(ctx.input(0), ctx.input(1), ctx.input(2))));
    Tensor *out = TREADLE_OR_RETURN(ctx.allocateOutput(0, DType::Int32, in.groupDims));
    zeroElements(DType::Int32, out->raw(), out->count());
    for (const SetRange &range : in.sets)
      out->data<int32_t>()[range.group] = static_cast<int32_t>(sortedSet<T>(in, range).size());
  }
};

using SetTypes = Join<SignedTypes, TypeList<uint8_t, uint16_t, std::string>>;

template <template <typename> class Kernel>
Expected<BoundKernel> bindByValues(const BindContext &node) {
  return bindForType<Kernel, SetTypes>(
      node, node.inputTypes[static_cast<size_t>(Kernel<int32_t>::values)]);
}

template <template <typename> class Kernel>
Expected<BoundKernel> bindOperation(const BindContext &node) {
  auto name = node.attrs.get<std::string>("set_operation");
  if (!name)
    return Unexpected(std::move(name.error()));
  auto row = std::ranges::find(operations, *name, &NamedOperation::name);
  if (row == std::end(operations))
    return Unexpected(invalidArgument("set_operation is '", *name,
                                      "', expected a-b, b-a, intersection or union"));
  return bindByValues<Kernel>(node).map(
      [&](BoundKernel bound) { return boundWith(bound.fn, row->operation); });
}

const KernelEntry setTable[] = {
    {"DenseToDenseSetOperation", bindOperation<DenseToDense>},
    {"DenseToSparseSetOperation", bindOperation<DenseToSparse>},
    {"SetSize", bindByValues<SetSize>},
    {"SparseToSparseSetOperation", bindOperation<SparseToSparse>},
};

} // namespace

std::span<const KernelEntry> setKernels() { return setTable; }

} // namespace treadle
