// Crops of images by boxes, resized to a common size, and the gradients with respect to the images
// and the boxes.
#include "treadle/kernels/ElementCopy.h"
#include "treadle/kernels/images/Image.h"

#include <string>

namespace treadle {
namespace {

struct CropState {
  bool isNearest;
  float extrapolation;
  DType outType;
};

// The source of a crop's pixel in a line of the image: between two elements, or outside.
struct PixelSource {
  bool isInside;
  int64_t low, high;
  float lerp; // weight of `high`
};

struct CropLine {
  float begin, end; // of the box, as fractions of the image
  int64_t image, crop;

  float ratio() const {
    return crop > 1 ? static_cast<float>(image - 1) / static_cast<float>(crop - 1) : 0;
  }

  // The comparison treats NaN, in an invalid box, as outside.
  PixelSource at(int64_t i, bool isNearest) const {
    auto last = static_cast<float>(image - 1);
    float in = crop > 1 ? begin * last + static_cast<float>(i) *
                                             ((end - begin) * last / static_cast<float>(crop - 1))
                        : 0.5f * (begin + end) * last;
    if (!(in >= 0 && in <= last))
      return {false, 0, 0, 0};
    float low = isNearest ? std::round(in) : std::floor(in);
    float high = isNearest ? low : std::ceil(in);
    return {true, std::min(static_cast<int64_t>(low), image - 1),
            std::min(static_cast<int64_t>(high), image - 1), isNearest ? 0 : in - low};
  }
};

// The boxes, as rows of y1, x1, y2, x2, and the index of each box's image.
struct Boxes {
  const float *boxes;
  const int32_t *image;
  int64_t count;

