// Positions of the result are divided into classes: the windows of all positions of a class have
// the same elements inside the image. A tile has positions of one class, so it skips the padding,
// and the offset from the beginning of a row to each of its parts is the same for all rows.
// Gradients of inputs with strides need no special case: there, a class has every n-th position.
//
// The weights of a network are rarely in the cache when they are needed, so the next panel is
// prefetched while one is multiplied.
#include "treadle/kernels/windows/TiledConvolution.h"
#include "treadle/kernels/products/Tile.h"
#include "treadle/kernels/products/TransposeFloats.h"
#include "treadle/kernels/windows/OrderedFilter.h"

#include <algorithm>

namespace treadle {
namespace {

/// Bytes of a panel that are read before the next positions: they stay in the L2 cache, together
/// with the prefetched data.
constexpr int64_t panelBytes = 400 << 10;
/// Bytes of an image that are read before the next positions, and bounds on the number of
/// positions.
constexpr int64_t imageBytes = 192 << 10, fewestPositions = 96, maxPositions = 1024;
constexpr size_t maxClasses = 64;

int64_t positionsOf(const Volume &v) { return v[0] * v[1] * v[2]; }

/// The positions of a result along one dimension whose windows have the same elements inside.
struct AxisClass {
  std::vector<int64_t> taps;  // window elements
  std::vector<int64_t> steps; // offset of each element's source from that of the first
  struct AxisPosition {
    int64_t to, from; // position in the result; source of the first element
  };
  std::vector<AxisPosition> places;
};

/// Returns the source of element `tap` of the window of a position along dimension `d`, i.e. the
/// position that it is multiplied by; negative if there is none.
int64_t sourceOf(const ConvolutionForm &form, size_t d, int64_t position, int64_t tap) {
  const Window &w = form.place.window;
  if (form.wanted == ConvolutionOperand::Result) {
    int64_t at = position * w.stride[d] - w.padBefore[d] + tap * w.dilation[d];
    return at < w.in[d] ? at : -1;
  }
  int64_t at = position + w.padBefore[d] - tap * w.dilation[d];
  return at % w.stride[d] == 0 && at / w.stride[d] < w.out[d] ? at / w.stride[d] : -1;
}

/// Returns an empty list if there would be too many classes.
std::vector<AxisClass> classesOf(const ConvolutionForm &form, size_t d) {
  const Window &w = form.place.window;
  std::vector<AxisClass> classes;
  int64_t size = form.wanted == ConvolutionOperand::Result ? w.out[d] : w.in[d];
  for (int64_t position = 0; position < size; ++position) {
    AxisClass own;
    int64_t first = 0;
    for (int64_t tap = 0; tap < w.size[d]; ++tap)
      if (int64_t at = sourceOf(form, d, position, tap); at >= 0) {
        if (own.taps.empty())
          first = at;
        own.taps.push_back(tap);
        own.steps.push_back(at - first);
      }
    auto known = std::ranges::find(classes, own.taps, &AxisClass::taps);
    if (known == classes.end()) {
      if (classes.size() == maxClasses)
        return {};
      known = classes.insert(known, std::move(own));
    }
    known->places.push_back({position, first});
  }
  return classes;
}

/// A class of positions in all images of the batch.
struct PositionClass {
  std::array<const AxisClass *, 3> axes;
  std::vector<TilePart> parts; // one per window element
  int64_t count, firstTile, tiles;

  int64_t begin(int64_t tile) const { return count * (tile - firstTile) / tiles; }
};

/// The layout and sizes of a filter. Groups with few channels are merged into one group, padded
/// with zeros outside their own channels, up to as many channels as a register holds.
struct FilterShape {
  explicit FilterShape(const ConvolutionForm &form)
      : groups(form.groups), taps(positionsOf(form.place.window.size)) {
    int64_t in = form.place.inChannels / groups, out = form.place.outChannels / groups;
    bool isResult = form.wanted == ConvolutionOperand::Result;
    depth = isResult ? in : out;
    channels = isResult ? out : in;
    tapStride = form.outermostFirst ? 1 : in * form.place.outChannels;
    int64_t inStride = form.outermostFirst ? taps : form.place.outChannels;
    int64_t outStride = form.outermostFirst ? in * taps : 1;
    depthStride = isResult ? inStride : outStride;
    channelStride = isResult ? outStride : inStride;
    groupStride = out * outStride;
    for (int64_t next = 1; channels * next <= tileLanes && groups > 1; ++next)
      merged = groups % next == 0 ? next : merged;
    groups /= merged;
    depth *= merged;
    channels *= merged;
    groupStride *= merged;
  }

