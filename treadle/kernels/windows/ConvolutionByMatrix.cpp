#include "treadle/kernels/windows/ConvolutionByMatrix.h"
#include "treadle/kernels/products/MatMul.h"

#include <algorithm>
#include <memory>

namespace treadle {
namespace {

/// A range of columns of a matrix.
template <typename T> using Columns = Eigen::Map<RowMajor<T>, 0, Eigen::OuterStride<>>;
template <typename T> using ConstColumns = Eigen::Map<const RowMajor<T>, 0, Eigen::OuterStride<>>;

// Rows per tile: Eigen packs the filter for each product, which must stay below a twentieth of the
// work, while patches of 4,000 elements still fit a cache of 4 MB.
constexpr int64_t rowsPerTile = 256;
// Columns per thread if there is only one tile.
constexpr int64_t columnsPerPart = 64;

/// The matrix of patches (im2col): one row for each position of the result, with the elements of
/// its window in the input.
template <typename T> class Patches {
public:
  explicit Patches(const PlacedConvolution &c)
      : c(c), perImage(c.window.out[0] * c.window.out[1] * c.window.out[2]),
        inPerImage(c.window.in[0] * c.window.in[1] * c.window.in[2] * c.inChannels),
        depth(c.window.size[0] * c.window.size[1] * c.window.size[2] * c.inChannels) {}

  int64_t rows() const { return c.batch * perImage; }
  int64_t tiles() const { return (rows() + rowsPerTile - 1) / rowsPerTile; }

  /// Whether the input is its own patch matrix.
  bool isInput() const {
    return depth == c.inChannels && c.window.stride == Volume{1, 1, 1} &&
           c.window.in == c.window.out && c.window.padBefore == Volume{0, 0, 0};
  }

  /// Calls `visit(patch, image, count)` for runs of elements that are contiguous both in patch rows
  /// [begin, end) and in the input; `image` is negative for runs of padding.
  template <typename Visit> void forEachRun(int64_t begin, int64_t end, Visit visit) const {
    int64_t at = 0;
    for (int64_t row = begin; row < end; ++row) {
      const Window &w = c.window;
      int64_t position = row % perImage, image = row / perImage * inPerImage;
      Volume first = {position / (w.out[1] * w.out[2]), position / w.out[2] % w.out[1],
                      position % w.out[2]};
      for (int d = 0; d < 3; ++d)
        first[d] = first[d] * w.stride[d] - w.padBefore[d];
      for (int64_t i = 0; i < w.size[0]; ++i)
        for (int64_t j = 0; j < w.size[1]; ++j, at += w.size[2] * c.inChannels)
          visitRow(image, first, i, j, at, visit);
    }
  }

  const PlacedConvolution &c;
  int64_t perImage, inPerImage, depth;

private:
  // Visits one row of the window: its columns are contiguous unless they are dilated.
  template <typename Visit>
  void visitRow(int64_t image, const Volume &first, int64_t i, int64_t j, int64_t at,
                Visit visit) const {
    const Window &w = c.window;
    int64_t plane = first[0] + i * w.dilation[0], row = first[1] + j * w.dilation[1];
    bool isInside = plane >= 0 && plane < w.in[0] && row >= 0 && row < w.in[1];
    if (!isInside)
      return visit(at, int64_t(-1), w.size[2] * c.inChannels);
    int64_t line = image + (plane * w.in[1] + row) * w.in[2] * c.inChannels;
    if (w.dilation[2] != 1) {
      for (int64_t k = 0; k < w.size[2]; ++k) {
        int64_t column = first[2] + k * w.dilation[2];
        bool isThere = column >= 0 && column < w.in[2];
        visit(at + k * c.inChannels, isThere ? line + column * c.inChannels : -1, c.inChannels);
      }
      return;
    }
    int64_t before = std::clamp<int64_t>(-first[2], 0, w.size[2]);
    int64_t after = std::clamp<int64_t>(w.in[2] - first[2], before, w.size[2]);
    if (before > 0)
      visit(at, int64_t(-1), before * c.inChannels);
    if (after > before)
      visit(at + before * c.inChannels, line + (first[2] + before) * c.inChannels,
            (after - before) * c.inChannels);
    if (after < w.size[2])
      visit(at + after * c.inChannels, int64_t(-1), (w.size[2] - after) * c.inChannels);
  }
};

/// The patches of a tile: in place, or gathered.
template <typename T> class Tile {
public:
  explicit Tile(const Patches<T> &patches) : patches(patches) {
    if (!patches.isInput())
      storage = std::make_unique_for_overwrite<T[]>(
          static_cast<size_t>(std::min(rowsPerTile, patches.rows()) * patches.depth));
  }

  const T *gather(const T *in, int64_t begin, int64_t end) {
    if (!storage)
      return in + begin * patches.depth;
    patches.forEachRun(begin, end, [&](int64_t patch, int64_t image, int64_t count) {
      if (image < 0)
        std::fill_n(storage.get() + patch, count, T(0));
      else
        std::copy_n(in + image, count, storage.get() + patch);
    });
    return storage.get();
  }

  T *data() { return storage.get(); }

private:
  const Patches<T> &patches;
  std::unique_ptr<T[]> storage;
};

/// Computes out[first..., columns] = patches * filter, for rows from `first` and columns from
/// `column` on.
template <typename T>
void multiply(const Patches<T> &patches, const T *tile, int64_t first, int64_t rows,
              const T *filter, T *out, int64_t column, int64_t columns, const Epilogue *epilogue) {
  int64_t n = patches.c.outChannels;
  Eigen::Map<const RowMajor<T>> a(tile, rows, patches.depth);
  ConstColumns<T> b(filter + column, patches.depth, columns, Eigen::OuterStride<>(n));
  Columns<T>(out + first * n + column, rows, columns, Eigen::OuterStride<>(n)).noalias() = a * b;
  if (epilogue)
    epilogue->apply(out, first, rows, column, columns);
}

} // namespace

template <typename T>
void convolveByMatrix(OpContext &ctx, const PlacedConvolution &c, const T *in, const T *filter,
                      T *out, const Epilogue *epilogue) {
  Patches<T> patches(c);
  double rowCost = costOfProduct * static_cast<double>(patches.depth * c.outChannels);
  if (patches.tiles() == 1) {
    Tile<T> tile(patches);
    const T *gathered = tile.gather(in, 0, patches.rows());
    int64_t parts = (c.outChannels + columnsPerPart - 1) / columnsPerPart;
    double cost = rowCost * static_cast<double>(patches.rows()) / static_cast<double>(parts);
    ctx.parallelFor(parts, cost, [&](int64_t begin, int64_t end) {
      int64_t first = begin * columnsPerPart;
      multiply(patches, gathered, 0, patches.rows(), filter, out, first,
               std::min(c.outChannels, end * columnsPerPart) - first, epilogue);
    });
    return;
  }
  ctx.parallelFor(patches.tiles(), rowCost * rowsPerTile, [&](int64_t begin, int64_t end) {
    Tile<T> tile(patches);
    for (int64_t t = begin; t < end; ++t) {
      int64_t first = t * rowsPerTile, last = std::min(first + rowsPerTile, patches.rows());
      multiply(patches, tile.gather(in, first, last), first, last - first, filter, out, 0,
               c.outChannels, epilogue);
    }
  });
}

// Patches overlap within an image, so each image is processed by one thread.
template <typename T>
void inputGradientByMatrix(OpContext &ctx, const PlacedConvolution &c, T *in, const T *filter,
                           const T *out) {
  Patches<T> patches(c);
  Eigen::Map<const RowMajor<T>> weights(filter, patches.depth, c.outChannels);
  auto products = static_cast<double>(patches.perImage * patches.depth * c.outChannels);
  ctx.parallelFor(c.batch, costOfProduct * products, [&](int64_t begin, int64_t end) {
    std::fill(in + begin * patches.inPerImage, in + end * patches.inPerImage, T(0));
    RowMajor<T> tile;
    for (int64_t first = begin * patches.perImage, last; first < end * patches.perImage;
         first = last) {
      last = std::min(first + rowsPerTile, end * patches.perImage);
      tile.noalias() =
          Eigen::Map<const RowMajor<T>>(out + first * c.outChannels, last - first, c.outChannels) *
          weights.transpose();
      patches.forEachRun(first, last, [&](int64_t patch, int64_t image, int64_t count) {
        if (image < 0)
          return;
        const T *from = tile.data() + patch;
        T *to = in + image;
        for (int64_t i = 0; i < count; ++i)
          to[i] += from[i];
      });
    }
  });
}

template <typename T>
void filterGradientByMatrix(OpContext &ctx, const PlacedConvolution &c, const T *in, T *filter,
                            const T *out) {
  Patches<T> patches(c);
  std::fill_n(filter, patches.depth * c.outChannels, T(0));
  Tile<T> tile(patches);
  for (int64_t first = 0, last; first < patches.rows(); first = last) {
    last = std::min(first + rowsPerTile, patches.rows());
    Eigen::Map<const RowMajor<T>> a(tile.gather(in, first, last), last - first, patches.depth);
    Eigen::Map<const RowMajor<T>> b(out + first * c.outChannels, last - first, c.outChannels);
    int64_t parts = (patches.depth + columnsPerPart - 1) / columnsPerPart;
    auto products = static_cast<double>((last - first) * columnsPerPart * c.outChannels);
    ctx.parallelFor(parts, costOfProduct * products, [&](int64_t begin, int64_t end) {
      int64_t row = begin * columnsPerPart;
      int64_t rows = std::min(patches.depth, end * columnsPerPart) - row;
      Eigen::Map<RowMajor<T>>(filter + row * c.outChannels, rows, c.outChannels).noalias() +=
          a.middleCols(row, rows).transpose() * b;
    });
  }
}

#define TREADLE_INSTANTIATE(T)                                                                     \
  template void convolveByMatrix<T>(OpContext &, const PlacedConvolution &, const T *, const T *,  \
                                    T *, const Epilogue *);                                        \
  template void inputGradientByMatrix<T>(OpContext &, const PlacedConvolution &, T *, const T *,   \
                                         const T *);                                               \
  template void filterGradientByMatrix<T>(OpContext &, const PlacedConvolution &, const T *, T *,  \
                                          const T *);
TREADLE_INSTANTIATE(float)
TREADLE_INSTANTIATE(double)
#undef TREADLE_INSTANTIATE

} // namespace treadle
