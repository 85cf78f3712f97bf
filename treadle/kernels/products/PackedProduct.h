// Products of float matrices whose right operand is packed: laid out anew in the order in which the
// multiplication reads it. Weights are packed once and kept from call to call.
#pragma once

#include "treadle/kernels/products/Epilogue.h"
#include "treadle/kernels/products/KeptForm.h"
#include "treadle/kernels/products/Tile.h"

#include <algorithm>
#include <memory>
#include <span>
#include <vector>

namespace treadle {

/// A right operand as it lies: element (i, j) is data[rows[i] + columns[j]].
struct PackedSource {
  const float *data;
  std::span<const int64_t> rows, columns;
};

/// A matrix whose rows are `stride` elements apart, or whose columns are, if it lies transposed.
struct FloatMatrix {
  const float *data;
  int64_t stride;
  bool isTransposed = false;
};

/// A matrix in panels of as many columns as registers hold, these row by row. The last panel has as
/// many registers as it needs; what these have more is zeros.
class PackedMatrix {
public:
  /// Null where there is no memory.
  static std::shared_ptr<const PackedMatrix> make(OpContext &ctx, const PackedSource &source);
  static std::shared_ptr<const PackedMatrix> make(OpContext &ctx, int64_t rows, int64_t columns,
                                                  const FloatMatrix &source);

  static const int64_t panelColumns;

  int64_t depth() const { return rows; }
  int64_t columns() const { return width; }
  int64_t panels() const { return (width + panelColumns - 1) / panelColumns; }
  const float *panel(int64_t i) const { return elements.data<float>() + panelColumns * rows * i; }
  /// How wide a panel is, with its zeros.
  int64_t panelWidth(int64_t i) const;
  /// Some rows of a panel.
  std::span<const char> bytes(int64_t i, int64_t row, int64_t count) const {
    return {reinterpret_cast<const char *>(panel(i) + row * panelWidth(i)),
            static_cast<size_t>(count * panelWidth(i)) * sizeof(float)};
  }

private:
  PackedMatrix(int64_t rows, int64_t width) : rows(rows), width(width) {}
  /// Calls fill(row, rows, column, columns, to, width) for some rows of a panel at a time, which
  /// are `width` elements apart from `to` on.
  template <typename Fill>
  static std::shared_ptr<const PackedMatrix> makeBy(OpContext &ctx, int64_t rows, int64_t columns,
                                                    const Fill &fill);

  int64_t rows, width;
  Tensor elements;
};

/// The left operand: element (r, s * segmentSize + i) is rows[r][segments[s] + i * step]. Of an
/// ordinary matrix there is one segment; of an image's windows, one for each line of the window.
struct PackedLeft {
  std::span<const int64_t> segments;
  int64_t segmentSize, step;
};

/// Where a row of the left operand begins.
using RowAt = std::function<const float *(int64_t)>;

/// Where the result goes: its rows are `stride` elements apart. The epilogue may be null; with one
/// the rows lie side by side.
struct PackedResult {
  float *data;
  int64_t stride;
  const Epilogue *epilogue = nullptr;
  bool adds = false; // to what lies there already
};

/// out[r, c] = sum over the depth of left * right, for `rows` rows, and then the epilogue. Work is
/// split over the run's threads.
void multiplyPacked(OpContext &ctx, int64_t rows, const RowAt &rowAt, const PackedLeft &left,
                    const PackedMatrix &right, const PackedResult &out);
void multiplyPacked(OpContext &ctx, int64_t rows, const FloatMatrix &left,
                    const PackedMatrix &right, const PackedResult &out);

/// The depth of a product in parts of which each is added to the total of those before. A longer
/// one is halved, so that the error of the sum hardly grows.
constexpr int64_t longestDepth = int64_t{32} * elementsOfSum;

/// `multiply(begin, end, out)` gives a part of the depth, of `rows` x `columns` elements.
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

using PackedWeights = KeptForm<PackedMatrix>;

} // namespace treadle
