// Discrete Fourier transforms of the last one, two or three dimensions, or of the axes in an input,
// of complex and of real data.
#include "treadle/kernels/arrays/Rearrange.h"
#include "treadle/kernels/signals/FourierPlan.h"
#include "treadle/kernels/signals/PlanCache.h"

namespace treadle {
namespace {

using namespace fourier;

struct FourierKind {
  int rank; // number of axes; 0: input 2 lists them
  bool isInverse;
};

template <typename Real> struct FourierState : FourierKind {
  PlanCache<ComplexPlan<Real>> complexPlans;
  PlanCache<RealPlan<Real>> realPlans;

  explicit FourierState(FourierKind kind) : FourierKind(kind) {}
};

/// The axes of the transform in order, and the size of each dimension to use.
struct TransformExtent {
  DimVector axes, dims;

  size_t last() const { return static_cast<size_t>(axes[axes.size() - 1]); }
  /// All axes but the last.
  Dims others() const { return Dims(axes).first(axes.size() - 1); }
  /// The dimensions of the spectrum of real data; the other half is redundant.
  DimVector halved() const {
    DimVector half = dims;
    half[last()] = half[last()] ? half[last()] / 2 + 1 : 0;
    return half;
  }
};

/// The factor of an inverse transform, applied once for all axes as in numpy and XLA.
template <typename Real> Real scaleOf(const TransformExtent &extent, bool isInverse) {
  double count = 1;
  for (int64_t axis : extent.axes)
    count *= static_cast<double>(extent.dims[static_cast<size_t>(axis)]);
  return static_cast<Real>(isInverse ? 1 / count : 1);
}

/// Transforms complex arrays along dimension `d`. `in` may be larger than `dims`, the size to use,
/// and may be the same array as `out`.
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

/// Reads the distinct axes in input 2.
std::optional<DimVector> readAxes(OpContext &ctx, const Tensor &in) {
  const Tensor &list = ctx.input(2);
  DimVector axes;
  for (int64_t i = 0; i < list.count(); ++i) {
    int64_t axis = normalizedAxis(indexAt(list, i), in.rank());
    if (axis < 0 || std::ranges::find(axes, axis) != axes.end())
      break;
    axes.push(axis);
  }
  if (list.rank() == 1 && list.count() && std::ssize(Dims(axes)) == list.count())
    return axes;
  ctx.fail(invalidArgument("axes must be a vector of some of ", in.rank(),
                           " dimensions, each once, but is ", tensorTypeText(list)));
  return std::nullopt;
}

std::optional<DimVector> axesOf(OpContext &ctx, FourierKind kind, const Tensor &in) {
  if (kind.rank == 0)
    return readAxes(ctx, in);
  if (!checkRank(ctx, kind.rank, in))
    return std::nullopt;
  DimVector axes;
  for (int d = in.rank() - kind.rank; d < in.rank(); ++d)
    axes.push(d);
  return axes;
}

/// Reads input 1, if there is one: the size of each axis to use. For an inverse with a real result
/// (`isHalf`), the input's last axis has half the size.
std::optional<TransformExtent> readExtent(OpContext &ctx, FourierKind kind, const Tensor &in,
                                          bool isHalf) {
  std::optional<DimVector> axes = axesOf(ctx, kind, in);
  if (!axes)
    return std::nullopt;
  TransformExtent extent{*axes, in.dims()};
  if (ctx.numInputs() == 1)
    return extent;
  const Tensor &lengths = ctx.input(1);
  auto count = static_cast<int64_t>(axes->size());
  if (lengths.rank() != 1 || lengths.dim(0) != count) {
    ctx.fail(invalidArgument("fft_length must be a vector of ", count, " elements, but has shape ",
                             dimsText(lengths.dims())));
    return std::nullopt;
  }
  for (int64_t i = 0; i < count; ++i) {
    auto axis = static_cast<size_t>((*axes)[static_cast<size_t>(i)]);
    int64_t n = extent.dims[axis] = indexAt(lengths, i);
    int64_t needed = isHalf && i + 1 == count && n > 0 ? n / 2 + 1 : n;
    if (n < 0 || in.dims()[axis] < needed) {
      ctx.fail(invalidArgument("fft_length is ", n, " for dimension ", axis, ", which needs ",
                               needed, " elements of the input, but it has ", in.dims()[axis]));
      return std::nullopt;
    }
  }
  return extent;
}

template <typename Real> struct ComplexFourier {
  using Complex = std::complex<Real>;
  static constexpr bool isHalf = false, needsLines = false;

  static void compute(OpContext &ctx, const Tensor &in, const TransformExtent &extent) {
    const auto &s = ctx.state<FourierState<Real>>();
    const DimVector &dims = extent.dims;
    Tensor *out = ctx.allocateOutput(0, in.dtype(), dims);
    if (!out || !out->count())
      return;
    const Complex *from = in.data<Complex>();
    DimVector fromDims = in.dims();
    Real scale = scaleOf<Real>(extent, s.isInverse);
    for (int64_t axis : extent.axes) {
      transformComplex<Real>(ctx, dims, static_cast<size_t>(axis), from, fromDims,
                             out->data<Complex>(), s.isInverse, scale);
      from = out->data<Complex>();
      fromDims = dims;
      scale = 1;
    }
  }
};

// Returns the non-redundant half of the spectrum. The last axis must be the last dimension.
template <typename Real> struct RealFourier {
  using Complex = std::complex<Real>;
  static constexpr bool isHalf = false, needsLines = true;

  static void compute(OpContext &ctx, const Tensor &in, const TransformExtent &extent) {
    const auto &s = ctx.state<FourierState<Real>>();
    size_t last = extent.last();
    DimVector half = extent.halved();
    Tensor *out = ctx.allocateOutput(0, dtypeOf<Complex>, half);
    if (!out || !out->count())
      return;
    auto *spectrum = out->data<Complex>();
    std::shared_ptr<const RealPlan<Real>> borrowed;
    s.realPlans.of(static_cast<size_t>(extent.dims[last]), borrowed)
        .forward(ctx, Lines<const Real>::along(in.data<Real>(), in.dims(), extent.dims, last),
                 Lines<Complex>::along(spectrum, half, half, last));
    for (int64_t axis : extent.others())
      transformComplex<Real>(ctx, half, static_cast<size_t>(axis), spectrum, half, spectrum, false,
                             Real(1));
  }
};

// The other half of the last axis is the mirrored conjugate of the first; the other axes are
// transformed first.
template <typename Real> struct InverseRealFourier {
  using Complex = std::complex<Real>;
  static constexpr bool isHalf = true, needsLines = true;

  static void compute(OpContext &ctx, const Tensor &in, const TransformExtent &extent) {
    const auto &s = ctx.state<FourierState<Real>>();
    size_t last = extent.last();
    DimVector half = extent.halved();
    Tensor *out = ctx.allocateOutput(0, dtypeOf<Real>, extent.dims);
    if (!out || !out->count())
      return;
    std::optional<Tensor> part;
    const auto *spectrum = in.data<Complex>();
    DimVector spectrumDims(in.dims());
    for (int64_t axis : extent.others()) {
      if (!part)
        part = ctx.check(Tensor::make(dtypeOf<Complex>, half));
      if (!part)
        return;
      transformComplex<Real>(ctx, half, static_cast<size_t>(axis), spectrum, spectrumDims,
                             part->data<Complex>(), true, Real(1));
      spectrum = part->data<Complex>();
      spectrumDims = half;
    }
    int64_t length = extent.dims[last];
    std::shared_ptr<const RealPlan<Real>> borrowed;
    s.realPlans.of(static_cast<size_t>(length), borrowed)
        .inverse(ctx, Lines<const Complex>::along(spectrum, spectrumDims, half, last),
                 Lines<Real>::along(out->data<Real>(), extent.dims, extent.dims, last),
                 scaleOf<Real>(extent, true));
  }
};

/// Returns the dimensions with `d` and the last one swapped.
std::vector<int64_t> swapped(Dims dims, size_t d) {
  std::vector<int64_t> out(dims.begin(), dims.end());
  std::swap(out[d], out.back());
  return out;
}

/// Sets output 0 with a kernel that transforms along the last dimension.
template <typename Kernel>
void computeSwapped(OpContext &ctx, const Tensor &in, const TransformExtent &extent) {
  size_t last = extent.last();
  DimVector places;
  for (int d = 0; d < in.rank(); ++d)
    places.push(d);
  std::vector<int64_t> order = swapped(places, last);
  auto x = TREADLE_OR_RETURN(ctx.check(rearrange::permuted(in, order)));
  TransformExtent moved{extent.axes, Dims(swapped(extent.dims, last))};
  for (int64_t &axis : moved.axes)
    axis = order[static_cast<size_t>(axis)];
  Kernel::compute(ctx, x, moved);
  if (ctx.hasFailed())
    return;
  if (auto out = ctx.check(rearrange::permuted(ctx.output(0), order)))
    ctx.setOutput(0, std::move(*out));
}

template <typename Kernel, typename Real> void runFourier(OpContext &ctx) {
  const Tensor in = ctx.input(0);
  TransformExtent extent =
      TREADLE_OR_RETURN(readExtent(ctx, ctx.state<FourierState<Real>>(), in, Kernel::isHalf));
  if (Kernel::needsLines && extent.last() + 1 != extent.dims.size())
    computeSwapped<Kernel>(ctx, in, extent);
  else
    Kernel::compute(ctx, in, extent);
}

template <template <typename> class Kernel, int rank, bool isInverse>
Expected<BoundKernel> bindFourier(const BindContext &node) {
  BoundKernel bound;
  auto bind = [&]<typename Real>(Real) {
    bound.fn = runFourier<Kernel<Real>, Real>;
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
    {"FFTND", bindFourier<ComplexFourier, 0, false>},
    {"IFFTND", bindFourier<ComplexFourier, 0, true>},
    {"RFFTND", bindFourier<RealFourier, 0, false>},
    {"IRFFTND", bindFourier<InverseRealFourier, 0, true>},
};

} // namespace

std::span<const KernelEntry> fourierKernels() { return fourierTable; }

} // namespace treadle
