// Tiles: what registers hold of a product of floats while it is summed up.
//
// A panel has some columns of the right operand side by side, row by row, as many columns as a
// tile; it is read from its beginning to its end. The rows of the left operand are read where they
// lie, and may lie anywhere: of a convolution, each is a window of the image.
#pragma once

#include "treadle/kernels/products/Epilogue.h"

#include <algorithm>
#include <cstdint>
#include <span>

namespace treadle {

#if defined(__AVX512F__)
constexpr int tileLanes = 16, mostTileVectors = 4;
#elif defined(__AVX__)
constexpr int tileLanes = 8, mostTileVectors = 2;
#else
constexpr int tileLanes = 4, mostTileVectors = 2;
#endif

/// Rows of a tile of so many vectors: sums, a row of the panel and an element have a register each.
constexpr int tileRows(int vectors) {
#if defined(__AVX512F__)
  constexpr int rows[] = {12, 8, 8, 6};
#else
  constexpr int rows[] = {8, 6};
#endif
  return rows[vectors - 1];
}
constexpr int mostTileRows = 12;
/// ns that a multiplication takes, about.
constexpr double nsPerTileProduct = 0.012;
constexpr int64_t tileStride = 8, cacheLine = 64;
/// So many products are added up in a register, and then to the total: the error of a sum grows
/// with the square root of how many numbers are added to it one after the other.
constexpr int64_t elementsOfSum = 384;

/// A part of each row begins at element `row`; it is multiplied with part `panel` of the panel.
struct TilePart {
  int64_t row, panel;
};

/// One tile's work: to[toRows[r] + c] = activation(sum over p, i of
/// from[fromRows[r] + parts[p].row + i] * panel[parts[p].panel][i][c] + offset[c]); a part of the
/// panel is [depth, vectors * tileLanes].
struct TileWork {
  const float *from;
  float *to;
  const int64_t *fromRows, *toRows;
  int rows, vectors;
  int64_t width; // columns of the panel that the result has
  std::span<const TilePart> parts;
  int64_t depth; // elements of a part
  const float *panel;
  bool adds;             // to what lies there already
  bool isLast;           // offset and activation follow
  const float *offset;   // null: none
  Activation activation; // whose `alpha` is LeakyRelu's
  float alpha;
  /// What will be read next is fetched meanwhile: so many lines of the cache every `tileStride`
  /// elements of a part.
  std::span<const char> ahead;
  int64_t aheadLines;
};

void runTile(const TileWork &work);

/// What is fetched while some tiles of the same depth are multiplied, shared out among them.
class FetchedAhead {
public:
  FetchedAhead(std::span<const char> bytes, int64_t tiles, int64_t depth)
      : rest(bytes), bytesOfTile(std::ssize(bytes) / tiles + 1) {
    int64_t steps = std::max<int64_t>(depth / tileStride, 1);
    lines = (bytesOfTile + cacheLine * steps - 1) / (cacheLine * steps);
  }

  void giveTo(TileWork &work) {
    work.ahead = rest.first(std::min(rest.size(), static_cast<size_t>(bytesOfTile)));
    work.aheadLines = lines;
    rest = rest.subspan(work.ahead.size());
  }

private:
  std::span<const char> rest;
  int64_t bytesOfTile, lines;
};

} // namespace treadle
