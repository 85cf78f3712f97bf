// The gradient of one filter element, for one input channel and all result channels, is a sum over
// positions of the result: the input value under the element, times the result's gradient. So it is
// a matrix product, whose left rows can be read from the image in place if the positions of each
// channel are contiguous. A copy of the image in that layout, with zeros for the padding, serves
// all elements of the window. If windows have strides along columns, the columns that one element
// reads are made contiguous.
#include "treadle/kernels/windows/TiledFilterGradient.h"
#include "treadle/kernels/products/Tile.h"
#include "treadle/kernels/products/TransposeFloats.h"

#include <algorithm>

namespace treadle {
namespace {

/// Number of positions that are summed before the next rows: their panel stays in the L2 cache.
constexpr int64_t maxPositions = 512;
/// Minimum number of rows: with fewer, a tile reads more than it computes.
constexpr int64_t fewestRows = 3;
/// Maximum number of rows that stay in the L2 cache together with the columns of a panel.
constexpr int64_t maxRowsOfUnit = 1024;
constexpr double nsPerElement = 0.5; // of the transposed copy

/// A transposed, padded copy of the images: [channels, batch, planes, lines, steps, columns of a
/// step].
struct TransposedImages {
  TransposedImages(const PlacedConvolution &place) : window(place.window) {
    const Window &w = window;
    for (size_t d = 0; d < 3; ++d) {
      size[d] = (w.out[d] - 1) * w.stride[d] + (w.size[d] - 1) * w.dilation[d] + 1;
      isReadAt[d].resize(static_cast<size_t>(d < 2 ? size[d] : w.stride[d]));
      for (int64_t tap = 0; tap < w.size[d]; ++tap)
        for (int64_t i = 0; i < (d < 2 ? w.out[d] : 1); ++i)
          isReadAt[d][static_cast<size_t>((i * w.stride[d] + tap * w.dilation[d]) %
                                          std::ssize(isReadAt[d]))] = true;
    }
    columns = (size[2] + w.stride[2] - 1) / w.stride[2];
    line = columns * w.stride[2];
    image = size[0] * size[1] * line;
    channel = place.batch * image;
  }

  int64_t at(int64_t plane, int64_t row, int64_t column) const {
    int64_t step = window.stride[2];
    return (plane * size[1] + row) * line + column % step * columns + column / step;
  }

  /// Number of columns of a step that are written at a time.
  static constexpr int64_t maxOfPiece = 256;
  int64_t piecesOfLine() const { return (columns + maxOfPiece - 1) / maxOfPiece; }
  int64_t pieces() const { return channel / line * piecesOfLine(); }

  /// Writes a piece of a line for `channels` channels, from channels-last images.
  void transposePiece(const float *from, int64_t piece, int64_t channels, float *to) const {
    const Window &w = window;
    int64_t firstColumn = piece % piecesOfLine() * maxOfPiece, i = piece / piecesOfLine();
    int64_t lastColumn = std::min(firstColumn + maxOfPiece, columns);
    int64_t row = i % size[1], plane = i / size[1] % size[0], of = i / size[1] / size[0];
    if (!isReadAt[0][static_cast<size_t>(plane)] || !isReadAt[1][static_cast<size_t>(row)])
      return;
    row -= w.padBefore[1];
    plane -= w.padBefore[0];
    bool isInside = row >= 0 && row < w.in[1] && plane >= 0 && plane < w.in[0];
    from += ((of * w.in[0] + plane) * w.in[1] + row) * w.in[2] * channels;
    to += i * line;
    for (int64_t step = 0; step < w.stride[2]; ++step, to += columns) {
      if (!isReadAt[2][static_cast<size_t>(step)])
        continue;
      int64_t begin = firstColumn, end = firstColumn; // of the columns inside the image
      if (isInside) {
        begin = std::clamp(countBelow(w.padBefore[2] - step), firstColumn, lastColumn);
        end = std::clamp(countBelow(w.padBefore[2] + w.in[2] - step), begin, lastColumn);
      }
      if (begin > firstColumn || end < lastColumn)
        for (int64_t c = 0; c < channels; ++c) {
          std::fill(to + c * channel + firstColumn, to + c * channel + begin, 0.0F);
          std::fill(to + c * channel + end, to + c * channel + lastColumn, 0.0F);
        }
      int64_t first = begin * w.stride[2] + step - w.padBefore[2];
      transposeFloats(from + first * channels, w.stride[2] * channels, end - begin, channels,
                      to + begin, [&](int64_t c) { return c * channel; });
    }
  }

