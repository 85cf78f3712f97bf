#include "treadle/testing/KernelTest.h"

#include <cmath>

namespace treadle {
namespace {

AttrMap with(std::string_view name, AttrValue value) {
  AttrMap attrs;
  attrs.set(name, std::move(value));
  return attrs;
}

Tensor wave(std::vector<int64_t> dims) {
  Tensor t = iota<float>(dims, 0);
  for (float &v : std::span(t.data<float>(), static_cast<size_t>(t.count())))
    v = std::abs(std::sin(0.3f * v));
  return t;
}

TEST(WavFile, IsReadAsItWasWritten) {
  Tensor audio = tensor<float>({3, 2}, {0, 0.5f, -1, 0.25f, 2, -0.125f});
  Tensor file = run1("EncodeWav", {audio, scalar<int32_t>(16000)}, DType::String);
  EXPECT_EQ(file.scalarValue<std::string>().size(), 56u);
  std::vector<Tensor> out = runAll("DecodeWav", {file}, {DType::Float32, DType::Int32});
  ASSERT_EQ(out.size(), 2u);
  EXPECT_EQ(values<float>(out[0]),
            (std::vector<float>{0, 0.5f, -1, 0.25f, 32767 / 32768.0f, -0.125f}));
  EXPECT_EQ(values<int32_t>(out[1]), (std::vector<int32_t>{16000}));
}

TEST(WavFile, PadsSamplesAndChannels) {
  Tensor file = run1("EncodeWav", {tensor<float>({2, 1}, {0.5f, -0.5f}), scalar<int32_t>(8000)},
                     DType::String);
  AttrMap attrs = with("desired_channels", int64_t{2});
  attrs.set("desired_samples", int64_t{3});
  EXPECT_EQ(values<float>(runAll("DecodeWav", {file}, {DType::Float32, DType::Int32}, attrs).at(0)),
            (std::vector<float>{0.5f, 0.5f, -0.5f, -0.5f, 0, 0}));
}

TEST(WavFile, MalformedFilesSaySo) {
  EXPECT_EQ(errorOf("DecodeWav", {scalar<std::string>("RIFF")}, {DType::Float32, DType::Int32}),
            "InvalidArgumentError: the WAV file can't be read: it doesn't begin like a WAV file");
  std::string file =
      run1("EncodeWav", {tensor<float>({2, 1}, {0, 0}), scalar<int32_t>(8000)}, DType::String)
          .scalarValue<std::string>();
  EXPECT_EQ(errorOf("DecodeWav", {scalar(file.substr(0, 46))}, {DType::Float32, DType::Int32}),
            "InvalidArgumentError: the WAV file can't be read: it ends within its samples");
}

// In a Hann window, a cosine of k cycles fills only the bins around k.
TEST(WavFile, SummariesEqualTensorFlows) {
  using namespace std::string_literals;
  AttrMap attrs;
  attrs.set("max_outputs", int64_t{1});
  Tensor clips = tensor<float>({2, 2, 2}, {0.5f, -0.5f, 1.5f, -2, 0, 0.25f, -0.25f, 1});
  Tensor tag = scalar<std::string>("a"), rate = scalar(8000.0f);
  Tensor summary = run1("AudioSummaryV2", {tag, clips, rate}, DType::String, attrs);
  EXPECT_EQ(summary.scalarValue<std::string>(),
            "\nU\n\x07"
            "a/audio2J\r\0\0\xfa"
            "E\x10\2\x18\2\"4RIFF,\0\0\0WAVEfmt \x10\0\0\0\1\0\2\0@\x1f\0\0\0}\0\0\4\0\x10\0data"
            "\x08\0\0\0\0@\0\xc0\xff\x7f\0\x80*\taudio/wav"s);
  attrs.set("max_outputs", int64_t{3});
  std::string two =
      run1("AudioSummaryV2", {tag, clips, rate}, DType::String, attrs).scalarValue<std::string>();
  EXPECT_NE(two.find("a/audio/0"), two.npos);
  EXPECT_NE(two.find("a/audio/1"), two.npos);
  EXPECT_EQ(errorClassOf("AudioSummaryV2", {tag, vec<float>({1}), rate}, {DType::String}, attrs),
            "InvalidArgumentError");
  EXPECT_EQ(errorClassOf("AudioSummaryV2", {tag, clips, scalar(-1.0f)}, {DType::String}, attrs),
            "InvalidArgumentError");
}

TEST(AudioSpectrogram, FindsAFrequency) {
  Tensor audio = iota<float>({48, 1}, 0);
  for (int i = 0; i < 48; ++i)
    audio.data<float>()[i] = static_cast<float>(std::cos(2 * M_PI * 3 * i / 16));
  AttrMap attrs = with("window_size", int64_t{16});
  attrs.set("stride", int64_t{32});
  Tensor out = run1("AudioSpectrogram", {audio}, {}, attrs);
  expectNear<float>(out, {0, 0, 2, 4, 2, 0, 0, 0, 0, 0, 0, 2, 4, 2, 0, 0, 0, 0}, 1e-5);
}

// Values from TensorFlow.
TEST(AudioSpectrogram, ReportsExhaustedMemory) {
  AttrMap attrs = with("window_size", int64_t{1} << 62);
  attrs.set("stride", int64_t{1});
  EXPECT_EQ(errorOf("AudioSpectrogram", {wave({4, 1})}, {DType::Float32}, attrs),
            "ResourceExhaustedError: a size exceeds the address space");
}

TEST(Mfcc, OfAnyAttributes) {
  auto classOf = [](const char *attr, auto value) {
    AttrMap attrs;
    attrs.set(attr, value);
    return errorClassOf("Mfcc", {wave({1, 1, 33}), scalar<int32_t>(8000)}, {DType::Float32}, attrs);
  };
  EXPECT_EQ(classOf("lower_frequency_limit", std::nanf("")), "InvalidArgumentError");
  EXPECT_EQ(classOf("upper_frequency_limit", std::nanf("")), "InvalidArgumentError");
  EXPECT_EQ(classOf("upper_frequency_limit", HUGE_VALF), "");
  EXPECT_EQ(classOf("filterbank_channel_count", int64_t{1} << 40), "InvalidArgumentError");
}

TEST(Mfcc, OfASpectrum) {
  AttrMap attrs = with("filterbank_channel_count", int64_t{6});
  attrs.set("dct_coefficient_count", int64_t{4});
  expectNear<float>(run1("Mfcc", {wave({1, 1, 33}), scalar<int32_t>(8000)}, DType::Float32, attrs),
                    {3.939552, -1.0142943, 0.0320625, -0.25685558}, 1e-5);
  attrs.set("dct_coefficient_count", int64_t{7});
  EXPECT_EQ(
      errorOf("Mfcc", {wave({1, 1, 33}), scalar<int32_t>(8000)}, {DType::Float32}, attrs),
      "InvalidArgumentError: attributes request 7 coefficients of 6 filters from 20 to 4000 Hz");
}

} // namespace
} // namespace treadle
