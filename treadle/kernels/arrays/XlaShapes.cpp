// tf2xla ops on shapes: operands prepared for broadcasts, dynamic sizes, partition of a tensor for
// a grid of devices, and sharding annotations, which have no effect on one device.
#include "treadle/kernels/Element.h"
#include "treadle/kernels/ElementCopy.h"
#include "treadle/kernels/arrays/DimensionNumbers.h"
#include "treadle/kernels/arrays/Rearrange.h"

#include <algorithm>
#include <cstring>

namespace treadle {
namespace {

using Sizes = std::vector<int64_t>;

// --- broadcasts --------------------------------------------------------------------------------

/// Returns the shape of `given` with ones inserted, so that its dimension i is dimension at[i] of
/// `rank`.
Expected<Sizes> spread(const Tensor &given, const Sizes &at, int rank) {
  if (std::ssize(at) != given.rank())
    return Unexpected(invalidArgument("broadcast_dims has ", at.size(), " numbers for ",
                                      tensorTypeText(given), ", expected ", given.rank()));
  Sizes dims(static_cast<size_t>(rank), 1);
  int64_t least = 0;
  for (size_t i = 0; i < at.size(); ++i) {
    if (at[i] < least || at[i] >= rank)
      return Unexpected(invalidArgument("broadcast_dims is ", dimsText(at),
                                        ", expected ascending numbers in [0, ", rank, ")"));
    dims[static_cast<size_t>(at[i])] = given.dim(static_cast<int>(i));
    least = at[i] + 1;
  }
  return dims;
}

void broadcastHelper(OpContext &ctx) {
  const Tensor sides[] = {ctx.input(0), ctx.input(1)};
  Sizes at = rearrange::numbers(ctx.input(2));
  int ranks[] = {sides[0].rank(), sides[1].rank()}, lesser = ranks[0] < ranks[1] ? 0 : 1;
  ctx.setOutput(1 - lesser, sides[1 - lesser]);
  if (at.empty()) {
    if (ranks[lesser] > 0 && ranks[0] != ranks[1])
      return ctx.fail(invalidArgument("broadcast_dims is empty, but ", tensorTypeText(sides[0]),
                                      " and ", tensorTypeText(sides[1]),
                                      " are of different ranks, and neither is a scalar"));
    return ctx.setOutput(lesser, sides[lesser]);
  }
  if (auto dims = ctx.check(spread(sides[lesser], at, ranks[1 - lesser])))
    ctx.setOutput(lesser, sides[lesser].withDims(*dims));
}

// --- dynamic sizes -----------------------------------------------------------------------------

void setDimensionSize(OpContext &ctx) {
  const Tensor x = ctx.input(0);
  int64_t axis = indexAt(ctx.input(1), 0), size = indexAt(ctx.input(2), 0);
  if (axis < 0 || axis >= x.rank())
    return ctx.fail(invalidArgument("dim_index ", axis, " is not in [0, ", x.rank(), ")"));
  if (int64_t most = x.dim(static_cast<int>(axis)); size < 0 || size > most)
    return ctx.fail(invalidArgument("size ", size, " of dimension ", axis, " is not in [0, ", most,
                                    "], in ", tensorTypeText(x)));
  if (auto part = ctx.check(rearrange::along(x, static_cast<int>(axis), 0, size)))
    ctx.setOutput(0, std::move(*part));
}

// --- partition ---------------------------------------------------------------------------------

/// A partition of a tensor into counts[d] equal pieces along each dimension, in row-major order;
/// the last ones include paddings[d] elements beyond its end.
struct Grid {
  Sizes counts, paddings;

  /// Returns the size of the part of piece `number` that is inside the tensor, and sets `at` to its
  /// begin.
  Sizes inside(int number, Dims whole, Dims piece, DimVector &at) const {
    Sizes sizes(piece.size());
    for (size_t d = piece.size(); d-- > 0; number /= static_cast<int>(counts[d])) {
      int64_t begin = number % counts[d] * piece[d];
      sizes[d] = std::clamp<int64_t>(whole[d] - begin, 0, piece[d]);
      at[d] = std::min(begin, whole[d]);
    }
    return sizes;
  }

  /// Copies piece `number` out of the tensor, or into it.
  void copy(int number, Tensor &to, const Tensor &from, bool isIn) const {
    const Tensor &whole = isIn ? to : from, &piece = isIn ? from : to;
    DimVector at(counts.size()), wholeStrides = rowMajorStrides(whole.dims()),
                                 pieceStrides = rowMajorStrides(piece.dims());
    Sizes sizes = inside(number, whole.dims(), piece.dims(), at);
    if (std::ranges::find(sizes, 0) != sizes.end())
      return;
    int64_t offset = 0;
    for (size_t d = 0; d < counts.size(); ++d)
      offset += at[d] * wholeStrides[d];
    void *target = isIn ? elementAt(to.dtype(), to.raw(), offset) : to.raw();
    const void *source = isIn ? from.raw() : elementAt(from.dtype(), from.raw(), offset);
    copyStrided(to.dtype(), sizes, target, isIn ? wholeStrides : pieceStrides, source,
                isIn ? pieceStrides : wholeStrides);
  }

