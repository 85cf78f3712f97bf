// Decodes JPEG files with libjpeg-turbo.
#include "treadle/kernels/images/ImageCodecs.h"

#include <algorithm>
#include <csetjmp>
#include <cstdio>
#include <cstring>
#include <vector>

#include <jerror.h>
#include <jpeglib.h>

namespace treadle {
namespace {

/// The library's state. The library reports errors by a long jump to `runGuarded`, over stack
/// frames that must own nothing.
class JpegReader {
public:
  JpegReader(std::string_view file, bool recoversTruncated)
      : file(file), recoversTruncated(recoversTruncated) {
    info.err = jpeg_std_error(&errors);
    info.client_data = this;
    errors.error_exit = [](j_common_ptr info) {
      auto *self = static_cast<JpegReader *>(info->client_data);
      info->err->format_message(info, self->message);
      std::longjmp(self->jump, 1);
    };
    errors.output_message = [](j_common_ptr) {};
    setSource();
  }
  ~JpegReader() { jpeg_destroy_decompress(&info); }
  JpegReader(const JpegReader &) = delete;

  /// Runs `step`, which must own nothing; returns false if the library reported an error.
  template <typename Step> bool runGuarded(Step &&step) {
    if (setjmp(jump))
      return false;
    step();
    return true;
  }
  void readHeader() {
    jpeg_create_decompress(&info);
    info.src = &source;
    progress.progress_monitor = [](j_common_ptr info) {
      static_cast<JpegReader *>(info->client_data)->boundScans();
    };
    info.progress = &progress;
    jpeg_read_header(&info, TRUE);
  }
  /// The library keeps all coefficients of a progressive file.
  bool mayHoldImage() const { return isPlausibleSize(file, int64_t{64} * numBlocks()); }
  Unexpected failure() const {
    return Unexpected(
        invalidArgument("the JPEG file of ", file.size(), " bytes cannot be decoded: ", message));
  }

  jpeg_decompress_struct info{};

private:
  int64_t numBlocks() const {
    return int64_t{info.image_width / DCTSIZE + 1} * (info.image_height / DCTSIZE + 1) *
           info.num_components;
  }
  /// Bounds the number of scans: a few bytes can add one more scan over all blocks; real files have
  /// about ten.
  void boundScans() {
    constexpr int64_t alwaysAllowed = 100, maxTimes = 1024;
    int64_t scans = info.input_scan_number;
    if (scans > alwaysAllowed && scans * numBlocks() / maxTimes > std::ssize(file))
      ERREXIT(&info, JERR_BAD_PROGRESSION);
  }
  void setSource() {
    source.init_source = [](j_decompress_ptr info) {
      auto *self = static_cast<JpegReader *>(info->client_data);
      self->source.next_input_byte = self->begin();
      self->source.bytes_in_buffer = self->file.size();
    };
    source.fill_input_buffer = [](j_decompress_ptr info) {
      return static_cast<JpegReader *>(info->client_data)->endInput();
    };
    source.skip_input_data = [](j_decompress_ptr info, long count) {
      auto *self = static_cast<JpegReader *>(info->client_data);
      size_t skipped =
          std::min(static_cast<size_t>(std::max(count, 0l)), self->source.bytes_in_buffer + 1);
      if (skipped > self->source.bytes_in_buffer) {
        self->source.bytes_in_buffer = 0;
        self->endInput();
        return;
      }
      self->source.next_input_byte += skipped;
      self->source.bytes_in_buffer -= skipped;
    };
    source.resync_to_restart = jpeg_resync_to_restart;
    source.term_source = [](j_decompress_ptr) {};
  }