  int64_t groups, taps, merged = 1;
  int64_t depth, channels; // of a group: summed over, and not summed over
  int64_t tapStride, depthStride, channelStride, groupStride;
};

/// The division of a group's channels into panels, as evenly as possible.
struct Panels {
  Panels(const FilterShape &filter, int64_t multiple) : filter(filter) {
    allVectors = (filter.channels + tileLanes - 1) / tileLanes;
    count = (allVectors + maxTileVectors - 1) / maxTileVectors;
    widest = (allVectors + count - 1) / count;
    count = std::min((count + multiple - 1) / multiple * multiple, allVectors);
  }

  int64_t firstVector(int64_t panel) const {
    return panel * (allVectors / count) + std::min(panel, allVectors % count);
  }
  int vectors(int64_t panel) const {
    return static_cast<int>(firstVector(panel + 1) - firstVector(panel));
  }
  int64_t firstChannel(int64_t panel) const { return firstVector(panel) * tileLanes; }
  int64_t width(int64_t panel) const {
    return std::min(firstChannel(panel + 1), filter.channels) - firstChannel(panel);
  }
  int64_t depth() const { return filter.taps * filter.depth; }
  /// Returns the offset of a panel of a group, in elements.
  int64_t at(int64_t group, int64_t panel) const {
    return (group * allVectors + firstVector(panel)) * tileLanes * depth();
  }
  int64_t elements() const { return at(filter.groups, 0); }
  int64_t all() const { return filter.groups * count; }

  const FilterShape &filter;
  int64_t allVectors, count; // per group
  int64_t widest;            // vectors per panel, without rounding to the multiple
};

class TiledConvolution final : public ConvolutionPlan {
public:
  explicit TiledConvolution(const ConvolutionForm &form)
      : form(form), filter(form), panels(filter, isFilterLarger() ? form.parts : 1),
        rowsPerTile(tileRows(panels.vectors(0))) {
    for (size_t d = 0; d < 3; ++d)
      axes[d] = classesOf(form, d);
    for (const AxisClass &a : axes[0])
      for (const AxisClass &b : axes[1])
        for (const AxisClass &c : axes[2])
          add({&a, &b, &c});
  }

  /// Returns false if windows overlap the padding in so many ways that most classes of positions
  /// would have few members.
  bool isProfitable() const {
    constexpr size_t fewClasses = 25; // as for a window of 5 x 5
    constexpr int64_t rowsOfMany = 3;
    int64_t positions = form.place.batch * positionsOf(resultSize());
    return tiles > 0 && (classes.size() <= fewClasses || tiles * rowsOfMany <= positions);
  }

  bool canReadFilter(const OrderedFilter &ordered) const override {
    return ordered.panelsOfGroup == panels.count;
  }

  bool supportsAllElements() const override { return filter.merged == 1; }
  bool supportsElements(const float *from) const override {
    if (supportsAllElements())
      return true;
    int64_t count = form.place.batch * positionsOf(sourceSize()) * filter.depth * filter.groups;
    float sum = 0;
    for (int64_t i = 0; i < count; ++i)
      sum += from[i] * 0; // NaN if a value isn't finite
    return sum == 0;
  }

  std::shared_ptr<const OrderedFilter> order(OpContext &ctx, const float *elements,
                                             const float *factor) const override {
    auto ordered = std::make_shared<OrderedFilter>();
    auto storage = ctx.check(Tensor::make(DType::Float32, {panels.elements()}));
    if (!storage)
      return nullptr;
    if (factor)
      ordered->factor.assign(factor, factor + form.place.outChannels);
    ordered->panels = std::move(*storage);
    ordered->panelsOfGroup = panels.count;
    auto to = ordered->panels.data<float>();
    constexpr double nsPerElement = 0.5;
    double each =
        nsPerElement * static_cast<double>(panels.elements()) / static_cast<double>(panels.all());
    ctx.parallelFor(panels.all(), each, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        fill(to, elements, factor, i / panels.count, i % panels.count);
    });
    return ordered;
  }