  bool fits(OpContext &ctx, const Tensor &x) const {
    if (std::ssize(counts) == x.rank())
      return true;
    ctx.fail(invalidArgument("the op has ", counts.size(), " partition counts for ",
                             tensorTypeText(x), ", expected ", x.rank()));
    return false;
  }
};

void concatPieces(OpContext &ctx) {
  const auto &grid = ctx.state<Grid>();
  const Tensor first = ctx.input(0);
  if (!grid.fits(ctx, first))
    return;
  Sizes dims;
  for (size_t d = 0; d < grid.counts.size(); ++d) {
    int64_t size = 0;
    if (__builtin_mul_overflow(first.dim(static_cast<int>(d)), grid.counts[d], &size))
      return ctx.fail(invalidArgument(grid.counts[d], " pieces of ", tensorTypeText(first),
                                      " have too many elements in dimension ", d));
    dims.push_back(size - grid.paddings[d]);
    if (dims.back() < 0)
      return ctx.fail(invalidArgument("padding ", grid.paddings[d], " of dimension ", d,
                                      " is more than ", grid.counts[d], " pieces of ",
                                      tensorTypeText(first)));
  }
  Tensor *out = ctx.allocateOutput(0, first.dtype(), dims);
  for (int i = 0; out && i < ctx.numInputs(); ++i) {
    const Tensor piece = ctx.input(i);
    if (!std::ranges::equal(piece.dims(), first.dims()))
      return ctx.fail(invalidArgument("input ", i, " is ", tensorTypeText(piece), ", and input 0 ",
                                      tensorTypeText(first), ", expected the same shape"));
    grid.copy(i, *out, piece, /*isIn=*/true);
  }
}

void splitPieces(OpContext &ctx) {
  const auto &grid = ctx.state<Grid>();
  const Tensor x = ctx.input(0);
  if (!grid.fits(ctx, x))
    return;
  Sizes dims;
  for (size_t d = 0; d < grid.counts.size(); ++d) {
    int64_t padded = 0;
    if (__builtin_add_overflow(x.dim(static_cast<int>(d)), grid.paddings[d], &padded) ||
        padded % grid.counts[d])
      return ctx.fail(invalidArgument("dimension ", d, " of ", tensorTypeText(x), " with padding ",
                                      grid.paddings[d], " isn't a multiple of ", grid.counts[d],
                                      " pieces"));
    dims.push_back(padded / grid.counts[d]);
  }
  for (int i = 0; i < ctx.numOutputs(); ++i) {
    Tensor *out = TREADLE_OR_RETURN(ctx.allocateOutput(i, x.dtype(), dims));
    std::memset(out->raw(), 0, static_cast<size_t>(out->count()) * dtypeSize(x.dtype()));
    grid.copy(i, *out, x, /*isIn=*/false);
  }
}

Expected<BoundKernel> bindGrid(const BindContext &node, KernelFn run, const char *countsName,
                               size_t numPieces) {
  if (!isPlain(node.inputTypes[0]))
    return unsupportedDType(node, node.inputTypes[0]);
  Grid grid{node.attrs.getOr(countsName, Sizes()), node.attrs.getOr("paddings", Sizes())};
  if (grid.paddings.empty())
    grid.paddings.resize(grid.counts.size());
  auto isNegative = [](int64_t n) { return n < 0; };
  int64_t product = 1;
  for (int64_t count : grid.counts)
    if (count < 1 || __builtin_mul_overflow(product, count, &product))
      return Unexpected(invalidArgument(countsName, " is ", dimsText(grid.counts),
                                        ", expected positive numbers"));
  if (product != static_cast<int64_t>(numPieces))
    return Unexpected(invalidArgument(countsName, " is ", dimsText(grid.counts),
                                      ", but the op has ", numPieces, " pieces"));
  if (grid.paddings.size() != grid.counts.size() || std::ranges::any_of(grid.paddings, isNegative))
    return Unexpected(invalidArgument("paddings is ", dimsText(grid.paddings), ", expected ",
                                      grid.counts.size(), " non-negative numbers"));
  return boundWith(run, std::move(grid));
}

Expected<BoundKernel> bindConcat(const BindContext &node) {
  return bindGrid(node, concatPieces, "num_concats", node.inputTypes.size());
}

Expected<BoundKernel> bindSplit(const BindContext &node) {
  return bindGrid(node, splitPieces, "num_splits", node.outputTypes.size());
}

// --- sharding ----------------------------------------------------------------------------------

void forwardInput(OpContext &ctx) { ctx.setOutput(0, ctx.takeInput(0)); }

/// Converts between the shape of a whole tensor and of a device's part: the same for one device.
Expected<BoundKernel> bindPartShape(const BindContext &node) {
  // The message OpSharding; field 3 holds the number of parts along each dimension.
  Sizes fields[10];
  std::vector<Sizes *> places;
  for (Sizes &field : fields)
    places.push_back(&field);
  std::string bytes = node.attrs.getOr("manual_sharding", std::string());
  bool isRead = readDimensionNumbers(bytes, places);
  if (!isRead || std::ranges::any_of(fields[2], [](int64_t parts) { return parts != 1; }))
    return Unexpected(unimplemented("attribute 'manual_sharding' partitions tensors for several "
                                    "devices, but there is only one"));
  return BoundKernel{forwardInput};
}

void replicaId(OpContext &ctx) { ctx.setOutput(0, Tensor::scalar(DType::Int32, int32_t{0})); }

const KernelEntry table[] = {
    {"XlaBroadcastHelper", bindPlain<broadcastHelper>},
    {"XlaConcatND", bindConcat},
    {"XlaReplicaId", bindPlain<replicaId>},
    {"XlaSetBound", bindPlain<forwardInput>},
    {"XlaSetDynamicDimensionSize", bindPlain<setDimensionSize>},
    {"XlaSharding", bindPlain<forwardInput>},
    {"XlaSplitND", bindSplit},
    {"XlaSpmdFullToShardShape", bindPartShape},
    {"XlaSpmdShardToFullShape", bindPartShape},
};

} // namespace

std::span<const KernelEntry> xlaShapeKernels() { return table; }

} // namespace treadle
