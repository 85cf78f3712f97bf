// Encodes JPEG files with libjpeg-turbo.
#include "treadle/kernels/images/ImageCodecs.h"

#include <csetjmp>
#include <cstdio>
#include <cstdlib>

#include <jpeglib.h>

namespace treadle {
namespace {

/// The library's state and the encoded file. Errors long jump to `write`.
struct JpegWriter {
  JpegWriter() {
    info.err = jpeg_std_error(&errors);
    info.client_data = this;
    errors.error_exit = [](j_common_ptr info) {
      auto *self = static_cast<JpegWriter *>(info->client_data);
      info->err->format_message(info, self->message);
      std::longjmp(self->jump, 1);
    };
    errors.output_message = [](j_common_ptr) {};
  }
  ~JpegWriter() {
    jpeg_destroy_compress(&info);
    std::free(file);
  }
  JpegWriter(const JpegWriter &) = delete;

  bool write(const uint8_t *pixels, int64_t height, int64_t width, int64_t channels,
             const JpegWriteOptions &options, const std::string &marker);

  jpeg_compress_struct info{};
  jpeg_error_mgr errors{};
  std::jmp_buf jump;
  char message[JMSG_LENGTH_MAX] = "";
  unsigned char *file = nullptr;
  unsigned long size = 0;
};

void setOptions(jpeg_compress_struct &info, const JpegWriteOptions &options) {
  jpeg_set_defaults(&info);
  info.optimize_coding = options.optimizesSize;
  info.density_unit = options.densityUnit;
  info.X_density = static_cast<UINT16>(options.xDensity);
  info.Y_density = static_cast<UINT16>(options.yDensity);
  jpeg_set_quality(&info, static_cast<int>(options.quality), TRUE);
  if (options.isProgressive)
    jpeg_simple_progression(&info);
  if (!options.downsamplesChroma)
    for (int i = 0; i < info.num_components; ++i)
      info.comp_info[i].h_samp_factor = info.comp_info[i].v_samp_factor = 1;
}

bool JpegWriter::write(const uint8_t *pixels, int64_t height, int64_t width, int64_t channels,
                       const JpegWriteOptions &options, const std::string &marker) {
  if (setjmp(jump))
    return false;
  jpeg_create_compress(&info);
  jpeg_mem_dest(&info, &file, &size);
  info.image_height = static_cast<JDIMENSION>(height);
  info.image_width = static_cast<JDIMENSION>(width);
  info.input_components = static_cast<int>(channels);
  info.in_color_space = channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
  setOptions(info, options);
  jpeg_start_compress(&info, TRUE);
  if (!marker.empty())
    jpeg_write_marker(&info, JPEG_APP0 + 1, reinterpret_cast<const JOCTET *>(marker.data()),
                      static_cast<unsigned>(marker.size()));
  while (info.next_scanline < info.image_height) {
    auto *row = const_cast<JSAMPLE *>(pixels + info.next_scanline * width * channels);
    jpeg_write_scanlines(&info, &row, 1);
  }
  jpeg_finish_compress(&info);
  return true;
}

} // namespace

Expected<std::string> encodeJpeg(const uint8_t *pixels, int64_t height, int64_t width,
                                 int64_t channels, const JpegWriteOptions &options) {
  constexpr int64_t tooLarge = int64_t{1} << 29;
  if (!height || !width || height * width >= tooLarge)
    return Unexpected(
        internal("an image of ", height, " by ", width, " pixels can't be written as JPEG"));
  std::string marker = options.metadata;
  if (!marker.empty()) // XMP data is preceded by its namespace and a zero
    marker.insert(0, std::string("http://ns.adobe.com/xap/1.0/") + '\0');
  JpegWriter writer;
  if (!writer.write(pixels, height, width, channels, options, marker))
    return Unexpected(internal("the image can't be written as JPEG: ", writer.message));
  return std::string(reinterpret_cast<const char *>(writer.file), writer.size);
}

} // namespace treadle
