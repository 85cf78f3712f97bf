// Image files, written and read back, or given as bytes. The expected pixels of lossy formats are
// TensorFlow's.
#include "treadle/testing/KernelTest.h"

using namespace std::string_literals;

namespace treadle {
namespace {

Tensor file(std::string bytes) { return scalar<std::string>(std::move(bytes)); }

AttrMap with(std::string_view name, AttrValue value) {
  AttrMap attrs;
  attrs.set(name, std::move(value));
  return attrs;
}

std::vector<int64_t> shape(const Tensor &t) {
  return t ? std::vector<int64_t>(t.dims().begin(), t.dims().end()) : std::vector<int64_t>{};
}

TEST(ImageFiles, PngKeepsEveryPixelOfEveryKind) {
  for (int64_t channels : {1, 2, 3, 4}) {
    Tensor narrow = iota<uint8_t>({3, 5, channels}, 100),
           wide = iota<uint16_t>({3, 5, channels}, 1000);
    Tensor bytes = run1("EncodePng", {narrow}, DType::String);
    EXPECT_EQ(values<uint8_t>(run1("DecodePng", {bytes}, DType::UInt8)), values<uint8_t>(narrow));
    Tensor read = run1("DecodePng", {run1("EncodePng", {wide}, DType::String)}, DType::UInt16,
                       with("dtype", TypeAttr{DType::UInt16}));
    EXPECT_EQ(values<uint16_t>(read), values<uint16_t>(wide));
  }
}

TEST(ImageFiles, PngChangesChannels) {
  Tensor bytes = run1("EncodePng", {tensor<uint8_t>({1, 1, 3}, {10, 200, 30})}, DType::String);
  auto read = [&](int64_t channels) {
    return values<uint8_t>(run1("DecodePng", {bytes}, DType::UInt8, with("channels", channels)));
  };
  EXPECT_EQ(read(1), (std::vector<uint8_t>{123}));
  EXPECT_EQ(read(4), (std::vector<uint8_t>{10, 200, 30, 255}));
}

TEST(ImageFiles, PngOfABatch) {
  Tensor batch = iota<uint8_t>({2, 1, 2, 1}, 0);
  EXPECT_EQ(shape(run1("EncodePng", {batch}, DType::String)), (std::vector<int64_t>{2}));
  EXPECT_EQ(errorClassOf("EncodePng", {iota<uint8_t>({0, 2, 1}, 0)}, {DType::String}),
            "InternalError");
}

TEST(ImageFiles, JpegByEitherTransform) {
  Tensor image = iota<uint8_t>({9, 10, 3}, 0);
  AttrMap attrs = with("quality", int64_t{60});
  Tensor bytes = run1("EncodeJpeg", {image}, DType::String, attrs);
  auto corner = [&](const char *transform) {
    Tensor read =
        run1("DecodeJpeg", {bytes}, DType::UInt8, with("dct_method", std::string(transform)));
    EXPECT_EQ(shape(read), (std::vector<int64_t>{9, 10, 3}));
    std::vector<uint8_t> all = values<uint8_t>(read);
    return std::vector<uint8_t>(all.begin(), all.begin() + 6);
  };
  EXPECT_EQ(corner(""), (std::vector<uint8_t>{17, 0, 2, 10, 1, 4}));
  EXPECT_EQ(corner("INTEGER_ACCURATE"), (std::vector<uint8_t>{19, 0, 2, 10, 0, 3}));
  EXPECT_EQ(values<int32_t>(run1("ExtractJpegShape", {bytes}, DType::Int32)),
            (std::vector<int32_t>{9, 10, 3}));
}

TEST(ImageFiles, JpegIsCropped) {
  Tensor image = iota<uint8_t>({20, 40, 1}, 0);
  Tensor bytes = run1("EncodeJpeg", {image}, DType::String);
  Tensor whole = run1("DecodeJpeg", {bytes}, DType::UInt8);
  Tensor part = run1("DecodeAndCropJpeg", {bytes, vec<int32_t>({3, 19, 2, 4})}, DType::UInt8);
  ASSERT_EQ(shape(part), (std::vector<int64_t>{2, 4, 1}));
  for (int i = 0; i < 8; ++i)
    EXPECT_EQ(part.data<uint8_t>()[i], whole.data<uint8_t>()[(3 + i / 4) * 40 + 19 + i % 4]);
  EXPECT_EQ(errorOf("DecodeAndCropJpeg", {bytes, vec<int32_t>({0, 0, 21, 4})}, {DType::UInt8}),
            "InvalidArgumentError: the crop window of 21 by 4 pixels at 0, 0 is not inside the "
            "image of 20 by 40");
}

TEST(ImageFiles, TruncatedJpegIsAnErrorOrRecovered) {
  Tensor bytes = run1("EncodeJpeg", {iota<uint8_t>({32, 32, 1}, 0)}, DType::String);
  const std::string &whole = bytes.scalarValue<std::string>();
  Tensor half = file(whole.substr(0, whole.size() * 2 / 3));
  EXPECT_EQ(errorClassOf("DecodeJpeg", {half}, {DType::UInt8}), "InvalidArgumentError");
  EXPECT_EQ(shape(run1("DecodeJpeg", {half}, DType::UInt8, with("try_recover_truncated", true))),
            (std::vector<int64_t>{32, 32, 1}));
}

TEST(ImageFiles, EndlessHeaderEnds) {
  EXPECT_EQ(errorClassOf("DecodeJpeg", {file("\xff\xd8\xff\xff\xff\xff"s)}, {DType::UInt8},
                         with("try_recover_truncated", true)),
            "InvalidArgumentError");
}

// Two frames of 2 by 1 pixels: red and blue, then a transparent pixel and red.
const std::string twoFrames = "GIF89a\x02\0\x01\0\x80\0\0\xff\0\0\0\0\xff"
                              ",\0\0\0\0\x02\0\x01\0\0\x02\x02\x44\x0a\0"
                              "!\xf9\x04\x01\0\0\x01\0"
                              ",\0\0\0\0\x02\0\x01\0\0\x02\x02\x0c\x0a\0;"s;

TEST(ImageFiles, GifFramesLieOnEachOther) {
  Tensor frames = run1("DecodeGif", {file(twoFrames)}, DType::UInt8);
  EXPECT_EQ(shape(frames), (std::vector<int64_t>{2, 1, 2, 3}));
  EXPECT_EQ(values<uint8_t>(frames),
            (std::vector<uint8_t>{255, 0, 0, 0, 0, 255, 255, 0, 0, 255, 0, 0}));
  EXPECT_EQ(
      shape(run1("DecodeImage", {file(twoFrames)}, DType::UInt8, with("expand_animations", false))),
      (std::vector<int64_t>{1, 2, 3}));
  EXPECT_EQ(
      errorOf("DecodePng", {file(twoFrames)}, {DType::UInt8}),
      "InvalidArgumentError: the GIF file has 2 frames; decode it with DecodeGif or DecodeImage");
}

std::string bmp(int32_t width, int32_t height, const std::string &pixels) {
  std::string bytes(54, '\0');
  bytes[0] = 'B', bytes[1] = 'M', bytes[10] = 54, bytes[28] = 24;
  std::memcpy(bytes.data() + 18, &width, 4);
  std::memcpy(bytes.data() + 22, &height, 4);
  return bytes + pixels;
}

TEST(ImageFiles, BmpStartsAtEitherEnd) {
  std::string pixels = "\x01\x02\x03\0\x04\x05\x06\0"s;
  EXPECT_EQ(values<uint8_t>(run1("DecodeBmp", {file(bmp(1, 2, pixels))}, DType::UInt8)),
            (std::vector<uint8_t>{6, 5, 4, 3, 2, 1}));
  EXPECT_EQ(values<uint8_t>(run1("DecodeBmp", {file(bmp(1, -2, pixels))}, DType::UInt8)),
            (std::vector<uint8_t>{3, 2, 1, 6, 5, 4}));
  EXPECT_EQ(errorOf("DecodeBmp", {file(bmp(2, 2, pixels))}, {DType::UInt8}),
            "InvalidArgumentError: the BMP file has 62 bytes, expected 70 for 2 by 2 pixels");
}

TEST(ImageFiles, DecodeImageConvertsElements) {
  std::string bytes = bmp(1, 1, "\0\x80\xff\0"s);
  EXPECT_EQ(values<uint16_t>(run1("DecodeImage", {file(bytes)}, DType::UInt16,
                                  with("dtype", TypeAttr{DType::UInt16}))),
            (std::vector<uint16_t>{0xff00, 0x8000, 0}));
  EXPECT_EQ(values<float>(run1("DecodeImage", {file(bytes)}, DType::Float32,
                               with("dtype", TypeAttr{DType::Float32}))),
            (std::vector<float>{1, 128 * (1 / 255.0f), 0}));
}

TEST(ImageFiles, InvalidFilesAreErrors) {
  EXPECT_EQ(errorOf("DecodeImage", {file("hello")}, {DType::UInt8}),
            "InvalidArgumentError: the file of 5 bytes is not a JPEG, PNG, GIF, BMP or WebP file");
  EXPECT_EQ(errorOf("DecodeImage", {file("")}, {DType::UInt8}),
            "InvalidArgumentError: contents is empty, expected an image file");
  EXPECT_EQ(errorClassOf("DecodeWebP", {file("RIFF\x04\0\0\0WEBPxxxx"s)}, {DType::UInt8}),
            "InvalidArgumentError");
}

} // namespace
} // namespace treadle