  CropLine rows(int64_t b, const ImageShape &in, int64_t crop) const {
    return {boxes[4 * b], boxes[4 * b + 2], in.height, crop};
  }
  CropLine columns(int64_t b, const ImageShape &in, int64_t crop) const {
    return {boxes[4 * b + 1], boxes[4 * b + 3], in.width, crop};
  }
};

// Reads the boxes from inputs `i` and `i + 1`.
std::optional<Boxes> readBoxes(OpContext &ctx, int i) {
  const Tensor &boxes = ctx.input(i), &image = ctx.input(i + 1);
  bool isEmpty = boxes.count() == 0 && image.count() == 0;
  if (!isEmpty && (boxes.rank() != 2 || boxes.dim(1) != 4 || image.rank() != 1 ||
                   image.dim(0) != boxes.dim(0))) {
    ctx.fail(invalidArgument("boxes must have shape [boxes, 4] and box_ind [boxes], but they have ",
                             dimsText(boxes.dims()), " and ", dimsText(image.dims())));
    return std::nullopt;
  }
  return Boxes{boxes.data<float>(), image.data<int32_t>(), isEmpty ? 0 : boxes.dim(0)};
}

bool checkImages(OpContext &ctx, const Boxes &boxes, int64_t batch) {
  for (int64_t b = 0; b < boxes.count; ++b)
    if (boxes.image[b] < 0 || boxes.image[b] >= batch) {
      ctx.fail(
          outOfRange("box_ind[", b, "] is ", boxes.image[b], ", but there are ", batch, " images"));
      return false;
    }
  return true;
}

bool checkFinite(OpContext &ctx, const Boxes &boxes) {
  for (int64_t i = 0; i < 4 * boxes.count; ++i)
    if (!std::isfinite(boxes.boxes[i])) {
      ctx.fail(invalidArgument("box ", i / 4, " has the corner ", boxes.boxes[i],
                               "; expected finite numbers"));
      return false;
    }
  return true;
}

bool checkPixels(OpContext &ctx, const ImageShape &image, const char *what) {
  if (image.height > 0 && image.width > 0)
    return true;
  ctx.fail(invalidArgument(what, " must have pixels, but has shape ", dimsText(image.dims())));
  return false;
}

// --- forward -------------------------------------------------------------------------------------

template <typename T> struct CropRow {
  const T *image;
  ImageShape in;
  PixelSource row;

  float at(const PixelSource &column, int64_t c) const {
    auto value = [&](int64_t y, int64_t x) {
      return static_cast<float>(image[in.at(0, y, x) + c]);
    };
    float top = value(row.low, column.low), bottom = value(row.high, column.low);
    top += (value(row.low, column.high) - top) * column.lerp;
    bottom += (value(row.high, column.high) - bottom) * column.lerp;
    return top + (bottom - top) * row.lerp;
  }
};

// Inputs: the images, the boxes, the image index of each box, the size of a crop.
template <typename T> struct Crop {
  static void crop(const CropState &s, const Boxes &boxes, int64_t b, const T *images,
                   const ImageShape &in, const ImageShape &out, float *to) {
    CropLine rows = boxes.rows(b, in, out.height), columns = boxes.columns(b, in, out.width);
    for (int64_t y = 0; y < out.height; ++y) {
      CropRow<T> row{images + boxes.image[b] * in.imageSize(), in, rows.at(y, s.isNearest)};
      for (int64_t x = 0; x < out.width; ++x) {
        PixelSource column = columns.at(x, s.isNearest);
        for (int64_t c = 0; c < out.channels; ++c)
          *to++ = row.row.isInside && column.isInside ? row.at(column, c) : s.extrapolation;
      }
    }
  }

  static void run(OpContext &ctx) {
    const Tensor images = ctx.input(0), boxTensor = ctx.input(1), imageOf = ctx.input(2);
    auto in = readImageShape(ctx, 0, "image");
    if (!in || !checkPixels(ctx, *in, "image"))
      return;
    auto boxes = readBoxes(ctx, 1);
    auto size = boxes ? readImageSize(ctx, 3, "crop_size") : std::nullopt;
    if (!size || !checkFinite(ctx, *boxes) || !checkImages(ctx, *boxes, in->batch))
      return;
    ImageShape out{boxes->count, (*size)[0], (*size)[1], in->channels};
    Tensor *result = ctx.allocateOutput(0, DType::Float32, out.dims());
    if (!result || !result->count())
      return;
    ctx.parallelFor(out.batch, 4 * static_cast<double>(out.imageSize()),
                    [&](int64_t begin, int64_t end) {
                      for (int64_t b = begin; b < end; ++b)
                        crop(ctx.state<CropState>(), *boxes, b, images.data<T>(), *in, out,
                             result->data<float>() + b * out.imageSize());
                    });
  }
};

// --- gradients -----------------------------------------------------------------------------------

// Calls `visit(box, row, column, y, x)` for each pixel of the crops that is inside its image.
template <typename Visit>
void forEachPixel(const Boxes &boxes, const ImageShape &in, const ImageShape &crops, bool isNearest,
                  Visit &&visit) {
  for (int64_t b = 0; b < crops.batch; ++b) {
    CropLine rows = boxes.rows(b, in, crops.height), columns = boxes.columns(b, in, crops.width);
    for (int64_t y = 0; y < crops.height; ++y)
      for (int64_t x = 0; x < crops.width; ++x) {
        PixelSource row = rows.at(y, isNearest), column = columns.at(x, isNearest);
        if (row.isInside && column.isInside)
          visit(b, row, column, y, x);
      }
  }
}

bool checkCrops(OpContext &ctx, const ImageShape &crops, const Boxes &boxes, int64_t channels) {
  if (crops.batch == boxes.count && crops.channels == channels)
    return true;
  ctx.fail(invalidArgument("the gradient of ", boxes.count, " crops with ", channels,
                           " channels has shape ", dimsText(crops.dims())));
  return false;
}

// Reads input 3 of the gradient for images: their shape.
std::optional<ImageShape> readShapeInput(OpContext &ctx) {
  const Tensor &t = ctx.input(3);
  if (t.rank() == 1 && t.count() == 4)
    return ImageShape{indexAt(t, 0), indexAt(t, 1), indexAt(t, 2), indexAt(t, 3)};
  ctx.fail(invalidArgument("image_size must be a vector of 4 dimensions, but has shape ",
                           dimsText(t.dims())));
  return std::nullopt;
}

// Inputs: the gradient, the boxes, the image index of each box, the shape of the images.
template <typename T> struct ImageGrad {
  static void run(OpContext &ctx) {
    const Tensor gradient = ctx.input(0), boxTensor = ctx.input(1), imageOf = ctx.input(2);
    const auto &s = ctx.state<CropState>();
    auto crops = readImageShape(ctx, 0, "grads");
    if (!crops || !checkPixels(ctx, *crops, "grads"))
      return;
    auto boxes = readBoxes(ctx, 1);
    auto in = boxes ? readShapeInput(ctx) : std::nullopt;
    if (!in || !checkPixels(ctx, *in, "image_size") ||
        !checkCrops(ctx, *crops, *boxes, in->channels) || !checkImages(ctx, *boxes, in->batch))
      return;
    Tensor *sums = TREADLE_OR_RETURN(ctx.allocateOutput(0, s.outType, in->dims()));
    T *sum = sums->data<T>();
    std::fill_n(sum, sums->count(), T(0));
    const auto *g = gradient.data<float>();
    forEachPixel(
        *boxes, *in, *crops, s.isNearest,
        [&](int64_t b, const PixelSource &row, const PixelSource &column, int64_t y, int64_t x) {
          spread(*in, boxes->image[b], row, column, g + crops->at(b, y, x), sum);
        });
  }

  static void spread(const ImageShape &in, int64_t n, const PixelSource &row,
                     const PixelSource &column, const float *g, T *sum) {
    auto add = [&](int64_t y, int64_t x, float weight) {
      T *to = sum + in.at(n, y, x);
      for (int64_t c = 0; c < in.channels; ++c)
        to[c] = static_cast<T>(to[c] + static_cast<T>(weight * g[c]));
    };
    add(row.low, column.low, (1 - row.lerp) * (1 - column.lerp));
    add(row.low, column.high, (1 - row.lerp) * column.lerp);
    add(row.high, column.low, row.lerp * (1 - column.lerp));
    add(row.high, column.high, row.lerp * column.lerp);
  }
};

// Adds a pixel's contribution to the gradients of the ends of a box.
void addEndGradients(const CropLine &line, int64_t i, float slope, float &begin, float &end) {
  auto last = static_cast<float>(line.image - 1);
  float share = line.crop > 1 ? static_cast<float>(i) * line.ratio() : 0.5f * last;
  begin += slope * (last - share);
  end += slope * share;
}

// Inputs: the gradient, the images, the boxes, the image index of each box.
template <typename T> struct BoxGrad {
  static void run(OpContext &ctx) {
    const Tensor gradient = ctx.input(0), images = ctx.input(1), boxTensor = ctx.input(2),
                 imageOf = ctx.input(3);
    auto crops = readImageShape(ctx, 0, "grads"), in = readImageShape(ctx, 1, "image");
    if (!crops || !in || !checkPixels(ctx, *crops, "grads") || !checkPixels(ctx, *in, "image"))
      return;
    auto boxes = readBoxes(ctx, 2);
    if (!boxes || !checkCrops(ctx, *crops, *boxes, in->channels) ||
        !checkImages(ctx, *boxes, in->batch))
      return;
    Tensor *out = TREADLE_OR_RETURN(ctx.allocateOutput(0, DType::Float32, {boxes->count, 4}));
    auto *sums = out->data<float>();
    std::fill_n(sums, out->count(), 0.0f);
    forEachPixel(
        *boxes, *in, *crops, false,
        [&](int64_t b, const PixelSource &row, const PixelSource &column, int64_t y, int64_t x) {
          auto [down, right] = slopes(images.data<T>() + boxes->image[b] * in->imageSize(), *in,
                                      row, column, gradient.data<float>() + crops->at(b, y, x));
          float *box = sums + 4 * b;
          addEndGradients(boxes->rows(b, *in, crops->height), y, down, box[0], box[2]);
          addEndGradients(boxes->columns(b, *in, crops->width), x, right, box[1], box[3]);
        });
  }

  static std::pair<float, float> slopes(const T *image, const ImageShape &in,
                                        const PixelSource &row, const PixelSource &column,
                                        const float *g) {
    float down = 0, right = 0;
    for (int64_t c = 0; c < in.channels; ++c) {
      auto value = [&](int64_t y, int64_t x) {
        return static_cast<float>(image[in.at(0, y, x) + c]);
      };
      float topLeft = value(row.low, column.low), topRight = value(row.low, column.high);
      float bottomLeft = value(row.high, column.low), bottomRight = value(row.high, column.high);
      down += g[c] *
              ((1 - column.lerp) * (bottomLeft - topLeft) + column.lerp * (bottomRight - topRight));
      right +=
          g[c] * ((1 - row.lerp) * (topRight - topLeft) + row.lerp * (bottomRight - bottomLeft));
    }
    return {down, right};
  }
};

// --- table ---------------------------------------------------------------------------------------

enum class TypeOf { Input0, Input1, Output0 };

template <template <typename> class Kernel, typename Types, TypeOf by, bool hasNearest>
Expected<BoundKernel> bindCrop(const BindContext &node) {
  std::string method = node.attrs.getOr("method", std::string("bilinear"));
  if (method != "bilinear" && !(hasNearest && method == "nearest"))
    return Unexpected(invalidArgument("method '", method, "' is unknown; expected bilinear",
                                      hasNearest ? " or nearest" : ""));
  DType dtype = by == TypeOf::Output0  ? node.outputTypes[0]
                : by == TypeOf::Input1 ? node.inputTypes[1]
                                       : node.inputTypes[0];
  return withState(
      bindForType<Kernel, Types>(node, dtype),
      CropState{method == "nearest", node.attrs.getOr("extrapolation_value", 0.0f), dtype});
}

using GradTypes = TypeList<float, double, Half>;
const KernelEntry cropAndResizeTable[] = {
    {"CropAndResize", bindCrop<Crop, RealTypes, TypeOf::Input0, true>},
    {"CropAndResizeGradImage", bindCrop<ImageGrad, GradTypes, TypeOf::Output0, true>},
    {"CropAndResizeGradBoxes", bindCrop<BoxGrad, RealTypes, TypeOf::Input1, false>},
};

} // namespace

std::span<const KernelEntry> cropAndResizeKernels() { return cropAndResizeTable; }

} // namespace treadle
