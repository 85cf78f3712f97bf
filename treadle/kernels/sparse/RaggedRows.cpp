// Ragged tensors as splits and values: ranges, gather, conversion to sparse.
#include "treadle/kernels/Element.h"
#include "treadle/kernels/ElementCopy.h"
#include "treadle/kernels/sparse/Ragged.h"

#include <algorithm>
#include <cmath>

namespace treadle {
namespace {

// --- RaggedRange -------------------------------------------------------------------------------

// Returns the number of values in a range; nullopt if it overflows.
template <typename T> std::optional<int64_t> rangeSize(T start, T limit, T delta) {
  if (!((delta > T(0) && start < limit) || (delta < T(0) && start > limit)))
    return 0;
  double exact = std::ceil(std::abs((static_cast<double>(limit) - static_cast<double>(start)) /
                                    static_cast<double>(delta)));
  if constexpr (std::is_integral_v<T>) {
    auto distance = start < limit ? static_cast<uint64_t>(limit) - static_cast<uint64_t>(start)
                                  : static_cast<uint64_t>(start) - static_cast<uint64_t>(limit);
    auto step =
        delta > 0 ? static_cast<uint64_t>(delta) : uint64_t{0} - static_cast<uint64_t>(delta);
    uint64_t size = (distance - 1) / step + 1;
    return size <= static_cast<uint64_t>(INT64_MAX) ? std::optional(static_cast<int64_t>(size))
                                                    : std::nullopt;
  }
  return exact < 9e18 ? std::optional(static_cast<int64_t>(exact)) : std::nullopt;
}

template <typename T> struct RaggedRange {
  static void run(OpContext &ctx) {
    DType splitsDType = ctx.state<DType>();
    int64_t rows = 1;
    for (int i : {0, 1, 2}) {
      const Tensor &in = ctx.input(i);
      bool isGood = in.rank() == 0 || (in.rank() == 1 && (rows == 1 || in.count() == rows));
      for (int k = 0; k < i; ++k)
        isGood &= in.rank() == 0 || ctx.input(k).rank() == 0 || ctx.input(k).count() == in.count();
      if (!isGood)
        return ctx.fail(
            invalidArgument("starts, limits and deltas are ", tensorTypeText(ctx.input(0)), ", ",
                            tensorTypeText(ctx.input(1)), " and ", tensorTypeText(ctx.input(2)),
                            ", expected scalars or vectors of one size"));
      if (in.rank() == 1)
        rows = in.count();
    }
    auto at = [&](int i, int64_t row) {
      return ctx.input(i).data<T>()[ctx.input(i).rank() ? row : 0];
    };
    std::vector<int64_t> splits{0};
    for (int64_t row = 0; row < rows; ++row) {
      if (at(2, row) == T(0))
        return ctx.fail(invalidArgument("deltas[", row, "] is 0, expected a nonzero number"));
      auto size = rangeSize<T>(at(0, row), at(1, row), at(2, row));
      int64_t next = 0;
      if (!size || __builtin_add_overflow(splits.back(), *size, &next) ||
          (splitsDType == DType::Int32 && next > INT32_MAX))
        return ctx.fail(invalidArgument("range ", row, " makes too many values for splits of ",
                                        dtypeName(splitsDType)));
      splits.push_back(next);
    }
    Tensor *values = TREADLE_OR_RETURN(ctx.allocateOutput(1, dtypeOf<T>, {splits.back()}));
    for (int64_t row = 0; row < rows; ++row) {
      T value = at(0, row), delta = at(2, row);
      for (int64_t i = splits[row]; i < splits[row + 1]; ++i) {
        values->data<T>()[i] = value;
        if (i + 1 < splits[row + 1]) // the value after the last may overflow
          value = value + delta;
      }
    }
    ctx.setOutput(0, makeSplits(splitsDType, splits));
  }
};

Expected<BoundKernel> bindRange(const BindContext &node) {
  using Types = TypeList<float, double, int32_t, int64_t, BFloat16>;
  return bindByType<RaggedRange, Types>(node).map(
      [&](BoundKernel bound) { return boundWith(bound.fn, node.outputTypes[0]); });
}

// --- RaggedGather ------------------------------------------------------------------------------

struct GatherState {
  int levels, outLevels; // numbers of splits
  DType splitsDType, dtype;
};

// Outputs uniform splits for all dimensions of the indices but the last.
void setUniformSplits(OpContext &ctx, Dims dims, DType dtype) {
  int64_t rows = 1;
  for (size_t d = 0; d + 1 < dims.size(); ++d) {
    rows *= dims[d];
    std::vector<int64_t> splits;
    for (int64_t i = 0; i <= rows; ++i)
      splits.push_back(i * dims[d + 1]);
    ctx.setOutput(static_cast<int>(d), makeSplits(dtype, splits));
  }
}

void gather(OpContext &ctx) {
  const auto &state = ctx.state<GatherState>();
  std::vector<Tensor> levels;
  for (int i = 0; i < state.levels; ++i)
    levels.push_back(ctx.input(i));
  const Tensor &values = ctx.input(state.levels), &indices = ctx.input(state.levels + 1);
  if (auto good = checkRagged(levels, values); !good)
    return ctx.fail(std::move(good.error()));
  if (state.outLevels != state.levels + indices.rank() - 1)
    return ctx.fail(invalidArgument("OUTPUT_RAGGED_RANK is ", state.outLevels, ", expected ",
                                    state.levels + indices.rank() - 1, " for indices ",
                                    tensorTypeText(indices)));
  setUniformSplits(ctx, indices.dims(), state.splitsDType);
  int64_t rows = levels[0].count() - 1, taken = 0;
  std::vector<std::vector<int64_t>> splits(levels.size(), {0});
  std::vector<std::pair<int64_t, int64_t>> parts; // ranges of values
  for (int64_t i = 0; i < indices.count(); ++i) {
    int64_t begin = indexAt(indices, i), end = begin + 1;
    if (begin < 0 || begin >= rows)
      return ctx.fail(
          invalidArgument("indices[", i, "] is ", begin, ", expected one in [0, ", rows, ")"));
    for (size_t level = 0; level < levels.size(); ++level) {
      for (int64_t row = begin; row < end; ++row)
        splits[level].push_back(splits[level].back() + indexAt(levels[level], row + 1) -
                                indexAt(levels[level], row));
      begin = indexAt(levels[level], begin);
      end = indexAt(levels[level], end);
    }
    parts.emplace_back(begin, end);
    taken += end - begin;
  }
  for (size_t level = 0; level < levels.size(); ++level)
    if (int at = indices.rank() - 1 + static_cast<int>(level); at >= 0)
      ctx.setOutput(at, makeSplits(state.splitsDType, splits[level]));
  DimVector dims = values.dims();
  dims[0] = taken;
  Tensor *out = TREADLE_OR_RETURN(ctx.allocateOutput(state.outLevels, state.dtype, dims));
  int64_t width = countBetween(values.dims(), 1, values.dims().size()), at = 0;
  for (auto [begin, end] : parts) {
    copyElements(state.dtype, elementAt(state.dtype, out->raw(), at),
                 elementAt(state.dtype, values.raw(), begin * width), (end - begin) * width);
    at += (end - begin) * width;
  }
}

Expected<BoundKernel> bindGather(const BindContext &node) {
  auto levels = static_cast<int>(node.inputTypes.size()) - 2;
  if (levels < 1)
    return Unexpected(invalidArgument("PARAMS_RAGGED_RANK is ", levels, ", expected at least 1"));
  return boundWith(gather, GatherState{levels, static_cast<int>(node.outputTypes.size()) - 1,
                                       node.inputTypes[0], node.inputTypes[levels]});
}

// --- RaggedTensorToSparse ----------------------------------------------------------------------

void toSparse(OpContext &ctx) {
  int count = ctx.numInputs() - 1;
  std::vector<Tensor> levels;
  for (int i = 0; i < count; ++i)
    levels.push_back(ctx.input(i));
  Tensor values = ctx.input(count);
  if (auto good = checkRagged(levels, values); !good)
    return ctx.fail(std::move(good.error()));
  std::vector<int64_t> shape{levels[0].count() - 1};
  for (const Tensor &level : levels) {
    int64_t longest = 0;
    for (int64_t i = 1; i < level.count(); ++i)
      longest = std::max(longest, indexAt(level, i) - indexAt(level, i - 1));
    shape.push_back(longest);
  }
  for (int64_t dim : values.dims().subspan(1))
    shape.push_back(dim);
  auto rank = std::ssize(shape);
  Tensor *indices = TREADLE_OR_RETURN(ctx.allocateOutput(0, DType::Int64, {values.count(), rank}));
  int64_t rows = values.dim(0), width = rows ? values.count() / rows : 0;
  std::vector<int64_t> at(levels.size()); // the value's row at each level
  for (int64_t row = 0; row < rows; ++row) {
    int64_t inner = row;
    std::vector<int64_t> index(levels.size() + 1);
    for (int level = count - 1; level >= 0; --level) {
      while (indexAt(levels[level], at[level] + 1) <= inner)
        ++at[level];
      index[level + 1] = inner - indexAt(levels[level], at[level]);
      inner = at[level];
    }
    index[0] = inner;
    for (int64_t i = 0; i < width; ++i) {
      int64_t *to = indices->data<int64_t>() + (row * width + i) * rank;
      std::ranges::copy(index, to);
      for (int64_t d = rank - 1, rest = i; d > count; --d) {
        to[d] = rest % shape[d];
        rest /= shape[d];
      }
    }
  }
  int64_t flat[] = {values.count()};
  ctx.setOutput(1, values.withDims(flat));
  ctx.setOutput(2, Tensor::vector<int64_t>(DType::Int64, shape));
}

Expected<BoundKernel> bindToSparse(const BindContext &node) {
  if (node.inputTypes.size() < 2)
    return Unexpected(invalidArgument("RAGGED_RANK is 0, expected at least 1"));
  return bindPlain<toSparse>(node);
}

const KernelEntry raggedRowTable[] = {
    {"RaggedGather", bindGather},
    {"RaggedRange", bindRange},
    {"RaggedTensorToSparse", bindToSparse},
};

} // namespace

std::span<const KernelEntry> raggedRowKernels() { return raggedRowTable; }

} // namespace treadle
