// DrawBoundingBoxes: the outlines of boxes, drawn on images.
#include "treadle/kernels/images/Image.h"

#include <algorithm>
#include <vector>

namespace treadle {
namespace {

using Colour = std::array<float, 4>;

const Colour defaultColours[] = {
    {1, 1, 0, 1},     {0, 0, 1, 1},   {1, 0, 0, 1},   {0, 1, 0, 1}, {.5f, 0, .5f, 1},
    {.5f, .5f, 0, 1}, {.5f, 0, 0, 1}, {0, 0, .5f, 1}, {0, 1, 1, 1}, {1, 0, 1, 1},
};

std::vector<Colour> coloursFor(int64_t channels) {
  std::vector<Colour> colours(std::begin(defaultColours), std::end(defaultColours));
  for (Colour &colour : colours)
    if (channels == 1) // visible on grayscale images
      colour[0] = 1;
  return colours;
}

/// Returns the colors that the boxes cycle through; nullopt, with ctx failed, if they are invalid.
std::optional<std::vector<Colour>> readColours(OpContext &ctx, int64_t channels) {
  if (ctx.numInputs() < 3)
    return coloursFor(channels);
  const Tensor &given = ctx.input(2);
  if (given.rank() != 2 || given.dim(1) < channels) {
    ctx.fail(invalidArgument("colors must be a matrix of at least ", channels,
                             " columns, but it is ", tensorTypeText(given)));
    return std::nullopt;
  }
  if (!given.count())
    return coloursFor(channels);
  std::vector<Colour> colours(static_cast<size_t>(given.dim(0)));
  for (int64_t i = 0; i < given.dim(0); ++i)
    std::copy_n(given.data<float>() + i * given.dim(1), channels,
                colours[static_cast<size_t>(i)].begin());
  return colours;
}

template <typename T> class DrawBoxes {
public:
  static void run(OpContext &ctx) {
    auto size = TREADLE_OR_RETURN(readImageShape(ctx, 0, "images"));
    const Tensor images = ctx.input(0), boxes = ctx.input(1);
    if (boxes.rank() != 3 || boxes.dim(0) != size.batch || boxes.dim(2) != 4)
      return ctx.fail(invalidArgument("boxes must have shape [", size.batch, ",count,4], but has ",
                                      dimsText(boxes.dims())));
    if (size.channels != 1 && size.channels != 3 && size.channels != 4)
      return ctx.fail(
          invalidArgument("images must have 1, 3 or 4 channels, but have ", size.channels));
    auto colours = readColours(ctx, size.channels);
    Tensor *out =
        TREADLE_OR_RETURN(colours ? ctx.allocateOutput(0, dtypeOf<T>, images.dims()) : nullptr);
    std::copy_n(images.data<T>(), images.count(), out->data<T>());
    DrawBoxes canvas{size, out->data<T>()};
    for (int64_t n = 0; n < size.batch; ++n)
      for (int64_t k = 0; k < boxes.dim(1); ++k)
        canvas.draw(n, boxes.data<float>() + (n * boxes.dim(1) + k) * 4,
                    (*colours)[static_cast<size_t>(k) % colours->size()]);
  }

private:
  DrawBoxes(const ImageShape &size, T *pixels) : size(size), pixels(pixels) {}

  static int64_t pixelAt(float share, int64_t count) {
    float at = share * static_cast<float>(count - 1);
    constexpr float beyondImage = 1e15f; // beyond any image
    return static_cast<int64_t>(std::isnan(at) ? 0 : std::clamp(at, -beyondImage, beyondImage));
  }

  // Draws a box. Inverted boxes and boxes outside the image are skipped, and so are sides outside
  // the image.
  void draw(int64_t n, const float *box, const Colour &colour) {
    int64_t top = pixelAt(box[0], size.height), left = pixelAt(box[1], size.width);
    int64_t bottom = pixelAt(box[2], size.height), right = pixelAt(box[3], size.width);
    if (top > bottom || left > right || top >= size.height || bottom < 0 || left >= size.width ||
        right < 0)
      return;
    int64_t firstRow = std::max<int64_t>(top, 0), lastRow = std::min(bottom, size.height - 1);
    int64_t firstColumn = std::max<int64_t>(left, 0), lastColumn = std::min(right, size.width - 1);
    for (int64_t y : {top, bottom})
      for (int64_t x = firstColumn; x <= lastColumn && y >= 0 && y < size.height; ++x)
        set(n, y, x, colour);
    for (int64_t x : {left, right})
      for (int64_t y = firstRow; y <= lastRow && x >= 0 && x < size.width; ++y)
        set(n, y, x, colour);
  }

  void set(int64_t n, int64_t y, int64_t x, const Colour &colour) {
    for (int64_t c = 0; c < size.channels; ++c)
      pixels[size.at(n, y, x) + c] = static_cast<T>(colour[static_cast<size_t>(c)]);
  }

  ImageShape size;
  T *pixels;
};

using ImageTypes = TypeList<float, Half>;
const KernelEntry drawBoxesTable[] = {
    {"DrawBoundingBoxes", bindByType<DrawBoxes, ImageTypes>},
    {"DrawBoundingBoxesV2", bindByType<DrawBoxes, ImageTypes>},
};

} // namespace

std::span<const KernelEntry> drawBoxesKernels() { return drawBoxesTable; }

} // namespace treadle
