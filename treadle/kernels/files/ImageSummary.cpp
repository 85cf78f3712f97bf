// Image summaries. Float pixels are scaled to the range of a byte.
#include "treadle/kernels/files/Summary.h"
#include "treadle/kernels/images/ImageCodecs.h"

#include "treadle/tensor/Wire.h"

#include <algorithm>
#include <cmath>

namespace treadle {
namespace {

enum ImageField : uint32_t { imageHeight = 1, imageWidth, imageChannels, imageFile };
constexpr uint32_t valueImage = 4; // field of `Summary.Value`

using Color = std::span<const uint8_t>;

/// Converts the pixels of one image to bytes; non-finite ones to `bad`.
template <typename T>
std::vector<uint8_t> asBytes(std::span<const T> values, size_t channels, Color bad) {
  auto forEachPixel = [&](auto visit) {
    for (size_t at = 0; at < values.size(); at += channels) {
      auto pixel = values.subspan(at, channels);
      visit(pixel,
            std::ranges::all_of(pixel, [](T x) { return std::isfinite(static_cast<float>(x)); }));
    }
  };
  float min = INFINITY, max = -INFINITY;
  forEachPixel([&](std::span<const T> pixel, bool isFinite) {
    for (T x : pixel)
      if (isFinite) {
        min = std::min(min, static_cast<float>(x));
        max = std::max(max, static_cast<float>(x));
      }
  });
  constexpr float tiny = 1e-6f;
  bool hasNegative = min < 0;
  float largest = hasNegative ? std::max(std::abs(min), std::abs(max)) : max;
  float scale = largest < tiny ? 0 : (hasNegative ? 127.0f : 255.0f) / largest;
  float offset = hasNegative ? 128 : 0;
  std::vector<uint8_t> bytes;
  using Wide = std::conditional_t<std::is_same_v<T, double>, double, float>;
  forEachPixel([&](std::span<const T> pixel, bool isFinite) {
    for (size_t c = 0; c < channels; ++c) {
      T scaled = T(T(pixel[c] * T(scale)) + T(offset));
      bytes.push_back(isFinite ? static_cast<uint8_t>(static_cast<Wide>(scaled)) : bad[c]);
    }
  });
  return bytes;
}

std::vector<uint8_t> bytesOf(const Tensor &images, int64_t i, Color bad) {
  int64_t size = images.count() / images.dim(0);
  auto channels = static_cast<size_t>(images.dim(3));
  std::vector<uint8_t> bytes;
  visitType(images.dtype(), TypeList<float, double, Half, uint8_t>(), [&]<typename T>() {
    auto values = images.values<T>().subspan(i * size, size);
    if constexpr (std::is_same_v<T, uint8_t>)
      bytes.assign(values.begin(), values.end());
    else
      bytes = asBytes<T>(values, channels, bad);
  });
  return bytes;
}

} // namespace

Expected<std::string> imageSummary(std::string_view tag, const Tensor &images, int64_t most,
                                   const Tensor &badColor) {
  if (images.rank() != 4 || (images.dim(3) != 1 && images.dim(3) != 3 && images.dim(3) != 4) ||
      (images.count() == 0 && images.dim(0) > 0))
    return Unexpected(invalidArgument("the images are ", tensorTypeText(images),
                                      ", expected [batch,height,width,channels] with 1, 3 or 4 "
                                      "channels and no image of 0 pixels"));
  int64_t height = images.dim(1), width = images.dim(2), channels = images.dim(3);
  if (badColor.dtype() != DType::UInt8 || badColor.rank() != 1 || badColor.count() < channels)
    return Unexpected(invalidArgument("bad_color is ", tensorTypeText(badColor),
                                      ", expected uint8 for each of ", channels, " channels"));
  int64_t count = std::min(most, images.dim(0));
  std::string summary;
  for (int64_t i = 0; i < count; ++i) {
    std::vector<uint8_t> pixels = bytesOf(images, i, badColor.values<uint8_t>());
    std::string file = TREADLE_TRY(encodePng(pixels.data(), height, width, channels, 8, -1));
    std::string image;
    putNumber(image, imageHeight, static_cast<uint64_t>(height));
    putNumber(image, imageWidth, static_cast<uint64_t>(width));
    putNumber(image, imageChannels, static_cast<uint64_t>(channels));
    putBytes(image, imageFile, file);
    summary +=
        partSummary(most > 1 ? str(tag, "/image/", i) : str(tag, "/image"), valueImage, image);
  }
  return summary;
}

namespace {

struct ImageState {
  int64_t most;
  Tensor badColor;
};

// Inputs: tag, images.
void images(OpContext &ctx) {
  const auto &state = ctx.state<ImageState>();
  const Tensor &tag = ctx.input(0);
  if (tag.rank() != 0)
    return ctx.fail(
        invalidArgument("the tag is ", tensorTypeText(tag), ", expected a string scalar"));
  if (auto summary = ctx.check(
          imageSummary(tag.scalarValue<std::string>(), ctx.input(1), state.most, state.badColor)))
    ctx.setOutput(0, Tensor::scalarString(std::move(*summary)));
}

Expected<BoundKernel> bindImages(const BindContext &node) {
  constexpr uint8_t red[] = {255, 0, 0, 255};
  return boundWith(
      images,
      ImageState{node.attrs.getOr<int64_t>("max_images", 3),
                 node.attrs.getOr("bad_color", Tensor::vector<uint8_t>(DType::UInt8, red))});
}

const KernelEntry imageSummaryTable[] = {
    {"ImageSummary", bindImages},
};

} // namespace

std::span<const KernelEntry> imageSummaryKernels() { return imageSummaryTable; }

} // namespace treadle
