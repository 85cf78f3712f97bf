// Image files in memory and out: one function a format and direction. The libraries of the formats
// do the work; the options are those with which TensorFlow calls them, so that pixels come out
// equal.
#pragma once

#include "treadle/kernels/Element.h"

#include <optional>
#include <string>
#include <string_view>

namespace treadle {

/// Whether a file may hold as many bytes of pixels as it says. Formats that compress can say so in
/// 30 bytes of gigabytes, which no memory is taken for.
inline bool mayHold(std::string_view file, int64_t bytes) {
  constexpr int64_t alwaysAllowed = 256 << 20, mostTimes = 4096;
  return bytes <= alwaysAllowed || bytes / mostTimes <= static_cast<int64_t>(file.size());
}

struct CropWindow {
  int64_t y, x, height, width;
};

struct JpegReadOptions {
  int64_t channels = 0;         // 1, 3, or 0: as the file has it
  int64_t ratio = 1;            // shrinks by 1, 2, 4 or 8
  bool upscalesSmoothly = true; // of the chroma channels
  bool recoversTruncated = false;
  float acceptableFraction = 1; // of the lines
  bool isAccurate = false;      // the accurate integer transform, or else the fast one
  std::optional<CropWindow> crop;
};

/// uint8[height,width,channels]. InvalidArgument for what is no JPEG or is cut off.
Expected<Tensor> decodeJpeg(std::string_view file, const JpegReadOptions &options);
/// Height, width and channels, from the header alone.
Expected<std::array<int64_t, 3>> readJpegShape(std::string_view file);

struct JpegWriteOptions {
  int64_t quality = 95;
  bool isProgressive = false;
  bool optimizesSize = false;
  bool downsamplesChroma = true;
  uint8_t densityUnit = 1; // 1: inch, 2: centimetre
  int64_t xDensity = 300, yDensity = 300;
  std::string metadata; // XMP
};

/// Of uint8[height,width,channels] with 1 or 3 channels.
Expected<std::string> encodeJpeg(const uint8_t *pixels, int64_t height, int64_t width,
                                 int64_t channels, const JpegWriteOptions &options);

/// uint8 or uint16[height,width,channels]; channels 0: as the file has it, 1 to 4.
Expected<Tensor> decodePng(std::string_view file, int64_t channels, DType dtype);
/// Of elements of 8 or 16 bits with 1 to 4 channels; compression -1 to 9.
Expected<std::string> encodePng(const void *pixels, int64_t height, int64_t width, int64_t channels,
                                int bits, int64_t compression);

/// uint8[frames,height,width,3]. InvalidArgument for a file of several frames that
/// `refusesAnimations`.
Expected<Tensor> decodeGif(std::string_view file, bool onlyFirstFrame, bool refusesAnimations);

/// uint8[height,width,channels]; channels 0: as the file has it, 3 or 4.
Expected<Tensor> decodeBmp(std::string_view file, int64_t channels);

/// uint8[frames,height,width,channels]; channels must be 0 or what the file has, 3 or 4.
Expected<Tensor> decodeWebp(std::string_view file, int64_t channels, bool onlyFirstFrame);

} // namespace treadle
