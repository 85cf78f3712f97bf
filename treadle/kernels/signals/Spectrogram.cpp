// Features for speech recognition: AudioSpectrogram, and Mfcc, its mel-frequency cepstral
// coefficients (S. B. Davis and P. Mermelstein, 1980).
#include "treadle/kernels/signals/FourierPlan.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <mutex>
#include <numbers>
#include <optional>
#include <vector>

namespace treadle {
namespace {

// --- AudioSpectrogram ----------------------------------------------------------------------------

std::vector<double> hannWindow(int64_t size) {
  std::vector<double> window(static_cast<size_t>(size));
  for (size_t i = 0; i < window.size(); ++i)
    window[i] = 0.5 - 0.5 * std::cos(2 * std::numbers::pi * static_cast<double>(i) /
                                     static_cast<double>(size));
  return window;
}

struct SpectrogramState {
  int64_t windowSize, stride;
  bool isSquared;

  struct WindowPlan {
    std::vector<double> window;
    fourier::RealPlan<double> plan; // for the next power of two

    explicit WindowPlan(int64_t size)
        : window(hannWindow(size)), plan(std::bit_ceil(window.size())) {}
  };
  /// Created by the first call.
  const WindowPlan &kept() const {
    std::call_once(once, [this] { made.emplace(windowSize); });
    return *made;
  }

  SpectrogramState(int64_t windowSize, int64_t stride, bool isSquared)
      : windowSize(windowSize), stride(stride), isSquared(isSquared) {}

private:
  mutable std::once_flag once;
  mutable std::optional<const WindowPlan> made;
};

/// The rows that are transformed at once.
struct SpectrogramRows {
  static constexpr int64_t most = 16;
  int64_t length, columns;
  std::vector<double> lines;
  std::vector<std::complex<double>> spectra;

  explicit SpectrogramRows(size_t lineLength)
      : length(static_cast<int64_t>(lineLength)), columns(length / 2 + 1), lines(most * lineLength),
        spectra(static_cast<size_t>(most * columns)) {}

  /// Applies the window to numbers that are `step` apart.
  void set(int64_t row, const float *from, int64_t step, const std::vector<double> &window) {
    double *line = &lines[static_cast<size_t>(row * length)];
    for (size_t i = 0; i < window.size(); ++i)
      line[i] = from[static_cast<int64_t>(i) * step] * window[i];
  }

  void transform(OpContext &ctx, const fourier::RealPlan<double> &plan, int64_t rows) {
    using namespace fourier;
    int64_t in[] = {rows, length}, out[] = {rows, columns};
    plan.forward(ctx, Lines<const double>::along(lines.data(), in, in, 1),
                 Lines<std::complex<double>>::along(spectra.data(), out, out, 1));
  }
};

void spectrogram(OpContext &ctx) {
  const auto &s = ctx.state<SpectrogramState>();
  const Tensor in = ctx.input(0);
  if (in.rank() != 2)
    return ctx.fail(
        invalidArgument("input must be of [samples,channels], but it is ", tensorTypeText(in)));
  int64_t samples = in.dim(0), channels = in.dim(1);
  int64_t rows = samples < s.windowSize ? 0 : 1 + (samples - s.windowSize) / s.stride;
  auto length = static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(s.windowSize)));
  int64_t columns = length / 2 + 1;
  Tensor *out = TREADLE_OR_RETURN(ctx.allocateOutput(0, DType::Float32, {channels, rows, columns}));
  const auto &[window, plan] = s.kept();
  double cost = 4.0 * static_cast<double>(length);
  ctx.parallelFor(channels * rows, cost, [&](int64_t begin, int64_t end) {
    SpectrogramRows some(plan.length());
    for (; begin < end; begin += SpectrogramRows::most) {
      int64_t count = std::min(SpectrogramRows::most, end - begin);
      for (int64_t row = begin; row < begin + count; ++row)
        some.set(row - begin, in.data<float>() + row % rows * s.stride * channels + row / rows,
                 channels, window);
      some.transform(ctx, plan, count);
      float *to = out->data<float>() + begin * columns;
      for (int64_t i = 0; i < count * columns; ++i) {
        auto power = static_cast<float>(std::norm(some.spectra[static_cast<size_t>(i)]));
        to[i] = s.isSquared ? power : std::sqrt(power);
      }
    }
  });
}

Expected<BoundKernel> bindSpectrogram(const BindContext &node) {
  auto window = node.attrs.getOr<int64_t>("window_size", 0);
  auto stride = node.attrs.getOr<int64_t>("stride", 0);
  if (window < 2 || stride < 1)
    return Unexpected(invalidArgument("attributes 'window_size' and 'stride' are ", window, " and ",
                                      stride, ", expected at least 2 and 1"));
  BoundKernel bound;
  bound.fn = spectrogram;
  bound.state = std::make_shared<const SpectrogramState>(
      window, stride, node.attrs.getOr("magnitude_squared", false));
  return bound;
}

// --- Mfcc ----------------------------------------------------------------------------------------

double toMel(double frequency) { return 1127.0 * std::log1p(frequency / 700.0); }

struct MfccOptions {
  double highest, lowest; // frequencies
  int64_t filters, coefficients;
};

