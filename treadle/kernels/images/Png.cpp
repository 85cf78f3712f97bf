// Decodes and encodes PNG files with libpng.
#include "treadle/kernels/images/ImageCodecs.h"

#include <cstring>

#include <png.h>
#include <zlib.h>

namespace treadle {
namespace {

void ignoreWarning(png_structp, png_const_charp) {}

// --- reading -------------------------------------------------------------------------------------

/// The library's state. Errors long jump out of the step that caused them; steps must own nothing.
struct PngReader {
  explicit PngReader(std::string_view file) : left(file) {
    png = png_create_read_struct(
        PNG_LIBPNG_VER_STRING, this,
        [](png_structp png, png_const_charp text) {
          auto *self = static_cast<PngReader *>(png_get_error_ptr(png));
          std::strncpy(self->message, text, sizeof self->message - 1);
          png_longjmp(png, 1);
        },
        ignoreWarning);
    if (png)
      info = png_create_info_struct(png);
  }
  ~PngReader() { png_destroy_read_struct(&png, &info, nullptr); }
  PngReader(const PngReader &) = delete;

  bool readHeader() {
    if (setjmp(png_jmpbuf(png)))
      return false;
    png_set_read_fn(png, this, [](png_structp png, png_bytep data, size_t size) {
      auto *self = static_cast<PngReader *>(png_get_io_ptr(png));
      if (size > self->left.size())
        png_error(png, "it ends too early");
      std::memcpy(data, self->left.data(), size);
      self->left.remove_prefix(size);
    });
    png_read_info(png, info);
    png_get_IHDR(png, info, &width, &height, &bits, &colourType, nullptr, nullptr, nullptr);
    return true;
  }
  bool convert(int64_t channels, bool wantsWide);
  bool readRows(png_bytep pixels, size_t rowSize) {
    if (setjmp(png_jmpbuf(png)))
      return false;
    for (int pass = 0; pass < passes; ++pass)
      for (png_uint_32 y = 0; y < height; ++y)
        png_read_row(png, pixels + y * rowSize, nullptr);
    png_read_end(png, info);
    return true;
  }

