// Random crops: RandomCrop, and SampleDistortedBoundingBox, which finds one that shows enough of an
// object.
#include "treadle/kernels/ElementCopy.h"
#include "treadle/kernels/random/RandomDraws.h"
#include "treadle/kernels/random/RandomStream.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace treadle {
namespace {

// --- RandomCrop ----------------------------------------------------------------------------------

template <typename T> struct RandomCrop {
  static void run(OpContext &ctx) {
    const Tensor image = ctx.input(0), &size = ctx.input(1);
    if (image.rank() != 3 || size.rank() != 1 || size.count() != 2)
      return ctx.fail(invalidArgument("image must have rank 3 and size two elements, but they are ",
                                      tensorTypeText(image), " and ", tensorTypeText(size)));
    int64_t height = indexAt(size, 0), width = indexAt(size, 1), channels = image.dim(2);
    Tensor *out = TREADLE_OR_RETURN(ctx.allocateOutput(0, dtypeOf<T>, {height, width, channels}));
    int64_t freeRows = image.dim(0) - height, freeColumns = image.dim(1) - width;
    if (freeRows < 0 || freeColumns < 0)
      return ctx.fail(failedPrecondition("size is ", height, " by ", width,
                                         ", but the image is only ", image.dim(0), " by ",
                                         image.dim(1)));
    RandomDraws draws(ctx.state<NodeStream>().reserve(ctx, RandomDraws::blocksFor(2)));
    auto draw = [&](int64_t free) {
      return free ? draws.bits() % (static_cast<uint64_t>(free) + 1) : 0;
    };
    int64_t left = draw(freeColumns), top = draw(freeRows);
    for (int64_t y = 0; y < height; ++y)
      std::copy_n(image.data<T>() + ((top + y) * image.dim(1) + left) * channels, width * channels,
                  out->data<T>() + y * width * channels);
  }
};

Expected<BoundKernel> bindRandomCrop(const BindContext &node) {
  return withState(bindByType<RandomCrop, RealTypes>(node), NodeStream::of(node));
}

// --- SampleDistortedBoundingBox ------------------------------------------------------------------

struct Box {
  int64_t left = 0, top = 0, right = 0, bottom = 0;

