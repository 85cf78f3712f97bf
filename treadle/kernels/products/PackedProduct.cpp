// Multiplies by one panel of the right operand after another, each of which stays in a cache while
// some rows are multiplied by it. Tiles read the rows in place. Meanwhile the next panel is
// prefetched.
#include "treadle/kernels/products/PackedProduct.h"

#include "treadle/kernels/products/MatMul.h"
#include "treadle/kernels/products/Tile.h"
#include "treadle/kernels/products/TransposeFloats.h"
#include "treadle/runtime/Run.h"
#include "treadle/runtime/ThreadPool.h"

#include <cstring>
#include <utility>

// Contraction, as in every library's matrix products: one rounding per multiply-add.
#pragma clang fp contract(fast)

namespace treadle {
namespace {

constexpr int lanes = tileLanes, tileVectors = maxTileVectors, tileColumns = lanes * tileVectors;
constexpr int rowsOfTile = tileRows(tileVectors);
/// Number of rows of the left operand per block, so that a block of short rows stays in the L2
/// cache.
constexpr int64_t rowsPerBlock = 96;
static_assert(rowsPerBlock % rowsOfTile == 0);
/// Depth of a panel that is read before the next rows, in elements: a multiple of the partial sums,
/// so that the result doesn't depend on how the depth is split.
constexpr int64_t depthOfPanel =
    (400 << 10) / sizeof(float) / tileColumns / elementsOfSum * elementsOfSum;
/// Enough parts for a few threads to share the work evenly.
constexpr int64_t targetParts = 8, minPanels = 4;
/// ns of work that are shared with workers that are spinning, but too short to wake up others.
constexpr double minSharedWork = 6000, maxSpinningWork = 40000;

typedef float Vector __attribute__((vector_size(lanes * sizeof(float))));

Vector load(const float *from) {
  Vector value;
  std::memcpy(&value, from, sizeof value);
  return value;
}
void store(float *to, Vector value) { std::memcpy(to, &value, sizeof value); }

/// The destination of a tile.
struct TileOut {
  float *at;
  int64_t stride;
  int columns; // number of valid columns, up to tileColumns
};

/// Always inlined, like everything that accesses the sums of a tile: they stay in registers only if
/// nothing else can hold a pointer to them.
template <int rows, int vectors>
[[gnu::always_inline]] inline void writeTile(const TileOut &out,
                                             const Vector (&sum)[rows][vectors]) {
  constexpr int width = vectors * lanes;
  // a copy, since indexing the sums themselves would keep them in memory
  float partial[rows * width];
  bool isWhole = out.columns >= width;
  float *at = isWhole ? out.at : partial;
  int64_t stride = isWhole ? out.stride : width;
#pragma clang loop unroll(full)
  for (int r = 0; r < rows; ++r)
#pragma clang loop unroll(full)
    for (int v = 0; v < vectors; ++v)
      store(at + r * stride + v * lanes, sum[r][v]);
  if (isWhole)
    return;
  for (int r = 0; r < rows; ++r)
    std::copy_n(partial + r * width, out.columns, out.at + r * out.stride);
}

/// sum += the rows' elements at `at` times one row of the panel.
template <int rows, int vectors>
[[gnu::always_inline]] inline void multiplyElement(const float *const (&row)[rows], int64_t at,
                                                   const float *panel,
                                                   Vector (&sum)[rows][vectors]) {
  Vector b[vectors];
  for (int v = 0; v < vectors; ++v)
    b[v] = load(panel + v * lanes);
  for (int r = 0; r < rows; ++r)
    for (int v = 0; v < vectors; ++v)
      sum[r][v] += row[r][at] * b[v];
}

/// For so few rows, reading panels dominates. They are read from the L2 cache, two at a time so
/// that each element of a row is reused.
constexpr int maxStripRows = 2;
constexpr int64_t prefetchDistance = 8;

/// A range of the depth of adjacent panels, which have `depth` rows each.
struct PanelRows {
  const float *at; // row `begin` of the first panel
  int64_t depth, begin, end;
};

template <int sums, typename Sum> [[gnu::always_inline]] inline void foldSums(Sum (&sum)[sums]) {
  for (int k = 1; k < sums; ++k)
    for (size_t p = 0; p < std::size(sum[0]); ++p)
      for (size_t r = 0; r < std::size(sum[0][0]); ++r)
        for (int v = 0; v < tileVectors; ++v)
          sum[0][p][r][v] += sum[k][p][r][v];
}

/// Computes the columns of `panels` panels, 1 or 2.
template <int rows, int panels>
[[gnu::always_inline]] inline void multiplyPanels(const float *const (&row)[rows], int64_t step,
                                                  const PanelRows &of, const TileOut &out,
                                                  int lastColumns) {
  constexpr int sums = 4 / (rows * panels);
  static_assert(sums > 0);
  Vector total[panels][rows][tileVectors];
  for (int64_t begin = of.begin, end; begin < of.end; begin = end) {
    end = std::min(of.end, begin + sums * elementsOfSum);
    Vector sum[sums][panels][rows][tileVectors] = {};
    auto multiplyAt = [&](int64_t i, auto &to) {
      for (int p = 0; p < panels; ++p) {
        const float *from = of.at + (p * of.depth + i - of.begin) * tileColumns;
        __builtin_prefetch(from + prefetchDistance * tileColumns);
        multiplyElement(row, i * step, from, to[p]);
      }
    };
    int64_t i = begin;
#pragma clang loop unroll(disable)
    for (; i + sums <= end; i += sums)
      for (int k = 0; k < sums; ++k)
        multiplyAt(i + k, sum[k]);
    for (; i < end; ++i)
      multiplyAt(i, sum[0]);
    foldSums<sums>(sum);
    for (int p = 0; p < panels; ++p)
      for (int r = 0; r < rows; ++r)
        for (int v = 0; v < tileVectors; ++v)
          total[p][r][v] = begin == of.begin ? sum[0][p][r][v] : total[p][r][v] + sum[0][p][r][v];
  }
  for (int p = 0; p < panels; ++p) {
    int columns = p + 1 < panels ? tileColumns : lastColumns;
    writeTile({out.at + p * tileColumns, out.stride, columns}, total[p]);
  }
}

/// Computes the columns of `panels` adjacent panels, the last of which has `lastColumns` columns.
template <int rows>
void multiplyStrip(const float *const *left, int64_t step, PanelRows of, int64_t panels,
                   TileOut out, int lastColumns) {
  const float *row[rows];
  std::copy_n(left, rows, row);
  for (; panels > 2; panels -= 2, of.at += 2 * of.depth * tileColumns, out.at += 2 * tileColumns)
    multiplyPanels<rows, 2>(row, step, of, out, tileColumns);
  if (panels == 2)
    multiplyPanels<rows, 2>(row, step, of, out, lastColumns);
  else
    multiplyPanels<rows, 1>(row, step, of, out, lastColumns);
}

} // namespace

const int64_t PackedMatrix::panelColumns = tileColumns;

int64_t PackedMatrix::panelWidth(int64_t i) const {
  int64_t left = std::min<int64_t>(width - i * tileColumns, tileColumns);
  return (left + lanes - 1) / lanes * lanes;
}

namespace {

/// A range of adjacent panels, and the range of their depth that is multiplied.
struct PanelRange {
  const PackedMatrix &matrix;
  int64_t begin, end, depthBegin, depthEnd;