  // Called when the library needs more input: provides an end marker if the file may be truncated,
  // else fails.
  boolean endInput() {
    static const JOCTET endMarker[2] = {0xff, JPEG_EOI};
    if (!source.bytes_in_buffer && source.next_input_byte == begin())
      ERREXIT(&info, JERR_INPUT_EMPTY);
    if (source.bytes_in_buffer) // the end of the input is inside a segment
      return repeatSegment();
    if (!recoversTruncated || source.next_input_byte == endMarker)
      ERREXIT(&info, JERR_FILE_READ);
    source.next_input_byte = endMarker;
    source.bytes_in_buffer = sizeof endMarker;
    return TRUE;
  }
  // Lets the library read the incomplete segment again. That ends a block of pixels, but might
  // repeat forever in a header, so the number of repetitions is bounded.
  boolean repeatSegment() {
    constexpr int tooOften = 1 << 16;
    if (repeatedAt != source.next_input_byte)
      repeats = 0;
    repeatedAt = source.next_input_byte;
    if (!recoversTruncated)
      return FALSE;
    if (++repeats > tooOften)
      ERREXIT(&info, JERR_FILE_READ);
    return TRUE;
  }
  const JOCTET *begin() const { return reinterpret_cast<const JOCTET *>(file.data()); }