/// Overlapping triangular filters on the mel scale: each bin of a spectrum belongs to two of them.
class MelFilters {
public:
  MelFilters(const MfccOptions &how, int64_t bins, double sampleRate) : how(how), bins(bins) {
    double low = toMel(how.lowest);
    double spacing = (toMel(how.highest) - low) / static_cast<double>(how.filters + 1);
    double perBin = 0.5 * sampleRate / static_cast<double>(bins - 1);
    // Frequencies beyond the spectrum are all mapped beyond it.
    auto binAt = [&](double x) {
      return static_cast<int64_t>(std::min(x, static_cast<double>(bins)));
    };
    first = binAt(1.5 + how.lowest / perBin); // never the constant component
    last = binAt(how.highest / perBin);
    auto centre = [&](int64_t filter) { return low + spacing * static_cast<double>(filter + 1); };
    int64_t filter = 0;
    for (int64_t i = first; i <= std::min(last, bins - 1); ++i) {
      double mel = toMel(static_cast<double>(i) * perBin);
      while (filter < how.filters && centre(filter) < mel)
        ++filter;
      double below = filter ? centre(filter - 1) : low;
      parts.push_back({filter, (centre(filter) - mel) / (centre(filter) - below)});
    }
  }

  /// Returns the weighted sums of magnitudes; empty if the spectrum ends below the highest
  /// frequency.
  std::vector<double> apply(const float *spectrum) const {
    if (bins <= last)
      return {};
    std::vector<double> sums(static_cast<size_t>(how.filters));
    for (size_t i = 0; i < parts.size(); ++i) {
      auto [filter, previousWeight] = parts[i];
      double magnitude = std::sqrt(double{spectrum[first + static_cast<int64_t>(i)]});
      double weighted = magnitude * previousWeight;
      if (filter > 0)
        sums[static_cast<size_t>(filter - 1)] += weighted;
      if (filter < how.filters)
        sums[static_cast<size_t>(filter)] += magnitude - weighted;
    }
    return sums;
  }

private:
  struct BinWeight {
    int64_t filter;        // index of the filter on whose rising edge the bin is
    double previousWeight; // weight on the previousWeight edge of the filter before
  };
  const MfccOptions &how;
  int64_t bins, first, last;
  std::vector<BinWeight> parts; // for the bins from `first` on
};

std::vector<double> cosines(const MfccOptions &how) {
  auto filters = static_cast<double>(how.filters);
  std::vector<double> table;
  table.reserve(static_cast<size_t>(how.coefficients * how.filters)); // or if there is no memory
  for (int64_t i = 0; i < how.coefficients; ++i)
    for (int64_t j = 0; j < how.filters; ++j)
      table.push_back(std::sqrt(2.0 / filters) *
                      std::cos(static_cast<double>(i) * (std::numbers::pi / filters) *
                               (static_cast<double>(j) + 0.5)));
  return table;
}

void mfcc(OpContext &ctx) {
  const auto &how = ctx.state<MfccOptions>();
  const Tensor &in = ctx.input(0), &rate = ctx.input(1);
  if (in.rank() != 3 || !rate.isScalar())
    return ctx.fail(invalidArgument("spectrogram must have rank 3 and sample_rate be a scalar, but "
                                    "they are ",
                                    tensorTypeText(in), " and ", tensorTypeText(rate)));
  int64_t bins = in.dim(2), rows = in.dim(0) * in.dim(1);
  auto sampleRate = static_cast<double>(rate.scalarValue<int32_t>());
  if (bins < 2 || sampleRate <= 0)
    return ctx.fail(invalidArgument("spectrogram has ", bins, " bins at ", sampleRate,
                                    " samples a second, expected 2 bins or more"));
  Tensor *out = TREADLE_OR_RETURN(
      ctx.allocateOutput(0, DType::Float32, {in.dim(0), in.dim(1), how.coefficients}));
  MelFilters filters(how, bins, sampleRate);
  const std::vector<double> table = cosines(how);
  constexpr double floor = 1e-12;
  for (int64_t row = 0; row < rows; ++row) {
    std::vector<double> sums = filters.apply(in.data<float>() + row * bins);
    for (double &sum : sums)
      sum = std::log(std::max(sum, floor));
    for (int64_t i = 0; i < how.coefficients; ++i) {
      double coefficient = 0;
      for (size_t j = 0; j < sums.size(); ++j)
        coefficient += table[static_cast<size_t>(i * how.filters) + j] * sums[j];
      out->data<float>()[row * how.coefficients + i] = static_cast<float>(coefficient);
    }
  }
}

Expected<BoundKernel> bindMfcc(const BindContext &node) {
  MfccOptions how{node.attrs.getOr<float>("upper_frequency_limit", 4000),
                  node.attrs.getOr<float>("lower_frequency_limit", 20),
                  node.attrs.getOr<int64_t>("filterbank_channel_count", 40),
                  node.attrs.getOr<int64_t>("dct_coefficient_count", 13)};
  bool isRange = how.lowest >= 0 && how.highest > how.lowest; // rejects NaN too
  if (!isRange || how.coefficients < 1 || how.coefficients > how.filters || how.filters > INT32_MAX)
    return Unexpected(invalidArgument("attributes request ", how.coefficients, " coefficients of ",
                                      how.filters, " filters from ", how.lowest, " to ",
                                      how.highest, " Hz"));
  return boundWith(mfcc, how);
}

const KernelEntry spectrogramTable[] = {
    {"AudioSpectrogram", bindSpectrogram},
    {"Mfcc", bindMfcc},
};

} // namespace

std::span<const KernelEntry> spectrogramKernels() { return spectrogramTable; }

} // namespace treadle
