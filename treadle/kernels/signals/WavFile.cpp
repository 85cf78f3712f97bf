// WAV files of 16-bit samples: decoding to and encoding from audio of [samples,channels].
#include "treadle/kernels/Element.h"
#include "treadle/kernels/files/Summary.h"

#include "treadle/tensor/Wire.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

namespace treadle {
namespace {

constexpr float fullScale = 1 << 15;

// --- reading -------------------------------------------------------------------------------------

/// Sequential reader. Reads past the end return zeros and set an error flag.
class ByteReader {
public:
  explicit ByteReader(std::string_view bytes) : left(bytes) {}

  std::string_view take(size_t size) {
    hasFailed |= size > left.size();
    std::string_view taken = left.substr(0, size);
    left.remove_prefix(taken.size());
    return taken;
  }
  template <typename T> T number() {
    T value = 0;
    std::string_view bytes = take(sizeof value);
    std::memcpy(&value, bytes.data(), bytes.size());
    return value;
  }
  void skip(size_t size) { left.remove_prefix(std::min(size, left.size())); }
  bool isAtEnd() const { return left.empty(); }
  bool isShort() const { return hasFailed; }

private:
  std::string_view left;
  bool hasFailed = false;
};

struct WavFormat {
  int64_t channels = 0, sampleRate = 0;
  std::string_view samples;
};

// Chunks that may precede the format chunk.
bool isPadding(std::string_view id) {
  static constexpr std::string_view known[] = {"JUNK", "bext", "iXML", "qlty",
                                               "mext", "levl", "link", "axml"};
  return std::ranges::find(known, id) != std::end(known);
}

Unexpected malformed(std::string_view what) {
  return Unexpected(invalidArgument("the WAV file can't be read: ", what));
}

Expected<void> readFormat(ByteReader &in, WavFormat &wav) {
  auto size = in.number<uint32_t>();
  auto format = in.number<uint16_t>(), channels = in.number<uint16_t>();
  auto sampleRate = in.number<uint32_t>(), bytesPerSecond = in.number<uint32_t>();
  auto bytesPerFrame = in.number<uint16_t>(), bits = in.number<uint16_t>();
  if (in.isShort())
    return malformed("it ends within its format");
  if ((size != 16 && size != 18) || format != 1 || !channels || bits != 16)
    return malformed(str("its format is ", format, " with ", channels, " channels of ", bits,
                         " bits, expected 1 (PCM) with 16 bits"));
  if (bytesPerFrame != 2 * channels || bytesPerSecond != bytesPerFrame * sampleRate)
    return malformed("the sizes in its format are inconsistent");
  in.skip(size - 16);
  wav.channels = channels;
  wav.sampleRate = sampleRate;
  return {};
}

Expected<WavFormat> readWav(std::string_view file) {
  ByteReader in(file);
  WavFormat wav;
  bool isRiff = in.take(4) == "RIFF";
  in.number<uint32_t>();
  if (!isRiff || in.take(4) != "WAVE")
    return malformed("it doesn't begin like a WAV file");
  std::string_view id = in.take(4);
  for (; isPadding(id); id = in.take(4))
    if (in.take(in.number<uint32_t>()), in.isShort())
      return malformed("it ends before its format");
  if (id != "fmt ")
    return malformed(str("'", id, "' was found instead of its format"));
  TREADLE_TRY(readFormat(in, wav));
  bool hasData = false;
  while (!in.isAtEnd()) {
    id = in.take(4);
    auto size = in.number<uint32_t>();
    if (in.isShort() || size > std::numeric_limits<int32_t>::max())
      return malformed("a chunk is truncated or too large");
    if (id != "data") {
      in.skip(size);
      continue;
    }
    if (std::exchange(hasData, true))
      return malformed("it has two chunks of samples");
    size_t frame = 2 * static_cast<size_t>(wav.channels);
    wav.samples = in.take(size / frame * frame);
    if (in.isShort())
      return malformed("it ends within its samples");
  }
  if (!hasData)
    return malformed("it has no samples");
  return wav;
}

struct Decoding {
  int64_t channels, samples; // -1: as in the file
};

// Pads missing samples with silence, and missing channels with the last one.
void decode(OpContext &ctx) {
  const auto &how = ctx.state<Decoding>();
  const Tensor &contents = ctx.input(0);
  if (!contents.isScalar())
    return ctx.fail(
        invalidArgument("contents must be a scalar, but it is ", tensorTypeText(contents)));
  auto wav = TREADLE_OR_RETURN(ctx.check(readWav(contents.scalarValue<std::string>())));
  if (how.channels < -1 || how.samples < -1)
    return ctx.fail(invalidArgument("desired_channels and desired_samples must be -1 or more, but "
                                    "are ",
                                    how.channels, " and ", how.samples));
  int64_t stored = std::ssize(wav.samples) / 2 / wav.channels;
  int64_t samples = how.samples < 0 ? stored : how.samples;
  int64_t channels = how.channels < 0 ? wav.channels : how.channels;
  Tensor *out = TREADLE_OR_RETURN(ctx.allocateOutput(0, DType::Float32, {samples, channels}));
  float *to = out->data<float>();
  for (int64_t i = 0; i < samples; ++i)
    for (int64_t c = 0; c < channels; ++c) {
      int16_t value = 0;
      int64_t at = i * wav.channels + std::min(c, wav.channels - 1);
      if (i < stored)
        std::memcpy(&value, wav.samples.data() + 2 * at, sizeof value);
      *to++ = static_cast<float>(value) / fullScale;
    }
  ctx.setOutput(1, Tensor::scalar(DType::Int32, static_cast<int32_t>(wav.sampleRate)));
}

Expected<BoundKernel> bindDecode(const BindContext &node) {
  return boundWith(decode, Decoding{node.attrs.getOr<int64_t>("desired_channels", -1),
                                    node.attrs.getOr<int64_t>("desired_samples", -1)});
}

// --- writing -------------------------------------------------------------------------------------

template <typename T> void append(std::string &file, T value) {
  file.append(reinterpret_cast<const char *>(&value), sizeof value);
}

int16_t sampleOf(float value) {
  float scaled = std::round(value * fullScale);
  return static_cast<int16_t>(std::isnan(scaled) ? 0
                                                 : std::clamp(scaled, -fullScale, fullScale - 1));
}

/// Returns a file of samples [samples,channels].
Expected<std::string> wavFile(std::span<const float> samples, int64_t channels,
                              int64_t sampleRate) {
  constexpr uint32_t headerSize = 44;
  int64_t count = std::ssize(samples), dataSize = 2 * count;
  if (sampleRate <= 0 || channels < 1 || channels > std::numeric_limits<uint16_t>::max() ||
      count >= std::numeric_limits<int32_t>::max() ||
      dataSize + headerSize > std::numeric_limits<uint32_t>::max())
    return Unexpected(invalidArgument("audio of ", count, " samples in ", channels, " channels at ",
                                      sampleRate, " samples a second can't be a WAV file"));
  std::string file = "RIFF";
  file.reserve(headerSize + static_cast<size_t>(dataSize));
  append(file, static_cast<uint32_t>(dataSize + headerSize - 8));
  file += "WAVEfmt ";
  append<uint32_t>(file, 16); // size of the format chunk
  append<uint16_t>(file, 1);  // PCM
  append(file, static_cast<uint16_t>(channels));
  append(file, static_cast<uint32_t>(sampleRate));
  append(file, static_cast<uint32_t>(2 * channels * sampleRate));
  append(file, static_cast<uint16_t>(2 * channels));
  append<uint16_t>(file, 16); // bits per sample
  file += "data";
  append(file, static_cast<uint32_t>(dataSize));
  for (float value : samples)
    append(file, sampleOf(value));
  return file;
}

void encode(OpContext &ctx) {
  const Tensor &audio = ctx.input(0), &rate = ctx.input(1);
  if (audio.rank() != 2 || !rate.isScalar())
    return ctx.fail(invalidArgument("audio must be of [samples,channels] and sample_rate a scalar, "
                                    "but they are ",
                                    tensorTypeText(audio), " and ", tensorTypeText(rate)));
  if (auto file =
          ctx.check(wavFile(audio.values<float>(), audio.dim(1), rate.scalarValue<int32_t>())))
    ctx.setOutput(0, Tensor::scalarString(std::move(*file)));
}

// --- summaries -----------------------------------------------------------------------------------

enum AudioField : uint32_t { audioRate = 1, audioChannels, audioLength, audioFile, audioType };
constexpr uint32_t valueAudio = 6; // field of `Summary.Value`

// Inputs: tag, audio [clips,samples,channels] or [clips,samples], samples per second.
void audioSummary(OpContext &ctx) {
  const Tensor &tag = ctx.input(0), &audio = ctx.input(1), &rate = ctx.input(2);
  if (!tag.isScalar() || (audio.rank() != 2 && audio.rank() != 3) || rate.count() != 1)
    return ctx.fail(invalidArgument(
        "the tag, the audio and sample_rate are ", tensorTypeText(tag), ", ", tensorTypeText(audio),
        " and ", tensorTypeText(rate),
        "; expected a string scalar, float32[clips,samples,channels] and a float32 scalar"));
  auto most = ctx.state<int64_t>();
  float sampleRate = rate.data<float>()[0];
  int64_t length = audio.dim(1), channels = audio.rank() == 3 ? audio.dim(2) : 1;
  auto rounded = sampleRate > 0 && sampleRate < 0x1p31f ? std::lrint(sampleRate) : 0;
  std::string summary;
  for (int64_t i = 0; i < std::min(most, audio.dim(0)); ++i) {
    auto samples = audio.values<float>().subspan(i * length * channels, length * channels);
    auto file = TREADLE_OR_RETURN(ctx.check(wavFile(samples, channels, rounded)));
    std::string clip;
    putTag(clip, audioRate, WireType::Fixed32);
    putFixed(clip, sampleRate);
    putNumber(clip, audioChannels, static_cast<uint64_t>(channels));
    putNumber(clip, audioLength, static_cast<uint64_t>(length));
    putBytes(clip, audioFile, file);
    putBytes(clip, audioType, "audio/wav");
    std::string tagText = tag.scalarValue<std::string>();
    summary += partSummary(most > 1 ? str(tagText, "/audio/", i) : str(tagText, "/audio"),
                           valueAudio, clip);
  }
  ctx.setOutput(0, Tensor::scalarString(std::move(summary)));
}

Expected<BoundKernel> bindAudioSummary(const BindContext &node) {
  return boundWith(audioSummary, node.attrs.getOr<int64_t>("max_outputs", 3));
}

const KernelEntry wavFileTable[] = {
    {"DecodeWav", bindDecode},
    {"EncodeWav", bindPlain<encode>},
    {"AudioSummaryV2", bindAudioSummary},
};

} // namespace

std::span<const KernelEntry> wavFileKernels() { return wavFileTable; }

} // namespace treadle
