// Decodes WebP files with libwebp.
#include "treadle/kernels/images/ImageCodecs.h"

#include <memory>

#include <webp/decode.h>
#include <webp/demux.h>

namespace treadle {
namespace {

Unexpected unreadable(std::string_view file) {
  return Unexpected(invalidArgument("the WebP file of ", file.size(), " bytes is malformed"));
}

const uint8_t *bytesOf(std::string_view file) {
  return reinterpret_cast<const uint8_t *>(file.data());
}

/// Allocates the frames of a file.
Expected<Tensor> makeFrames(std::string_view file, int64_t count, int64_t height, int64_t width,
                            int64_t channels) {
  if (!isPlausibleSize(file, height * width * channels) ||
      !isPlausibleSize(file, count * height * width * channels))
    return Unexpected(invalidArgument("the WebP file of ", file.size(),
                                      " bytes has an implausible size: ", count, " frames of ",
                                      height, " by ", width, " pixels"));
  return Tensor::make(DType::UInt8, {count, height, width, channels});
}

Expected<Tensor> decodeStill(std::string_view file, const WebPBitstreamFeatures &features,
                             int64_t channels) {
  Tensor image = TREADLE_TRY(makeFrames(file, 1, features.height, features.width, channels));
  auto *decode = channels == 4 ? WebPDecodeRGBAInto : WebPDecodeRGBInto;
  if (!decode(bytesOf(file), file.size(), image.data<uint8_t>(), image.bytes(),
              static_cast<int>(features.width * channels)))
    return unreadable(file);
  return image;
}

/// Checks the canvas size before the library allocates it.
bool hasPlausibleCanvas(const WebPData &data, std::string_view file) {
  std::unique_ptr<WebPDemuxer, decltype(&WebPDemuxDelete)> demuxer(WebPDemux(&data),
                                                                   WebPDemuxDelete);
  return demuxer &&
         isPlausibleSize(file, int64_t{4} * WebPDemuxGetI(demuxer.get(), WEBP_FF_CANVAS_WIDTH) *
                                   WebPDemuxGetI(demuxer.get(), WEBP_FF_CANVAS_HEIGHT));
}

Expected<Tensor> decodeAnimation(std::string_view file, bool onlyFirstFrame) {
  WebPData data{bytesOf(file), file.size()};
  if (!hasPlausibleCanvas(data, file))
    return unreadable(file);
  std::unique_ptr<WebPAnimDecoder, decltype(&WebPAnimDecoderDelete)> decoder(
      WebPAnimDecoderNew(&data, nullptr), WebPAnimDecoderDelete);
  WebPAnimInfo info;
  if (!decoder || !WebPAnimDecoderGetInfo(decoder.get(), &info))
    return unreadable(file);
  int64_t count = onlyFirstFrame ? 1 : info.frame_count;
  Tensor image = TREADLE_TRY(makeFrames(file, count, info.canvas_height, info.canvas_width, 4));
  int64_t frameSize = int64_t{info.canvas_height} * info.canvas_width * 4;
  for (int64_t k = 0; k < count; ++k) {
    uint8_t *frame = nullptr;
    int time = 0;
    if (!WebPAnimDecoderGetNext(decoder.get(), &frame, &time))
      return unreadable(file);
    std::copy_n(frame, frameSize, image.data<uint8_t>() + k * frameSize);
  }
  return image;
}

} // namespace

Expected<Tensor> decodeWebp(std::string_view file, int64_t channels, bool onlyFirstFrame) {
  WebPBitstreamFeatures features;
  if (WebPGetFeatures(bytesOf(file), file.size(), &features) != VP8_STATUS_OK)
    return unreadable(file);
  int64_t own = features.has_alpha ? 4 : 3;
  if (channels && channels != own)
    return Unexpected(invalidArgument("the WebP file has ", own, " channels, but ", channels,
                                      " are requested; expected 0 or ", own));
  if (!features.has_animation)
    return decodeStill(file, features, own);
  if (channels == 3)
    return Unexpected(invalidArgument("the frames of a WebP animation have 4 channels, not 3"));
  return decodeAnimation(file, onlyFirstFrame);
}

} // namespace treadle