  std::string_view left;
  png_structp png = nullptr;
  png_infop info = nullptr;
  png_uint_32 width = 0, height = 0;
  int bits = 0, colourType = 0, passes = 1;
  char message[128] = "";
};

// Sets the conversion to `channels`, of 8 bits or as wide as in the file.
bool PngReader::convert(int64_t channels, bool wantsWide) {
  if (setjmp(png_jmpbuf(png)))
    return false;
  bool isGrey = !(colourType & PNG_COLOR_MASK_COLOR), hasAlpha = colourType & PNG_COLOR_MASK_ALPHA;
  bool hasTransparency = png_get_valid(png, info, PNG_INFO_tRNS);
  bool wantsAlpha = channels % 2 == 0, wantsGrey = channels < 3;
  if (!wantsAlpha && (hasAlpha || hasTransparency))
    png_set_strip_alpha(png);
  else if (wantsAlpha && !hasAlpha && hasTransparency)
    png_set_tRNS_to_alpha(png);
  else if (wantsAlpha && !hasAlpha)
    png_set_add_alpha(png, (1u << bits) - 1, PNG_FILLER_AFTER);
  if (bits > 8 && !wantsWide)
    png_set_strip_16(png);
  png_set_packing(png);
  passes = png_set_interlace_handling(png);
  if (wantsWide)
    png_set_swap(png); // files are big-endian
  if (colourType == PNG_COLOR_TYPE_PALETTE)
    png_set_palette_to_rgb(png);
  if (isGrey && bits < 8)
    png_set_expand_gray_1_2_4_to_8(png);
  if (wantsGrey && !isGrey)
    png_set_rgb_to_gray(png, PNG_ERROR_ACTION_NONE, 0.299, 0.587); // ITU-R BT.601
  else if (!wantsGrey && isGrey)
    png_set_gray_to_rgb(png);
  png_read_update_info(png, info);
  return true;
}

int64_t ownChannels(const PngReader &reader) {
  if (reader.colourType != PNG_COLOR_TYPE_PALETTE)
    return png_get_channels(reader.png, reader.info);
  return png_get_valid(reader.png, reader.info, PNG_INFO_tRNS) ? 4 : 3;
}

Expected<Tensor> widened(const Tensor &narrow) {
  Expected<Tensor> wide = Tensor::make(DType::UInt16, narrow.dims());
  if (wide)
    std::transform(narrow.data<uint8_t>(), narrow.data<uint8_t>() + narrow.count(),
                   wide->data<uint16_t>(),
                   [](uint8_t v) { return static_cast<uint16_t>(v << 8 | v); });
  return wide;
}

} // namespace

Expected<Tensor> decodePng(std::string_view file, int64_t channels, DType dtype) {
  PngReader reader(file);
  auto failure = [&] {
    return Unexpected(invalidArgument("the PNG file of ", file.size(),
                                      " bytes cannot be decoded: ", reader.message));
  };
  if (!reader.info || !reader.readHeader())
    return failure();
  int64_t height = reader.height, width = reader.width;
  constexpr int64_t longest = int64_t{1} << 27, tooMany = int64_t{1} << 29;
  if (height >= longest || width >= longest || height * width >= tooMany)
    return Unexpected(
        invalidArgument("a PNG image of ", height, " by ", width, " pixels is too large"));
  // Deflate compresses at most about 1032 to 1.
  int64_t unpacked = static_cast<int64_t>(png_get_rowbytes(reader.png, reader.info)) * height;
  if (unpacked / 1032 > static_cast<int64_t>(file.size()))
    return Unexpected(invalidArgument("the PNG file of ", file.size(), " bytes cannot hold ",
                                      height, " by ", width, " pixels; is it truncated?"));
  if (!channels)
    channels = ownChannels(reader);
  if (!reader.convert(channels, dtype == DType::UInt16))
    return failure();
  DType stored = dtype == DType::UInt16 && reader.bits > 8 ? DType::UInt16 : DType::UInt8;
  auto rowSize = static_cast<size_t>(width * channels) * dtypeSize(stored);
  if (png_get_rowbytes(reader.png, reader.info) != rowSize)
    return Unexpected(
        invalidArgument("the PNG file cannot be decoded with ", channels, " channels"));
  Expected<Tensor> image = Tensor::make(stored, {height, width, channels});
  if (!image)
    return image;
  if (!reader.readRows(static_cast<png_bytep>(image->raw()), rowSize))
    return failure();
  return stored == dtype ? image : widened(*image);
}

// --- writing -------------------------------------------------------------------------------------

namespace {

struct PngWriter {
  PngWriter() {
    png = png_create_write_struct(
        PNG_LIBPNG_VER_STRING, nullptr,
        [](png_structp png, png_const_charp) { png_longjmp(png, 1); }, ignoreWarning);
    if (png)
      info = png_create_info_struct(png);
  }
  ~PngWriter() { png_destroy_write_struct(&png, &info); }
  PngWriter(const PngWriter &) = delete;

  bool write(const void *pixels, int64_t height, int64_t width, int64_t channels, int bits,
             int64_t compression) {
    static constexpr int colourTypes[] = {PNG_COLOR_TYPE_GRAY, PNG_COLOR_TYPE_GRAY_ALPHA,
                                          PNG_COLOR_TYPE_RGB, PNG_COLOR_TYPE_RGB_ALPHA};
    if (setjmp(png_jmpbuf(png)))
      return false;
    png_set_write_fn(
        png, &file,
        [](png_structp png, png_bytep data, size_t size) {
          static_cast<std::string *>(png_get_io_ptr(png))
              ->append(reinterpret_cast<const char *>(data), size);
        },
        [](png_structp) {});
    png_set_compression_level(png, static_cast<int>(compression)); // -1: the library's default
    png_set_compression_mem_level(png, MAX_MEM_LEVEL);
    png_set_IHDR(png, info, static_cast<png_uint_32>(width), static_cast<png_uint_32>(height), bits,
                 colourTypes[channels - 1], PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT,
                 PNG_FILTER_TYPE_DEFAULT);
    png_write_info(png, info);
    if (bits > 8)
      png_set_swap(png);
    const auto *row = static_cast<const png_byte *>(pixels);
    for (int64_t y = 0; y < height; ++y, row += width * channels * bits / 8)
      png_write_row(png, row);
    png_write_end(png, nullptr);
    return true;
  }

  std::string file;
  png_structp png = nullptr;
  png_infop info = nullptr;
};

} // namespace

Expected<std::string> encodePng(const void *pixels, int64_t height, int64_t width, int64_t channels,
                                int bits, int64_t compression) {
  PngWriter writer;
  if (!height || !width || !writer.info ||
      !writer.write(pixels, height, width, channels, bits, compression))
    return Unexpected(
        internal("an image of ", height, " by ", width, " pixels can't be written as PNG"));
  return std::move(writer.file);
}

} // namespace treadle