  int columns(int64_t panel) const {
    return static_cast<int>(std::min<int64_t>(tileColumns, matrix.columns() - panel * tileColumns));
  }
};

/// Computes the columns of one or two rows.
void multiplyStrips(std::span<const float *const> rows, const PackedLeft &left,
                    const PanelRange &panels, float *out, int64_t stride) {
  auto multiply = rows.size() == 1 ? multiplyStrip<1> : multiplyStrip<2>;
  const float *starts[maxStripRows];
  for (size_t r = 0; r < rows.size(); ++r)
    starts[r] = rows[r] + left.segments[0];
  const PanelRows of{panels.matrix.panel(panels.begin) + panels.depthBegin * tileColumns,
                     panels.matrix.depth(), panels.depthBegin, panels.depthEnd};
  multiply(starts, left.step, of, panels.end - panels.begin, {out, stride, tileColumns},
           panels.columns(panels.end - 1));
}

/// The rows of a block as tiles read them, and the range of a panel's depth that they are
/// multiplied by.
struct LeftBlock {
  const float *base;
  std::span<const int64_t> rows; // offsets from `base`
  std::span<const TilePart> parts;
  int64_t partDepth;
  int64_t depthBegin; // in the panel
};

/// The first row of a block in the result, and the stride to the next.
struct BlockOut {
  float *at;
  int64_t stride;
  bool adds; // whether to add to the existing values
};

/// Computes the tiles of a block. From the second range of the depth on, adds to the result.
void multiplyTiles(const LeftBlock &left, const PanelRange &panels, const BlockOut &out) {
  int64_t toRows[rowsPerBlock], numRows = std::ssize(left.rows);
  for (int64_t r = 0; r < numRows; ++r)
    toRows[r] = r * out.stride;
  // Tiles have nearly equal numbers of rows, since those of one or two rows are slow.
  int64_t tiles = (numRows + rowsOfTile - 1) / rowsOfTile;
  int64_t depth = std::ssize(left.parts) * left.partDepth;
  TileWork work{};
  work.from = left.base;
  work.parts = left.parts;
  work.depth = left.partDepth;
  work.adds = out.adds || left.depthBegin > panels.depthBegin;
  for (int64_t p = panels.begin; p < panels.end; ++p) {
    int64_t columns = panels.matrix.panelWidth(p);
    work.vectors = static_cast<int>(columns / lanes);
    work.panel = panels.matrix.panel(p) + left.depthBegin * columns;
    work.to = out.at + (p - panels.begin) * tileColumns;
    work.width = panels.columns(p);
    PrefetchPlan ahead(p + 1 < panels.end ? panels.matrix.bytes(p + 1, left.depthBegin, depth)
                                          : std::span<const char>(),
                       tiles, depth);
    for (int64_t tile = 0; tile < tiles; ++tile) {
      int64_t row = numRows * tile / tiles;
      work.rows = static_cast<int>(numRows * (tile + 1) / tiles - row);
      work.fromRows = left.rows.data() + row;
      work.toRows = toRows + row;
      ahead.assignTo(work);
      runTile(work);
    }
  }
}

/// Contiguous copies of a block's rows. Tiles can't read rows whose elements are not contiguous,
/// and rows at a distance of whole pages map to the same few sets of the L1 cache and evict each
/// other.
class RowCopies {
public:
  static bool areNeeded(std::span<const float *const> rows, const PackedLeft &left,
                        int64_t panels) {
    constexpr int64_t page = 4096 / sizeof(float), minPanels = 2;
    return left.step != 1 || (panels >= minPanels && std::ssize(rows) >= rowsOfTile &&
                              left.segments.size() == 1 && (rows[1] - rows[0]) % page == 0);
  }

