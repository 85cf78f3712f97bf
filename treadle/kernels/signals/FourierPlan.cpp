// Several lines are transformed at once in vector lanes, by pocketfft. A single line, or one so
// long that several don't fit into the cache, is treated as a matrix whose columns and rows are
// transformed that way.
#include "treadle/kernels/signals/FourierPlan.h"
#include "treadle/kernels/signals/VectorLines.h"

#define POCKETFFT_NO_MULTITHREADING
// pocketfft would call aligned_alloc with sizes that aren't multiples of the alignment, which ASan
// rejects.
// NOLINTNEXTLINE(bugprone-reserved-identifier): libc++'s name
#define _LIBCPP_HAS_NO_ALIGNED_ALLOCATION
#include <gemmi/third_party/pocketfft_hdronly.h>
#undef _LIBCPP_HAS_NO_ALIGNED_ALLOCATION

#include <algorithm>
#include <cmath>
#include <optional>

namespace treadle::fourier {
namespace {

namespace pocket = pocketfft::detail;
template <typename T> using Numbers = pocket::cmplx<T>;

// Measured with lines of 16 to 65,536 numbers, 1 and 100 of them: with this many lines, partly
// filled vectors are as fast as single lines, whatever the vector size.
constexpr int64_t minLinesPerVector = 3;
/// From this length on, a line is faster as a matrix even if there are several.
constexpr size_t minMatrixLength = 16384;
/// From this length on, a line of prime length is faster as a product of matrices.
constexpr size_t minChirpLength = 256;

template <typename Real> Real *realsOf(std::complex<Real> *numbers) {
  return reinterpret_cast<Real *>(numbers);
}
template <typename Real> const Real *realsOf(const std::complex<Real> *numbers) {
  return reinterpret_cast<const Real *>(numbers);
}
template <typename Real>
  requires std::is_floating_point_v<Real>
Real *realsOf(Real *numbers) {
  return numbers;
}

template <typename T> using PartOf = std::remove_pointer_t<decltype(realsOf((T *)nullptr))>;

/// Loads the first numbers of `used` lines; remaining lanes repeat the last line.
template <typename Real, typename T>
LineStarts<PartOf<T>> startsOf(const Lines<T> &lines, int64_t first, size_t used) {
  LineStarts<PartOf<T>> starts;
  for (size_t j = 0; j < lanes<Real>; ++j)
    starts[j] = realsOf(lines.at(first + static_cast<int64_t>(std::min(j, used - 1))));
  return starts;
}

/// Nanoseconds for one complex line.
template <typename Real> double costOf(size_t length) {
  return static_cast<double>(length * sizeof(Real)) * 0.06 *
         std::log2(static_cast<double>(length) + 1);
}

/// Uninitialized temporary memory, aligned for vectors as large tensors are.
class ScratchBuffer {
public:
  template <typename T> T *take(size_t count) {
    constexpr size_t minBytes = 128;
    auto bytes = static_cast<int64_t>(std::max(count * sizeof(T), minBytes));
    auto made = Tensor::make(DType::UInt8, {bytes});
    if (!made)
      throw std::bad_alloc();
    block = std::move(*made);
    return reinterpret_cast<T *>(block.raw());
  }

private:
  Tensor block;
};

/// Whether `count` lines of this length are transformed one by one, as matrices if possible. All
/// lines are treated alike, so that a result doesn't depend on a line's position. A vector must be
/// more than two thirds full to beat matrices.
template <typename Real> bool areTransformedSingly(int64_t count, size_t length) {
  return 3 * count < static_cast<int64_t>(2 * lanes<Real>) || length >= minMatrixLength;
}

/// Transforms all lines on the run's threads: `several(first, used, buffer)` for groups that fill
/// vectors, and `one(line)` for the rest.
template <typename Real, typename Several, typename One>
void forLines(OpContext &ctx, int64_t count, double costPerLine, size_t bufferSize, Several several,
              One one) {
  constexpr auto n = static_cast<int64_t>(lanes<Real>);
  auto range = [&](int64_t begin, int64_t end) {
    ScratchBuffer memory;
    void *buffer = nullptr;
    while (end - begin >= minLinesPerVector) {
      if (!buffer)
        buffer = memory.take<char>(bufferSize);
      int64_t used = std::min(n, end - begin);
      several(begin, static_cast<size_t>(used), buffer);
      begin += used;
    }
    for (; begin < end; ++begin)
      one(begin);
  };
  ctx.parallelFor((count + n - 1) / n, costPerLine * static_cast<double>(n),
                  [&](int64_t begin, int64_t end) { range(begin * n, std::min(end * n, count)); });
}

// --- several complex lines in vector lanes -------------------------------------------------------

/// Whether the lines are adjacent, so that element i of all lines is contiguous.
template <typename Real, typename T> bool areAdjacent(const LineStarts<T> &starts, size_t used) {
  if (used < lanes<Real>)
    return false;
  for (size_t j = 1; j < used; ++j)
    if (starts[j] != starts[0] + 2 * j)
      return false;
  return true;
}

template <typename Real>
void readComplex(const LineStarts<const Real> &starts, size_t used, int64_t step, size_t length,
                 Numbers<Vec<Real>> *to) {
  if (step == 1)
    return gatherLines<Real>(starts, 2 * length, &to->r);
  bool areSide = areAdjacent<Real>(starts, used);
  for (size_t i = 0; i < length; ++i) {
    size_t at = 2 * i * static_cast<size_t>(step);
    if (areSide) {
      auto [real, imaginary] = loadComplex(starts[0] + at);
      to[i] = {real, imaginary};
      continue;
    }
    for (size_t j = 0; j < lanes<Real>; ++j) {
      to[i].r[j] = starts[j][at];
      to[i].i[j] = starts[j][at + 1];
    }
  }
}

template <typename Real>
void writeComplex(const Numbers<Vec<Real>> *from, size_t length, const LineStarts<Real> &starts,
                  size_t used, int64_t step) {
  if (step == 1)
    return scatterLines<Real>(&from->r, 2 * length, starts, used);
  bool areSide = areAdjacent<Real>(starts, used);
  for (size_t i = 0; i < length; ++i) {
    size_t at = 2 * i * static_cast<size_t>(step);
    if (areSide) {
      storeComplex<Real>(starts[0] + at, from[i].r, from[i].i);
      continue;
    }
    for (size_t j = 0; j < used; ++j) {
      starts[j][at] = from[i].r[j];
      starts[j][at + 1] = from[i].i[j];
    }
  }
}

// --- a line as a matrix --------------------------------------------------------------------------

/// One complex line of `rows` * `columns` numbers as a matrix: transforms of each column, products
/// with roots of unity, transforms of each row (D. H. Bailey, "FFTs in external or hierarchical
/// memory", 1990).
template <typename Real> class MatrixLine {
public:
  static constexpr size_t n = lanes<Real>;

  /// Returns the number of rows that makes the matrix nearly square; 0 if there is none.
  static size_t rowsFor(size_t length) {
    auto root = static_cast<size_t>(std::sqrt(static_cast<double>(length)));
    for (size_t rows = root; rows >= n; --rows)
      if (length % rows == 0)
        return length / rows <= 16 * rows ? rows : 0;
    return 0;
  }

  MatrixLine(size_t rows, size_t columns)
      : rows(rows), columns(columns), ofColumns(rows), ofRows(columns), roots(groups() * rows) {
    pocket::sincos_2pibyn<Real> root(rows * columns);
    for (size_t group = 0; group < groups(); ++group)
      for (size_t row = 0; row < rows; ++row)
        for (size_t j = 0; j < n; ++j) {
          auto value = root[(firstOf(group, columns) + j) * row];
          roots[group * rows + row].r[j] = value.r;
          roots[group * rows + row].i[j] = value.i;
        }
  }

  /// `out` may be `in`.
  void transform(OpContext &ctx, const Real *in, Real *out, bool isInverse, Real scale) const {
    ScratchBuffer memory;
    Real *middle = memory.take<Real>(2 * rows * columns);
    forGroups(ctx, columns, rows, [&](size_t group, Numbers<Vec<Real>> *buffer) {
      transformColumns(group, in, middle, isInverse, buffer);
    });
    forGroups(ctx, rows, columns, [&](size_t group, Numbers<Vec<Real>> *buffer) {
      transformRows(group, middle, out, isInverse, scale, buffer);
    });
  }

private:
  size_t groups() const { return (columns + n - 1) / n; }
  /// If lines don't fill the vectors, the last group overlaps the one before it.
  static size_t firstOf(size_t group, size_t count) { return std::min(group * n, count - n); }

  template <typename Body>
  static void forGroups(OpContext &ctx, size_t count, size_t length, Body body) {
    ctx.parallelFor(static_cast<int64_t>((count + n - 1) / n), costOf<Real>(length) * n,
                    [&](int64_t begin, int64_t end) {
                      pocket::arr<Numbers<Vec<Real>>> buffer(length);
                      for (; begin < end; ++begin)
                        body(static_cast<size_t>(begin), buffer.data());
                    });
  }

  void transformColumns(size_t group, const Real *in, Real *middle, bool isInverse,
                        Numbers<Vec<Real>> *buffer) const {
    size_t first = firstOf(group, columns);
    for (size_t row = 0; row < rows; ++row) {
      auto [real, imaginary] = loadComplex(in + 2 * (row * columns + first));
      buffer[row] = {real, imaginary};
    }
    ofColumns.exec(buffer, Real(1), !isInverse);
    for (size_t row = 0; row < rows; ++row) {
      const Numbers<Vec<Real>> &root = roots[group * rows + row];
      Numbers<Vec<Real>> product = isInverse ? buffer[row].template special_mul<false>(root)
                                             : buffer[row].template special_mul<true>(root);
      write(product, middle + 2 * (row * columns + first), group * n - first);
    }
  }

  void transformRows(size_t group, const Real *middle, Real *out, bool isInverse, Real scale,
                     Numbers<Vec<Real>> *buffer) const {
    size_t first = firstOf(group, rows);
    LineStarts<const Real> starts;
    for (size_t j = 0; j < n; ++j)
      starts[j] = middle + 2 * columns * (first + j);
    gatherLines<Real>(starts, 2 * columns, &buffer->r);
    ofRows.exec(buffer, scale, !isInverse);
    for (size_t k = 0; k < columns; ++k)
      write(buffer[k], out + 2 * (k * rows + first), group * n - first);
  }

  /// Writes all lanes but the first `skipped`, which another thread may be writing.
  static void write(const Numbers<Vec<Real>> &value, Real *to, size_t skipped) {
    if (skipped == 0)
      return storeComplex<Real>(to, value.r, value.i);
    for (size_t j = skipped; j < n; ++j) {
      to[2 * j] = value.r[j];
      to[2 * j + 1] = value.i[j];
    }
  }

  size_t rows, columns;
  pocket::pocketfft_c<Real> ofColumns, ofRows;
  pocket::arr<Numbers<Vec<Real>>> roots;
};

template <typename Real> std::unique_ptr<const MatrixLine<Real>> matrixLine(size_t length) {
  size_t rows = MatrixLine<Real>::rowsFor(length);
  return rows ? std::make_unique<const MatrixLine<Real>>(rows, length / rows) : nullptr;
}

/// A line whose length has a large prime factor: a convolution with a chirp, e^(pi i k^2 / length),
/// by transforms of a longer line that is a matrix (L. Bluestein, 1970).
template <typename Real> class ChirpLine {
public:
  ChirpLine(size_t length, std::unique_ptr<const MatrixLine<Real>> longer, size_t longerLength)
      : length(length), total(longerLength), matrix(std::move(longer)), chirp(length),
        spectrum(total) {
    pocket::sincos_2pibyn<Real> root(2 * length);
    size_t square = 0; // modulo twice the length
    for (size_t k = 0; k < length; ++k) {
      chirp[k] = root[square];
      square = (square + 2 * k + 1) % (2 * length);
    }
    std::fill_n(spectrum.data(), total, Numbers<Real>(0, 0));
    for (size_t k = 0; k < length; ++k)
      spectrum[k] = spectrum[(total - k) % total] = chirp[k];
    pocket::pocketfft_c<Real>(total).exec(spectrum.data(), Real(1) / static_cast<Real>(total),
                                          true);
  }

  /// `out` may be `in`.
  void transform(OpContext &ctx, const Real *in, Real *out, bool isInverse, Real scale) const {
    auto times = [&](Numbers<Real> a, Numbers<Real> b, bool isConjugate) {
      return isConjugate ? a.template special_mul<true>(b) : a.template special_mul<false>(b);
    };
    const auto *from = reinterpret_cast<const Numbers<Real> *>(in);
    auto *to = reinterpret_cast<Numbers<Real> *>(out);
    ScratchBuffer memory;
    auto *line = memory.take<Numbers<Real>>(total);
    auto *reals = reinterpret_cast<Real *>(line);
    for (size_t k = 0; k < length; ++k)
      line[k] = times(from[k], chirp[k], !isInverse);
    std::fill(line + length, line + total, Numbers<Real>(0, 0));
    matrix->transform(ctx, reals, reals, false, Real(1));
    for (size_t k = 0; k < total; ++k)
      line[k] = times(line[k], spectrum[k], isInverse);
    matrix->transform(ctx, reals, reals, true, Real(1));
    for (size_t k = 0; k < length; ++k)
      to[k] = times(line[k], chirp[k], !isInverse) * scale;
  }

private:
  size_t length, total;
  std::unique_ptr<const MatrixLine<Real>> matrix;
  pocket::arr<Numbers<Real>> chirp, spectrum;
};

template <typename Real> std::unique_ptr<const ChirpLine<Real>> chirpLine(size_t length) {
  size_t prime = pocket::util::largest_prime_factor(length);
  if (length < minChirpLength || prime * prime <= length)
    return nullptr;
  size_t total = pocket::util::good_size_cmplx(2 * length - 1);
  while (!MatrixLine<Real>::rowsFor(total))
    total = pocket::util::good_size_cmplx(total + 1);
  return std::make_unique<const ChirpLine<Real>>(length, matrixLine<Real>(total), total);
}

/// A single line, if there is a faster method than pocketfft's.
template <typename Real> class SingleLine {
public:
  SingleLine() = default;
  explicit SingleLine(size_t length) : matrix(matrixLine<Real>(length)) {
    if (!matrix)
      chirp = chirpLine<Real>(length);
  }
  explicit operator bool() const { return matrix || chirp; }

  /// `out` may be `in`.
  void transform(OpContext &ctx, const Real *in, Real *out, bool isInverse, Real scale) const {
    if (matrix)
      matrix->transform(ctx, in, out, isInverse, scale);
    else
      chirp->transform(ctx, in, out, isInverse, scale);
  }

private:
  std::unique_ptr<const MatrixLine<Real>> matrix;
  std::unique_ptr<const ChirpLine<Real>> chirp;
};

} // namespace

// --- complex lines -------------------------------------------------------------------------------

template <typename Real> struct ComplexPlan<Real>::Parts {
  explicit Parts(size_t length) : length(length), alone(length) {
    if (!alone || length < minMatrixLength)
      plain.emplace(length);
  }

  void several(const Lines<const Complex> &in, const Lines<Complex> &out, int64_t first,
               size_t used, bool isInverse, Real scale, Numbers<Vec<Real>> *buffer) const {
    readComplex<Real>(startsOf<Real>(in, first, used), used, in.step, length, buffer);
    plain->exec(buffer, scale, !isInverse);
    writeComplex<Real>(buffer, length, startsOf<Real>(out, first, used), used, out.step);
  }

  void one(const Complex *in, int64_t inStep, Complex *out, int64_t outStep, bool isInverse,
           Real scale) const {
    onContiguous(in, inStep, out, outStep, [&](Complex *line) {
      plain->exec(reinterpret_cast<Numbers<Real> *>(line), scale, !isInverse);
    });
  }

  void transformSingly(OpContext &ctx, const Complex *in, int64_t inStep, Complex *out,
                       int64_t outStep, bool isInverse, Real scale) const {
    if (inStep == 1 && outStep == 1)
      return alone.transform(ctx, realsOf(in), realsOf(out), isInverse, scale);
    onContiguous(in, inStep, out, outStep, [&](Complex *line) {
      alone.transform(ctx, realsOf(line), realsOf(line), isInverse, scale);
    });
  }

private:
  template <typename Body>
  void onContiguous(const Complex *in, int64_t inStep, Complex *out, int64_t outStep,
                    Body body) const {
    ScratchBuffer memory;
    Complex *line = outStep == 1 ? out : memory.take<Complex>(length);
    for (size_t i = 0; i < length; ++i)
      line[i] = in[static_cast<int64_t>(i) * inStep];
    body(line);
    for (size_t i = 0; outStep != 1 && i < length; ++i)
      out[static_cast<int64_t>(i) * outStep] = line[i];
  }

public:
  size_t length;
  SingleLine<Real> alone;
  std::optional<pocket::pocketfft_c<Real>> plain; // null if all lines are transformed one by one
};

template <typename Real>
ComplexPlan<Real>::ComplexPlan(size_t length)
    : size(length), parts(std::make_unique<const Parts>(length)) {}
template <typename Real> ComplexPlan<Real>::~ComplexPlan() = default;

template <typename Real>
void ComplexPlan<Real>::transform(OpContext &ctx, const Lines<const Complex> &in,
                                  const Lines<Complex> &out, bool isInverse, Real scale) const {
  if (parts->alone && areTransformedSingly<Real>(in.count, size)) {
    for (int64_t i = 0; i < in.count; ++i)
      parts->transformSingly(ctx, in.at(i), in.step, out.at(i), out.step, isInverse, scale);
    return;
  }
  forLines<Real>(
      ctx, in.count, costOf<Real>(size), size * sizeof(Numbers<Vec<Real>>),
      [&](int64_t first, size_t used, void *buffer) {
        parts->several(in, out, first, used, isInverse, scale,
                       static_cast<Numbers<Vec<Real>> *>(buffer));
      },
      [&](int64_t line) {
        parts->one(in.at(line), in.step, out.at(line), out.step, isInverse, scale);
      });
}

// --- real lines ----------------------------------------------------------------------------------
// For a real line pocketfft returns r0 r1 i1 r2 i2 ...: after r0, this is one position to the left
// of the complex layout r0 0 r1 i1 r2 i2 ...

namespace {

/// Sets the imaginary parts of the first number and, for even lengths, of the last to 0.
template <typename T> void completeHalf(T *half, size_t length, T zero) {
  half[0] = half[1];
  half[1] = zero;
  if (length % 2 == 0)
    half[length + 1] = zero;
}

/// Converts between the spectrum of a real line of even length and that of the complex line whose
/// parts are its even and odd elements.
template <typename Real> class HalfSpectrum {
public:
  explicit HalfSpectrum(size_t length) : half(length / 2), roots(half / 2 + 1) {
    pocket::sincos_2pibyn<Real> root(length);
    for (size_t k = 0; k < roots.size(); ++k)
      roots[k] = root[k];
  }

  /// Works in place: `half` numbers become `half` + 1.
  void fromPairs(Numbers<Real> *z) const {
    Numbers<Real> first = z[0];
    z[0] = {first.r + first.i, 0};
    z[half] = {first.r - first.i, 0};
    for (size_t k = 1; 2 * k <= half; ++k) {
      Numbers<Real> a = z[k], b = pocket::conj(z[half - k]);
      Numbers<Real> even = (a + b) * Real(0.5), odd = (a - b) * Real(0.5);
      Numbers<Real> turned = odd.template special_mul<true>(roots[k]); // times e^-...
      Numbers<Real> side{turned.i, -turned.r};                         // times -i
      z[k] = even + side;
      z[half - k] = pocket::conj(even - side);
    }
  }

  /// Returns twice the pairs of the spectrum `x`.
  void toPairs(const Numbers<Real> *x, Numbers<Real> *z) const {
    z[0] = {x[0].r + x[half].r, x[0].r - x[half].r};
    for (size_t k = 1; 2 * k <= half; ++k) {
      Numbers<Real> a = x[k], b = pocket::conj(x[half - k]);
      Numbers<Real> even = a + b;
      Numbers<Real> odd = (a - b).template special_mul<false>(roots[k]);
      Numbers<Real> side{-odd.i, odd.r}; // times i
      z[k] = even + side;
      z[half - k] = pocket::conj(even - side);
    }
  }

private:
  size_t half;
  pocket::arr<Numbers<Real>> roots;
};

} // namespace

template <typename Real> struct RealPlan<Real>::Parts {
  explicit Parts(size_t length) : length(length) {
    if (length % 2 == 0)
      alone = SingleLine<Real>(length / 2);
    if (alone)
      ends.emplace(length);
    if (!alone || length < minMatrixLength)
      plain.emplace(length);
  }

  size_t halfReals() const { return 2 * (length / 2 + 1); }

  void severalForward(const Lines<const Real> &in, const Lines<Complex> &out, int64_t first,
                      size_t used, Vec<Real> *buffer) const {
    gatherLines<Real>(startsOf<Real>(in, first, used), length, buffer + 1);
    plain->exec(buffer + 1, Real(1), true);
    completeHalf(buffer, length, Vec<Real>{});
    scatterLines<Real>(buffer, halfReals(), startsOf<Real>(out, first, used), used);
  }

  void severalInverse(const Lines<const Complex> &in, const Lines<Real> &out, int64_t first,
                      size_t used, Real scale, Vec<Real> *buffer) const {
    gatherLines<Real>(startsOf<Real>(in, first, used), halfReals(), buffer);
    buffer[1] = buffer[0];
    plain->exec(buffer + 1, scale, false);
    scatterLines<Real>(buffer + 1, length, startsOf<Real>(out, first, used), used);
  }

  void oneForward(const Real *in, Complex *out) const {
    Real *half = realsOf(out);
    std::copy_n(in, length, half + 1);
    plain->exec(half + 1, Real(1), true);
    completeHalf(half, length, Real(0));
  }

  void oneInverse(const Complex *in, Real *out, Real scale) const {
    const Real *half = realsOf(in);
    out[0] = half[0];
    std::copy_n(half + 2, length - 1, out + 1);
    plain->exec(out, scale, false);
  }

  void forwardSingly(OpContext &ctx, const Real *in, Complex *out) const {
    alone.transform(ctx, in, realsOf(out), false, Real(1));
    ends->fromPairs(reinterpret_cast<Numbers<Real> *>(out));
  }

  void inverseSingly(OpContext &ctx, const Complex *in, Real *out, Real scale) const {
    ends->toPairs(reinterpret_cast<const Numbers<Real> *>(in),
                  reinterpret_cast<Numbers<Real> *>(out));
    alone.transform(ctx, out, out, true, scale);
  }

  size_t length;
  SingleLine<Real> alone; // of half the length
  std::optional<HalfSpectrum<Real>> ends;
  std::optional<pocket::pocketfft_r<Real>> plain;
};

template <typename Real>
RealPlan<Real>::RealPlan(size_t length)
    : size(length), parts(std::make_unique<const Parts>(length)) {}
template <typename Real> RealPlan<Real>::~RealPlan() = default;

template <typename Real>
void RealPlan<Real>::forward(OpContext &ctx, const Lines<const Real> &in,
                             const Lines<Complex> &out) const {
  if (parts->alone && areTransformedSingly<Real>(in.count, size)) {
    for (int64_t i = 0; i < in.count; ++i)
      parts->forwardSingly(ctx, in.at(i), out.at(i));
    return;
  }
  forLines<Real>(
      ctx, in.count, costOf<Real>(size) / 2, (size + 2) * sizeof(Vec<Real>),
      [&](int64_t first, size_t used, void *buffer) {
        parts->severalForward(in, out, first, used, static_cast<Vec<Real> *>(buffer));
      },
      [&](int64_t line) { parts->oneForward(in.at(line), out.at(line)); });
}

template <typename Real>
void RealPlan<Real>::inverse(OpContext &ctx, const Lines<const Complex> &in, const Lines<Real> &out,
                             Real scale) const {
  if (parts->alone && areTransformedSingly<Real>(in.count, size)) {
    for (int64_t i = 0; i < in.count; ++i)
      parts->inverseSingly(ctx, in.at(i), out.at(i), scale);
    return;
  }
  forLines<Real>(
      ctx, in.count, costOf<Real>(size) / 2, (size + 2) * sizeof(Vec<Real>),
      [&](int64_t first, size_t used, void *buffer) {
        parts->severalInverse(in, out, first, used, scale, static_cast<Vec<Real> *>(buffer));
      },
      [&](int64_t line) { parts->oneInverse(in.at(line), out.at(line), scale); });
}

// --- cached plans --------------------------------------------------------------------------------

template <typename Plan> std::shared_ptr<const Plan> sharedPlan(size_t length) {
  return pocket::get_plan<const Plan>(length);
}

template class ComplexPlan<float>;
template class ComplexPlan<double>;
template class RealPlan<float>;
template class RealPlan<double>;
template std::shared_ptr<const ComplexPlan<float>> sharedPlan(size_t);
template std::shared_ptr<const ComplexPlan<double>> sharedPlan(size_t);
template std::shared_ptr<const RealPlan<float>> sharedPlan(size_t);
template std::shared_ptr<const RealPlan<double>> sharedPlan(size_t);

} // namespace treadle::fourier
