// Diagonals and bands of batches of matrices, and diagonals of whole tensors.
#include "treadle/kernels/Element.h"
#include "treadle/kernels/ElementCopy.h"

#include <algorithm>

namespace treadle {
namespace {

// --- diagonals ---------------------------------------------------------------------------------

// The alignment of packed diagonals, which are rows of equal length, uppermost first. Shorter
// diagonals are aligned at the left or the right of their row.
struct Alignment {
  bool leftAbove = true, leftBelow = true;
};

// A batch of `count` matrices, and the diagonals [lower, upper] of each.
struct Diagonals {
  int64_t count, rows, cols;
  int64_t lower, upper, longest;
  Alignment alignment;

  int64_t number() const { return upper - lower + 1; }
  int64_t length(int64_t d) const {
    return std::min(rows + std::min<int64_t>(d, 0), cols - std::max<int64_t>(d, 0));
  }
  int64_t start(int64_t d) const {
    bool isLeft = (d >= 0 && alignment.leftAbove) || (d <= 0 && alignment.leftBelow);
    return isLeft ? 0 : longest - length(d);
  }
  void setLongest() {
    longest = std::min(rows + std::min<int64_t>(upper, 0), cols - std::max<int64_t>(lower, 0));
  }
};

// Calls `each(matrix offset, step, packed offset, length)` for every diagonal of every matrix.
template <typename Each> void forEachDiagonal(const Diagonals &ds, Each each) {
  for (int64_t m = 0; m < ds.count; ++m)
    for (int64_t d = ds.upper; d >= ds.lower; --d) {
      int64_t at = m * ds.rows * ds.cols + (d < 0 ? -d * ds.cols : d);
      int64_t packed = (m * ds.number() + ds.upper - d) * ds.longest;
      each(at, ds.cols + 1, packed + ds.start(d), ds.length(d));
    }
}

void writeDiagonals(const Diagonals &ds, Tensor &matrices, const Tensor &packed) {
  visitMoved(matrices.dtype(), [&]<typename T>() {
    T *to = matrices.data<T>();
    const T *from = packed.data<T>();
    forEachDiagonal(ds, [&](int64_t at, int64_t step, int64_t packedAt, int64_t n) {
      for (int64_t i = 0; i < n; ++i)
        to[at + i * step] = from[packedAt + i];
    });
  });
}

void readDiagonals(const Diagonals &ds, const Tensor &matrices, Tensor &packed) {
  visitMoved(matrices.dtype(), [&]<typename T>() {
    const T *from = matrices.data<T>();
    T *to = packed.data<T>();
    forEachDiagonal(ds, [&](int64_t at, int64_t step, int64_t packedAt, int64_t n) {
      for (int64_t i = 0; i < n; ++i)
        to[packedAt + i] = from[at + i * step];
    });
  });
}

// Reads the first and the last diagonal from input `i`; 0 if the op has no such input.
Expected<void> readRange(OpContext &ctx, int i, Diagonals &ds) {
  ds.lower = ds.upper = 0;
  if (i >= ctx.numInputs())
    return {};
  const Tensor &k = ctx.input(i);
  if (k.rank() > 1 || k.count() < 1 || k.count() > 2)
    return Unexpected(invalidArgument("k is ", tensorTypeText(k),
                                      ", expected a scalar or a vector of one or two elements"));
  ds.lower = indexAt(k, 0);
  ds.upper = indexAt(k, k.count() - 1);
  if (ds.lower > ds.upper)
    return Unexpected(invalidArgument("k selects diagonals from ", ds.lower, " to ", ds.upper,
                                      ", expected the lower one first"));
  return {};
}

// Returns the matrices of a tensor, and the range of diagonals in input `k`.
Expected<Diagonals> diagonalsOf(OpContext &ctx, const Tensor &in, int k) {
  if (in.rank() < 2)
    return Unexpected(invalidArgument("expected matrices, but the input is ", tensorTypeText(in)));
  auto rank = static_cast<size_t>(in.rank());
  Diagonals ds{countBetween(in.dims(), 0, rank - 2),
               in.dims()[rank - 2],
               in.dims()[rank - 1],
               0,
               0,
               0,
               ctx.state<Alignment>()};
  TREADLE_TRY(readRange(ctx, k, ds));
  auto isInside = [&](int64_t d) { return d == 0 || (d > -ds.rows && d < ds.cols); };
  if (!isInside(ds.lower) || !isInside(ds.upper))
    return Unexpected(invalidArgument(
        "k selects diagonals from ", ds.lower, " to ", ds.upper, ", but matrices of ", ds.rows,
        " rows and ", ds.cols, " columns have those from ", 1 - ds.rows, " to ", ds.cols - 1));
  ds.setLongest();
  return ds;
}

DimVector packedDims(Dims matrices, const Diagonals &ds) {
  DimVector dims(matrices.first(matrices.size() - 2));
  if (ds.number() > 1)
    dims.push(ds.number());
  dims.push(ds.longest);
  return dims;
}

void matrixDiagPart(OpContext &ctx) {
  const Tensor &in = ctx.input(0);
  auto ds = TREADLE_OR_RETURN(ctx.check(diagonalsOf(ctx, in, 1)));
  Tensor *out = TREADLE_OR_RETURN(ctx.allocateOutput(0, in.dtype(), packedDims(in.dims(), ds)));
  if (ctx.numInputs() > 2) {
    if (!ctx.input(2).isScalar())
      return ctx.fail(invalidArgument("padding_value must be a scalar, but it is ",
                                      tensorTypeText(ctx.input(2))));
    fillElements(in.dtype(), out->raw(), ctx.input(2).raw(), out->count());
  }
  readDiagonals(ds, in, *out);
}

void matrixSetDiag(OpContext &ctx) {
  Tensor packed = ctx.input(1);
  auto ds = TREADLE_OR_RETURN(ctx.check(diagonalsOf(ctx, ctx.input(0), 2)));
  if (DimVector dims = packedDims(ctx.input(0).dims(), ds);
      !std::ranges::equal(dims, packed.dims()))
    return ctx.fail(invalidArgument("diagonal has shape ", dimsText(packed.dims()), ", expected ",
                                    dimsText(dims)));
  if (!ctx.canReuseInput(0)) {
    auto copy = TREADLE_OR_RETURN(ctx.check(ctx.input(0).clone()));
    ctx.setOutput(0, std::move(copy));
  } else {
    ctx.setOutput(0, ctx.takeInput(0));
  }
  writeDiagonals(ds, ctx.output(0), packed);
}

// --- matrices from diagonals -------------------------------------------------------------------

// Reads a scalar input; -1 if the op has no such input.
Expected<int64_t> readSize(OpContext &ctx, int i) {
  if (i >= ctx.numInputs())
    return -1;
  if (!ctx.input(i).isScalar())
    return Unexpected(invalidArgument("input ", i, " must be a scalar, but it is ",
                                      tensorTypeText(ctx.input(i))));
  return indexAt(ctx.input(i), 0);
}

// Sets the sizes. Sizes that aren't given are the smallest that hold the diagonals; if both are
// missing, those of a square matrix.
Expected<void> setSizes(Diagonals &ds, int64_t rows, int64_t cols) {
  int64_t minRows = ds.longest - std::min<int64_t>(ds.upper, 0);
  int64_t minCols = ds.longest + std::max<int64_t>(ds.lower, 0);
  if (rows == -1 && cols == -1) {
    ds.rows = ds.cols = std::max(minRows, minCols);
    return {};
  }
  ds.rows = rows == -1 ? minRows : rows;
  ds.cols = cols == -1 ? minCols : cols;
  if (ds.rows >= minRows && ds.cols >= minCols && (ds.rows == minRows || ds.cols == minCols))
    return {};
  return Unexpected(invalidArgument("num_rows is ", ds.rows, " and num_cols ", ds.cols,
                                    ", expected at least ", minRows, " and ", minCols,
                                    ", and one of them exactly"));
}

Expected<Diagonals> diagonalsFor(OpContext &ctx, const Tensor &packed) {
  Diagonals ds{1, 0, 0, 0, 0, 0, ctx.state<Alignment>()};
  TREADLE_TRY(readRange(ctx, 1, ds));
  int rank = packed.rank(), own = ds.lower < ds.upper ? 2 : 1;
  if (rank < own || (own == 2 && packed.dim(rank - 2) != ds.number()))
    return Unexpected(invalidArgument("diagonal is ", tensorTypeText(packed), ", expected ",
                                      ds.number(), " diagonals in its last ", own, " dimensions"));
  ds.count = countBetween(packed.dims(), 0, static_cast<size_t>(rank - own));
  ds.longest = packed.dim(rank - 1);
  auto rows = readSize(ctx, 2), cols = readSize(ctx, 3);
  if (!rows || !cols)
    return Unexpected(std::move(!rows ? rows.error() : cols.error()));
  TREADLE_TRY(setSizes(ds, *rows, *cols));
  return ds;
}

void matrixDiag(OpContext &ctx) {
  const Tensor &packed = ctx.input(0);
  auto ds = TREADLE_OR_RETURN(ctx.check(diagonalsFor(ctx, packed)));
  size_t own = ds.lower < ds.upper ? 2 : 1;
  DimVector dims(packed.dims().first(static_cast<size_t>(packed.rank()) - own));
  dims.push(ds.rows);
  dims.push(ds.cols);
  Tensor *out = TREADLE_OR_RETURN(ctx.allocateOutput(0, packed.dtype(), dims));
  if (ctx.numInputs() > 4 && ctx.input(4).count() != 1)
    return ctx.fail(invalidArgument("padding_value must be a scalar, but it is ",
                                    tensorTypeText(ctx.input(4))));
  if (ctx.numInputs() > 4)
    fillElements(packed.dtype(), out->raw(), ctx.input(4).raw(), out->count());
  else
    zeroElements(packed.dtype(), out->raw(), out->count());
  writeDiagonals(ds, *out, packed);
}

template <KernelFn fn> Expected<BoundKernel> bindAligned(const BindContext &node) {
  std::string align = node.attrs.getOr("align", std::string("LEFT_LEFT"));
  return boundWith(fn, Alignment{align.starts_with("LEFT"), align.ends_with("LEFT")});
}

// --- bands -------------------------------------------------------------------------------------

// Sets all elements outside the band to zero.
template <typename T>
void zeroOutsideBand(T *matrix, int64_t rows, int64_t cols, int64_t below, int64_t above) {
  for (int64_t r = 0; r < rows; ++r, matrix += cols) {
    int64_t first = below < 0 ? 0 : std::clamp<int64_t>(r - below, 0, cols);
    int64_t end = above < 0 ? cols : std::clamp<int64_t>(r + above + 1, first, cols);
    std::fill_n(matrix, first, T());
    std::fill_n(matrix + end, cols - end, T());
  }
}

void matrixBandPart(OpContext &ctx) {
  auto below = ctx.check(readSize(ctx, 1)), above = ctx.check(readSize(ctx, 2));
  if (!below || !above)
    return;
  const Tensor &in = ctx.input(0);
  int rank = in.rank();
  if (rank < 2)
    return ctx.fail(invalidArgument("expected matrices, but the input is ", tensorTypeText(in)));
  int64_t rows = in.dim(rank - 2), cols = in.dim(rank - 1);
  if (*below > rows || *above > cols)
    return ctx.fail(invalidArgument("num_lower is ", *below, " and num_upper ", *above,
                                    ", expected at most ", rows, " and ", cols));
  auto out = ctx.canReuseInput(0) ? std::optional(ctx.takeInput(0)) : ctx.check(in.clone());
  if (!out)
    return;
  visitMoved(out->dtype(), [&]<typename T>() {
    T *matrix = out->data<T>();
    for (int64_t m = countBetween(out->dims(), 0, static_cast<size_t>(rank) - 2); m > 0; --m)
      zeroOutsideBand(std::exchange(matrix, matrix + rows * cols), rows, cols, *below, *above);
  });
  ctx.setOutput(0, std::move(*out));
}

// --- diagonals of whole tensors ----------------------------------------------------------------

void diag(OpContext &ctx) {
  const Tensor &in = ctx.input(0);
  if (in.rank() < 1)
    return ctx.fail(invalidArgument("expected at least one dimension, but the input is a scalar"));
  DimVector dims(in.dims());
  for (int64_t d : in.dims())
    dims.push(d);
  Tensor *out = TREADLE_OR_RETURN(ctx.allocateOutput(0, in.dtype(), dims));
  zeroElements(in.dtype(), out->raw(), out->count());
  int64_t n = in.count();
  writeDiagonals({1, n, n, 0, 0, n, {}}, *out, in);
}

void diagPart(OpContext &ctx) {
  const Tensor &in = ctx.input(0);
  auto half = static_cast<size_t>(in.rank()) / 2;
  if (in.rank() % 2 || !std::ranges::equal(in.dims().first(half), in.dims().subspan(half)))
    return ctx.fail(invalidArgument("input has shape ", dimsText(in.dims()),
                                    ", expected one whose second half equals the first"));
  Tensor *out = ctx.allocateOutput(0, in.dtype(), in.dims().first(half));
  if (out)
    readDiagonals({1, out->count(), out->count(), 0, 0, out->count(), {}}, in, *out);
}

const KernelEntry matrixTable[] = {
    {"Diag", bindPlain<diag>},
    {"DiagPart", bindPlain<diagPart>},
    {"BatchMatrixBandPart", bindPlain<matrixBandPart>},
    {"BatchMatrixDiag", bindAligned<matrixDiag>},
    {"BatchMatrixDiagPart", bindAligned<matrixDiagPart>},
    {"BatchMatrixSetDiag", bindAligned<matrixSetDiag>},
    {"MatrixBandPart", bindPlain<matrixBandPart>},
    {"MatrixDiag", bindAligned<matrixDiag>},
    {"MatrixDiagPart", bindAligned<matrixDiagPart>},
    {"MatrixDiagPartV2", bindAligned<matrixDiagPart>},
    {"MatrixDiagPartV3", bindAligned<matrixDiagPart>},
    {"MatrixDiagV2", bindAligned<matrixDiag>},
    {"MatrixDiagV3", bindAligned<matrixDiag>},
    {"MatrixSetDiag", bindAligned<matrixSetDiag>},
    {"MatrixSetDiagV2", bindAligned<matrixSetDiag>},
    {"MatrixSetDiagV3", bindAligned<matrixSetDiag>},
};

} // namespace

std::span<const KernelEntry> matrixKernels() { return matrixTable; }

} // namespace treadle
