// Decodes uncompressed BMP files: a header, and rows of pixels that are padded to four bytes.
#include "treadle/kernels/images/ImageCodecs.h"

#include <cstdlib>
#include <cstring>

namespace treadle {
namespace {

template <typename T> T readAt(std::string_view file, size_t offset) {
  T value;
  std::memcpy(&value, file.data() + offset, sizeof value);
  return value;
}

// Converts one pixel: gray, or blue, green, red and possibly alpha.
void convertPixel(const uint8_t *from, int64_t stored, uint8_t *to, int64_t channels) {
  bool isGrey = stored == 1;
  to[0] = from[isGrey ? 0 : 2];
  if (channels < 3)
    return;
  to[1] = from[isGrey ? 0 : 1];
  to[2] = from[0];
  if (channels == 4)
    to[3] = stored == 4 ? from[3] : 255;
}

} // namespace

Expected<Tensor> decodeBmp(std::string_view file, int64_t channels) {
  constexpr size_t headerSize = 32; // the part of the header that is read
  if (file.size() < headerSize)
    return Unexpected(invalidArgument("the BMP file has only ", file.size(), " bytes"));
  int64_t offset = readAt<int32_t>(file, 10), width = readAt<int32_t>(file, 18);
  int64_t height = readAt<int32_t>(file, 22), stored = readAt<int16_t>(file, 28) / 8;
  bool isTopDown = height < 0; // otherwise the last row comes first
  height = std::abs(height);
  if (stored != 1 && stored != 3 && stored != 4)
    return Unexpected(
        invalidArgument("the BMP file has ", stored, " bytes per pixel, expected 1, 3 or 4"));
  if (width <= 0 || !height || offset < 0 ||
      width * height >= std::numeric_limits<int32_t>::max() / 8)
    return Unexpected(invalidArgument("the BMP header declares ", height, " by ", width,
                                      " pixels at byte ", offset));
  int64_t rowSize = (stored * width + 3) / 4 * 4;
  if (static_cast<int64_t>(file.size()) != offset + rowSize * height)
    return Unexpected(invalidArgument("the BMP file has ", file.size(), " bytes, expected ",
                                      offset + rowSize * height, " for ", height, " by ", width,
                                      " pixels"));
  channels = channels ? channels : stored;
  Tensor image = TREADLE_TRY(Tensor::make(DType::UInt8, {height, width, channels}));
  const auto *pixels = reinterpret_cast<const uint8_t *>(file.data()) + offset;
  uint8_t *to = image.data<uint8_t>();
  for (int64_t y = 0; y < height; ++y) {
    const uint8_t *row = pixels + (isTopDown ? y : height - 1 - y) * rowSize;
    for (int64_t x = 0; x < width; ++x, to += channels)
      convertPixel(row + x * stored, stored, to, channels);
  }
  return image;
}

} // namespace treadle
