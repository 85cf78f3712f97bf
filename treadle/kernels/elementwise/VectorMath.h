// Exponentials, logarithms, sigmoids and error functions of floats without branches or calls, so
// that loops over them are vectorized once they are inlined. Accurate to a few units in the last
// place, including infinities and NaN.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

namespace treadle {

/// exp(x) as (1 + rest) * first * second, where `first` and `second` are powers of two, whose
/// product may overflow or underflow a float. The remainder of x by ln 2 is evaluated by the
/// polynomial of Cephes' expf. For -130 < x < 130.
struct SplitExp {
  float rest, first, second, inverseOfSecond;
};
/// Like `SplitExp`, but with one power of two, 2^exponent.
struct RestOfExp {
  float rest;
  int32_t exponent;
};
[[gnu::always_inline]] inline RestOfExp restOfExp(float x) {
#pragma clang fp contract(fast)
  // Adding and subtracting 1.5 * 2^23 rounds to an integer, which is then in the low bits.
  constexpr float shifter = 12582912.0f;
  float shifted = x * 1.44269504f + shifter;
  float whole = shifted - shifter;
  int32_t n = std::bit_cast<int32_t>(shifted) - std::bit_cast<int32_t>(shifter);
  float r = x - whole * 0.693359375f + whole * 2.12194440e-4f;
  float p = 1.9875691500e-4f;
  p = p * r + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  return {p * r * r + r, n};
}

/// 2^e for -127 < e < 128.
[[gnu::always_inline]] inline float powerOfTwo(int32_t e) {
  return std::bit_cast<float>(static_cast<int32_t>(static_cast<uint32_t>(e + 127) << 23));
}

[[gnu::always_inline]] inline SplitExp splitExp(float x) {
  auto [rest, n] = restOfExp(x);
  int32_t half = n >> 1;
  return {rest, powerOfTwo(half), powerOfTwo(n - half), powerOfTwo(half - n)};
}

/// e to the power of x for -80 < x < 80.
[[gnu::always_inline]] inline float vectorExpOfSmall(float x) {
  auto [rest, n] = restOfExp(x);
  return (rest + 1) * powerOfTwo(n);
}

/// e to the power of x, including denormal results.
[[gnu::always_inline]] inline float vectorExp(float x) {
#pragma clang fp contract(fast)
  // Beyond these bounds the result is infinite or 0. It is selected instead of computed, since a
  // product below the smallest normal number takes a hundred times as long, and masks of -infinity
  // make many of them.
  x = x > 90.0f ? 90.0f : x;
  bool isZero = x < -104.0f;
  SplitExp e = splitExp(isZero ? 0.0f : x);
  float result = (e.rest + 1) * e.first * e.second;
  return isZero ? 0.0f : result;
}

/// exp(x) - 1 without cancellation near 0.
[[gnu::always_inline]] inline float vectorExpm1(float x) {
#pragma clang fp contract(fast)
  float bounded = x > 90.0f ? 90.0f : x;
  bounded = bounded < -20.0f ? -20.0f : bounded;
  SplitExp e = splitExp(bounded);
  float result = (e.rest * e.first + (e.first - e.inverseOfSecond)) * e.second;
  return std::fabs(x) < 1e-5f ? std::copysign(x + x * x * 0.5f, x) : result;
}

/// ln x for a normal x > 0, as in Cephes' logf: a polynomial for a mantissa near 1.
[[gnu::always_inline]] inline float logOfNormal(float x) {
#pragma clang fp contract(fast)
  int32_t bits = std::bit_cast<int32_t>(x);
  // The exponent for a mantissa in [sqrt(1/2), sqrt(2)).
  int32_t exponent = (bits - 0x3f3504f3) >> 23;
  float m = std::bit_cast<float>(static_cast<int32_t>(static_cast<uint32_t>(bits) -
                                                      (static_cast<uint32_t>(exponent) << 23))) -
            1;
  auto e = static_cast<float>(exponent);
  float square = m * m;
  float p = 7.0376836292e-2f;
  p = p * m - 1.1514610310e-1f;
  p = p * m + 1.1676998740e-1f;
  p = p * m - 1.2420140846e-1f;
  p = p * m + 1.4249322787e-1f;
  p = p * m - 1.6668057665e-1f;
  p = p * m + 2.0000714765e-1f;
  p = p * m - 2.4999993993e-1f;
  p = p * m + 3.3333331174e-1f;
  float tail = p * m * square - e * 2.12194440e-4f - square * 0.5f;
  return m + tail + e * 0.693359375f;
}

/// ln(1 + x), corrected for the bits of x that 1 + x loses.
[[gnu::always_inline]] inline float vectorLog1p(float x) {
  constexpr float inf = std::numeric_limits<float>::infinity();
  float sum = 1 + x;
  float result = logOfNormal(sum) + (x - (sum - 1)) / sum;
  result = sum > 0 ? result : sum == 0 ? -inf : std::numeric_limits<float>::quiet_NaN();
  result = x == inf ? inf : result;
  return std::fabs(x) < 1e-5f ? x - x * x * 0.5f : result;
}

/// sin x and cos x for 0 <= x <= 2 pi, as in Cephes' sinf: polynomials for the distance from the
/// nearest multiple of pi / 2.
[[gnu::always_inline]] inline void vectorSinCos(float x, float &sine, float &cosine) {
#pragma clang fp contract(fast)
  // NOLINTNEXTLINE(bugprone-incorrect-roundings): x >= 0, and std::lround isn't vectorized
  auto quarter = static_cast<int32_t>(x * 0.636619772f + 0.5f);
  auto q = static_cast<float>(quarter);
  float r = x - q * 1.5703125f - q * 4.837512969970703125e-4f - q * 7.54978995489188216e-8f;
  float square = r * r;
  float s = -1.9515295891e-4f;
  s = s * square + 8.3321608736e-3f;
  s = s * square - 1.6666654611e-1f;
  s = s * square * r + r;
  float c = 2.443315711809948e-5f;
  c = c * square - 1.388731625493765e-3f;
  c = c * square + 4.166664568298827e-2f;
  c = c * square * square - 0.5f * square + 1;
  float a = quarter & 1 ? c : s, b = quarter & 1 ? s : c;
  sine = quarter & 2 ? -a : a;
  cosine = (quarter + 1) & 2 ? -b : b;
}

/// arctan x, as in Cephes' atanf: reduced to |x| < tan(pi / 8).
[[gnu::always_inline]] inline float vectorAtan(float x) {
#pragma clang fp contract(fast)
  float size = std::fabs(x);
  bool isLarge = size > 2.414213562373095f, isMiddle = size > 0.4142135623730950f;
  float above = isLarge ? -1.0f : size - 1, below = isLarge ? size : size + 1;
  float reduced = isMiddle ? above / below : size;
  float base = isLarge ? 1.5707963267948966f : isMiddle ? 0.7853981633974483f : 0.0f;
  float square = reduced * reduced;
  float p = 8.05374449538e-2f;
  p = p * square - 1.38776856032e-1f;
  p = p * square + 1.99777106478e-1f;
  p = p * square - 3.33329491539e-1f;
  return std::copysign(base + (p * square * reduced + reduced), x);
}

/// 1 / (1 + exp(-x)) without overflow, accurate to the last places even if it is close to 0.
[[gnu::always_inline]] inline float vectorLogistic(float x) {
  float e = vectorExp(-std::fabs(x));
  return (x < 0 ? e : 1) / (1 + e);
}

/// tanh(x): an odd polynomial for small x (Cephes), otherwise 1 - 2 / (exp(2 x) + 1).
[[gnu::always_inline]] inline float vectorTanh(float x) {
#pragma clang fp contract(fast)
  float size = std::fabs(x), square = x * x;
  float p = -5.70498872745e-3f;
  p = p * square + 2.06390887954e-2f;
  p = p * square - 5.37397155531e-2f;
  p = p * square + 1.33314422036e-1f;
  p = p * square - 3.33332819422e-1f;
  float near = p * square * x + x;
  float bounded = size > 10 ? 10 : size; // the result is 1 beyond it
  float far = 1 - 2 / (vectorExpOfSmall(2 * bounded) + 1);
  return std::copysign(size < 0.625f ? near : far, x);
}

/// erf(x) / x for |x| < 1, as a polynomial in x * x (Cephes).
[[gnu::always_inline]] inline float erfOverX(float square) {
#pragma clang fp contract(fast)
  float p = 7.853861353153693e-5f;
  p = p * square - 8.010193625184903e-4f;
  p = p * square + 5.188327685732524e-3f;
  p = p * square - 2.685381193529856e-2f;
  p = p * square + 1.128358514861418e-1f;
  p = p * square - 3.761262582423300e-1f;
  return p * square + 1.128379165726710e+0f;
}

/// erfc(x) for x >= 1: exp(-x * x) / x times one of two polynomials in 1 / (x * x) (Cephes).
[[gnu::always_inline]] inline float erfcTail(float x) {
#pragma clang fp contract(fast)
  float inverse = 1 / x, q = inverse * inverse;
  float near = 2.326819970068386e-2f;
  near = near * q - 1.387039388740657e-1f;
  near = near * q + 3.687424674597105e-1f;
  near = near * q - 5.824733027278666e-1f;
  near = near * q + 6.210004621745983e-1f;
  near = near * q - 4.944515323274145e-1f;
  near = near * q + 3.404879937665872e-1f;
  near = near * q - 2.741127028184656e-1f;
  near = near * q + 5.638259427386472e-1f;
  float far = -1.047766399936249e+1f;
  far = far * q + 1.297719955372516e+1f;
  far = far * q - 7.495518717768503e+0f;
  far = far * q + 2.921019019210786e+0f;
  far = far * q - 1.015265279202700e+0f;
  far = far * q + 4.218463358204948e-1f;
  far = far * q - 2.820767439740514e-1f;
  far = far * q + 5.641895067754075e-1f;
  // The rounding error of x * x matters, since it becomes an exponent.
  float bounded = x > 12 ? 12 : x;
  float square = bounded * bounded;
  float lost = std::fma(bounded, bounded, -square);
  float gauss = vectorExp(-square) * (1 - lost);
  return gauss * inverse * (x < 2 ? near : far);
}

/// 1 - erf(x) without cancellation for large x.
[[gnu::always_inline]] inline float vectorErfc(float x) {
  float size = std::fabs(x);
  float tail = erfcTail(size);
  float result = x < 0 ? 2 - tail : tail;
  return size < 1 ? 1 - x * erfOverX(x * x) : result;
}

[[gnu::always_inline]] inline float vectorErf(float x) {
  float size = std::fabs(x);
  float result = 1 - erfcTail(size);
  return size < 1 ? x * erfOverX(x * x) : std::copysign(result, x);
}

/// Number of independent sums or maxima in a loop, so that it can be vectorized.
inline constexpr int64_t reductionLanes = 16;

/// Returns the largest of `n` elements, ignoring NaN; -infinity if there is none.
inline float largestOf(const float *x, int64_t n) {
  using Lanes [[gnu::vector_size(reductionLanes * sizeof(float))]] = float;
  float largest = -std::numeric_limits<float>::infinity();
  int64_t i = 0;
  if (n >= reductionLanes) {
    Lanes lanes = largest - Lanes{};
    for (; i + reductionLanes <= n; i += reductionLanes) {
      Lanes next;
      std::memcpy(&next, x + i, sizeof next);
      lanes = next > lanes ? next : lanes;
    }
    for (int64_t l = 0; l < reductionLanes; ++l)
      largest = lanes[l] > largest ? lanes[l] : largest;
  }
  for (; i < n; ++i)
    largest = x[i] > largest ? x[i] : largest;
  return largest;
}

/// Computes `out[i] = exp(x[i] - shift)` and returns the sum. `out` may be `x`.
inline float expAndSum(const float *x, float shift, float *out, int64_t n) {
  float lanes[reductionLanes] = {};
  int64_t i = 0;
  for (; i + reductionLanes <= n; i += reductionLanes) {
    float values[reductionLanes];
    for (int64_t l = 0; l < reductionLanes; ++l)
      values[l] = vectorExp(x[i + l] - shift);
    for (int64_t l = 0; l < reductionLanes; ++l) {
      out[i + l] = values[l];
      lanes[l] += values[l];
    }
  }
  float sum = 0;
  for (; i < n; ++i)
    sum += out[i] = vectorExp(x[i] - shift);
  for (float lane : lanes)
    sum += lane;
  return sum;
}

} // namespace treadle
