// Unique elements, and differences of lists.
#include "treadle/kernels/Element.h"
#include "treadle/kernels/ElementCopy.h"
#include "treadle/kernels/ElementKeys.h"

#include <algorithm>
#include <unordered_set>

namespace treadle {
namespace {

struct UniqueOptions {
  bool hasAxis, hasCounts;
};

// Returns the dimension whose entries are compared: the only one if no axis is given.
Expected<int64_t> readAxis(OpContext &ctx) {
  const Tensor &in = ctx.input(0);
  if (ctx.state<UniqueOptions>().hasAxis) {
    const Tensor &axis = ctx.input(1);
    if (axis.rank() > 1 || axis.count() > 1)
      return Unexpected(invalidArgument("axis must be a vector of at most one element, but it is ",
                                        tensorTypeText(axis)));
    if (axis.count() == 1) {
      int64_t d = normalizedAxis(indexAt(axis, 0), in.rank());
      if (d < 0)
        return Unexpected(invalidArgument("axis is ", indexAt(axis, 0), ", but the input has ",
                                          in.rank(), " dimensions"));
      return d;
    }
  }
  if (in.rank() != 1)
    return Unexpected(invalidArgument("expected a vector, but the input is ", tensorTypeText(in)));
  return 0;
}

// Returns the tensor as a matrix with `axis` first and all other dimensions merged.
Expected<Tensor> entriesOf(const Tensor &in, int64_t axis) {
  int64_t outer = countBetween(in.dims(), 0, axis), n = in.dims()[axis];
  int64_t inner = countBetween(in.dims(), axis + 1, in.rank());
  if (outer == 1) {
    int64_t dims[] = {n, inner};
    return in.withDims(dims);
  }
  Expected<Tensor> out = Tensor::make(in.dtype(), {n, outer * inner});
  if (out) {
    int64_t dims[] = {n, outer, inner}, to[] = {outer * inner, inner, 1},
            from[] = {inner, n * inner, 1};
    copyStrided(in.dtype(), dims, out->raw(), to, in.raw(), from);
  }
  return out;
}

// The entries that occur first, and for each entry the first one that equals it.
struct Classes {
  std::vector<int64_t> first, of, counts;
};

struct RowHash {
  size_t operator()(std::span<const uint64_t> row) const {
    uint64_t hash = 0;
    for (uint64_t key : row)
      hash = (hash ^ key) * 0x9e37'79b9'7f4a'7c15 + (hash >> 29);
    return hash;
  }
};
struct RowEqual {
  bool operator()(std::span<const uint64_t> a, std::span<const uint64_t> b) const {
    return std::ranges::equal(a, b);
  }
};

Classes classify(const Tensor &entries) {
  auto n = static_cast<size_t>(entries.dim(0)), width = static_cast<size_t>(entries.dim(1));
  ElementKeys maker;
  std::vector<uint64_t> keys = maker.of(entries);
  std::unordered_map<std::span<const uint64_t>, int64_t, RowHash, RowEqual> seen;
  Classes classes;
  classes.of.reserve(n);
  for (size_t i = 0; i < n; ++i) {
    auto next = static_cast<int64_t>(classes.first.size());
    auto [found, isNew] = seen.try_emplace(std::span(keys).subspan(i * width, width), next);
    if (isNew) {
      classes.first.push_back(static_cast<int64_t>(i));
      classes.counts.push_back(0);
    }
    ++classes.counts[static_cast<size_t>(found->second)];
    classes.of.push_back(found->second);
  }
  return classes;
}

// Outputs the entries `first` along `axis`.
void outputEntries(OpContext &ctx, const Tensor &in, int64_t axis,
                   const std::vector<int64_t> &first) {
  DimVector dims(in.dims());
  dims[axis] = static_cast<int64_t>(first.size());
  Tensor *out = TREADLE_OR_RETURN(ctx.allocateOutput(0, in.dtype(), dims));
  int64_t outer = countBetween(dims, 0, axis), inner = countBetween(dims, axis + 1, dims.size());
  DType dtype = in.dtype();
  for (int64_t o = 0, to = 0; o < outer; ++o)
    for (int64_t i : first) {
      copyElements(dtype, elementAt(dtype, out->raw(), to),
                   elementAt(dtype, in.raw(), (o * in.dims()[axis] + i) * inner), inner);
      to += inner;
    }
}

template <typename Index>
void outputIndices(OpContext &ctx, int output, const std::vector<int64_t> &values) {
  if (Tensor *out =
          ctx.allocateOutput(output, dtypeOf<Index>, {static_cast<int64_t>(values.size())}))
    std::ranges::transform(values, out->data<Index>(),
                           [](int64_t i) { return static_cast<Index>(i); });
}

template <typename Index> void unique(OpContext &ctx) {
  const Tensor &in = ctx.input(0);
  auto axis = TREADLE_OR_RETURN(ctx.check(readAxis(ctx)));
  auto entries = TREADLE_OR_RETURN(ctx.check(entriesOf(in, axis)));
  Classes classes = classify(entries);
  outputEntries(ctx, in, axis, classes.first);
  outputIndices<Index>(ctx, 1, classes.of);
  if (ctx.state<UniqueOptions>().hasCounts)
    outputIndices<Index>(ctx, 2, classes.counts);
}

template <typename Index> void listDiff(OpContext &ctx) {
  const Tensor &x = ctx.input(0), &y = ctx.input(1);
  if (x.rank() != 1 || y.rank() != 1)
    return ctx.fail(invalidArgument("expected two vectors, but got ", tensorTypeText(x), " and ",
                                    tensorTypeText(y)));
  ElementKeys maker;
  std::vector<uint64_t> wanted = maker.of(x), unwanted = maker.of(y);
  std::unordered_set<uint64_t> excluded(unwanted.begin(), unwanted.end());
  std::vector<int64_t> kept;
  for (size_t i = 0; i < wanted.size(); ++i)
    if (!excluded.contains(wanted[i]))
      kept.push_back(static_cast<int64_t>(i));
  outputEntries(ctx, x, 0, kept);
  outputIndices<Index>(ctx, 1, kept);
}

template <KernelFn fn32, KernelFn fn64, bool hasAxis = false, bool hasCounts = false>
Expected<BoundKernel> bindIndexed(const BindContext &node) {
  if (!hasElementKeys(node.inputTypes[0]))
    return unsupportedDType(node, node.inputTypes[0]);
  UniqueOptions options{hasAxis, hasCounts};
  return boundWith(node.outputTypes[1] == DType::Int64 ? fn64 : fn32, options);
}

const KernelEntry uniqueTable[] = {
    {"ListDiff", bindIndexed<listDiff<int32_t>, listDiff<int64_t>>},
    {"Unique", bindIndexed<unique<int32_t>, unique<int64_t>>},
    {"UniqueV2", bindIndexed<unique<int32_t>, unique<int64_t>, true>},
    {"UniqueWithCounts", bindIndexed<unique<int32_t>, unique<int64_t>, false, true>},
    {"UniqueWithCountsV2", bindIndexed<unique<int32_t>, unique<int64_t>, true, true>},
};

} // namespace

std::span<const KernelEntry> uniqueKernels() { return uniqueTable; }

} // namespace treadle
