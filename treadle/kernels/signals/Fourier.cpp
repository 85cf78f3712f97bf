// Discrete Fourier transforms of the last one, two or three dimensions, of complex and of real
// data.
#include "treadle/kernels/Families.h"
#include "treadle/kernels/elementwise/Elementwise.h"
#include "treadle/kernels/signals/FourierPlan.h"
#include "treadle/kernels/signals/KeptPlans.h"

namespace treadle {
namespace {

using namespace fourier;

struct FourierKind {
  int rank; // dimensions that are transformed
  bool isInverse;
};

template <typename Real> struct FourierState : FourierKind {
  KeptPlans<ComplexPlan<Real>> complexPlans;
  KeptPlans<RealPlan<Real>> realPlans;

  explicit FourierState(FourierKind kind) : FourierKind(kind) {}
};

/// What the inverse of these dimensions is divided by, all at once: as numpy and XLA do it.
template <typename Real> Real scaleOf(Dims dims, size_t first, bool isInverse) {
  double count = isInverse ? static_cast<double>(countBetween(dims, first, dims.size())) : 1.0;
  return static_cast<Real>(1 / count);
}

/// Along dimension `d` of complex arrays, of which the first may have more than is meant: `dims`
/// tells how much. They may be the same array.
template <typename Real>
void transformComplex(OpContext &ctx, Dims dims, size_t d, const std::complex<Real> *in,
                      Dims inDims, std::complex<Real> *out, bool isInverse, Real scale) {
  using Complex = std::complex<Real>;
  std::shared_ptr<const ComplexPlan<Real>> borrowed;
  const ComplexPlan<Real> &plan =
      ctx.state<FourierState<Real>>().complexPlans.of(static_cast<size_t>(dims[d]), borrowed);
  plan.transform(ctx, Lines<const Complex>::along(in, inDims, dims, d),
                 Lines<Complex>::along(out, dims, dims, d), isInverse, scale);
}

bool checkRank(OpContext &ctx, int rank, const Tensor &in) {
  if (in.rank() >= rank)
    return true;
  ctx.fail(invalidArgument("the input must have rank ", rank, " or more, but has shape ",
                           dimsText(in.dims())));
  return false;
}

template <typename Real> struct ComplexFourier {
  using Complex = std::complex<Real>;

  static void run(OpContext &ctx) {
    const auto &s = ctx.state<FourierState<Real>>();
    const Tensor in = ctx.input(0);
    if (!checkRank(ctx, s.rank, in))
      return;
    Tensor *out = ctx.allocateOutput(0, in.dtype(), in.dims());
    if (!out || !out->count())
      return;
    const Complex *from = in.data<Complex>();
    auto first = static_cast<size_t>(in.rank() - s.rank);
    Real scale = scaleOf<Real>(in.dims(), first, s.isInverse);
    for (size_t d = first; d < in.dims().size(); ++d) {
      transformComplex<Real>(ctx, in.dims(), d, from, in.dims(), out->data<Complex>(), s.isInverse,
                             d == first ? scale : Real(1));
      from = out->data<Complex>();
    }
  }
};

// --- real data: input 1 says how much of each dimension is transformed ---------------------------

std::optional<DimVector> readLengths(OpContext &ctx, FourierKind kind, const Tensor &in) {
  auto [rank, isHalf] = kind; // the last dimension of the input, where the inverse is asked for
  const Tensor &lengths = ctx.input(1);
  if (!checkRank(ctx, rank, in))
    return std::nullopt;
  if (lengths.rank() != 1 || lengths.dim(0) != rank) {
    ctx.fail(invalidArgument("fft_length must be a vector of ", rank, " elements, but has shape ",
                             dimsText(lengths.dims())));
    return std::nullopt;
  }
  DimVector dims(in.dims());
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
    const auto &s = ctx.state<FourierState<Real>>();
    const Tensor in = ctx.input(0);
    std::optional<DimVector> dims = readLengths(ctx, s, in);
    if (!dims)
      return;
    size_t last = dims->size() - 1;
    DimVector half = *dims;
    half[last] = half[last] ? half[last] / 2 + 1 : 0;
    Tensor *out = ctx.allocateOutput(0, dtypeOf<Complex>, half);
    if (!out || !out->count())
      return;
    auto *spectrum = out->data<Complex>();
    std::shared_ptr<const RealPlan<Real>> borrowed;
    s.realPlans.of(static_cast<size_t>((*dims)[last]), borrowed)
        .forward(ctx, Lines<const Real>::along(in.data<Real>(), in.dims(), *dims, last),
                 Lines<Complex>::along(spectrum, half, half, last));
    for (size_t d = dims->size() - static_cast<size_t>(s.rank); d < last; ++d)
      transformComplex<Real>(ctx, half, d, spectrum, half, spectrum, false, Real(1));
  }
};

// The other half of the last dimension is the conjugate of the first, mirrored; the other
// dimensions are transformed before it.
template <typename Real> struct InverseRealFourier {
  using Complex = std::complex<Real>;

  static void run(OpContext &ctx) {
    const auto &s = ctx.state<FourierState<Real>>();
    const Tensor in = ctx.input(0);
    std::optional<DimVector> dims = readLengths(ctx, s, in);
    if (!dims)
      return;
    size_t last = dims->size() - 1, first = dims->size() - static_cast<size_t>(s.rank);
    DimVector half = *dims;
    half[last] = half[last] ? half[last] / 2 + 1 : 0;
    Tensor *out = ctx.allocateOutput(0, dtypeOf<Real>, *dims);
    if (!out || !out->count())
      return;
    std::optional<Tensor> part;
    const auto *spectrum = in.data<Complex>();
    DimVector spectrumDims(in.dims());
    for (size_t d = first; d < last; ++d) {
      if (!part && !(part = ctx.check(Tensor::make(dtypeOf<Complex>, half))))
        return;
      transformComplex<Real>(ctx, half, d, spectrum, spectrumDims, part->data<Complex>(), true,
                             Real(1));
      spectrum = part->data<Complex>();
      spectrumDims = half;
    }
    int64_t length = (*dims)[last];
    std::shared_ptr<const RealPlan<Real>> borrowed;
    s.realPlans.of(static_cast<size_t>(length), borrowed)
        .inverse(ctx, Lines<const Complex>::along(spectrum, spectrumDims, half, last),
                 Lines<Real>::along(out->data<Real>(), *dims, *dims, last),
                 scaleOf<Real>(*dims, first, true));
  }
};

template <template <typename> class Kernel, int rank, bool isInverse>
Expected<BoundKernel> bindFourier(const BindContext &node) {
  BoundKernel bound;
  auto bind = [&]<typename Real>(Real) {
    bound.fn = Kernel<Real>::run;
    bound.state = std::make_shared<const FourierState<Real>>(FourierKind{rank, isInverse});
  };
  DType dtype = node.inputTypes[0];
  if (dtype == DType::Complex64 || dtype == DType::Float32)
    bind(float());
  else if (dtype == DType::Complex128 || dtype == DType::Float64)
    bind(double());
  else
    return unsupportedDType(node, dtype);
  bound.isExpensive = true;
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

std::span<const KernelEntry> fourierKernels() { return fourierTable; }

} // namespace treadle