  /// Returns the number of multiples of the step in [0, bound).
  int64_t countBelow(int64_t bound) const {
    return bound <= 0 ? 0 : (bound + window.stride[2] - 1) / window.stride[2];
  }

  const Window &window;
  Volume size; // including padding
  int64_t columns, line, image, channel;
  std::array<std::vector<bool>, 3> isReadAt; // planes, lines and steps that windows read
};

class TiledFilterGradient final : public ConvolutionPlan {
public:
  explicit TiledFilterGradient(const ConvolutionForm &form)
      : form(form), images(this->form.place), channels(form.place.outChannels / form.groups),
        depth(form.place.inChannels / form.groups) {
    const Volume &size = form.place.window.size, &dilation = form.place.window.dilation;
    int64_t taps = size[0] * size[1] * size[2];
    for (int64_t c = 0; c < depth; ++c)
      for (int64_t tap = 0; tap < taps; ++tap) {
        int64_t plane = tap / size[2] / size[1], line = tap / size[2] % size[1];
        fromRows.push_back(c * images.channel + images.at(plane * dilation[0], line * dilation[1],
                                                          tap % size[2] * dilation[2]));
      }
    int64_t allVectors = (channels + tileLanes - 1) / tileLanes;
    panels = (allVectors + maxTileVectors - 1) / maxTileVectors;
    vectors = static_cast<int>((allVectors + panels - 1) / panels);
    panels = (allVectors + vectors - 1) / vectors;
    for (int64_t r = 0; r < rows(); ++r)
      toRows.push_back(form.outermostFirst
                           ? r * columns()
                           : (r % taps * depth + r / taps) * form.place.outChannels);
    tiles = (rows() + tileRows(vectors) - 1) / tileRows(vectors);
    constexpr int64_t unitsOfThread = 2;
    int64_t wanted = unitsOfThread * form.parts / (form.groups * panels);
    parts = std::min(std::max({wanted, rows() / maxRowsOfUnit, int64_t{1}}), tiles);
  }

  bool isProfitable() const {
    constexpr int64_t fewestOfGroup = 4;
    constexpr int64_t maxPadding = 16 << 20; // zeros that pad panels
    return (form.groups == 1 || channels >= fewestOfGroup) && rows() >= fewestRows &&
           (panels * columns() - channels) * form.groups * positions() <= maxPadding;
  }

  void runFilterGradient(OpContext &ctx, const float *in, const float *out,
                         float *filter) const override {
    auto turned = ctx.check(Tensor::make(DType::Float32, {form.place.inChannels * images.channel}));
    auto packed =
        ctx.check(Tensor::make(DType::Float32, {form.groups * panels * columns() * positions()}));
    auto sums = ctx.check(Tensor::make(
        DType::Float32, {form.outermostFirst ? form.groups * panels * columns() * rows() : 0}));
    if (!turned || !packed || !sums)
      return;
    auto image = turned->data<float>(), gradient = packed->data<float>();
    int64_t each = form.place.inChannels * images.channel / images.pieces();
    ctx.parallelFor(images.pieces(), nsPerElement * static_cast<double>(each),
                    [&](int64_t begin, int64_t end) {
                      for (int64_t i = begin; i < end; ++i)
                        images.transposePiece(in, i, form.place.inChannels, image);
                    });
    double width = static_cast<double>(form.place.outChannels);
    ctx.parallelFor(positions(), nsPerElement * width, [&](int64_t begin, int64_t end) {
      for (int64_t panel = 0; panel < form.groups * panels; ++panel)
        pack(out, panel, begin, end, gradient);
    });
    int64_t units = form.groups * panels * parts;
    ctx.parallelFor(units, form.cost() / static_cast<double>(units),
                    [&](int64_t begin, int64_t end) {
                      for (int64_t i = begin; i < end; ++i)
                        compute(i, image, gradient, sums->data<float>(), filter);
                    });
  }

private:
  int64_t rows() const { return std::ssize(fromRows); }
  int64_t columns() const { return int64_t{vectors} * tileLanes; }
  const Volume &outSize() const { return form.place.window.out; }
  int64_t lines() const { return form.place.batch * outSize()[0] * outSize()[1]; }
  int64_t positions() const { return lines() * outSize()[2]; }
  /// Returns the first channel of a panel within its group.
  int64_t firstChannel(int64_t panel) const { return panel % panels * columns(); }
  int64_t width(int64_t panel) const { return std::min(columns(), channels - firstChannel(panel)); }

