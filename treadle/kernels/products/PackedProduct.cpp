// The order of loops is that of Goto and van de Geijn, "Anatomy of High-Performance Matrix
// Multiplication", 2008, but for the left operand, which is read where it lies: a panel of the
// right one stays in the first cache while some rows pass, those rows in the second while all
// panels do.
#include "treadle/kernels/products/PackedProduct.h"

#include "treadle/kernels/products/MatMul.h"
#include "treadle/runtime/Run.h"
#include "treadle/runtime/ThreadPool.h"

#include <array>
#include <cstring>
#include <utility>

// As in every library's matrix products: a sum is rounded once for each product.
#pragma clang fp contract(fast)

namespace treadle {
namespace {

#ifdef __AVX512F__
constexpr int vectorBytes = 64, tileRows = 12;
#else
constexpr int vectorBytes = 32, tileRows = 6;
#endif
constexpr int lanes = vectorBytes / sizeof(float), tileVectors = 2,
              tileColumns = lanes * tileVectors;
/// So many rows of the right operand at a time that a panel of them comes from the first cache, or
/// nearly, and results are seldom read and written again.
constexpr int64_t depthBlock = 384;
/// So many rows of the left operand that those stay in the second cache.
constexpr int64_t rowsPerBlock = 96;
static_assert(rowsPerBlock % tileRows == 0);
/// Enough for a few threads to share the work evenly.
constexpr int64_t wantedParts = 8, leastPanels = 4;
/// ns of work that are shared with workers that look for it, and with them alone.
constexpr double leastToShare = 6000, mostToShare = 40000;

typedef float Vector __attribute__((vector_size(vectorBytes)));

Vector load(const float *from) {
  Vector value;
  std::memcpy(&value, from, sizeof value);
  return value;
}
void store(float *to, Vector value) { std::memcpy(to, &value, sizeof value); }

/// Where a tile's result goes.
struct TileOut {
  float *at;
  int64_t stride;
  int columns; // of tileColumns
  bool adds;
};

/// Inlined, as all that sees the sums of a tile: they stay in registers only where nobody else
/// could point to them.
template <int rows, int vectors>
[[gnu::always_inline]] inline void writeTile(const TileOut &out,
                                             const Vector (&sum)[rows][vectors]) {
  constexpr int width = vectors * lanes;
  float partial[rows * width]; // to index the sums themselves would keep them in memory
  bool isWhole = out.columns >= width;
  float *at = isWhole ? out.at : partial;
  int64_t stride = isWhole ? out.stride : width;
  bool adds = isWhole && out.adds;
#pragma clang loop unroll(full)
  for (int r = 0; r < rows; ++r)
#pragma clang loop unroll(full)
    for (int v = 0; v < vectors; ++v) {
      float *to = at + r * stride + v * lanes;
      store(to, adds ? load(to) + sum[r][v] : sum[r][v]);
    }
  if (isWhole)
    return;
  for (int r = 0; r < rows; ++r)
    for (int c = 0; c < out.columns; ++c) {
      float &to = out.at[r * out.stride + c];
      to = out.adds ? to + partial[r * width + c] : partial[r * width + c];
    }
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

/// A sum waits for the one before it: of few rows there are so many sums, to keep multipliers busy.
template <int rows> constexpr int sumsOfRow = rows == 1 ? 4 : rows <= 3 ? 2 : 1;

/// sum += the rows' `count` elements times as many rows of the panel.
template <int rows, int vectors>
[[gnu::always_inline]] inline void multiplySegment(const float *const *left, int64_t offset,
                                                   int64_t step, int64_t count, const float *panel,
                                                   Vector (&sum)[rows][vectors]) {
  const float *row[rows];
  for (int r = 0; r < rows; ++r)
    row[r] = left[r] + offset;
  const float *end = panel + count * tileColumns;
  int64_t at = 0;
  if constexpr (constexpr int sums = sumsOfRow<rows>; sums > 1) {
    Vector part[sums][rows][vectors] = {};
#pragma clang loop unroll(disable)
    for (; end - panel >= sums * tileColumns; panel += sums * tileColumns, at += sums * step)
      for (int i = 0; i < sums; ++i)
        multiplyElement(row, at + i * step, panel + i * tileColumns, part[i]);
    for (int i = 0; i < sums; ++i)
      for (int r = 0; r < rows; ++r)
        for (int v = 0; v < vectors; ++v)
          sum[r][v] += part[i][r][v];
  }
#pragma clang loop unroll(disable)
  for (; panel != end; panel += tileColumns, at += step)
    multiplyElement(row, at, panel, sum);
}

/// The elements [begin, end) of the depth; `panel` is at `begin`. Of a panel's columns the first
/// `vectors` vectors are wanted.
template <int rows, int vectors>
void multiplyTile(const float *const *left, const PackedLeft &form, int64_t begin, int64_t end,
                  const float *panel, const TileOut &out) {
  Vector sum[rows][vectors] = {};
  for (int r = 0; r < rows; ++r)
    __builtin_prefetch(out.at + r * out.stride, 1);
  for (int64_t segment = begin / form.segmentSize; begin < end; ++segment) {
    int64_t within = begin - segment * form.segmentSize;
    int64_t count = std::min(form.segmentSize - within, end - begin);
    int64_t offset = form.segments[static_cast<size_t>(segment)] + within * form.step;
    multiplySegment(left, offset, form.step, count, panel, sum);
    begin += count;
    panel += count * tileColumns;
  }
  writeTile(out, sum);
}

/// Of so few rows, panels are the work; they come from the second cache, two at a time so that each
/// element of a row serves for longer.
constexpr int maxStripRows = 2;
constexpr int64_t prefetchDistance = 8;

/// The columns of `panels` panels, 1 or 2, that lie `count` rows long one after the other.
template <int rows, int panels>
[[gnu::always_inline]] inline void multiplyPanels(const float *const (&row)[rows], int64_t step,
                                                  int64_t count, const float *panel,
                                                  const TileOut &out, int lastColumns) {
  constexpr int sums = 4 / (rows * panels);
  static_assert(sums > 0);
  Vector sum[sums][panels][rows][tileVectors] = {};
  auto multiplyAt = [&](int64_t i, auto &to) {
    for (int p = 0; p < panels; ++p) {
      const float *from = panel + (p * count + i) * tileColumns;
      __builtin_prefetch(from + prefetchDistance * tileColumns);
      multiplyElement(row, i * step, from, to[p]);
    }
  };
  int64_t i = 0;
#pragma clang loop unroll(disable)
  for (; i + sums <= count; i += sums)
    for (int k = 0; k < sums; ++k)
      multiplyAt(i + k, sum[k]);
  for (; i < count; ++i)
    multiplyAt(i, sum[0]);
  for (int p = 0; p < panels; ++p) {
    for (int k = 1; k < sums; ++k)
      for (int r = 0; r < rows; ++r)
        for (int v = 0; v < tileVectors; ++v)
          sum[0][p][r][v] += sum[k][p][r][v];
    int columns = p + 1 < panels ? tileColumns : lastColumns;
    writeTile({out.at + p * tileColumns, out.stride, columns, out.adds}, sum[0][p]);
  }
}

/// `panels` panels one after the other, the last of which has `lastColumns` columns.
template <int rows>
void multiplyStrip(const float *const *left, int64_t step, int64_t count, const float *panel,
                   int64_t panels, TileOut out, int lastColumns) {
  const float *row[rows];
  std::copy_n(left, rows, row);
  for (; panels > 2; panels -= 2, panel += 2 * count * tileColumns, out.at += 2 * tileColumns)
    multiplyPanels<rows, 2>(row, step, count, panel, out, tileColumns);
  if (panels == 2)
    multiplyPanels<rows, 2>(row, step, count, panel, out, lastColumns);
  else
    multiplyPanels<rows, 1>(row, step, count, panel, out, lastColumns);
}

using TileFn = void (*)(const float *const *, const PackedLeft &, int64_t, int64_t, const float *,
                        const TileOut &);

/// The function for each number of rows but 0, and of vectors.
template <int vectors>
constexpr auto tileFns = []<int... rows>(std::integer_sequence<int, rows...>) {
  return std::array<TileFn, tileRows>{multiplyTile<rows + 1, vectors>...};
}(std::make_integer_sequence<int, tileRows>());

} // namespace

const int64_t PackedMatrix::panelColumns = tileColumns;
const int64_t PackedMatrix::blockRows = depthBlock;

// Columns of the panels [panel, endPanel) of one or two rows; `out` is where the first row's begin.
static void multiplyStrips(std::span<const float *const> rows, const PackedLeft &left,
                           const PackedMatrix &right, int64_t panel, int64_t endPanel, float *out,
                           int64_t stride) {
  auto multiply = rows.size() == 1 ? multiplyStrip<1> : multiplyStrip<2>;
  auto lastColumns = static_cast<int>(
      std::min<int64_t>(tileColumns, right.columns() - (endPanel - 1) * tileColumns));
  for (int64_t begin = 0; begin < right.depth(); begin += depthBlock) {
    const float *starts[maxStripRows];
    for (size_t r = 0; r < rows.size(); ++r)
      starts[r] = rows[r] + left.segments[0] + begin * left.step;
    multiply(starts, left.step, std::min(depthBlock, right.depth() - begin),
             right.panel(begin, panel), endPanel - panel, {out, stride, tileColumns, begin > 0},
             lastColumns);
  }
}

namespace {

/// Copies of a block's rows, of a block of the depth. Rows that lie whole pages apart have their
/// elements in the same few lines of the first cache, and displace each other there; copies lie
/// closer.
class RowCopies {
public:
  static bool pay(std::span<const float *const> rows, const PackedLeft &left, int64_t panels) {
    constexpr int64_t page = 4096 / sizeof(float), leastPanels = 2;
    return panels >= leastPanels && std::ssize(rows) >= tileRows && left.segments.size() == 1 &&
           left.step == 1 && (rows[1] - rows[0]) % page == 0;
  }

