// Discrete Fourier transforms of the last one, two or three dimensions, of complex and of real
// data.
#include "treadle/kernels/ElementCopy.h"
#include "treadle/kernels/Families.h"
#include "treadle/kernels/elementwise/Elementwise.h"

#include <unsupported/Eigen/FFT>

#include <algorithm>
#include <cmath>
#include <vector>

namespace treadle {
namespace {

struct FourierState {
  int rank; // dimensions that are transformed
  bool isInverse;
};

// Transforms `data` of that shape in place along dimension `d`.
template <typename Real>
void transformAlong(OpContext &ctx, std::complex<Real> *data, Dims dims, size_t d, bool isInverse) {
  using Complex = std::complex<Real>;
  int64_t n = dims[d], inner = countBetween(dims, d + 1, dims.size());
  int64_t outer = countBetween(dims, 0, d);
  if (n < 2)
    return;
  double cost = 3.0 * static_cast<double>(n) * std::log2(static_cast<double>(n));
  ctx.parallelFor(outer * inner, cost, [&](int64_t begin, int64_t end) {
    Eigen::FFT<Real> fft; // it keeps tables
    std::vector<Complex> in(static_cast<size_t>(n)), out(static_cast<size_t>(n));
    for (int64_t i = begin; i < end; ++i) {
      Complex *line = data + i / inner * n * inner + i % inner;
      for (int64_t k = 0; k < n; ++k)
        in[static_cast<size_t>(k)] = line[k * inner];
      if (isInverse)
        fft.inv(out.data(), in.data(), n);
      else
        fft.fwd(out.data(), in.data(), n);
      for (int64_t k = 0; k < n; ++k)
        line[k * inner] = out[static_cast<size_t>(k)];
    }
  });
}

// Copies the part that two shapes of one rank have in common; the rest of `out` is zero.
template <typename From, typename To>
void copyCommon(const From *in, Dims inDims, To *out, Dims outDims) {
  std::fill_n(out, *countElements(outDims), To(0));
  DimVector common(outDims);
  for (size_t d = 0; d < common.size(); ++d)
    common[d] = std::min(inDims[d], outDims[d]);
  DimVector inStrides = rowMajorStrides(inDims), outStrides = rowMajorStrides(outDims);
  int64_t width = common[common.size() - 1], rows = width ? *countElements(common) / width : 0;
  for (int64_t row = 0; row < rows; ++row) {
    int64_t rest = row, from = 0, to = 0;
    for (size_t d = common.size() - 1; d-- > 0; rest /= common[d]) {
      from += rest % common[d] * inStrides[d];
      to += rest % common[d] * outStrides[d];
    }
    std::transform(in + from, in + from + width, out + to, [](From x) { return To(x); });
  }
}

bool checkRank(OpContext &ctx, const Tensor &in) {
  if (in.rank() >= ctx.state<FourierState>().rank)
    return true;
  ctx.fail(invalidArgument("the input must have rank ", ctx.state<FourierState>().rank,
                           " or more, but has shape ", dimsText(in.dims())));
  return false;
}

template <typename Real> struct ComplexFourier {
  static void run(OpContext &ctx) {
    const FourierState &s = ctx.state<FourierState>();
    const Tensor in = ctx.input(0);
    if (!checkRank(ctx, in))
      return;
    Tensor *out = ctx.allocateOutput(0, in.dtype(), in.dims());
    if (!out || !out->count())
      return;
    auto *data = out->data<std::complex<Real>>();
    std::copy_n(in.data<std::complex<Real>>(), in.count(), data);
    for (int d = in.rank() - s.rank; d < in.rank(); ++d)
      transformAlong(ctx, data, in.dims(), static_cast<size_t>(d), s.isInverse);
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

// The whole spectrum is computed, and the half that tells all is given.
template <typename Real> struct RealFourier {
  using Complex = std::complex<Real>;

  static void run(OpContext &ctx) {
    const Tensor in = ctx.input(0);
    std::optional<DimVector> dims = readLengths(ctx, in);
    if (!dims)
      return;
    auto whole = ctx.check(Tensor::make(dtypeOf<Complex>, *dims));
    DimVector half = *dims;
    half[half.size() - 1] = half[half.size() - 1] ? half[half.size() - 1] / 2 + 1 : 0;
    Tensor *out = whole ? ctx.allocateOutput(0, dtypeOf<Complex>, half) : nullptr;
    if (!out || !out->count())
      return;
    auto *data = whole->template data<Complex>();
    copyCommon(in.data<Real>(), in.dims(), data, *dims);
    size_t rank = dims->size();
    for (size_t d = rank - static_cast<size_t>(ctx.state<FourierState>().rank); d < rank; ++d)
      transformAlong(ctx, data, *dims, d, false);
    copyCommon(data, *dims, out->data<Complex>(), half);
  }
};

// The other half of the last dimension is the conjugate of the first, mirrored; the other
// dimensions are transformed before it, so only that one needs to be made whole.
template <typename Real> struct InverseRealFourier {
  using Complex = std::complex<Real>;

  static void run(OpContext &ctx) {
    const Tensor in = ctx.input(0);
    std::optional<DimVector> dims = readLengths(ctx, in);
    if (!dims)
      return;
    DimVector half = *dims;
    size_t rank = dims->size();
    int64_t n = (*dims)[rank - 1], kept = n ? n / 2 + 1 : 0;
    half[rank - 1] = kept;
    auto part = ctx.check(Tensor::make(dtypeOf<Complex>, half));
    Tensor *out = part ? ctx.allocateOutput(0, dtypeOf<Real>, *dims) : nullptr;
    if (!out || !out->count())
      return;
    auto *data = part->template data<Complex>();
    copyCommon(in.data<Complex>(), in.dims(), data, half);
    for (size_t d = rank - static_cast<size_t>(ctx.state<FourierState>().rank); d + 1 < rank; ++d)
      transformAlong(ctx, data, half, d, true);
    double cost = 3.0 * static_cast<double>(n) * std::log2(static_cast<double>(n) + 1);
    ctx.parallelFor(out->count() / n, cost, [&](int64_t begin, int64_t end) {
      OpContext alone; // no run: works on this thread
      std::vector<Complex> line(static_cast<size_t>(n));
      for (int64_t row = begin; row < end; ++row) {
        for (int64_t k = 0; k < n; ++k)
          line[static_cast<size_t>(k)] =
              k < kept ? data[row * kept + k] : std::conj(data[row * kept + n - k]);
        transformAlong(alone, line.data(), Dims(&n, 1), 0, true);
        for (int64_t k = 0; k < n; ++k)
          out->data<Real>()[row * n + k] = line[static_cast<size_t>(k)].real();
      }
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

std::span<const KernelEntry> fourierKernels() { return fourierTable; }

} // namespace treadle