  void run(OpContext &ctx, const float *from, const OrderedFilter &ordered, const float *offset,
           float *to, std::span<const char> next) const override {
    const ConvolutionCall call{from, to, ordered.panels.data<float>(), offset, next};
    // If the filter is larger than the image, each thread gets its own part of the filter.
    bool isByPanels = isFilterLarger() && panels.all() >= form.parts;
    int64_t units = isByPanels ? panels.all() : tiles;
    ctx.parallelFor(units, form.cost() / static_cast<double>(units),
                    [&](int64_t begin, int64_t end) {
                      if (isByPanels)
                        compute(call, 0, tiles, begin, end);
                      else
                        compute(call, begin, end, 0, panels.all());
                    });
  }

private:
  /// The operands and the result of a call.
  struct ConvolutionCall {
    const float *from;
    float *to;
    const float *panels, *offset;
    std::span<const char> next;
  };

  /// Tiles [begin, end): the number of rows of each, and the offsets of these rows.
  struct TileBlock {
    int64_t begin, end;
    std::array<int64_t, maxPositions> from, to;
    std::array<uint8_t, maxPositions> sizes;
    size_t count = 0;

    std::span<const uint8_t> rows() const { return {sizes.data(), count}; }
  };

  /// The part of a panel for window elements [firstTap, endTap), and the memory to prefetch while
  /// tiles are multiplied by it.
  struct PanelPart {
    int64_t group, panel, firstTap, endTap;
    std::span<const char> ahead;
  };

  bool isResult() const { return form.wanted == ConvolutionOperand::Result; }
  const Volume &sourceSize() const {
    return isResult() ? form.place.window.in : form.place.window.out;
  }
  const Volume &resultSize() const {
    return isResult() ? form.place.window.out : form.place.window.in;
  }
  /// Whether the filter has more elements than the image that it is multiplied by.
  bool isFilterLarger() const {
    return filter.taps * filter.channels > form.place.batch * positionsOf(sourceSize());
  }

  void add(const std::array<const AxisClass *, 3> &of) {
    PositionClass own{of, {}, form.place.batch, tiles, 0};
    for (const AxisClass *axis : of)
      own.count *= std::ssize(axis->places);
    own.tiles = (own.count + rowsPerTile - 1) / rowsPerTile;
    tiles += own.tiles;
    const Volume &size = form.place.window.size, &source = sourceSize();
    int64_t channels = filter.depth * filter.groups;
    for (size_t i = 0; i < of[0]->taps.size(); ++i)
      for (size_t j = 0; j < of[1]->taps.size(); ++j)
        for (size_t k = 0; k < of[2]->taps.size(); ++k)
          own.parts.push_back(
              {((of[0]->steps[i] * source[1] + of[1]->steps[j]) * source[2] + of[2]->steps[k]) *
                   channels,
               (of[0]->taps[i] * size[1] + of[1]->taps[j]) * size[2] + of[2]->taps[k]});
    classes.push_back(std::move(own));
  }

  /// Writes a panel of a group, padded with zero columns.
  void fill(float *to, const float *elements, const float *factor, int64_t group,
            int64_t panel) const {
    int64_t columns = int64_t{panels.vectors(panel)} * tileLanes, width = panels.width(panel);
    int64_t channel = panels.firstChannel(panel);
    float *at = to + panels.at(group, panel);
    const float *first = elements + group * filter.groupStride + channel * filter.channelStride;
    if (width < columns || filter.merged > 1)
      std::fill_n(at, columns * panels.depth(), 0.0F);
    if (filter.merged > 1)
      fillMerged(at, first, columns);
    else if (filter.channelStride == 1)
      fillRows(at, first, columns, width);
    else if (filter.channelStride < filter.depthStride)
      fillFromPieces(at, first, columns, width);
    else if (filter.tapStride == 1)
      transposeFloats(first, filter.channelStride, width, panels.depth(), at, [&](int64_t i) {
        return (i % filter.taps * filter.depth + i / filter.taps) * columns;
      });
    else
      for (int64_t tap = 0; tap < filter.taps; ++tap)
        transposeFloats(first + tap * filter.tapStride, filter.channelStride, width, filter.depth,
                        at + tap * filter.depth * columns, [&](int64_t i) { return i * columns; });
    if (!factor)
      return;
    const float *by = factor + group * filter.channels + channel;
    for (int64_t row = 0; row < panels.depth(); ++row)
      for (int64_t c = 0; c < width; ++c)
        at[row * columns + c] *= by[c];
  }

