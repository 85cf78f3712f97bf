// The elements that a tensor of indices addresses: for gathers and scatters of every kind.
#pragma once

#include "treadle/kernels/ElementCopy.h"

namespace treadle {

/// Computes for each index vector the offset, in elements, of the element that it addresses: the
/// sum of its coordinates, each times a stride.
///
/// The vectors lie along one dimension of the tensor of indices. The other dimensions, in row-major
/// order, number them.
class IndexedOffsets {
public:
  /// Whether coordinates outside of their range are clamped, or make the offset negative.
  enum class Bounds : bool { Clamp, Reject };

  /// `vectorDim` may be the rank of `indices`: each index is then a vector by itself.
  IndexedOffsets(Tensor indices, int64_t vectorDim, Bounds bounds);
  /// The offsets of rows of a tensor of `dims`: the last dimension of `indices` holds coordinates
  /// of its leading dimensions. Those out of range make the offset negative.
  static IndexedOffsets ofRows(const Tensor &indices, Dims dims);

  /// Adds the next coordinate of the vectors, which ranges from 0 to `last`.
  void addCoordinate(int64_t stride, int64_t last);
  /// Adds a coordinate that isn't stored: the vector's position in dimension `dim` of the indices.
  void addPosition(int64_t dim, int64_t stride);

  /// The number of vectors.
  int64_t count() const { return numVectors; }
  /// Sets offsets[i] to the offset of vector `first + i`, for i in [0, count).
  void compute(int64_t first, int64_t count, int64_t *offsets) const;

private:
  struct Coordinate {
    int64_t stride, last;
  };
  /// The coordinate of vector v: v / `repeats` % `size`.
  struct Position {
    int64_t size, repeats, stride;
  };

  template <typename Index>
  void addCoordinates(int64_t first, int64_t count, int64_t *offsets) const;

  const Tensor indices;
  const int64_t vectorDim;
  const Bounds bounds;
  int64_t numVectors, vectorSize, inner; // `inner`: indices between the elements of a vector
  std::vector<Coordinate> coordinates;
  std::vector<Position> positions;
};

/// Returns row `row` of a tensor of coordinates.
DimVector coordinatesAt(const Tensor &indices, int64_t row);

/// The number of offsets that gathers and scatters compute at a time.
inline constexpr int64_t offsetsPerBlock = 512;

/// Calls `body(first, count)` for the blocks of [begin, end).
template <typename Body> void forEachOffsetBlock(int64_t begin, int64_t end, Body &&body) {
  for (int64_t first = begin; first < end; first += offsetsPerBlock)
    body(first, std::min(offsetsPerBlock, end - first));
}

/// A block of elements, all of which one index vector moves: rows that are contiguous on both
/// sides, `dims` of them, `from` and `to` elements apart.
struct IndexedWindow {
  DimVector dims, from, to;
  int64_t width = 1;

  /// Merges trailing dimensions into the width as far as they are contiguous. An empty window is a
  /// row of width 0.
  IndexedWindow(Dims dims, Dims from, Dims to);
  /// Calls `body(fromOffset, toOffset)` for each row.
  template <typename Body> void forEachRow(Body &&body) const {
    DimVector at(dims.size());
    int64_t source = 0, target = 0;
    for (size_t d;;) {
      body(source, target);
      for (d = dims.size(); d > 0; --d) {
        source += from[d - 1];
        target += to[d - 1];
        if (++at[d - 1] < dims[d - 1])
          break;
        source -= from[d - 1] * dims[d - 1];
        target -= to[d - 1] * dims[d - 1];
        at[d - 1] = 0;
      }
      if (d == 0)
        return;
    }
  }
};

} // namespace treadle
