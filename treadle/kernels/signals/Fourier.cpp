// Discrete Fourier transforms of the last one, two or three dimensions, of complex and of real
// data.
#include "treadle/kernels/signals/Fourier.h"
#include "treadle/kernels/ElementCopy.h"
#include "treadle/kernels/Families.h"
#include "treadle/kernels/elementwise/Elementwise.h"

#define POCKETFFT_NO_MULTITHREADING
// It would ask aligned_alloc for sizes that aren't multiples of the alignment, which ASan refuses.
#define _LIBCPP_HAS_NO_ALIGNED_ALLOCATION
#include <gemmi/third_party/pocketfft_hdronly.h>
#undef _LIBCPP_HAS_NO_ALIGNED_ALLOCATION

#include <algorithm>
#include <cmath>

namespace treadle {
namespace {

struct FourierState {
  int rank; // dimensions that are transformed
  bool isInverse;
};

using Shape = pocketfft::shape_t;
using Strides = pocketfft::stride_t; // in bytes

/// An array in memory, of which a part from the first element on may be meant.
template <typename T> struct Array {
  T *data;
  Dims dims;

  Strides strides() const {
    Strides strides;
    for (int64_t stride : rowMajorStrides(dims))
      strides.push_back(stride * static_cast<int64_t>(sizeof(T)));
    return strides;
  }
};

/// Calls `transform(shape, axes, inStrides, outStrides, in, out)` for parts of arrays of `dims`, on
/// several threads: each has whole lines along dimension `d`, and some indices of the longest other
/// one.
template <typename In, typename Out, typename Transform>
void forEachPart(OpContext &ctx, Dims dims, size_t d, Array<In> in, Array<Out> out,
                 Transform transform) {
  Shape shape(dims.begin(), dims.end());
  Strides inStrides = in.strides(), outStrides = out.strides();
  size_t split = d == 0 ? dims.size() - 1 : 0;
  for (size_t other = 0; other < dims.size(); ++other)
    if (other != d && dims[other] > dims[split])
      split = other;
  if (split == d) // one line
    return transform(shape, Shape{d}, inStrides, outStrides, in.data, out.data);
  DimVector inSteps = rowMajorStrides(in.dims), outSteps = rowMajorStrides(out.dims);
  auto length = static_cast<double>(dims[d]);
  double perElement = 0.5 * std::log2(length + 1);
  double cost = static_cast<double>(*countElements(dims) / dims[split]) * perElement;
  ctx.parallelFor(dims[split], cost, [&](int64_t begin, int64_t end) {
    Shape part = shape;
    part[split] = static_cast<size_t>(end - begin);
    transform(part, Shape{d}, inStrides, outStrides, in.data + begin * inSteps[split],
              out.data + begin * outSteps[split]);
  });
}

template <typename Real> Real scaleOf(Dims dims, size_t d, bool isInverse) {
  return isInverse ? Real(1) / static_cast<Real>(dims[d]) : Real(1);
}

/// Of `in`, which may be `out`, as much as `dims` tells.
template <typename Real>
void transformComplex(OpContext &ctx, Dims dims, size_t d, Array<const std::complex<Real>> in,
                      Array<std::complex<Real>> out, bool isInverse) {
  Real scale = scaleOf<Real>(dims, d, isInverse);
  forEachPart(ctx, dims, d, in, out,
              [&](const Shape &shape, const Shape &axes, const Strides &inStrides,
                  const Strides &outStrides, const auto *from, auto *to) {
                pocketfft::c2c(shape, inStrides, outStrides, axes, !isInverse, from, to, scale);
              });
}

bool checkRank(OpContext &ctx, const Tensor &in) {
  if (in.rank() >= ctx.state<FourierState>().rank)
    return true;
  ctx.fail(invalidArgument("the input must have rank ", ctx.state<FourierState>().rank,
                           " or more, but has shape ", dimsText(in.dims())));
  return false;
}

template <typename Real> struct ComplexFourier {
  using Complex = std::complex<Real>;

  static void run(OpContext &ctx) {
    const FourierState &s = ctx.state<FourierState>();
    const Tensor in = ctx.input(0);
    if (!checkRank(ctx, in))
      return;
    Tensor *out = ctx.allocateOutput(0, in.dtype(), in.dims());
    if (!out || !out->count())
      return;
    const Complex *from = in.data<Complex>();
    for (int d = in.rank() - s.rank; d < in.rank(); ++d) {
      transformComplex<Real>(ctx, in.dims(), static_cast<size_t>(d), {from, in.dims()},
                             {out->data<Complex>(), in.dims()}, s.isInverse);
      from = out->data<Complex>();
    }
  }
};

// --- real data: input 1 says how much of each dimension is transformed ---------------------------

std::optional<DimVector> readLengths(OpContext &ctx, const Tensor &in) {
  int rank = ctx.state<FourierState>().rank;
  const Tensor &lengths = ctx.input(1);
  if (!checkRank(ctx, in))
    return std::nullopt;
  if (lengths.rank() != 1 || lengths.dim(0) != rank) {
    ctx.fail(invalidArgument("fft_length must be a vector of ", rank, " elements, but has shape ",
                             dimsText(lengths.dims())));
    return std::nullopt;
  }
  DimVector dims(in.dims());
  bool isHalf = ctx.state<FourierState>().isInverse; // the last dimension of the input is
  for (int i = 0; i < rank; ++i) {
    int64_t n = dims[dims.size() - static_cast<size_t>(rank - i)] = indexAt(lengths, i);
    int64_t needed = isHalf && i + 1 == rank && n > 0 ? n / 2 + 1 : n;
    int64_t found = in.dim(in.rank() - rank + i);
    if (n < 0 || found < needed) {
      ctx.fail(invalidArgument("fft_length is ", n, " for dimension ", in.rank() - rank + i,
                               ", which needs ", needed, " elements of the input, but it has ",
                               found));
      return std::nullopt;
    }
  }
  return dims;
}

// The half of the spectrum that tells all.
template <typename Real> struct RealFourier {
  using Complex = std::complex<Real>;

  static void run(OpContext &ctx) {
    const Tensor in = ctx.input(0);
    std::optional<DimVector> dims = readLengths(ctx, in);
    if (!dims)
      return;
    size_t last = dims->size() - 1;
    DimVector half = *dims;
    half[last] = half[last] ? half[last] / 2 + 1 : 0;
    Tensor *out = ctx.allocateOutput(0, dtypeOf<Complex>, half);
    if (!out || !out->count())
      return;
    Array<Complex> spectrum{out->data<Complex>(), half};
    forEachPart(ctx, *dims, last, Array<const Real>{in.data<Real>(), in.dims()}, spectrum,
                [](const Shape &shape, const Shape &axes, const Strides &inStrides,
                   const Strides &outStrides, const Real *from, Complex *to) {
                  pocketfft::r2c(shape, inStrides, outStrides, axes, true, from, to, Real(1));
                });
    for (size_t d = dims->size() - static_cast<size_t>(ctx.state<FourierState>().rank); d < last;
         ++d)
      transformComplex<Real>(ctx, half, d, {spectrum.data, half}, spectrum, false);
  }
};

// The other half of the last dimension is the conjugate of the first, mirrored; the other
// dimensions are transformed before it.
template <typename Real> struct InverseRealFourier {
  using Complex = std::complex<Real>;

  static void run(OpContext &ctx) {
    const Tensor in = ctx.input(0);
    std::optional<DimVector> dims = readLengths(ctx, in);
    if (!dims)
      return;
    size_t last = dims->size() - 1,
           first = dims->size() - static_cast<size_t>(ctx.state<FourierState>().rank);
    DimVector half = *dims;
    half[last] = half[last] ? half[last] / 2 + 1 : 0;
    Tensor *out = ctx.allocateOutput(0, dtypeOf<Real>, *dims);
    if (!out || !out->count())
      return;
    std::optional<Tensor> part;
    Array<const Complex> spectrum{in.data<Complex>(), in.dims()};
    for (size_t d = first; d < last; ++d) {
      if (!part && !(part = ctx.check(Tensor::make(dtypeOf<Complex>, half))))
        return;
      Array<Complex> to{part->data<Complex>(), half};
      transformComplex<Real>(ctx, half, d, spectrum, to, true);
      spectrum = {to.data, half};
    }
    Real scale = scaleOf<Real>(*dims, last, true);
    forEachPart(ctx, *dims, last, spectrum, Array<Real>{out->data<Real>(), *dims},
                [&](const Shape &shape, const Shape &axes, const Strides &inStrides,
                    const Strides &outStrides, const Complex *from, Real *to) {
                  pocketfft::c2r(shape, inStrides, outStrides, axes, false, from, to, scale);
                });
  }
};

template <template <typename> class Kernel, int rank, bool isInverse>
Expected<BoundKernel> bindFourier(const BindContext &node) {
  BoundKernel bound;
  DType dtype = node.inputTypes[0];
  if (dtype == DType::Complex64 || dtype == DType::Float32)
    bound.fn = Kernel<float>::run;
  else if (dtype == DType::Complex128 || dtype == DType::Float64)
    bound.fn = Kernel<double>::run;
  else
    return unsupportedDType(node, dtype);
  bound.isExpensive = true;
  bound.state = std::make_shared<const FourierState>(FourierState{rank, isInverse});
  return bound;
}

const KernelEntry fourierTable[] = {
    {"BatchFFT", bindFourier<ComplexFourier, 1, false>},
    {"BatchFFT2D", bindFourier<ComplexFourier, 2, false>},
    {"BatchFFT3D", bindFourier<ComplexFourier, 3, false>},
    {"BatchIFFT", bindFourier<ComplexFourier, 1, true>},
    {"BatchIFFT2D", bindFourier<ComplexFourier, 2, true>},
    {"BatchIFFT3D", bindFourier<ComplexFourier, 3, true>},
    {"FFT", bindFourier<ComplexFourier, 1, false>},
    {"FFT2D", bindFourier<ComplexFourier, 2, false>},
    {"FFT3D", bindFourier<ComplexFourier, 3, false>},
    {"IFFT", bindFourier<ComplexFourier, 1, true>},
    {"IFFT2D", bindFourier<ComplexFourier, 2, true>},
    {"IFFT3D", bindFourier<ComplexFourier, 3, true>},
    {"RFFT", bindFourier<RealFourier, 1, false>},
    {"RFFT2D", bindFourier<RealFourier, 2, false>},
    {"RFFT3D", bindFourier<RealFourier, 3, false>},
    {"IRFFT", bindFourier<InverseRealFourier, 1, true>},
    {"IRFFT2D", bindFourier<InverseRealFourier, 2, true>},
    {"IRFFT3D", bindFourier<InverseRealFourier, 3, true>},
};

} // namespace

void realSpectrum(std::span<const double> line, std::complex<double> *spectrum) {
  pocketfft::r2c({line.size()}, {sizeof(double)}, {sizeof(std::complex<double>)}, 0, true,
                 line.data(), spectrum, 1.0);
}

std::span<const KernelEntry> fourierKernels() { return fourierTable; }

} // namespace treadle