  /// Writes merged groups, each in its own rows and columns.
  void fillMerged(float *at, const float *first, int64_t columns) const {
    int64_t depth = filter.depth / filter.merged, channels = filter.channels / filter.merged;
    for (int64_t row = 0; row < panels.depth(); ++row, at += columns) {
      int64_t tap = row / filter.depth, group = row % filter.depth / depth, i = row % depth;
      const float *from = first + group * (filter.groupStride / filter.merged) +
                          tap * filter.tapStride + i * filter.depthStride;
      for (int64_t c = 0; c < channels; ++c)
        at[group * channels + c] = from[c * filter.channelStride];
    }
  }

  /// Writes rows from a filter with contiguous channels.
  void fillRows(float *at, const float *first, int64_t columns, int64_t width) const {
    for (int64_t tap = 0; tap < filter.taps; ++tap)
      for (int64_t i = 0; i < filter.depth; ++i, at += columns)
        std::copy_n(first + tap * filter.tapStride + i * filter.depthStride, width, at);
  }

  /// Writes rows from a filter with contiguous windows for each channel.
  void fillFromPieces(float *at, const float *first, int64_t columns, int64_t width) const {
    for (int64_t i = 0; i < filter.depth; ++i)
      transposeFloats(first + i * filter.depthStride, filter.channelStride, width, filter.taps, at,
                      [&](int64_t tap) { return (tap * filter.depth + i) * columns; });
  }

  /// Multiplies some tiles by some panels, block by block.
  void compute(const ConvolutionCall &call, int64_t tile, int64_t endTile, int64_t panel,
               int64_t endPanel) const {
    int64_t positions = std::clamp(imageBytes / 4 / filter.depth, fewestPositions, maxPositions);
    TileBlock tiles;
    for (int64_t end; tile < endTile; tile = end) {
      end = std::min(tile + positions / rowsPerTile, endTile);
      tiles.begin = tile;
      tiles.end = end;
      placeRows(tiles);
      auto after = end < endTile ? std::span<const char>() : call.next;
      for (int64_t i = panel; i < endPanel; ++i)
        multiply(call, tiles, i / panels.count, i % panels.count, endPanel, after);
    }
  }

  /// Multiplies by all parts of a panel, as many at a time as stay in the cache. Panels up to
  /// `endPanel` follow, and then `after`, which is prefetched last.
  void multiply(const ConvolutionCall &call, const TileBlock &tiles, int64_t group, int64_t panel,
                int64_t endPanel, std::span<const char> after) const {
    auto bytesAt = [&](int64_t i) {
      return reinterpret_cast<const char *>(call.panels +
                                            panels.at(i / panels.count, i % panels.count));
    };
    int64_t tapBytes = filter.depth * panels.vectors(panel) * tileLanes * 4;
    // Sums are rounded at part boundaries, so these must depend only on the filter.
    int64_t taps = std::clamp<int64_t>(panelBytes / (filter.depth * panels.widest * tileLanes * 4),
                                       1, filter.taps);
    PanelPart part{group, panel, 0, 0, {}};
    const char *own = bytesAt(group * panels.count + panel), *last = bytesAt(endPanel);
    for (; part.firstTap < filter.taps; part.firstTap = part.endTap) {
      part.endTap = std::min(part.firstTap + taps, filter.taps);
      const char *ahead = own + part.endTap * tapBytes;
      part.ahead = ahead < last ? std::span(ahead, last) : after;
      part.ahead = part.ahead.first(std::min(part.ahead.size(), static_cast<size_t>(panelBytes)));
      multiply(call, tiles, part);
    }
  }