  std::string_view file;
  bool recoversTruncated;
  jpeg_error_mgr errors{};
  jpeg_source_mgr source{};
  jpeg_progress_mgr progress{};
  const JOCTET *repeatedAt = nullptr;
  int repeats = 0;
  std::jmp_buf jump;
  char message[JMSG_LENGTH_MAX] = "";
};

/// The lines to read from a file, and the part of each.
struct LineRange {
  int64_t height, width, channels;
  int64_t skipped = 0; // number of lines
  int64_t inset = 0;   // pixels in a decoded line before the first one
};

void setOptions(jpeg_decompress_struct &info, const JpegReadOptions &options, int64_t channels) {
  bool isCmyk = info.jpeg_color_space == JCS_CMYK || info.jpeg_color_space == JCS_YCCK;
  info.out_color_space = channels == 1 ? JCS_GRAYSCALE : isCmyk ? JCS_CMYK : JCS_RGB;
  info.do_fancy_upsampling = options.upscalesSmoothly;
  info.scale_num = 1;
  info.scale_denom = static_cast<unsigned>(options.ratio);
  info.dct_method = options.isAccurate ? JDCT_ISLOW : JDCT_IFAST;
  jpeg_calc_output_dimensions(&info);
}

Expected<LineRange> startLines(JpegReader &reader, const JpegReadOptions &options) {
  jpeg_decompress_struct &info = reader.info;
  int64_t channels = options.channels;
  if (!reader.runGuarded([&] {
        reader.readHeader();
        if (!channels)
          channels = std::min(info.num_components, 3);
        setOptions(info, options, channels);
      }))
    return reader.failure();
  constexpr int64_t tooLarge = int64_t{1} << 29; // for some of the library's arithmetic
  int64_t height = info.output_height, width = info.output_width;
  if (!height || !width || height * width * info.num_components >= tooLarge)
    return Unexpected(
        invalidArgument("a JPEG image of ", height, " by ", width, " pixels cannot be decoded"));
  if (!reader.mayHoldImage())
    return Unexpected(invalidArgument("the JPEG header declares an implausible size of ", height,
                                      " by ", width, " pixels; is it truncated?"));
  if (channels != 1 && channels != 3)
    return Unexpected(invalidArgument("the JPEG file has ", channels, " channels"));
  if (!reader.runGuarded([&] { jpeg_start_decompress(&info); }))
    return reader.failure();
  if (!options.crop)
    return LineRange{height, width, channels};
  const CropWindow &crop = *options.crop;
  if (crop.width <= 0 || crop.height <= 0 || crop.x < 0 || crop.y < 0 ||
      crop.y + crop.height > height || crop.x + crop.width > width)
    return Unexpected(invalidArgument("the crop window of ", crop.height, " by ", crop.width,
                                      " pixels at ", crop.y, ", ", crop.x,
                                      " is not inside the image of ", height, " by ", width));
  if (!reader.runGuarded([&] {
        auto x = static_cast<JDIMENSION>(crop.x), cropWidth = static_cast<JDIMENSION>(crop.width);
        jpeg_crop_scanline(&info, &x, &cropWidth);
        jpeg_skip_scanlines(&info, static_cast<JDIMENSION>(crop.y));
      }))
    return reader.failure();
  return LineRange{crop.height, crop.width, channels, crop.y, info.output_width - crop.width};
}

// Converts CMYK to RGB. Adobe's programs store the inks inverted.
void cmykToRgb(const JSAMPLE *from, int64_t pixels, bool isInverted, uint8_t *to) {
  for (int64_t i = 0; i < pixels; ++i, from += 4, to += 3)
    for (int c = 0; c < 3; ++c)
      to[c] = static_cast<uint8_t>(isInverted ? from[3] * from[c] / 255
                                              : (255 - from[3]) * (255 - from[c]) / 255);
}

/// Reads lines; returns the number of lines that could be read.
int64_t readLines(jpeg_decompress_struct &info, const LineRange &lines, JSAMPLE *line,
                  uint8_t *to) {
  int64_t rowSize = lines.width * lines.channels;
  bool isCmyk = info.out_color_space == JCS_CMYK;
  for (int64_t y = 0; y < lines.height; ++y, to += rowSize) {
    if (jpeg_read_scanlines(&info, &line, 1) == 0)
      return y;
    if (isCmyk)
      cmykToRgb(line + 4 * lines.inset, lines.width, info.saw_Adobe_marker, to);
    else
      std::copy_n(line + lines.channels * lines.inset, rowSize, to);
  }
  return lines.height;
}

// Fills missing lines with the last line that was read.
void repeatLine(uint8_t *pixels, int64_t rowSize, int64_t read, int64_t height) {
  for (int64_t y = read; y < height; ++y)
    if (y == 0)
      std::fill_n(pixels, rowSize, uint8_t{0});
    else
      std::copy_n(pixels + (y - 1) * rowSize, rowSize, pixels + y * rowSize);
}

} // namespace

Expected<Tensor> decodeJpeg(std::string_view file, const JpegReadOptions &options) {
  JpegReader reader(file, options.recoversTruncated);
  jpeg_decompress_struct &info = reader.info;
  LineRange lines = TREADLE_TRY(startLines(reader, options));
  Tensor image =
      TREADLE_TRY(Tensor::make(DType::UInt8, {lines.height, lines.width, lines.channels}));
  uint8_t *pixels = image.data<uint8_t>();
  int64_t rowSize = lines.width * lines.channels;
  std::vector<JSAMPLE> line(static_cast<size_t>(info.output_width) * 4);
  volatile int64_t read = 0;
  bool isRead = reader.runGuarded([&] {
    read = readLines(info, lines, line.data(), pixels);
    if (read < lines.height && !options.recoversTruncated)
      return jpeg_abort_decompress(&info);
    if (read < lines.height)
      info.output_scanline = static_cast<JDIMENSION>(lines.skipped + lines.height);
    if (options.crop && info.output_scanline < info.output_height)
      jpeg_skip_scanlines(&info, info.output_height - info.output_scanline);
    jpeg_finish_decompress(&info);
  });
  if (!isRead)
    return reader.failure();
  if (options.recoversTruncated)
    repeatLine(pixels, rowSize, read, lines.height);
  else if (static_cast<float>(read) / static_cast<float>(lines.height) <
           std::min(1.0f, options.acceptableFraction))
    return Unexpected(invalidArgument("the JPEG file of ", file.size(),
                                      " bytes is truncated after ", int64_t{read}, " of ",
                                      lines.height, " lines"));
  else
    std::fill(pixels + read * rowSize, pixels + image.count(), uint8_t{0});
  return image;
}

Expected<std::array<int64_t, 3>> readJpegShape(std::string_view file) {
  JpegReader reader(file, false);
  if (!reader.runGuarded([&] {
        reader.readHeader();
        jpeg_calc_output_dimensions(&reader.info);
      }))
    return reader.failure();
  return std::array<int64_t, 3>{reader.info.output_height, reader.info.output_width,
                                reader.info.output_components};
}

} // namespace treadle
