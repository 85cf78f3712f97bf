// Convolutions of 3x3 windows with 4/9 of the products: Lavin and Gray, "Fast Algorithms for
// Convolutional Neural Networks", 2016, F(2x2, 3x3). A tile of 4x4 points of the image gives 2x2
// points of the result. With d a tile, g the window's filter, m the products point by point:
//
//     result = A' m A,  m = (G g G') * (B' d B)
//
// Summed over the channels the products are 16 matrix products, one for each point of a tile.
#include "treadle/kernels/elementwise/Elementwise.h"
#include "treadle/kernels/products/MatMul.h"
#include "treadle/kernels/windows/ConvolutionByMatrix.h"

#include <atomic>
#include <numeric>

namespace treadle {
namespace {

constexpr int64_t step = 2, side = step + 2, points = side * side;

using Line4 = float[4];

/// B' of four values.
void transformInput(const Line4 &d, Line4 &to) {
  to[0] = d[0] - d[2];
  to[1] = d[1] + d[2];
  to[2] = d[2] - d[1];
  to[3] = d[1] - d[3];
}

/// G of three values.
void transformFilter(const float *g, Line4 &to) {
  to[0] = g[0];
  to[1] = (g[0] + g[1] + g[2]) * 0.5F;
  to[2] = (g[0] - g[1] + g[2]) * 0.5F;
  to[3] = g[2];
}

/// Columns of the products of one point: whole panels.
int64_t columnsOfPoint(int64_t outChannels) {
  int64_t panel = PackedMatrix::panelColumns;
  return (outChannels + panel - 1) / panel * panel;
}

/// Tiles of one image.
struct Tiles {
  explicit Tiles(const Window &w)
      : lines((w.out[1] + step - 1) / step), perLine((w.out[2] + step - 1) / step) {}
  int64_t lines, perLine;
};

/// Some lines of tiles of one image, and some of the output's channels: what one thread does at a
/// time.
class Piece {
public:
  Piece(const PlacedConvolution &c, const PackedMatrix &filter, const float *zeros)
      : c(c), filter(filter), tiles(c.window), zeros(zeros) {}

  int64_t numTiles(int64_t tileLines) const { return tileLines * tiles.perLine; }
  /// Floats of memory that a piece needs.
  int64_t scratchSize(int64_t tileLines, int64_t panels) const {
    return points * numTiles(tileLines) * (c.inChannels + panels * PackedMatrix::panelColumns);
  }

  /// Lines of tiles [line, endLine) of the image at `in`, panels [panel, endPanel) of each point.
  /// False where something isn't finite.
  bool compute(const float *in, float *out, int64_t line, int64_t endLine, int64_t panel,
               int64_t endPanel, float *scratch) const {
    int64_t count = numTiles(endLine - line),
            width = (endPanel - panel) * PackedMatrix::panelColumns;
    float *products = scratch + points * count * c.inChannels;
    float *to = scratch;
    for (int64_t y = line; y < endLine; ++y)
      for (int64_t x = 0; x < tiles.perLine; ++x, to += c.inChannels)
        transformTile(in, y, x, to, count * c.inChannels);
    int64_t panelsOfPoint = filter.panels() / points;
    for (int64_t point = 0; point < points; ++point)
      multiplyPackedRows(scratch + point * count * c.inChannels, count, filter,
                         point * panelsOfPoint + panel, point * panelsOfPoint + endPanel,
                         products + point * count * width);
    int64_t column = panel * PackedMatrix::panelColumns;
    int64_t columns = std::min(c.outChannels - column, width);
    bool isFinite = true;
    const float *from = products;
    for (int64_t y = line; y < endLine; ++y)
      for (int64_t x = 0; x < tiles.perLine; ++x, from += width)
        isFinite &= writeTile(from, count * width, out + column, y, x, columns);
    return isFinite;
  }

private:
  /// B' d B of the tile's channels; its points are `apart` floats apart at `to`.
  void transformTile(const float *in, int64_t tileY, int64_t tileX, float *to,
                     int64_t apart) const {
    const Window &w = c.window;
    const float *from[points];
    for (int64_t i = 0; i < points; ++i) {
      int64_t y = tileY * step + i / side - w.padBefore[1],
              x = tileX * step + i % side - w.padBefore[2];
      bool isInside = y >= 0 && y < w.in[1] && x >= 0 && x < w.in[2];
      from[i] = isInside ? in + (y * w.in[2] + x) * c.inChannels : zeros;
    }
    TREADLE_VECTORISE
    for (int64_t channel = 0; channel < c.inChannels; ++channel) {
      Line4 rows[side], result;
      for (int64_t x = 0; x < side; ++x) {
        Line4 d;
        for (int64_t y = 0; y < side; ++y)
          d[y] = from[y * side + x][channel];
        transformInput(d, result);
        for (int64_t y = 0; y < side; ++y)
          rows[y][x] = result[y];
      }
      for (int64_t y = 0; y < side; ++y) {
        transformInput(rows[y], result);
        for (int64_t x = 0; x < side; ++x)
          to[(y * side + x) * apart + channel] = result[x];
      }
    }
  }