  void multiply(const ConvolutionCall &call, const TileBlock &tiles, const PanelPart &part) const {
    TileWork work{};
    work.vectors = panels.vectors(part.panel);
    work.width = panels.width(part.panel);
    work.depth = filter.depth;
    work.panel = call.panels + panels.at(part.group, part.panel);
    work.adds = form.adds || part.firstTap > 0;
    work.isLast = part.endTap == filter.taps;
    int64_t channel = part.group * filter.channels + panels.firstChannel(part.panel);
    work.offset = call.offset ? call.offset + channel : nullptr;
    work.activation = form.activation;
    work.alpha = form.alpha;
    work.from = call.from + part.group * filter.depth;
    work.to = call.to + channel;
    PrefetchPlan ahead(part.ahead, std::ssize(tiles.rows()),
                       (part.endTap - part.firstTap) * filter.depth);
    auto c = classOf(tiles.begin);
    work.parts = partsOf(*c, part);
    int64_t row = 0, tile = tiles.begin;
    for (int rows : tiles.rows()) {
      if (tile++ == c->firstTile + c->tiles)
        work.parts = partsOf(*++c, part);
      work.rows = rows;
      work.fromRows = tiles.from.data() + row;
      work.toRows = tiles.to.data() + row;
      row += rows;
      ahead.assignTo(work);
      runTile(work);
    }
  }

  std::vector<PositionClass>::const_iterator classOf(int64_t tile) const {
    return std::ranges::upper_bound(classes, tile, {}, &PositionClass::firstTile) - 1;
  }

  static std::span<const TilePart> partsOf(const PositionClass &c, const PanelPart &part) {
    auto first = std::ranges::lower_bound(c.parts, part.firstTap, {}, &TilePart::panel);
    return {first, std::ranges::lower_bound(c.parts, part.endTap, {}, &TilePart::panel)};
  }

  /// Computes the offsets of the tiles' rows in the source and in the result.
  void placeRows(TileBlock &tiles) const {
    size_t row = 0;
    tiles.count = 0;
    for (auto c = classOf(tiles.begin); c != classes.end() && c->firstTile < tiles.end; ++c) {
      int64_t tile = std::max(tiles.begin, c->firstTile);
      int64_t begin = c->begin(tile), first = begin;
      for (int64_t last = std::min(tiles.end, c->firstTile + c->tiles); tile < last; ++tile) {
        int64_t end = c->begin(tile + 1);
        tiles.sizes[tiles.count++] = static_cast<uint8_t>(end - begin);
        begin = end;
      }
      placeRows(*c, first, begin, tiles, row);
    }
  }

  void placeRows(const PositionClass &c, int64_t position, int64_t end, TileBlock &tiles,
                 size_t &row) const {
    const auto &[planes, lines, columns] = c.axes;
    const Volume &in = sourceSize(), &out = resultSize();
    int64_t inChannels = filter.depth * filter.groups;
    int64_t outChannels = filter.channels * filter.groups;
    while (position < end) {
      int64_t column = position % std::ssize(columns->places);
      int64_t rest = position / std::ssize(columns->places);
      auto line = lines->places[static_cast<size_t>(rest % std::ssize(lines->places))];
      rest /= std::ssize(lines->places);
      auto plane = planes->places[static_cast<size_t>(rest % std::ssize(planes->places))];
      int64_t image = rest / std::ssize(planes->places);
      int64_t inLine = ((image * in[0] + plane.from) * in[1] + line.from) * in[2];
      int64_t outLine = ((image * out[0] + plane.to) * out[1] + line.to) * out[2];
      for (; column < std::ssize(columns->places) && position < end; ++column, ++position, ++row) {
        auto place = columns->places[static_cast<size_t>(column)];
        tiles.from[row] = (inLine + place.from) * inChannels;
        tiles.to[row] = (outLine + place.to) * outChannels;
      }
    }
  }

  const ConvolutionForm form;
  const FilterShape filter;
  const Panels panels;
  const int rowsPerTile;
  std::array<std::vector<AxisClass>, 3> axes;
  std::vector<PositionClass> classes; // ordered by their first tiles
  int64_t tiles = 0;
};

} // namespace

std::shared_ptr<const ConvolutionPlan> makeTiledConvolution(const ConvolutionForm &form) {
  constexpr int64_t maxElements = 1 << 22; // of windows along one dimension
  const Window &w = form.place.window;
  if (form.groups > 1 && form.groups == form.place.inChannels &&
      form.groups == form.place.outChannels)
    return nullptr; // depthwise
  for (size_t d = 0; d < 3; ++d)
    if (std::max(w.in[d], w.out[d]) > maxElements / w.size[d])
      return nullptr;
  auto plan = std::make_shared<const TiledConvolution>(form);
  return plan->isProfitable() ? plan : nullptr;
}

} // namespace treadle
