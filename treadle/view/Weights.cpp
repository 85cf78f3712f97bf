#include "treadle/view/Weights.h"

#include "treadle/kernels/Element.h"

#include <cmath>
#include <limits>

namespace treadle::view {
namespace {

/// Finds the minimum and maximum of the finite elements, and counts the others.
template <typename T> void survey(const T *elements, Histogram &out) {
  double least = std::numeric_limits<double>::infinity(), greatest = -least, sum = 0;
  for (int64_t i = 0; i < out.count; ++i) {
    auto x = static_cast<double>(elements[i]);
    out.zeros += x == 0;
    if (!std::isfinite(x)) {
      ++(std::isnan(x) ? out.nans : out.infinities);
      continue;
    }
    least = std::min(least, x);
    greatest = std::max(greatest, x);
    sum += x;
  }
  int64_t finite = out.count - out.nans - out.infinities;
  if (finite == 0)
    return;
  out.min = least;
  out.max = greatest;
  out.mean = sum / static_cast<double>(finite);
}

template <typename T> void fill(const T *elements, Histogram &out) {
  // Halves both, since the difference of two doubles may overflow.
  double width = out.max / 2 - out.min / 2;
  constexpr auto last = static_cast<int64_t>(std::tuple_size_v<decltype(out.bins)> - 1);
  double scale = width > 0 ? static_cast<double>(last + 1) / width : 0;
  for (int64_t i = 0; i < out.count; ++i) {
    auto x = static_cast<double>(elements[i]);
    if (!std::isfinite(x))
      continue;
    auto bin =
        static_cast<int64_t>(std::min((x / 2 - out.min / 2) * scale, static_cast<double>(last)));
    ++out.bins[static_cast<size_t>(std::clamp<int64_t>(bin, 0, last))];
  }
}

} // namespace

std::optional<Histogram> histogramOf(const Tensor &tensor) {
  if (!tensor || tensor.isRef() || tensor.count() == 0)
    return std::nullopt;
  Histogram out;
  out.count = tensor.count();
  // A boolean from a file may be neither 0 nor 1.
  DType stored = tensor.dtype() == DType::Bool ? DType::UInt8 : tensor.dtype();
  bool isCounted = visitType(stored, RealTypes(), [&]<typename T>() {
    auto *elements = static_cast<const T *>(tensor.raw());
    survey(elements, out);
    fill(elements, out);
  });
  return isCounted ? std::optional(out) : std::nullopt;
}

} // namespace treadle::view
