// Products of float matrices whose right operand is packed: copied to the order in which the
// multiplication reads it. Weights are packed once and cached across calls.
#pragma once

#include "treadle/kernels/products/Epilogue.h"
#include "treadle/kernels/products/OperandCache.h"
#include "treadle/kernels/products/Tile.h"

#include <algorithm>
#include <memory>
#include <span>
#include <vector>

namespace treadle {

/// An unpacked right operand: element (i, j) is data[rows[i] + columns[j]].
struct PackedSource {
  const float *data;
  std::span<const int64_t> rows, columns;
};

/// A matrix with a row stride of `stride` elements; with a column stride if it is transposed.
struct FloatMatrix {
  const float *data;
  int64_t stride;
  bool isTransposed = false;
};

/// A matrix stored as panels of as many columns as the registers hold, each panel row-major. The
/// last panel has as many registers as it needs, padded with zeros.
class PackedMatrix {
public:
  /// Returns null if there isn't enough memory.
  static std::shared_ptr<const PackedMatrix> make(OpContext &ctx, const PackedSource &source);
  static std::shared_ptr<const PackedMatrix> make(OpContext &ctx, int64_t rows, int64_t columns,
                                                  const FloatMatrix &source);

  static const int64_t panelColumns;

  int64_t depth() const { return rows; }
  int64_t columns() const { return width; }
  int64_t panels() const { return (width + panelColumns - 1) / panelColumns; }
  const float *panel(int64_t i) const { return elements.data<float>() + panelColumns * rows * i; }
  /// Width of a panel, including padding.
  int64_t panelWidth(int64_t i) const;
  /// Returns rows [row, row + count) of a panel.
  std::span<const char> bytes(int64_t i, int64_t row, int64_t count) const {
    return {reinterpret_cast<const char *>(panel(i) + row * panelWidth(i)),
            static_cast<size_t>(count * panelWidth(i)) * sizeof(float)};
  }

private:
  PackedMatrix(int64_t rows, int64_t width) : rows(rows), width(width) {}
  /// Calls fill(row, rows, column, columns, to, width) for ranges of rows of a panel, which are
  /// written at `to` with a stride of `width` elements.
  template <typename Fill>
  static std::shared_ptr<const PackedMatrix> makeBy(OpContext &ctx, int64_t rows, int64_t columns,
                                                    const Fill &fill);

  int64_t rows, width;
  Tensor elements;
};

/// The left operand: element (r, s * segmentSize + i) is rows[r][segments[s] + i * step]. A plain
/// matrix has one segment; windows of an image have one for each line of the window.
struct PackedLeft {
  std::span<const int64_t> segments;
  int64_t segmentSize, step;
};

/// Returns the address of a row of the left operand.
using RowAt = std::function<const float *(int64_t)>;

/// The destination of the result, with a row stride of `stride` elements. The epilogue may be null;
/// with an epilogue the rows must be contiguous.
struct PackedResult {
  float *data;
  int64_t stride;
  const Epilogue *epilogue = nullptr;
  bool adds = false; // whether to add to the existing values
};

/// Computes out[r, c] = sum over the depth of left * right for `rows` rows, and then applies the
/// epilogue. Divides the work among the run's threads.
void multiplyPacked(OpContext &ctx, int64_t rows, const RowAt &rowAt, const PackedLeft &left,
                    const PackedMatrix &right, const PackedResult &out);
void multiplyPacked(OpContext &ctx, int64_t rows, const FloatMatrix &left,
                    const PackedMatrix &right, const PackedResult &out);

/// Maximum depth that is summed range by range. A longer one is halved recursively, so that the
/// error of the sum hardly grows.
constexpr int64_t longestDepth = int64_t{32} * elementsOfSum;

/// Calls `multiply(begin, end, out)` for ranges of the depth, and adds the results of `rows` x
/// `columns` elements.
template <typename Multiply>
void multiplyByHalves(int64_t begin, int64_t end, int64_t rows, int64_t columns,
                      const PackedResult &out, const Multiply &multiply) {
  if (end - begin <= longestDepth)
    return multiply(begin, end, out);
  int64_t middle = begin + ((end - begin) / 2 + longestDepth - 1) / longestDepth * longestDepth;
  std::vector<float> other(static_cast<size_t>(rows * columns));
  multiplyByHalves(begin, middle, rows, columns, out, multiply);
  multiplyByHalves(middle, end, rows, columns, PackedResult{other.data(), columns}, multiply);
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t c = 0; c < columns; ++c)
      out.data[r * out.stride + c] += other[static_cast<size_t>(r * columns + c)];
}

using PackedWeights = OperandCache<PackedMatrix>;

} // namespace treadle