  /// The rows' elements from `offset` on.
  std::span<const float *const> make(std::span<const float *const> rows, int64_t offset,
                                     int64_t count) {
    for (size_t r = 0; r < rows.size(); ++r) {
      starts[r] = elements + static_cast<int64_t>(r) * stride;
      std::copy_n(rows[r] + offset, count, elements + static_cast<int64_t>(r) * stride);
    }
    return {starts, rows.size()};
  }

private:
  static constexpr int64_t stride = depthBlock + lanes;
  const float *starts[rowsPerBlock];
  alignas(vectorBytes) float elements[rowsPerBlock * stride];
};

} // namespace

/// Columns of the panels [panel, endPanel) of some rows, from the elements [begin, begin + count)
/// of the depth; the right operand's are from `depth` on.
static void multiplyDepth(std::span<const float *const> rows, const PackedLeft &left, int64_t begin,
                          int64_t count, const PackedMatrix &right, int64_t depth, int64_t panel,
                          int64_t endPanel, float *out, int64_t stride) {
  // Tiles of nearly the same number of rows: those of one or two are slow.
  size_t numTiles = (rows.size() + tileRows - 1) / tileRows;
  for (int64_t p = panel; p < endPanel; ++p) {
    int64_t column = p * tileColumns;
    TileOut to{out + (p - panel) * tileColumns, stride,
               static_cast<int>(std::min<int64_t>(tileColumns, right.columns() - column)),
               depth > 0};
    const auto &fns = to.columns <= lanes ? tileFns<1> : tileFns<tileVectors>;
    for (size_t r = 0, tiles = numTiles; tiles; --tiles) {
      size_t some = (rows.size() - r + tiles - 1) / tiles;
      fns[some - 1](rows.data() + r, left, begin, begin + count, right.panel(depth, p), to);
      r += some;
      to.at += static_cast<int64_t>(some) * stride;
    }
  }
}

// All of the depth. `out` is where the first row's columns begin.
static void multiplyBlock(std::span<const float *const> rows, const PackedLeft &left,
                          const PackedMatrix &right, int64_t panel, int64_t endPanel, float *out,
                          int64_t stride) {
  if (rows.size() <= maxStripRows && left.segments.size() == 1)
    return multiplyStrips(rows, left, right, panel, endPanel, out, stride);
  bool copies = RowCopies::pay(rows, left, endPanel - panel);
  for (int64_t begin = 0; begin < right.depth(); begin += depthBlock) {
    int64_t count = std::min(depthBlock, right.depth() - begin);
    if (!copies) {
      multiplyDepth(rows, left, begin, count, right, begin, panel, endPanel, out, stride);
      continue;
    }
    constexpr int64_t first = 0;
    RowCopies copied;
    multiplyDepth(copied.make(rows, left.segments[0] + begin, count), {{&first, 1}, depthBlock, 1},
                  0, count, right, begin, panel, endPanel, out, stride);
  }
}

void multiplyPackedRows(const float *left, int64_t rows, const PackedMatrix &right, int64_t panel,
                        int64_t endPanel, float *out) {
  constexpr int64_t first = 0;
  const PackedLeft form{{&first, 1}, right.depth(), 1};
  int64_t stride = (endPanel - panel) * tileColumns;
  for (int64_t row = 0; row < rows; row += rowsPerBlock) {
    int64_t count = std::min(rowsPerBlock, rows - row);
    const float *starts[rowsPerBlock];
    for (int64_t r = 0; r < count; ++r)
      starts[r] = left + (row + r) * right.depth();
    multiplyBlock({starts, static_cast<size_t>(count)}, form, right, panel, endPanel,
                  out + row * stride, stride);
  }
}

void multiplyPacked(OpContext &ctx, int64_t rows, const RowAt &rowAt, const PackedLeft &left,
                    const PackedMatrix &right, const PackedResult &out) {
  // Blocks of equal size, of whole tiles.
  int64_t blocks = (rows + rowsPerBlock - 1) / rowsPerBlock;
  int64_t perBlock = (rows + blocks * tileRows - 1) / (blocks * tileRows) * tileRows;
  blocks = (rows + perBlock - 1) / perBlock;
  int64_t panels = right.panels();
  int64_t parts = std::clamp<int64_t>(wantedParts / blocks, 1, std::max(panels / leastPanels, 1L));
  int64_t perPart = (panels + parts - 1) / parts;
  parts = (panels + perPart - 1) / perPart;

  auto multiplyPart = [&](int64_t block, int64_t part) {
    int64_t first = block * perBlock, count = std::min(perBlock, rows - first);
    int64_t panel = part * perPart, endPanel = std::min(panel + perPart, panels);
    int64_t column = panel * tileColumns;
    const float *starts[rowsPerBlock];
    for (int64_t r = 0; r < count; ++r)
      starts[r] = rowAt(first + r);
    multiplyBlock({starts, static_cast<size_t>(count)}, left, right, panel, endPanel,
                  out.data + first * out.stride + column, out.stride);
    if (out.epilogue)
      out.epilogue->apply(out.data, first, count, column,
                          std::min(endPanel * tileColumns, right.columns()) - column);
  };
  double cost = costOfProduct * static_cast<double>(std::min(perBlock, rows) * perPart) *
                static_cast<double>(tileColumns * right.depth());
  auto multiply = [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      multiplyPart(i / parts, i % parts);
  };
  // A step of a loop is too short for waking somebody, but not for who has not gone to sleep since
  // the step before.
  ThreadPool *pool = ctx.pool();
  double whole = cost * static_cast<double>(blocks * parts);
  if (pool && pool->numLooking() && whole >= leastToShare && whole < mostToShare)
    pool->parallelForSoon(blocks * parts, 1, multiply);
  else
    ctx.parallelFor(blocks * parts, cost, multiply);
}

// --- packing -------------------------------------------------------------------------------------

MatrixOffsets::MatrixOffsets(int64_t rowCount, int64_t columnCount, bool transposed)
    : rows(static_cast<size_t>(rowCount)), columns(static_cast<size_t>(columnCount)) {
  int64_t at = 0;
  for (int64_t &row : rows)
    row = std::exchange(at, at + (transposed ? 1 : columnCount));
  at = 0;
  for (int64_t &column : columns)
    column = std::exchange(at, at + (transposed ? rowCount : 1));
}

void PackedMatrix::fill(const PackedSource &source, int64_t row, int64_t p) {
  int64_t first = p * tileColumns, count = std::min<int64_t>(tileColumns, width - first);
  auto from = source.rows.subspan(static_cast<size_t>(row));
  from = from.first(std::min<size_t>(depthBlock, from.size()));
  auto of = source.columns.subspan(static_cast<size_t>(first), static_cast<size_t>(count));
  auto *to = const_cast<float *>(panel(row, p));
  if (count < tileColumns)
    std::fill_n(to, tileColumns * std::ssize(from), 0.0F);
  bool isStraight = of.back() - of.front() == count - 1 && std::ranges::is_sorted(of);
  if (isStraight) {
    for (int64_t at : from)
      std::copy_n(source.data + at + of.front(), count, std::exchange(to, to + tileColumns));
    return;
  }
  for (int64_t column : of) {
    float *next = to++;
    for (int64_t at : from)
      *std::exchange(next, next + tileColumns) = source.data[at + column];
  }
}

std::shared_ptr<const PackedMatrix> PackedMatrix::make(OpContext &ctx, const PackedSource &source) {
  int64_t depth = std::ssize(source.rows);
  std::shared_ptr<PackedMatrix> packed(new PackedMatrix(depth, std::ssize(source.columns)));
  int64_t panels = packed->panels(), blocks = (depth + depthBlock - 1) / depthBlock;
  packed->elements.reset(static_cast<float *>(std::aligned_alloc(
      vectorBytes, static_cast<size_t>(panels * tileColumns * depth) * sizeof(float))));
  if (!packed->elements)
    return nullptr;
  ctx.parallelFor(panels * blocks, 0.3 * static_cast<double>(tileColumns * depthBlock),
                  [&](int64_t begin, int64_t end) {
                    for (int64_t i = begin; i < end; ++i)
                      packed->fill(source, i / panels * depthBlock, i % panels);
                  });
  return packed;
}

} // namespace treadle