  /// A' m A of the tile's channels, as far as the tile lies in the image; whether they are finite.
  bool writeTile(const float *from, int64_t apart, float *out, int64_t tileY, int64_t tileX,
                 int64_t columns) const {
    const Window &w = c.window;
    bool isFinite = true;
    int64_t y = tileY * step, x = tileX * step;
    float *to = out + (y * w.out[2] + x) * c.outChannels;
    bool hasRight = x + 1 < w.out[2], hasBelow = y + 1 < w.out[1];
    // What lies outside goes where it is written over at once.
    float *right = hasRight ? to + c.outChannels : to;
    float *below = hasBelow ? to + w.out[2] * c.outChannels : to;
    float *last = hasRight ? below + c.outChannels : below;
    TREADLE_VECTORISE
    for (int64_t column = 0; column < columns; ++column) {
      float sums[2][side];
      for (int64_t i = 0; i < side; ++i) {
        const float *m = from + i * apart + column;
        float a = m[0], b = m[side * apart], d = m[2 * side * apart], e = m[3 * side * apart];
        sums[0][i] = a + b + d;
        sums[1][i] = b - d - e;
      }
      auto first = [&](int64_t i) { return sums[i][0] + sums[i][1] + sums[i][2]; };
      auto second = [&](int64_t i) { return sums[i][1] - sums[i][2] - sums[i][3]; };
      last[column] = second(1);
      below[column] = first(1);
      right[column] = second(0);
      to[column] = first(0);
      isFinite &= (first(0) + second(0) + first(1) + second(1)) * 0.0F == 0.0F;
    }
    return isFinite;
  }

