// RaggedTensorToTensor: pads rows of different lengths to a dense tensor.
#include "treadle/kernels/Element.h"

#include <algorithm>

namespace treadle {
namespace {

// The encoding of row partitions: splits, or the number of rows followed by the row of each value.
struct PartitionTypes {
  bool hasRowIds;
};

constexpr int firstPartition = 3; // after shape, values, default

std::vector<int64_t> integers(const Tensor &t) {
  if (t.dtype() == DType::Int64)
    return {t.values<int64_t>().begin(), t.values<int64_t>().end()};
  return {t.values<int32_t>().begin(), t.values<int32_t>().end()};
}

/// The row of each value of a level, and its column in that row.
struct RaggedLevel {
  std::vector<int64_t> row, column;
  int64_t numRows = 0, longest = 0;

  void add(int64_t r) {
    int64_t place = !row.empty() && row.back() == r ? column.back() + 1 : 0;
    row.push_back(r);
    column.push_back(place);
    longest = std::max(longest, place + 1);
  }
};

// `numValues` is the total that the rows must contain.
Expected<RaggedLevel> levelOfSplits(const std::vector<int64_t> &splits, int64_t numValues) {
  if (splits.empty() || splits[0] != 0 || !std::ranges::is_sorted(splits) ||
      splits.back() != numValues)
    return Unexpected(invalidArgument("row splits must begin with 0, never decrease, and end with ",
                                      "the number of values, ", numValues));
  RaggedLevel level;
  level.numRows = std::ssize(splits) - 1;
  for (size_t r = 0; r + 1 < splits.size(); ++r)
    for (int64_t i = splits[r]; i < splits[r + 1]; ++i)
      level.add(static_cast<int64_t>(r));
  return level;
}

Expected<RaggedLevel> levelOfRowIds(const std::vector<int64_t> &rows, int64_t numRows) {
  RaggedLevel level;
  level.numRows = numRows;
  if (!std::ranges::is_sorted(rows) || (!rows.empty() && (rows[0] < 0 || rows.back() >= numRows)))
    return Unexpected(
        invalidArgument("row ids must not decrease, and must be in [0, ", numRows, ")"));
  for (int64_t r : rows)
    level.add(r);
  return level;
}

Expected<std::vector<RaggedLevel>> readLevels(OpContext &ctx, const PartitionTypes &ragged) {
  std::vector<std::vector<int64_t>> partitions;
  for (int i = firstPartition; i < ctx.numInputs(); ++i)
    partitions.push_back(integers(ctx.input(i)));
  if (!ctx.input(1).rank())
    return Unexpected(invalidArgument("the values are a scalar, expected at least a vector"));
  int64_t numValues = ctx.input(1).dim(0), numRows = 0;
  if (ragged.hasRowIds) {
    if (partitions[0].size() != 1 || partitions[0][0] < 0)
      return Unexpected(invalidArgument("the size of the first dimension must be one number"));
    numRows = partitions[0][0];
    partitions.erase(partitions.begin());
  }
  std::vector<RaggedLevel> levels;
  for (size_t i = 0; i < partitions.size(); ++i) {
    int64_t wanted = i + 1 < partitions.size() ? std::ssize(partitions[i + 1]) - 1 : numValues;
    RaggedLevel level = TREADLE_TRY(ragged.hasRowIds ? levelOfRowIds(partitions[i], numRows)
                                                     : levelOfSplits(partitions[i], wanted));
    numRows = std::ssize(level.row);
    levels.push_back(std::move(level));
  }
  if (levels.empty() || numRows != numValues)
    return Unexpected(
        invalidArgument("the rows hold ", numRows, " values, but there are ", numValues));
  return levels;
}

/// Returns the result's dimensions: those in the input, or where they are -1 the smallest that hold
/// all values.
Expected<std::vector<int64_t>> resultDims(OpContext &ctx, const std::vector<RaggedLevel> &levels) {
  const Tensor &shape = ctx.input(0), &values = ctx.input(1);
  std::vector<int64_t> dims{levels[0].numRows};
  for (const RaggedLevel &level : levels)
    dims.push_back(level.longest);
  dims.insert(dims.end(), values.dims().begin() + 1, values.dims().end());
  std::vector<int64_t> wanted = integers(shape);
  if (shape.isScalar() && wanted[0] == -1)
    return dims;
  if (wanted.size() != dims.size())
    return Unexpected(invalidArgument("the shape has ", wanted.size(), " dimensions, but the rows ",
                                      "and values make ", dims.size()));
  for (size_t d = 0; d < dims.size(); ++d) {
    bool isInner = d > levels.size();
    if (wanted[d] < -1 || (isInner && wanted[d] >= 0 && wanted[d] != dims[d]))
      return Unexpected(invalidArgument("dimension ", d, " of the shape is ", wanted[d],
                                        ", but the values need ", dims[d]));
    if (wanted[d] >= 0)
      dims[d] = wanted[d];
  }
  return dims;
}

/// Returns each value's row in the result, flattened over all ragged dimensions; -1 for values that
/// are truncated.
std::vector<int64_t> targetsOf(const std::vector<RaggedLevel> &levels, Dims dims) {
  std::vector<int64_t> parents(static_cast<size_t>(levels[0].numRows));
  for (int64_t r = 0; r < levels[0].numRows; ++r)
    parents[static_cast<size_t>(r)] = r < dims[0] ? r : -1;
  for (size_t l = 0; l < levels.size(); ++l) {
    const RaggedLevel &level = levels[l];
    std::vector<int64_t> next(level.row.size());
    for (size_t i = 0; i < next.size(); ++i) {
      int64_t parent = parents[static_cast<size_t>(level.row[i])];
      bool fits = parent >= 0 && level.column[i] < dims[l + 1];
      next[i] = fits ? parent * dims[l + 1] + level.column[i] : -1;
    }
    parents = std::move(next);
  }
  return parents;
}

bool isSuffix(Dims tail, Dims dims) {
  return tail.size() <= dims.size() && std::ranges::equal(tail, dims.last(tail.size()));
}

template <typename T> void fill(OpContext &ctx) {
  Expected<std::vector<RaggedLevel>> levels = readLevels(ctx, ctx.state<PartitionTypes>());
  if (!levels)
    return ctx.fail(std::move(levels.error()));
  auto dims = TREADLE_OR_RETURN(ctx.check(resultDims(ctx, *levels)));
  Tensor values = ctx.input(1), fallback = ctx.input(2);
  Dims element = values.dims().subspan(1);
  if (!isSuffix(fallback.dims(), element) && fallback.count() != 1)
    return ctx.fail(unimplemented("a default of shape ", dimsText(fallback.dims()),
                                  " for values of shape ", dimsText(element)));
  Tensor *out = ctx.allocateOutput(0, values.dtype(), dims);
  if (!out || !out->count())
    return;
  int64_t size = *countElements(element);
  T *to = out->data<T>();
  for (int64_t i = 0; i < out->count(); ++i)
    to[i] = fallback.data<T>()[i % fallback.count()];
  std::vector<int64_t> targets = targetsOf(*levels, dims);
  for (size_t i = 0; i < targets.size(); ++i)
    if (targets[i] >= 0)
      std::copy_n(values.data<T>() + static_cast<int64_t>(i) * size, size, to + targets[i] * size);
}

Expected<BoundKernel> bindFill(const BindContext &node) {
  auto types = TREADLE_TRY(node.attrs.get<std::vector<std::string>>("row_partition_types"));
  bool hasRowIds = !types.empty() && types.front() == "FIRST_DIM_SIZE";
  for (size_t i = hasRowIds; i < types.size(); ++i)
    if (types[i] != (hasRowIds ? "VALUE_ROWIDS" : "ROW_SPLITS"))
      return Unexpected(unimplemented("row partition ", i, " is ", types[i],
                                      "; expected ROW_SPLITS alone, or FIRST_DIM_SIZE and then "
                                      "VALUE_ROWIDS"));
  if (std::ssize(types) + firstPartition != std::ssize(node.inputTypes))
    return Unexpected(invalidArgument("there are ", types.size(), " row_partition_types for ",
                                      node.inputTypes.size() - firstPartition, " partitions"));
  BoundKernel bound;
  bool isKnown = visitType(node.outputTypes[0], AllTypes(), [&]<typename T>() {
    bound = boundWith(fill<T>, PartitionTypes{hasRowIds});
  });
  if (!isKnown)
    return Unexpected(unimplemented("values of dtype ", dtypeName(node.outputTypes[0])));
  return bound;
}

const KernelEntry raggedToTensorTable[] = {
    {"RaggedTensorToTensor", bindFill},
};

} // namespace

std::span<const KernelEntry> raggedToTensorKernels() { return raggedToTensorTable; }

} // namespace treadle
