// Internal to this folder: several lines of an array in vector lanes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

namespace treadle::fourier {

/// Size of the processor's vector registers.
#if defined(__AVX512F__)
inline constexpr size_t vectorBytes = 64;
#elif defined(__AVX__)
inline constexpr size_t vectorBytes = 32;
#else
inline constexpr size_t vectorBytes = 16;
#endif
template <typename Real> inline constexpr size_t lanes = vectorBytes / sizeof(Real);
template <typename Real> using Vec [[gnu::vector_size(vectorBytes)]] = Real;

/// Pointers to the first element of each line.
template <typename T> using LineStarts = std::array<T *, vectorBytes / sizeof(float)>;

template <typename Real> Vec<Real> loadVector(const Real *from) {
  Vec<Real> v;
  std::memcpy(&v, from, sizeof(v));
  return v;
}
template <typename Real> void storeVector(Real *to, Vec<Real> v) { std::memcpy(to, &v, sizeof(v)); }

/// A block of consecutive complex numbers, as separate vectors.
template <typename Real> struct VectorPair {
  Vec<Real> real, imaginary;
};

template <typename Real> VectorPair<Real> loadComplex(const Real *from) {
  constexpr size_t n = lanes<Real>;
  Vec<Real> a = loadVector(from), b = loadVector(from + n);
  return [&]<size_t... i>(std::index_sequence<i...>) {
    return VectorPair<Real>{__builtin_shufflevector(a, b, (2 * i)...),
                            __builtin_shufflevector(a, b, (2 * i + 1)...)};
  }(std::make_index_sequence<n>());
}

template <typename Real> void storeComplex(Real *to, Vec<Real> real, Vec<Real> imaginary) {
  constexpr size_t n = lanes<Real>;
  [&]<size_t... i>(std::index_sequence<i...>) {
    storeVector<Real>(to, __builtin_shufflevector(real, imaginary, (i / 2 + i % 2 * n)...));
    storeVector<Real>(to + n,
                      __builtin_shufflevector(real, imaginary, (n / 2 + i / 2 + i % 2 * n)...));
  }(std::make_index_sequence<n>());
}

template <typename Real> Vec<Real> reversed(Vec<Real> v) {
  constexpr size_t n = lanes<Real>;
  return [&]<size_t... i>(std::index_sequence<i...>) {
    return __builtin_shufflevector(v, v, (n - 1 - i)...);
  }(std::make_index_sequence<n>());
}

/// One step of a transposition: exchanges lanes at distance `d` between rows at distance `d`.
template <size_t d, typename Real> void exchange(Vec<Real> (&rows)[lanes<Real>]) {
  constexpr size_t n = lanes<Real>;
  for (size_t i = 0; i < n; ++i) {
    if (i & d)
      continue;
    Vec<Real> a = rows[i], b = rows[i + d];
    [&]<size_t... k>(std::index_sequence<k...>) {
      rows[i] = __builtin_shufflevector(a, b, (k & d ? n + k - d : k)...);
      rows[i + d] = __builtin_shufflevector(a, b, (k & d ? n + k : k + d)...);
    }(std::make_index_sequence<n>());
  }
}

/// Transposes a square of vectors.
template <typename Real, size_t d = 1> void transpose(Vec<Real> (&rows)[lanes<Real>]) {
  if constexpr (d < lanes<Real>) {
    exchange<d, Real>(rows);
    transpose<Real, 2 * d>(rows);
  }
}

/// Visits a line in blocks of vectors; the last block overlaps the one before if the length isn't a
/// multiple. Calls `block(i)`, or `one(i)` for lines shorter than a vector.
template <typename Real, typename Block, typename One>
void forEachBlock(size_t count, Block block, One one) {
  constexpr size_t n = lanes<Real>;
  if (count < n) {
    for (size_t i = 0; i < count; ++i)
      one(i);
    return;
  }
  for (size_t i = 0; i + n <= count; i += n)
    block(i);
  if (count % n)
    block(count - n);
}

/// Loads number `i` of each line into `to[i]`; each line is contiguous.
template <typename Real>
void gatherLines(const LineStarts<const Real> &lines, size_t count, Vec<Real> *to) {
  constexpr size_t n = lanes<Real>;
  auto block = [&](size_t i) {
    Vec<Real> rows[n];
    for (size_t j = 0; j < n; ++j)
      rows[j] = loadVector(lines[j] + i);
    transpose<Real>(rows);
    for (size_t j = 0; j < n; ++j)
      to[i + j] = rows[j];
  };
  auto one = [&](size_t i) {
    for (size_t j = 0; j < n; ++j)
      to[i][j] = lines[j][i];
  };
  forEachBlock<Real>(count, block, one);
}

/// Stores them back, for the first `used` lines.
template <typename Real>
void scatterLines(const Vec<Real> *from, size_t count, const LineStarts<Real> &lines, size_t used) {
  constexpr size_t n = lanes<Real>;
  auto block = [&](size_t i) {
    Vec<Real> rows[n];
    for (size_t j = 0; j < n; ++j)
      rows[j] = from[i + j];
    transpose<Real>(rows);
    for (size_t j = 0; j < used; ++j)
      storeVector<Real>(lines[j] + i, rows[j]);
  };
  auto one = [&](size_t i) {
    for (size_t j = 0; j < used; ++j)
      lines[j][i] = from[i][j];
  };
  forEachBlock<Real>(count, block, one);
}

} // namespace treadle::fourier