  const PlacedConvolution &c;
  const PackedMatrix &filter;
  const Tiles tiles;
  const float *zeros; // as many as channels
};

/// Tiles and panels are divided among so many pieces, so that threads share them evenly.
constexpr int64_t wantedPieces = 6, wantedTiles = 56, leastPanels = 2;

} // namespace

bool suitsWinograd(const PlacedConvolution &c) {
  const Window &w = c.window;
  constexpr int64_t leastChannels = 32, leastTiles = 36, mostInLine = 128;
  bool isPlain = w.size == Volume{1, 3, 3} && w.stride == Volume{1, 1, 1} && w.dilation[1] == 1 &&
                 w.dilation[2] == 1 && w.in[0] == 1 && w.out[0] == 1;
  Tiles tiles(w);
  int64_t all = tiles.lines * tiles.perLine;
  // Where much of the tiles lies outside, or few of them use a filter, little is gained.
  return isPlain && c.inChannels >= leastChannels && c.outChannels >= leastChannels &&
         all >= leastTiles && tiles.perLine <= mostInLine &&
         all * step * step * 4 <= w.out[1] * w.out[2] * 5;
}

std::shared_ptr<const PackedMatrix> packForWinograd(OpContext &ctx, const float *filter,
                                                    int64_t inChannels, int64_t outChannels) {
  int64_t width = columnsOfPoint(outChannels);
  auto made = Tensor::make(DType::Float32, {inChannels, points * width});
  if (!made)
    return nullptr;
  auto *to = made->data<float>();
  std::fill_n(to, made->count(), 0.0F);
  ctx.parallelFor(inChannels, 10.0 * static_cast<double>(outChannels), [&](int64_t i, int64_t end) {
    for (; i < end; ++i)
      for (int64_t o = 0; o < outChannels; ++o) {
        float rows[side][3];
        Line4 line;
        for (int64_t x = 0; x < 3; ++x) {
          float g[3];
          for (int64_t y = 0; y < 3; ++y)
            g[y] = filter[((y * 3 + x) * inChannels + i) * outChannels + o];
          transformFilter(g, line);
          for (int64_t y = 0; y < side; ++y)
            rows[y][x] = line[y];
        }
        for (int64_t y = 0; y < side; ++y) {
          transformFilter(rows[y], line);
          for (int64_t x = 0; x < side; ++x)
            to[(i * points + y * side + x) * width + o] = line[x];
        }
      }
  });
  return PackedMatrix::make(ctx, MatrixOffsets(inChannels, points * width, false).of(to));
}

bool convolveWinograd(OpContext &ctx, const PlacedConvolution &c, const float *in,
                      const PackedMatrix &filter, float *out, const Epilogue *epilogue) {
  const Window &w = c.window;
  std::vector<float> zeros(static_cast<size_t>(c.inChannels));
  Piece piece(c, filter, zeros.data());
  Tiles tiles(w);
  auto divide = [](int64_t total, int64_t parts) { return (total + parts - 1) / parts; };
  int64_t wanted = std::max<int64_t>(1, wantedTiles / tiles.perLine);
  int64_t perPiece = divide(tiles.lines, divide(tiles.lines, wanted));
  int64_t pieces = divide(tiles.lines, perPiece) * c.batch;
  int64_t panels = filter.panels() / points;
  int64_t parts =
      std::clamp<int64_t>(wantedPieces / pieces, 1, std::max<int64_t>(1, panels / leastPanels));
  int64_t perPart = divide(panels, parts);
  parts = divide(panels, perPart);
  int64_t perImage = pieces / c.batch, inSize = w.in[1] * w.in[2] * c.inChannels,
          outSize = w.out[1] * w.out[2] * c.outChannels;
  std::atomic<bool> isDone = true;
  auto compute = [&](int64_t i) {
    int64_t part = i % parts, image = i / parts / perImage, line = i / parts % perImage * perPiece;
    int64_t endLine = std::min(line + perPiece, tiles.lines), panel = part * perPart,
            endPanel = std::min(panel + perPart, panels);
    auto scratch =
        Tensor::make(DType::Float32, {piece.scratchSize(endLine - line, endPanel - panel)});
    if (!scratch || !piece.compute(in + image * inSize, out + image * outSize, line, endLine, panel,
                                   endPanel, scratch->data<float>())) {
      isDone = false;
      return;
    }
    if (!epilogue)
      return;
    int64_t first = line * step, last = std::min(endLine * step, w.out[1]);
    int64_t column = panel * PackedMatrix::panelColumns;
    epilogue->apply(out, (image * w.out[1] + first) * w.out[2], (last - first) * w.out[2], column,
                    std::min(endPanel * PackedMatrix::panelColumns, c.outChannels) - column);
  };
  double cost = costOfProduct *
                static_cast<double>(points * piece.numTiles(perPiece) * c.inChannels * perPart) *
                static_cast<double>(PackedMatrix::panelColumns);
  ctx.parallelFor(pieces * parts, cost, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end && isDone; ++i)
      compute(i);
  });
  return isDone;
}

} // namespace treadle
