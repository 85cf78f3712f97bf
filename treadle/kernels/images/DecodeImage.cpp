// Decoding of image files. Each op decodes files of most formats, whatever its name; the accepted
// formats and the rank of the result follow TensorFlow.
#include "treadle/kernels/ElementCopy.h"
#include "treadle/kernels/images/ImageCodecs.h"

#include <algorithm>

namespace treadle {
namespace {

enum class Format { Jpeg, Png, Gif, Bmp, WebP, JpegXl, Unknown };

Format formatOf(std::string_view file) {
  using namespace std::string_view_literals;
  static constexpr std::pair<std::string_view, Format> beginnings[] = {
      {"\xff\xd8\xff"sv, Format::Jpeg}, {"\x89PNG\r\n\x1a\n"sv, Format::Png},
      {"GIF8"sv, Format::Gif},          {"BM"sv, Format::Bmp},
      {"\xff\x0a"sv, Format::JpegXl},   {"\0\0\0\x0cJXL \r\n\x87\n"sv, Format::JpegXl},
  };
  for (auto [beginning, format] : beginnings)
    if (file.starts_with(beginning))
      return format;
  bool isWebP = file.size() > 12 && file.starts_with("RIFF") && file.substr(8, 4) == "WEBP";
  return isWebP ? Format::WebP : Format::Unknown;
}

enum class Op { Image, Jpeg, CroppedJpeg, Png, Gif, Bmp, WebP };

struct Decoding {
  Op op;
  std::string name;
  int64_t channels = 0;
  DType dtype = DType::UInt8;
  bool expandsAnimations = true;
  JpegReadOptions jpeg;
};

Error wrongFormat(const Decoding &how, const char *format) {
  return invalidArgument(how.name, " cannot decode ", format, " files; use DecodeImage");
}

// --- formats -------------------------------------------------------------------------------------

// Drops the leading dimension of frames.
Expected<Tensor> still(Expected<Tensor> frames) {
  return frames ? frames->withDims(frames->dims().subspan(1)) : std::move(frames);
}
Expected<Tensor> asFrames(Expected<Tensor> image) {
  if (!image)
    return image;
  return image->withDims(std::array{int64_t{1}, image->dim(0), image->dim(1), image->dim(2)});
}

Expected<Tensor> readJpeg(const Decoding &how, std::string_view file,
                          std::optional<CropWindow> crop) {
  if (how.channels == 4)
    return Unexpected(invalidArgument("a JPEG file cannot be decoded with 4 channels"));
  if (how.op == Op::Bmp)
    return Unexpected(wrongFormat(how, "JPEG"));
  JpegReadOptions options = how.jpeg;
  options.channels = how.channels;
  options.crop = crop;
  Expected<Tensor> image = decodeJpeg(file, options);
  return how.op == Op::Gif ? asFrames(std::move(image)) : std::move(image);
}

Expected<Tensor> readPng(const Decoding &how, std::string_view file) {
  if (how.op == Op::Bmp || how.op == Op::CroppedJpeg)
    return Unexpected(wrongFormat(how, "PNG"));
  DType dtype = how.dtype == DType::UInt8 ? DType::UInt8 : DType::UInt16;
  Expected<Tensor> image = decodePng(file, how.channels, dtype);
  return how.op == Op::Gif ? asFrames(std::move(image)) : std::move(image);
}

Expected<Tensor> readGif(const Decoding &how, std::string_view file) {
  if (how.channels != 0 && how.channels != 3)
    return Unexpected(invalidArgument("a GIF file cannot be decoded with ", how.channels,
                                      " channels, only with 3"));
  if (how.op == Op::Bmp || how.op == Op::CroppedJpeg || how.op == Op::WebP)
    return Unexpected(wrongFormat(how, "GIF"));
  bool isStill = how.op == Op::Png || how.op == Op::Jpeg;
  Expected<Tensor> frames = decodeGif(file, !how.expandsAnimations, isStill);
  return isStill || !how.expandsAnimations ? still(std::move(frames)) : std::move(frames);
}

Expected<Tensor> readBmp(const Decoding &how, std::string_view file) {
  if (how.channels == 1)
    return Unexpected(
        invalidArgument("a BMP file cannot be decoded with 1 channel, only with 3 or 4"));
  if (how.op != Op::Bmp && how.op != Op::Image)
    return Unexpected(wrongFormat(how, "BMP"));
  return decodeBmp(file, how.channels);
}

Expected<Tensor> readWebp(const Decoding &how, std::string_view file) {
  if (how.channels == 1 || how.dtype != DType::UInt8)
    return Unexpected(
        invalidArgument("a WebP file can only be decoded as uint8 with 3 or 4 channels"));
  Expected<Tensor> frames = decodeWebp(file, how.channels, !how.expandsAnimations);
  return how.expandsAnimations ? std::move(frames) : still(std::move(frames));
}

Expected<Tensor> readFile(const Decoding &how, std::string_view file,
                          std::optional<CropWindow> crop) {
  switch (formatOf(file)) {
  case Format::Jpeg:
    return readJpeg(how, file, crop);
  case Format::Png:
    return readPng(how, file);
  case Format::Gif:
    return readGif(how, file);
  case Format::Bmp:
    return readBmp(how, file);
  case Format::WebP:
    return readWebp(how, file);
  case Format::JpegXl:
    return Unexpected(unimplemented("JPEG XL files are not supported"));
  case Format::Unknown:
    break;
  }
  return Unexpected(invalidArgument("the file of ", file.size(),
                                    " bytes is not a JPEG, PNG, GIF, BMP or WebP file"));
}

// --- dtypes --------------------------------------------------------------------------------------

template <typename To, typename From, typename Scale>
Expected<Tensor> scaled(const Tensor &image, Scale scale) {
  Expected<Tensor> out = Tensor::make(dtypeOf<To>, image.dims());
  if (out)
    std::transform(image.data<From>(), image.data<From>() + image.count(), out->data<To>(),
                   [scale](From v) { return static_cast<To>(static_cast<To>(v) * scale); });
  return out;
}

Expected<Tensor> asDType(const Tensor &image, DType dtype) {
  if (image.dtype() == dtype)
    return image;
  if (dtype == DType::UInt16)
    return scaled<uint16_t, uint8_t>(image, 256);
  if (image.dtype() == DType::UInt8)
    return scaled<float, uint8_t>(image, static_cast<float>(1.0 / 255));
  return scaled<float, uint16_t>(image, static_cast<float>(1.0 / 65535));
}

// --- ops -----------------------------------------------------------------------------------------

const std::string *fileInput(OpContext &ctx) {
  const Tensor &in = ctx.input(0);
  if (in.isScalar() && !in.scalarValue<std::string>().empty())
    return in.data<std::string>();
  ctx.fail(in.isScalar()
               ? invalidArgument("contents is empty, expected an image file")
               : invalidArgument("contents must be a scalar, but it is ", tensorTypeText(in)));
  return nullptr;
}

void decode(OpContext &ctx) {
  const auto &how = ctx.state<Decoding>();
  const std::string *file = TREADLE_OR_RETURN(fileInput(ctx));
  std::optional<CropWindow> crop;
  if (ctx.numInputs() > 1) {
    const Tensor &window = ctx.input(1);
    if (window.rank() == 1 && window.count() == 4)
      crop = CropWindow{indexAt(window, 0), indexAt(window, 1), indexAt(window, 2),
                        indexAt(window, 3)};
    else if (formatOf(*file) == Format::Jpeg)
      return ctx.fail(invalidArgument("crop_window must be a vector of y, x, height and width, but "
                                      "it is ",
                                      tensorTypeText(window)));
  }
  auto image = TREADLE_OR_RETURN(ctx.check(readFile(how, *file, crop)));
  if (auto converted = ctx.check(asDType(image, how.dtype)))
    ctx.setOutput(0, std::move(*converted));
}

Expected<JpegReadOptions> readJpegOptions(const BindContext &node) {
  JpegReadOptions options;
  options.ratio = node.attrs.getOr<int64_t>("ratio", 1);
  if (options.ratio != 1 && options.ratio != 2 && options.ratio != 4 && options.ratio != 8)
    return Unexpected(
        invalidArgument("attribute 'ratio' is ", options.ratio, ", expected 1, 2, 4 or 8"));
  std::string transform = node.attrs.getOr("dct_method", std::string());
  if (!transform.empty() && transform != "INTEGER_FAST" && transform != "INTEGER_ACCURATE")
    return Unexpected(invalidArgument("attribute 'dct_method' is '", transform,
                                      "', expected INTEGER_FAST, INTEGER_ACCURATE or ''"));
  options.isAccurate = transform == "INTEGER_ACCURATE";
  options.upscalesSmoothly = node.attrs.getOr("fancy_upscaling", true);
  options.recoversTruncated = node.attrs.getOr("try_recover_truncated", false);
  options.acceptableFraction = node.attrs.getOr("acceptable_fraction", 1.0f);
  return options;
}

template <Op op> Expected<BoundKernel> bindDecode(const BindContext &node) {
  Decoding how{op, std::string(node.op), 3, DType::UInt8, true, {}};
  if (op == Op::Jpeg || op == Op::CroppedJpeg) {
    auto options = TREADLE_TRY(readJpegOptions(node));
    how.jpeg = options;
  }
  how.dtype = node.attrs.getOr("dtype", DType::UInt8);
  if (how.dtype != DType::UInt8 && how.dtype != DType::UInt16 &&
      !(how.dtype == DType::Float32 && op == Op::Image))
    return unsupportedDType(node, how.dtype);
  how.expandsAnimations = node.attrs.getOr("expand_animations", true);
  if (op != Op::Gif)
    how.channels = node.attrs.getOr<int64_t>("channels", 0);
  if (how.channels < 0 || how.channels > 4 || how.channels == 2)
    return Unexpected(
        invalidArgument("attribute 'channels' is ", how.channels, ", expected 0, 1, 3 or 4"));
  return expensive(boundWith(decode, std::move(how)));
}

template <typename T> void extractShape(OpContext &ctx) {
  const Tensor &in = ctx.input(0);
  if (!in.isScalar())
    return ctx.fail(invalidArgument("contents must be a scalar, but it is ", tensorTypeText(in)));
  auto shape = TREADLE_OR_RETURN(ctx.check(readJpegShape(in.scalarValue<std::string>())));
  if (Tensor *out = ctx.allocateOutput(0, dtypeOf<T>, {3}))
    std::copy(shape.begin(), shape.end(), out->data<T>());
}

Expected<BoundKernel> bindExtractShape(const BindContext &node) {
  BoundKernel bound;
  bound.fn = node.attrs.getOr("output_type", DType::Int32) == DType::Int64 ? extractShape<int64_t>
                                                                           : extractShape<int32_t>;
  return bound;
}

const KernelEntry decodeImageTable[] = {
    {"DecodeImage", bindDecode<Op::Image>},
    {"DecodeJpeg", bindDecode<Op::Jpeg>},
    {"DecodeAndCropJpeg", bindDecode<Op::CroppedJpeg>},
    {"DecodePng", bindDecode<Op::Png>},
    {"DecodeGif", bindDecode<Op::Gif>},
    {"DecodeBmp", bindDecode<Op::Bmp>},
    {"DecodeWebP", bindDecode<Op::WebP>},
    {"ExtractJpegShape", bindExtractShape},
};

} // namespace

std::span<const KernelEntry> decodeImageKernels() { return decodeImageTable; }

} // namespace treadle
