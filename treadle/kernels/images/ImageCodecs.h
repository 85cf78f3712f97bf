// In-memory codecs of image files: one function per format and direction. They call the formats'
// libraries with the same options as TensorFlow, so that pixels are equal.
#pragma once

#include "treadle/kernels/Element.h"

#include <optional>
#include <string>
#include <string_view>

namespace treadle {

/// Whether a file can plausibly hold as many bytes of pixels as its header declares. Compressed
/// formats can state gigabytes in 30 bytes; these are rejected before any memory is allocated.
inline bool isPlausibleSize(std::string_view file, int64_t bytes) {
  constexpr int64_t alwaysAllowed = 256 << 20, maxTimes = 4096;
  return bytes <= alwaysAllowed || bytes / maxTimes <= static_cast<int64_t>(file.size());
}

struct CropWindow {
  int64_t y, x, height, width;
};

struct JpegReadOptions {
  int64_t channels = 0;         // 1, 3, or 0: as in the file
  int64_t ratio = 1;            // scales down by 1, 2, 4 or 8
  bool upscalesSmoothly = true; // of the chroma channels
  bool recoversTruncated = false;
  float acceptableFraction = 1; // of the lines
  bool isAccurate = false;      // the accurate integer DCT instead of the fast one
  std::optional<CropWindow> crop;
};

/// Returns uint8[height,width,channels]. InvalidArgument if the file is no JPEG, or is truncated.
Expected<Tensor> decodeJpeg(std::string_view file, const JpegReadOptions &options);
/// Returns height, width and channels, reading only the header.
Expected<std::array<int64_t, 3>> readJpegShape(std::string_view file);

struct JpegWriteOptions {
  int64_t quality = 95;
  bool isProgressive = false;
  bool optimizesSize = false;
  bool downsamplesChroma = true;
  uint8_t densityUnit = 1; // 1: inch, 2: centimeter
  int64_t xDensity = 300, yDensity = 300;
  std::string metadata; // XMP
};

/// Encodes uint8[height,width,channels] with 1 or 3 channels.
Expected<std::string> encodeJpeg(const uint8_t *pixels, int64_t height, int64_t width,
                                 int64_t channels, const JpegWriteOptions &options);

/// Returns uint8 or uint16[height,width,channels], with 1 to 4 channels, or 0: as in the file.
Expected<Tensor> decodePng(std::string_view file, int64_t channels, DType dtype);
/// Encodes elements of 8 or 16 bits with 1 to 4 channels; compression is -1 to 9.
Expected<std::string> encodePng(const void *pixels, int64_t height, int64_t width, int64_t channels,
                                int bits, int64_t compression);

/// Returns uint8[frames,height,width,3]. InvalidArgument for a file of several frames if
/// `refusesAnimations`.
Expected<Tensor> decodeGif(std::string_view file, bool onlyFirstFrame, bool refusesAnimations);

/// Returns uint8[height,width,channels], with 3 or 4 channels, or 0: as in the file.
Expected<Tensor> decodeBmp(std::string_view file, int64_t channels);

/// Returns uint8[frames,height,width,channels]; channels must be 0 or those of the file, 3 or 4.
Expected<Tensor> decodeWebp(std::string_view file, int64_t channels, bool onlyFirstFrame);

} // namespace treadle