  /// Copies elements [begin, begin + count) of the depth, at most `most`.
  RowCopies(std::span<const float *const> rows, const PackedLeft &left, int64_t begin,
            int64_t count) {
    for (size_t r = 0; r < rows.size(); ++r)
      starts[r] = static_cast<int64_t>(r) * stride;
    if (left.segments.size() == 1 && areAdjacent(rows))
      transposeFloats(rows[0] + left.segments[0] + begin * left.step, left.step, count,
                      std::ssize(rows), elements, [](int64_t r) { return r * stride; });
    else
      for (size_t r = 0; r < rows.size(); ++r)
        copy(rows[r], left, begin, count, elements + starts[r]);
  }

  const float *base() const { return elements; }
  const int64_t *rows() const { return starts; }

  static constexpr int64_t most = elementsOfSum;

private:
  static bool areAdjacent(std::span<const float *const> rows) {
    for (size_t r = 1; r < rows.size(); ++r)
      if (rows[r] != rows[r - 1] + 1)
        return false;
    return true;
  }

  static void copy(const float *row, const PackedLeft &left, int64_t begin, int64_t count,
                   float *to) {
    while (count) {
      int64_t within = begin % left.segmentSize;
      int64_t some = std::min(count, left.segmentSize - within);
      const float *from =
          row + left.segments[static_cast<size_t>(begin / left.segmentSize)] + within * left.step;
      if (left.step == 1)
        std::copy_n(from, some, to);
      else
        for (int64_t i = 0; i < some; ++i)
          to[i] = from[i * left.step];
      to += some;
      begin += some;
      count -= some;
    }
  }

