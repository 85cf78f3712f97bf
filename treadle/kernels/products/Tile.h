// Tiles: the part of a product of floats that registers hold while it is summed.
//
// A panel is some columns of the right operand, as many as a tile has, stored row-major; it is read
// sequentially. The rows of the left operand are read in place and may be anywhere: in a
// convolution, each is a window of the image.
#pragma once

#include "treadle/kernels/products/Epilogue.h"

#include <algorithm>
#include <cstdint>
#include <span>

namespace treadle {

#if defined(__AVX512F__)
constexpr int tileLanes = 16, maxTileVectors = 4;
#elif defined(__AVX__)
constexpr int tileLanes = 8, maxTileVectors = 2;
#else
constexpr int tileLanes = 4, maxTileVectors = 2;
#endif

/// Number of rows of a tile of so many vectors: the sums, a row of the panel and an element have
/// one register each.
constexpr int tileRows(int vectors) {
#if defined(__AVX512F__)
  constexpr int rows[] = {12, 8, 8, 6};
#else
  constexpr int rows[] = {8, 6};
#endif
  return rows[vectors - 1];
}
constexpr int maxTileRows = 12;
/// Approximate ns per multiplication.
constexpr double nsPerTileProduct = 0.012;
constexpr int64_t tileStride = 8, cacheLine = 64;
/// Number of products that are added in a register before the sum is added to the total: the error
/// of a sum grows with the square root of the number of sequential additions.
constexpr int64_t elementsOfSum = 384;

/// A part of the depth: begins at element `row` of each row, and is multiplied by part `panel` of
/// the panel.
struct TilePart {
  int64_t row, panel;
};

/// The work of one tile: to[toRows[r] + c] = activation(sum over p, i of from[fromRows[r] +
/// parts[p].row + i] * panel[parts[p].panel][i][c] + offset[c]). A part of the panel is [depth,
/// vectors * tileLanes].
struct TileWork {
  const float *from;
  float *to;
  const int64_t *fromRows, *toRows;
  int rows, vectors;
  int64_t width; // number of columns of the panel that the result has
  std::span<const TilePart> parts;
  int64_t depth; // number of elements of a part
  const float *panel;
  bool adds;             // whether to add to the existing values
  bool isLast;           // whether to apply offset and activation
  const float *offset;   // null if absent
  Activation activation; // `alpha` is LeakyRelu's
  float alpha;
  /// Memory to prefetch: `aheadLines` cache lines every `tileStride` elements of a part.
  std::span<const char> ahead;
  int64_t aheadLines;
};

void runTile(const TileWork &work);

/// Memory to prefetch while some tiles of the same depth are computed, divided among them.
class PrefetchPlan {
public:
  PrefetchPlan(std::span<const char> bytes, int64_t tiles, int64_t depth)
      : rest(bytes), bytesOfTile(std::ssize(bytes) / tiles + 1) {
    int64_t steps = std::max<int64_t>(depth / tileStride, 1);
    lines = (bytesOfTile + cacheLine * steps - 1) / (cacheLine * steps);
  }

  void assignTo(TileWork &work) {
    work.ahead = rest.first(std::min(rest.size(), static_cast<size_t>(bytesOfTile)));
    work.aheadLines = lines;
    rest = rest.subspan(work.ahead.size());
  }

private:
  std::span<const char> rest;
  int64_t bytesOfTile, lines;
};

} // namespace treadle