  float area() const { return static_cast<float>((right - left) * (bottom - top)); }
  Box with(const Box &o) const {
    Box common{std::max(left, o.left), std::max(top, o.top), std::min(right, o.right),
               std::min(bottom, o.bottom)};
    return common.left > common.right || common.top > common.bottom ? Box{} : common;
  }
};

struct Sampling {
  float minCovered; // if it isn't an input
  std::array<float, 2> aspects, areas;
  int64_t attempts;
  bool usesImage;
  std::optional<NodeStream> stream; // none: input 3 is a seed
};

// Clamps to the longest possible side, since attributes can lead to any number.
int64_t sideOf(double x) {
  return static_cast<int64_t>(std::fmin(std::fmax(x, 0), std::numeric_limits<int32_t>::max()));
}
int64_t rounded(float x) { return sideOf(std::rint(x)); }

// Draws a box of the given aspect ratio, whose height is uniform between those of the least and the
// greatest area; nullopt if rounding leaves no box that fits.
std::optional<Box> drawBox(int64_t imageWidth, int64_t imageHeight,
                           const std::array<float, 2> &areas, float aspect, RandomDraws &draws) {
  if (areas[1] <= 0 || aspect <= 0 || imageWidth <= 0 || imageHeight <= 0 || areas[0] > areas[1])
    return std::nullopt;
  auto w = static_cast<float>(imageWidth), h = static_cast<float>(imageHeight);
  float least = areas[0] * w * h, most = areas[1] * w * h;
  auto widthOf = [&](int64_t height) { return rounded(static_cast<float>(height) * aspect); };
  int64_t height = rounded(std::sqrt(least / aspect));
  int64_t maxHeight = rounded(std::sqrt(most / aspect));
  if (widthOf(maxHeight) > imageWidth) {
    constexpr float epsilon = 0.0000001f;
    maxHeight = sideOf((static_cast<double>(imageWidth) + 0.5 - epsilon) / aspect);
    maxHeight -= widthOf(maxHeight) > imageWidth;
  }
  maxHeight = std::min(maxHeight, imageHeight);
  height = std::min(height, maxHeight);
  if (height < maxHeight)
    height += static_cast<int64_t>(draws.below(static_cast<uint32_t>(maxHeight - height + 1)));
  auto areaOf = [&] { return static_cast<float>(widthOf(height) * height); };
  height += areaOf() < least;
  height -= areaOf() > most;
  int64_t width = widthOf(height);
  if (areaOf() < least || areaOf() > most || width > imageWidth || height > imageHeight ||
      width <= 0 || height <= 0)
    return std::nullopt;
  auto place = [&](int64_t size, int64_t whole) {
    return size < whole ? static_cast<int64_t>(draws.below(static_cast<uint32_t>(whole - size)))
                        : 0;
  };
  int64_t top = place(height, imageHeight), left = place(width, imageWidth);
  return Box{left, top, left + width, top + height};
}

bool showsEnough(const Box &crop, float minCovered, const std::vector<Box> &objects) {
  constexpr float onePixel = 1;
  return crop.area() >= onePixel && std::ranges::any_of(objects, [&](const Box &object) {
           return object.area() >= onePixel &&
                  crop.with(object).area() / object.area() >= minCovered;
         });
}

/// The inputs of the op.
struct SamplingInputs {
  int64_t height, width;
  std::vector<Box> objects;
  float minCovered;
};

Expected<SamplingInputs> readScene(OpContext &ctx, const Sampling &how) {
  const Tensor &size = ctx.input(0), &boxes = ctx.input(1);
  if (size.rank() != 1 || size.count() != 3)
    return Unexpected(invalidArgument("image_size must be a vector of height, width and channels, "
                                      "but it is ",
                                      tensorTypeText(size)));
  int64_t height = indexAt(size, 0), width = indexAt(size, 1);
  constexpr int64_t most = std::numeric_limits<int32_t>::max();
  if (height < 0 || width < 0 || height >= most || width >= most)
    return Unexpected(invalidArgument("image_size is ", height, " by ", width));
  if (boxes.rank() != 3 || boxes.dim(2) != 4)
    return Unexpected(invalidArgument("bounding_boxes must have shape [batch,count,4], but has ",
                                      dimsText(boxes.dims())));
  SamplingInputs scene{height, width, {}, how.minCovered};
  if (ctx.numInputs() > 2) {
    if (!ctx.input(2).isScalar())
      return Unexpected(invalidArgument("min_object_covered must be a scalar, but it is ",
                                        tensorTypeText(ctx.input(2))));
    scene.minCovered = ctx.input(2).scalarValue<float>();
  }
  if (!(scene.minCovered >= 0))
    return Unexpected(
        invalidArgument("min_object_covered is ", scene.minCovered, ", expected 0 or more"));
  for (const float *box = boxes.data<float>(); box < boxes.data<float>() + boxes.count();
       box += 4) {
    if (!std::all_of(box, box + 4, [](float v) { return v >= 0 && v <= 1; }))
      return Unexpected(invalidArgument("bounding_boxes must be in [0, 1]"));
    auto at = [](float share, int64_t whole) {
      return static_cast<int64_t>(share * static_cast<float>(whole));
    };
    scene.objects.push_back({at(box[1], scene.width), at(box[0], scene.height),
                             at(box[3], scene.width), at(box[2], scene.height)});
  }
  if (scene.objects.empty() && !how.usesImage)
    return Unexpected(invalidArgument(
        "bounding_boxes is empty; set use_image_if_no_bounding_boxes to allow that"));
  if (scene.objects.empty())
    scene.objects.push_back({0, 0, scene.width, scene.height});
  return scene;
}

// Draws a crop; returns the whole image if no attempt succeeds.
Box sample(const SamplingInputs &scene, const Sampling &how, RandomDraws &draws) {
  for (int64_t i = 0; i < how.attempts; ++i) {
    float aspect = draws.real() * (how.aspects[1] - how.aspects[0]) + how.aspects[0];
    auto box = drawBox(scene.width, scene.height, how.areas, aspect, draws);
    if (box && showsEnough(*box, scene.minCovered, scene.objects))
      return *box;
  }
  return {0, 0, scene.width, scene.height};
}

template <typename T> struct SampleBox {
  static void run(OpContext &ctx) {
    const auto &how = ctx.state<Sampling>();
    Philox stream;
    if (how.stream)
      stream =
          how.stream->reserve(ctx, RandomDraws::blocksFor(4 * static_cast<uint64_t>(how.attempts)));
    else if (!readSeed(ctx, 3, stream))
      return;
    auto scene = TREADLE_OR_RETURN(ctx.check(readScene(ctx, how)));
    RandomDraws draws(stream);
    Box box = sample(scene, how, draws);
    Tensor *begin = ctx.allocateOutput(0, dtypeOf<T>, {3});
    Tensor *size = ctx.allocateOutput(1, dtypeOf<T>, {3});
    Tensor *boxes = ctx.allocateOutput(2, DType::Float32, {1, 1, 4});
    if (!begin || !size || !boxes)
      return;
    const int64_t begins[] = {box.top, box.left, 0};
    const int64_t sizes[] = {box.bottom - box.top, box.right - box.left, -1};
    std::ranges::transform(begins, begin->data<T>(), [](int64_t v) { return static_cast<T>(v); });
    std::ranges::transform(sizes, size->data<T>(), [](int64_t v) { return static_cast<T>(v); });
    auto h = static_cast<float>(scene.height), w = static_cast<float>(scene.width);
    const float shares[] = {static_cast<float>(box.top) / h, static_cast<float>(box.left) / w,
                            static_cast<float>(box.bottom) / h, static_cast<float>(box.right) / w};
    std::ranges::copy(shares, boxes->data<float>());
  }
};

Expected<std::array<float, 2>> readRange(const BindContext &node, std::string_view name,
                                         std::vector<float> otherwise) {
  std::vector<float> range = node.attrs.getOr(name, std::move(otherwise));
  if (range.size() == 2 && range[0] > 0 && range[1] > 0)
    return std::array{range[0], range[1]};
  return Unexpected(invalidArgument("attribute '", name, "' must be two positive numbers"));
}

template <bool isStateless> Expected<BoundKernel> bindSampling(const BindContext &node) {
  auto aspects = TREADLE_TRY(readRange(node, "aspect_ratio_range", {0.75f, 1.33f}));
  auto areas = TREADLE_TRY(readRange(node, "area_range", {0.05f, 1}));
  Sampling how{node.attrs.getOr("min_object_covered", 0.1f),
               aspects,
               areas,
               node.attrs.getOr<int64_t>("max_attempts", 100),
               node.attrs.getOr("use_image_if_no_bounding_boxes", false),
               std::nullopt};
  if (areas[0] > 1 || areas[1] > 1 || how.attempts <= 0)
    return Unexpected(invalidArgument(
        "attribute 'area_range' must be at most 1 and 'max_attempts' positive, but they are [",
        areas[0], ",", areas[1], "] and ", how.attempts));
  if (!isStateless)
    how.stream.emplace(NodeStream::of(node));
  return withState(
      bindByType<SampleBox, TypeList<int32_t, int64_t, int16_t, int8_t, uint8_t>>(node),
      std::move(how));
}

const KernelEntry randomCropTable[] = {
    {"RandomCrop", bindRandomCrop},
    {"SampleDistortedBoundingBox", bindSampling<false>},
    {"SampleDistortedBoundingBoxV2", bindSampling<false>},
    {"StatelessSampleDistortedBoundingBox", bindSampling<true>},
};

} // namespace

std::span<const KernelEntry> randomCropKernels() { return randomCropTable; }

} // namespace treadle
