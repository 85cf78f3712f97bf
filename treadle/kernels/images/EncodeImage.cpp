// Encoding of image files: PNG and JPEG.
#include "treadle/kernels/images/ImageCodecs.h"

#include <limits>

namespace treadle {
namespace {

// --- PNG -----------------------------------------------------------------------------------------

void encodePngs(OpContext &ctx) {
  int64_t compression = ctx.state<int64_t>();
  const Tensor in = ctx.input(0);
  if (in.rank() < 3)
    return ctx.fail(invalidArgument("image must have shape [..., height, width, channels], but it "
                                    "is ",
                                    tensorTypeText(in)));
  Dims dims = in.dims();
  int64_t height = dims[in.rank() - 3], width = dims[in.rank() - 2], channels = dims[in.rank() - 1];
  if (in.count() >= std::numeric_limits<int32_t>::max() ||
      width >= std::numeric_limits<int32_t>::max() / 2 / std::max<int64_t>(channels, 1))
    return ctx.fail(invalidArgument("image is too large for a PNG file: ", tensorTypeText(in)));
  if (channels < 1 || channels > 4)
    return ctx.fail(invalidArgument("image must have 1 to 4 channels, but has ", channels));
  Tensor *out =
      TREADLE_OR_RETURN(ctx.allocateOutput(0, DType::String, dims.first(dims.size() - 3)));
  int bits = in.dtype() == DType::UInt8 ? 8 : 16;
  int64_t size = height * width * channels * bits / 8;
  for (int64_t i = 0; i < out->count(); ++i) {
    auto file =
        TREADLE_OR_RETURN(ctx.check(encodePng(static_cast<const char *>(in.raw()) + i * size,
                                              height, width, channels, bits, compression)));
    out->data<std::string>()[i] = std::move(file);
  }
}

Expected<BoundKernel> bindEncodePng(const BindContext &node) {
  auto compression = node.attrs.getOr<int64_t>("compression", -1);
  if (compression < -1 || compression > 9)
    return Unexpected(
        invalidArgument("attribute 'compression' is ", compression, ", expected -1 to 9"));
  if (node.inputTypes[0] != DType::UInt8 && node.inputTypes[0] != DType::UInt16)
    return unsupportedDType(node, node.inputTypes[0]);
  return expensive(boundWith(encodePngs, compression));
}

// --- JPEG ----------------------------------------------------------------------------------------

struct JpegEncoding {
  JpegWriteOptions options;
  int64_t channels = 0; // 0: as in the image
};

void writeJpeg(OpContext &ctx, const JpegWriteOptions &options, int64_t channels) {
  const Tensor &in = ctx.input(0);
  if (in.rank() != 3)
    return ctx.fail(invalidArgument("image must have shape [height, width, channels], but it is ",
                                    tensorTypeText(in)));
  if (in.count() >= std::numeric_limits<int32_t>::max())
    return ctx.fail(invalidArgument("image is too large for a JPEG file: ", tensorTypeText(in)));
  bool isRight = channels ? in.dim(2) == channels : in.dim(2) == 1 || in.dim(2) == 3;
  if (!isRight)
    return ctx.fail(invalidArgument("image must have ", channels ? str(channels) : "1 or 3",
                                    " channels, but has ", in.dim(2)));
  if (auto file =
          ctx.check(encodeJpeg(in.data<uint8_t>(), in.dim(0), in.dim(1), in.dim(2), options)))
    ctx.setOutput(0, Tensor::scalarString(std::move(*file)));
}

Error wrongQuality(int64_t quality) {
  return invalidArgument("quality is ", quality, ", expected 0 to 100");
}

void encodeJpegs(OpContext &ctx) {
  const auto &how = ctx.state<JpegEncoding>();
  writeJpeg(ctx, how.options, how.channels);
}

Expected<BoundKernel> bindEncodeJpeg(const BindContext &node) {
  const AttrMap &attrs = node.attrs;
  std::string format = attrs.getOr("format", std::string());
  std::string unit = attrs.getOr("density_unit", std::string("in"));
  if (!format.empty() && format != "grayscale" && format != "rgb")
    return Unexpected(
        invalidArgument("attribute 'format' is '", format, "', expected grayscale, rgb or ''"));
  if (unit != "in" && unit != "cm")
    return Unexpected(
        invalidArgument("attribute 'density_unit' is '", unit, "', expected in or cm"));
  JpegEncoding how;
  how.channels = format.empty() ? 0 : format == "rgb" ? 3 : 1;
  how.options = {
      attrs.getOr<int64_t>("quality", 95),        attrs.getOr("progressive", false),
      attrs.getOr("optimize_size", false),        attrs.getOr("chroma_downsampling", true),
      static_cast<uint8_t>(unit == "in" ? 1 : 2), attrs.getOr<int64_t>("x_density", 300),
      attrs.getOr<int64_t>("y_density", 300),     attrs.getOr("xmp_metadata", std::string())};
  if (how.options.quality < 0 || how.options.quality > 100)
    return Unexpected(wrongQuality(how.options.quality));
  return expensive(boundWith(encodeJpegs, std::move(how)));
}

void encodeJpegOfQuality(OpContext &ctx) {
  const Tensor &quality = ctx.input(1);
  if (ctx.input(0).rank() == 3 && !quality.isScalar())
    return ctx.fail(
        invalidArgument("quality must be a scalar, but it is ", tensorTypeText(quality)));
  JpegWriteOptions options;
  options.quality = quality.count() ? quality.scalarValue<int32_t>() : 0;
  if (options.quality < 0 || options.quality > 100)
    return ctx.fail(wrongQuality(options.quality));
  writeJpeg(ctx, options, 0);
}

const KernelEntry encodeImageTable[] = {
    {"EncodePng", bindEncodePng},
    {"EncodeJpeg", bindEncodeJpeg},
    {"EncodeJpegVariableQuality", bindPlain<encodeJpegOfQuality>},
};

} // namespace

std::span<const KernelEntry> encodeImageKernels() { return encodeImageTable; }

} // namespace treadle
