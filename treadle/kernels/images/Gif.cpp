// Decodes GIF files with giflib: each frame is drawn over the previous one.
#include "treadle/kernels/images/ImageCodecs.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <vector>

#include <gif_lib.h>

namespace treadle {
namespace {

constexpr int noColour = -1;

struct Frame {
  GifImageDesc at;
  std::vector<GifByteType> pixels; // color indices
  int transparent = noColour;      // the color through which the previous frame shows
};

/// Reads records one by one, to keep the complete frames of a truncated file.
class GifFile {
public:
  explicit GifFile(std::string_view bytes) : bytes(bytes), left(bytes) {
    gif = DGifOpen(
        this,
        [](GifFileType *gif, GifByteType *to, int size) {
          auto *self = static_cast<GifFile *>(gif->UserData);
          size_t taken = std::min(self->left.size(), static_cast<size_t>(size));
          std::memcpy(to, self->left.data(), taken);
          self->left.remove_prefix(taken);
          return static_cast<int>(taken);
        },
        &error);
  }
  ~GifFile() {
    int ignored = 0;
    if (gif)
      DGifCloseFile(gif, &ignored);
  }
  GifFile(const GifFile &) = delete;

  /// Returns false if there is no frame; see `reason`.
  bool readFrames() {
    if (!gif)
      return false;
    bool isSound = true;
    for (GifRecordType record = UNDEFINED_RECORD_TYPE; record != TERMINATE_RECORD_TYPE;) {
      if (DGifGetRecordType(gif, &record) != GIF_OK ||
          (record == EXTENSION_RECORD_TYPE && !readExtension()) ||
          (record == IMAGE_DESC_RECORD_TYPE && !readFrame(isSound))) {
        error = gif->Error;
        break;
      }
    }
    return isSound && !frames.empty();
  }
  std::string reason() const {
    const char *text = error == D_GIF_SUCCEEDED ? "it has no image" : GifErrorString(error);
    return text ? text : "it is malformed";
  }
  const ColorMapObject *colours(const Frame &frame) const {
    return frame.at.ColorMap ? frame.at.ColorMap : gif->SColorMap;
  }

  std::vector<Frame> frames;

private:
  bool readExtension() {
    int code = 0;
    GifByteType *block = nullptr;
    if (DGifGetExtension(gif, &code, &block) != GIF_OK)
      return false;
    GraphicsControlBlock control;
    if (code == GRAPHICS_EXT_FUNC_CODE && block && transparent == noColour &&
        DGifExtensionToGCB(block[0], block + 1, &control) == GIF_OK)
      transparent = control.TransparentColor;
    while (block)
      if (DGifGetExtensionNext(gif, &block) != GIF_OK)
        return false;
    return true;
  }

  bool readFrame(bool &isSound) {
    if (DGifGetImageDesc(gif) != GIF_OK)
      return false;
    Frame frame{gif->SavedImages[gif->ImageCount - 1].ImageDesc, {}, transparent};
    transparent = noColour;
    int64_t height = frame.at.Height, width = frame.at.Width;
    numPixels += height * width;
    isSound = height > 0 && width > 0 && height * width <= std::numeric_limits<int>::max() &&
              isPlausibleSize(bytes, numPixels);
    if (!isSound)
      return false;
    frame.pixels.resize(static_cast<size_t>(height * width));
    if (!readPixels(frame))
      return false;
    frames.push_back(std::move(frame));
    return true;
  }

  bool readPixels(Frame &frame) {
    static constexpr std::pair<int, int> straight[] = {{0, 1}};
    static constexpr std::pair<int, int> interlaced[] = {{0, 8}, {4, 8}, {2, 4}, {1, 2}};
    for (auto [first, step] : frame.at.Interlace ? std::span<const std::pair<int, int>>(interlaced)
                                                 : std::span<const std::pair<int, int>>(straight))
      for (int64_t y = first; y < frame.at.Height; y += step)
        if (DGifGetLine(gif, frame.pixels.data() + y * frame.at.Width, frame.at.Width) != GIF_OK)
          return false;
    return true;
  }

  std::string_view bytes, left;
  int64_t numPixels = 0; // of all frames
  GifFileType *gif = nullptr;
  int error = D_GIF_SUCCEEDED;
  int transparent = noColour; // for the next frame
};

// Draws a frame over the contents of `canvas`.
Expected<void> drawFrame(const GifFile &file, const Frame &frame, int64_t height, int64_t width,
                         uint8_t *canvas) {
  const GifImageDesc &at = frame.at;
  const ColorMapObject *colours = file.colours(frame);
  if (!colours)
    return Unexpected(invalidArgument("a frame of the GIF file has no color map"));
  int64_t bottom = std::min<int64_t>(height, at.Top + at.Height);
  int64_t right = std::min<int64_t>(width, at.Left + at.Width);
  for (int64_t y = std::max(at.Top, 0); y < bottom; ++y)
    for (int64_t x = std::max(at.Left, 0); x < right; ++x) {
      int index = frame.pixels[static_cast<size_t>((y - at.Top) * at.Width + x - at.Left)];
      if (index == frame.transparent)
        continue;
      if (index >= colours->ColorCount)
        return Unexpected(invalidArgument("a frame of the GIF file uses color ", index,
                                          ", but its color map has ", colours->ColorCount));
      const GifColorType &colour = colours->Colors[index];
      uint8_t *to = canvas + 3 * (y * width + x);
      to[0] = colour.Red;
      to[1] = colour.Green;
      to[2] = colour.Blue;
    }
  return {};
}

} // namespace

Expected<Tensor> decodeGif(std::string_view bytes, bool onlyFirstFrame, bool refusesAnimations) {
  GifFile file(bytes);
  if (!file.readFrames())
    return Unexpected(invalidArgument("the GIF file of ", bytes.size(),
                                      " bytes cannot be decoded: ", file.reason()));
  auto count = onlyFirstFrame ? 1 : static_cast<int64_t>(file.frames.size());
  if (refusesAnimations && count > 1)
    return Unexpected(invalidArgument("the GIF file has ", count,
                                      " frames; decode it with DecodeGif or DecodeImage"));
  // The size is that of the largest frame, not of the logical screen.
  int64_t height = 0, width = 0;
  for (const Frame &frame : file.frames) {
    height = std::max<int64_t>(height, frame.at.Height);
    width = std::max<int64_t>(width, frame.at.Width);
  }
  if (!isPlausibleSize(bytes, 3 * height * width) ||
      !isPlausibleSize(bytes, 3 * height * width * count))
    return Unexpected(invalidArgument("the GIF file of ", bytes.size(),
                                      " bytes has an implausible size: ", count, " frames of ",
                                      height, " by ", width, " pixels"));
  Tensor image = TREADLE_TRY(Tensor::make(DType::UInt8, {count, height, width, 3}));
  int64_t frameSize = 3 * height * width;
  uint8_t *canvas = image.data<uint8_t>();
  std::fill_n(canvas, frameSize, uint8_t{0});
  for (int64_t k = 0; k < count; ++k, canvas += frameSize) {
    if (k)
      std::copy_n(canvas - frameSize, frameSize, canvas);
    Expected<void> drawn =
        drawFrame(file, file.frames[static_cast<size_t>(k)], height, width, canvas);
    if (!drawn)
      return Unexpected(std::move(drawn.error()));
  }
  return image;
}

} // namespace treadle