  static constexpr int64_t stride = most + lanes;
  int64_t starts[rowsPerBlock];
  alignas(64) float elements[rowsPerBlock * stride];
};

void multiplyCopies(std::span<const float *const> rows, const PackedLeft &left,
                    const PanelRange &panels, const BlockOut &out) {
  const TilePart part{0, 0};
  for (int64_t begin = panels.depthBegin; begin < panels.depthEnd; begin += RowCopies::most) {
    int64_t count = std::min(RowCopies::most, panels.depthEnd - begin);
    RowCopies copies(rows, left, begin, count);
    multiplyTiles({copies.base(), {copies.rows(), rows.size()}, {&part, 1}, count, begin}, panels,
                  out);
  }
}

void multiplyPart(std::span<const float *const> rows, const PackedLeft &left, PanelRange panels,
                  BlockOut out) {
  if (rows.size() <= maxStripRows && left.segments.size() == 1 && !out.adds) {
    // Strips use whole panels.
    int64_t whole = panels.end;
    if (panels.matrix.panelWidth(whole - 1) < tileColumns)
      --whole;
    if (whole > panels.begin)
      multiplyStrips(rows, left,
                     {panels.matrix, panels.begin, whole, panels.depthBegin, panels.depthEnd},
                     out.at, out.stride);
    if (whole == panels.end)
      return;
    out.at += (whole - panels.begin) * tileColumns;
    panels.begin = whole;
  }
  if (RowCopies::areNeeded(rows, left, panels.end - panels.begin))
    return multiplyCopies(rows, left, panels, out);
  int64_t starts[rowsPerBlock];
  for (size_t r = 0; r < rows.size(); ++r)
    starts[r] = rows[r] - rows[0];
  LeftBlock block{rows[0], {starts, rows.size()}, {}, left.segmentSize, 0};
  if (left.segments.size() > 1) {
    std::vector<TilePart> parts;
    for (int64_t segment : left.segments)
      parts.push_back({segment, std::ssize(parts)});
    block.parts = parts;
    return multiplyTiles(block, panels, out);
  }
  for (int64_t begin = panels.depthBegin; begin < panels.depthEnd; begin += depthOfPanel) {
    const TilePart part{left.segments[0] + begin, 0};
    block.parts = {&part, 1};
    block.partDepth = std::min(depthOfPanel, panels.depthEnd - begin);
    block.depthBegin = begin;
    multiplyTiles(block, panels, out);
  }
}

/// Multiplies some rows by some panels. A depth of several segments is not split.
void multiplyBlock(std::span<const float *const> rows, const PackedLeft &left,
                   const PackedMatrix &right, int64_t begin, int64_t end, const PackedResult &out) {
  auto multiply = [&](int64_t depthBegin, int64_t depthEnd, const PackedResult &to) {
    multiplyPart(rows, left, {right, begin, end, depthBegin, depthEnd},
                 {to.data, to.stride, to.adds});
  };
  if (left.segments.size() > 1)
    return multiply(0, right.depth(), out);
  int64_t columns = std::min(end * tileColumns, right.columns()) - begin * tileColumns;
  multiplyByHalves(0, right.depth(), std::ssize(rows), columns, out, multiply);
}

} // namespace

void multiplyPacked(OpContext &ctx, int64_t rows, const RowAt &rowAt, const PackedLeft &left,
                    const PackedMatrix &right, const PackedResult &out) {
  // Blocks have equal sizes, in whole tiles.
  int64_t blocks = (rows + rowsPerBlock - 1) / rowsPerBlock;
  int64_t perBlock = (rows + blocks * rowsOfTile - 1) / (blocks * rowsOfTile) * rowsOfTile;
  blocks = (rows + perBlock - 1) / perBlock;
  int64_t panels = right.panels();
  int64_t parts = std::clamp<int64_t>(targetParts / blocks, 1, std::max(panels / minPanels, 1L));
  int64_t perPart = (panels + parts - 1) / parts;
  parts = (panels + perPart - 1) / perPart;

  auto multiplyOne = [&](int64_t block, int64_t part) {
    int64_t first = block * perBlock, count = std::min(perBlock, rows - first);
    int64_t panel = part * perPart, endPanel = std::min(panel + perPart, panels);
    int64_t column = panel * tileColumns;
    const float *starts[rowsPerBlock];
    for (int64_t r = 0; r < count; ++r)
      starts[r] = rowAt(first + r);
    multiplyBlock(
        {starts, static_cast<size_t>(count)}, left, right, panel, endPanel,
        {.data = out.data + first * out.stride + column, .stride = out.stride, .adds = out.adds});
    if (out.epilogue)
      out.epilogue->apply(out.data, first, count, column,
                          std::min(endPanel * tileColumns, right.columns()) - column);
  };
  double cost = costOfProduct * static_cast<double>(std::min(perBlock, rows) * perPart) *
                static_cast<double>(tileColumns * right.depth());
  auto multiply = [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      multiplyOne(i / parts, i % parts);
  };
  // A step of a loop is too short to wake up a sleeping worker, but long enough to share with one
  // that is still spinning from the previous step.
  ThreadPool *pool = ctx.pool();
  double whole = cost * static_cast<double>(blocks * parts);
  if (pool && pool->numSpinning() && whole >= minSharedWork && whole < maxSpinningWork)
    pool->parallelForSpinning(blocks * parts, 1, multiply);
  else
    ctx.parallelFor(blocks * parts, cost, multiply);
}

void multiplyPacked(OpContext &ctx, int64_t rows, const FloatMatrix &left,
                    const PackedMatrix &right, const PackedResult &out) {
  const int64_t zero = 0;
  int64_t toRow = left.isTransposed ? 1 : left.stride, step = left.isTransposed ? left.stride : 1;
  multiplyPacked(
      ctx, rows, [&](int64_t row) { return left.data + row * toRow; },
      {{&zero, 1}, right.depth(), step}, right, out);
}

// --- packing -------------------------------------------------------------------------------------

template <typename Fill>
std::shared_ptr<const PackedMatrix> PackedMatrix::makeBy(OpContext &ctx, int64_t rows,
                                                         int64_t columns, const Fill &fill) {
  constexpr int64_t rowsFilled = 384;
  std::shared_ptr<PackedMatrix> packed(new PackedMatrix(rows, columns));
  int64_t panels = packed->panels(), blocks = (rows + rowsFilled - 1) / rowsFilled;
  int64_t allColumns = (columns + lanes - 1) / lanes * lanes;
  Expected<Tensor> elements = Tensor::make(DType::Float32, {rows, allColumns});
  if (!elements)
    return nullptr;
  packed->elements = std::move(*elements);
  ctx.parallelFor(panels * blocks, 0.3 * static_cast<double>(tileColumns * rowsFilled),
                  [&](int64_t begin, int64_t end) {
                    for (int64_t i = begin; i < end; ++i) {
                      int64_t row = i / panels * rowsFilled, panel = i % panels;
                      int64_t count = std::min(rowsFilled, rows - row);
                      int64_t width = packed->panelWidth(panel), column = panel * tileColumns;
                      auto *to = const_cast<float *>(packed->panel(panel)) + row * width;
                      if (columns - column < width)
                        std::fill_n(to, width * count, 0.0F);
                      fill(row, count, column, std::min(width, columns - column), to, width);
                    }
                  });
  return packed;
}

std::shared_ptr<const PackedMatrix> PackedMatrix::make(OpContext &ctx, const PackedSource &source) {
  auto fill = [&](int64_t row, int64_t rows, int64_t column, int64_t columns, float *to,
                  int64_t width) {
    auto from = source.rows.subspan(static_cast<size_t>(row), static_cast<size_t>(rows));
    auto of = source.columns.subspan(static_cast<size_t>(column), static_cast<size_t>(columns));
    bool isStraight = of.back() - of.front() == columns - 1 && std::ranges::is_sorted(of);
    if (isStraight) {
      for (int64_t at : from)
        std::copy_n(source.data + at + of.front(), columns, std::exchange(to, to + width));
      return;
    }
    for (int64_t at : of) {
      float *next = to++;
      for (int64_t rowAt : from)
        *std::exchange(next, next + width) = source.data[rowAt + at];
    }
  };
  return makeBy(ctx, std::ssize(source.rows), std::ssize(source.columns), fill);
}

std::shared_ptr<const PackedMatrix> PackedMatrix::make(OpContext &ctx, int64_t rows,
                                                       int64_t columns, const FloatMatrix &source) {
  auto fill = [&](int64_t row, int64_t count, int64_t column, int64_t some, float *to,
                  int64_t width) {
    if (source.isTransposed)
      return transposeFloats(source.data + column * source.stride + row, source.stride, some, count,
                             to, [&](int64_t i) { return i * width; });
    for (int64_t i = row; i < row + count; ++i)
      std::copy_n(source.data + i * source.stride + column, some, std::exchange(to, to + width));
  };
  return makeBy(ctx, rows, columns, fill);
}

} // namespace treadle