  /// Packs positions [begin, end) of a panel, [positions, columns].
  void pack(const float *out, int64_t panel, int64_t begin, int64_t end, float *to) const {
    const float *from = out + panel / panels * channels + firstChannel(panel);
    to += (panel * positions() + begin) * columns();
    for (int64_t i = begin; i < end; ++i, to += columns()) {
      std::copy_n(from + i * form.place.outChannels, width(panel), to);
      std::fill_n(to + width(panel), columns() - width(panel), 0.0F);
    }
  }

  /// Computes one unit: some rows and some columns of the filter.
  void compute(int64_t unit, const float *image, const float *gradient, float *sums,
               float *filter) const {
    int64_t panel = unit / parts, part = unit % parts, group = panel / panels;
    int64_t begin = rows() * (tiles * part / parts) / tiles;
    int64_t end = rows() * (tiles * (part + 1) / parts) / tiles;
    TileWork work{};
    work.vectors = vectors;
    work.from = image + group * depth * images.channel;
    work.to = filter + group * channels + firstChannel(panel);
    work.width = width(panel);
    if (form.outermostFirst) {
      work.to = sums + panel * rows() * columns();
      work.width = columns();
    }
    gradient += panel * positions() * columns();
    forEachBlock([&](std::span<const TilePart> of, int64_t first, int64_t length) {
      work.parts = of;
      work.depth = length;
      work.panel = gradient + first * columns();
      for (int64_t tile = tiles * part / parts; tile < tiles * (part + 1) / parts; ++tile) {
        int64_t row = rows() * tile / tiles;
        work.rows = static_cast<int>(rows() * (tile + 1) / tiles - row);
        work.fromRows = fromRows.data() + row;
        work.toRows = toRows.data() + row;
        runTile(work);
      }
      work.adds = true;
    });
    if (form.outermostFirst)
      transposeFloats(work.to + begin * columns(), columns(), end - begin, width(panel),
                      filter + (group * channels + firstChannel(panel)) * rows() + begin,
                      [&](int64_t c) { return c * rows(); });
  }

  /// Calls `visit(parts, first, length)` for all positions of the result, at most as many at a time
  /// as a panel may have; each part has `length` positions.
  template <typename Visit> void forEachBlock(const Visit &visit) const {
    const Volume &size = outSize(), &stride = form.place.window.stride;
    std::array<TilePart, maxPositions> parts;
    auto lineAt = [&](int64_t i) {
      int64_t row = i % size[1], plane = i / size[1] % size[0], image = i / size[1] / size[0];
      return image * images.image + images.at(plane * stride[0], row * stride[1], 0);
    };
    int64_t some = std::clamp<int64_t>(maxPositions / size[2], 1, lines());
    for (int64_t line = 0; line < lines(); line += some) {
      int64_t count = std::min(some, lines() - line);
      // A line may have more positions than a panel.
      for (int64_t begin = 0; begin < size[2]; begin += maxPositions) {
        for (int64_t i = 0; i < count; ++i)
          parts[static_cast<size_t>(i)] = {lineAt(line + i) + begin, i};
        visit(std::span(parts).first(static_cast<size_t>(count)), line * size[2] + begin,
              std::min(maxPositions, size[2] - begin));
      }
    }
  }

  const ConvolutionForm form;
  const TransposedImages images;
  const int64_t channels, depth;         // per group: of the result, of the input
  std::vector<int64_t> fromRows, toRows; // by input channel, then window element
  int64_t panels, tiles;                 // per group
  int64_t parts;                         // of the rows
  int vectors;
};

} // namespace

std::shared_ptr<const ConvolutionPlan> makeTiledFilterGradient(const ConvolutionForm &form) {
  // Limits for the copy of the images, and for elements along one dimension.
  constexpr int64_t maxElements = int64_t{1} << 30, maxOfOne = 1 << 22;
  const PlacedConvolution &c = form.place;
  const Window &w = c.window;
  if (form.wanted != ConvolutionOperand::FilterGradient)
    return nullptr;
  int64_t elements = c.batch * c.inChannels;
  for (size_t d = 0; d < 3; ++d) {
    int64_t size = (w.out[d] - 1) * w.stride[d] + (w.size[d] - 1) * w.dilation[d] + w.stride[d];
    if (std::max({w.stride[d], w.size[d], size}) > maxOfOne ||
        __builtin_mul_overflow(elements, size, &elements) || elements > maxElements)
      return nullptr;
  }
  auto plan = std::make_shared<const TiledFilterGradient>(form);
  return plan->isProfitable() ? plan : nullptr;
}

} // namespace treadle
