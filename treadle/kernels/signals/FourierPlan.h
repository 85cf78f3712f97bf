// Internal to this folder: Fourier transforms of all lines along one dimension of an array, with
// plans cached by length.
#pragma once

#include "treadle/kernels/ElementCopy.h"
#include "treadle/runtime/Kernel.h"

#include <complex>
#include <memory>

namespace treadle::fourier {

/// The one-dimensional slices of an array along one dimension, or prefixes of them.
template <typename T> struct Lines {
  T *data;
  int64_t step = 1; // distance between elements of a line
  int64_t count = 1;
  /// The other dimensions; those that are contiguous in memory are merged.
  DimVector sizes = {}, strides = {};

  /// Returns the lines along dimension `d` of an array of shape `dims`, restricted to the first
  /// `counted` indices of the other dimensions.
  static Lines along(T *data, Dims dims, Dims counted, size_t d) {
    Lines lines{data};
    DimVector steps = rowMajorStrides(dims);
    lines.step = steps[d];
    for (size_t k = 0; k < dims.size(); ++k)
      if (k != d && counted[k] != 1)
        lines.addDimension(counted[k], steps[k]);
    return lines;
  }

  T *at(int64_t line) const {
    int64_t offset = 0;
    size_t k = sizes.size();
    while (k-- > 1) {
      offset += line % sizes[k] * strides[k];
      line /= sizes[k];
    }
    return data + offset + (sizes.size() ? line * strides[0] : 0);
  }

private:
  void addDimension(int64_t size, int64_t stride) {
    count *= size;
    size_t last = sizes.size() - 1;
    if (sizes.size() && strides[last] == size * stride) {
      sizes[last] *= size;
      strides[last] = stride;
      return;
    }
    sizes.push(size);
    strides.push(stride);
  }
};

/// Transforms of complex lines of one length (1 or more): sums with e^(-2 pi i jk / length), or
/// with its conjugate for the inverse, times `scale`. Thread-safe.
template <typename Real> class ComplexPlan {
public:
  using Complex = std::complex<Real>;

  explicit ComplexPlan(size_t length);
  ~ComplexPlan();
  size_t length() const { return size; }

  /// `out` may be the same memory as `in`, with the same steps.
  void transform(OpContext &ctx, const Lines<const Complex> &in, const Lines<Complex> &out,
                 bool isInverse, Real scale) const;

private:
  struct Parts;
  size_t size;
  std::unique_ptr<const Parts> parts;
};

/// Transforms of real lines, whose spectrum is represented by its first half, `length / 2 + 1`
/// numbers. Lines and spectra are contiguous and must not overlap.
template <typename Real> class RealPlan {
public:
  using Complex = std::complex<Real>;

  explicit RealPlan(size_t length);
  ~RealPlan();
  size_t length() const { return size; }

  void forward(OpContext &ctx, const Lines<const Real> &in, const Lines<Complex> &out) const;
  void inverse(OpContext &ctx, const Lines<const Complex> &in, const Lines<Real> &out,
               Real scale) const;

private:
  struct Parts;
  size_t size;
  std::unique_ptr<const Parts> parts;
};

/// Returns the plan of this length, shared by all current users.
template <typename Plan> std::shared_ptr<const Plan> sharedPlan(size_t length);

} // namespace treadle::fourier
