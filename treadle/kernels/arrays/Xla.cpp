// XLA ops that move elements: dynamic slices (clamped to the bounds), gather, interior padding; and
// rounding to fewer bits.
#include "treadle/kernels/Element.h"
#include "treadle/kernels/ElementCopy.h"
#include "treadle/kernels/arrays/DimensionNumbers.h"
#include "treadle/kernels/arrays/IndexedOffsets.h"
#include "treadle/kernels/arrays/Rearrange.h"

#include <algorithm>
#include <cstring>

namespace treadle {
namespace {

// --- padding -----------------------------------------------------------------------------------

void pad(OpContext &ctx) {
  auto sizes = [&](int i) {
    DimVector list = readIndices(ctx.input(i));
    return std::vector<int64_t>(list.begin(), list.end());
  };
  if (ctx.input(1).count() != 1)
    return ctx.fail(invalidArgument("padding_value must be a scalar, but it is ",
                                    tensorTypeText(ctx.input(1))));
  auto out = ctx.check(rearrange::padded(ctx.input(0), ctx.input(1), sizes(2), sizes(3), sizes(4)));
  if (out)
    ctx.setOutput(0, std::move(*out));
}

Expected<BoundKernel> bindPlainOnly(const BindContext &node, KernelFn fn) {
  if (!isPlain(node.inputTypes[0]))
    return unsupportedDType(node, node.inputTypes[0]);
  return BoundKernel{fn};
}

Expected<BoundKernel> bindPad(const BindContext &node) { return bindPlainOnly(node, pad); }

// --- slices ------------------------------------------------------------------------------------

/// Clamps the starts so that a slice of `sizes` is inside `x`; false, with ctx failed, if it is
/// larger than `x`.
bool clampStarts(OpContext &ctx, const Tensor &x, DimVector &starts, Dims sizes) {
  auto rank = static_cast<size_t>(x.rank());
  if (starts.size() != rank || sizes.size() != rank) {
    ctx.fail(invalidArgument("found ", starts.size(), " start indices and ", sizes.size(),
                             " sizes for ", tensorTypeText(x), ", expected ", rank));
    return false;
  }
  for (size_t i = 0; i < rank; ++i) {
    int64_t size = x.dim(static_cast<int>(i));
    if (sizes[i] < 0 || sizes[i] > size) {
      ctx.fail(invalidArgument("a slice of size ", dimsText(sizes), " is larger than ",
                               tensorTypeText(x)));
      return false;
    }
    starts[i] = std::clamp<int64_t>(starts[i], 0, size - sizes[i]);
  }
  return true;
}

int64_t offsetOf(Dims starts, Dims strides) {
  int64_t offset = 0;
  for (size_t i = 0; i < starts.size(); ++i)
    offset += starts[i] * strides[i];
  return offset;
}

void dynamicSlice(OpContext &ctx) {
  const Tensor x = ctx.input(0);
  DimVector starts = readIndices(ctx.input(1)), sizes = readIndices(ctx.input(2));
  if (!clampStarts(ctx, x, starts, sizes))
    return;
  DimVector strides = rowMajorStrides(x.dims());
  int64_t offset = offsetOf(starts, strides);
  // Whole rows of the first dimension are contiguous.
  if (x.rank() > 0 && std::equal(sizes.begin() + 1, sizes.end(), x.dims().begin() + 1))
    return ctx.setOutput(0, x.view(offset, sizes));
  Tensor *out = ctx.allocateOutput(0, x.dtype(), sizes);
  if (out)
    copyStrided(x.dtype(), sizes, out->raw(), rowMajorStrides(sizes),
                elementAt(x.dtype(), x.raw(), offset), strides);
}

void dynamicUpdateSlice(OpContext &ctx) {
  const Tensor update = ctx.input(1);
  DimVector starts = readIndices(ctx.input(2));
  if (!clampStarts(ctx, ctx.input(0), starts, update.dims()))
    return;
  Tensor x = ctx.takeInput(0);
  if (!x.isUnique()) {
    auto own = TREADLE_OR_RETURN(ctx.check(x.clone()));
    x = std::move(own);
  }
  DimVector strides = rowMajorStrides(x.dims());
  copyStrided(x.dtype(), update.dims(), elementAt(x.dtype(), x.raw(), offsetOf(starts, strides)),
              strides, update.raw(), rowMajorStrides(update.dims()));
  ctx.setOutput(0, std::move(x));
}

// --- gather ------------------------------------------------------------------------------------

/// The message GatherDimensionNumbers of the attribute.
struct GatherNumbers {
  std::vector<int64_t> offset, collapsed, toOperand, indexVector, operandBatching, indicesBatching;
};

/// Copies rows of `width` elements: to[targets[i]] = from[sources[i]] for i in [0, count).
template <typename T>
void moveRows(const T *from, const int64_t *sources, T *to, const int64_t *targets, int64_t count,
              int64_t width) {
  if (width == 1)
    for (int64_t i = 0; i < count; ++i)
      to[targets[i]] = from[sources[i]];
  else
    for (int64_t i = 0; i < count; ++i)
      std::copy_n(from + sources[i], width, to + targets[i]);
}

/// A gather, with everything that is the same for all indices precomputed.
class Gather {
public:
  Gather(OpContext &ctx, const GatherNumbers &n)
      : ctx(ctx), n(n), x(ctx.input(0)), indices(ctx.input(1)), sizes(readIndices(ctx.input(2))) {}

  void run() {
    if (!check())
      return;
    prepare();
    Tensor *out = ctx.allocateOutput(0, x.dtype(), outDims);
    if (!out || out->count() == 0)
      return;
    auto isOne = [&](int64_t d) { return sizes[d] == 1; };
    if (!std::ranges::all_of(n.collapsed, isOne) || !std::ranges::all_of(n.operandBatching, isOne))
      return fail();
    DimVector outStrides = rowMajorStrides(outDims), sliceTo, batchTo;
    for (size_t d = 0; d < outDims.size(); ++d)
      (contains(n.offset, static_cast<int64_t>(d)) ? sliceTo : batchTo).push(outStrides[d]);
    IndexedWindow window(sliceDims, sliceFrom, sliceTo);
    IndexedOffsets from = sources(), to = targets(batchTo);
    int64_t rows = countBetween(window.dims, 0, window.dims.size());
    double cost = 2 + static_cast<double>(rows * window.width) / 4;
    visitMoved(x.dtype(), [&]<typename T>() {
      ctx.parallelFor(from.count(), cost, [&](int64_t begin, int64_t end) {
        forEachOffsetBlock(begin, end, [&](int64_t first, int64_t count) {
          int64_t sourceOffsets[offsetsPerBlock], targetOffsets[offsetsPerBlock];
          from.compute(first, count, sourceOffsets);
          to.compute(first, count, targetOffsets);
          window.forEachRow([&](int64_t source, int64_t target) {
            moveRows(static_cast<const T *>(x.raw()) + source, sourceOffsets,
                     static_cast<T *>(out->raw()) + target, targetOffsets, count, window.width);
          });
        });
      });
    });
  }

private:
  bool check() {
    int64_t rank = x.rank(), vectorDim = this->vectorDim();
    bool hasVectors = vectorDim < indices.rank();
    int64_t vectorSize = hasVectors ? indices.dim(static_cast<int>(vectorDim)) : 1;
    int64_t batchRank = indices.rank() - hasVectors;
    auto left = rank - std::ssize(n.collapsed) - std::ssize(n.operandBatching);
    std::vector<int64_t> starts = n.toOperand;
    starts.insert(starts.end(), n.operandBatching.begin(), n.operandBatching.end());
    std::vector<int64_t> single = n.collapsed; // dimensions of the operand that slices lack
    single.insert(single.end(), n.operandBatching.begin(), n.operandBatching.end());
    bool isRight = vectorDim >= 0 && vectorDim <= indices.rank() &&
                   !contains(n.indicesBatching, vectorDim) &&
                   static_cast<int64_t>(sizes.size()) == rank && areDistinct(single, rank) &&
                   areDistinct(starts, rank) && areDistinct(n.indicesBatching, indices.rank()) &&
                   n.operandBatching.size() == n.indicesBatching.size() &&
                   std::ssize(n.toOperand) == vectorSize && std::ssize(n.offset) == left &&
                   areDistinct(n.offset, left + batchRank);
    for (int64_t d = 0; isRight && d < rank; ++d)
      isRight = sizes[d] >= 0 && sizes[d] <= x.dim(static_cast<int>(d)) &&
                (sizes[d] <= 1 || !(contains(n.collapsed, d) || contains(n.operandBatching, d)));
    for (size_t k = 0; isRight && k < n.operandBatching.size(); ++k)
      isRight = x.dims()[n.operandBatching[k]] == indices.dims()[n.indicesBatching[k]];
    if (!isRight)
      fail();
    return isRight;
  }

  void fail() {
    ctx.fail(invalidArgument("the dimension numbers and slice sizes ", dimsText(sizes),
                             " don't fit the operand ", tensorTypeText(x), " and the indices ",
                             tensorTypeText(indices)));
  }

  void prepare() {
    strides = rowMajorStrides(x.dims());
    DimVector batchDims;
    for (int64_t d = 0; d < x.rank(); ++d)
      if (!contains(n.collapsed, d) && !contains(n.operandBatching, d)) {
        sliceDims.push(sizes[d]);
        sliceFrom.push(strides[d]);
      }
    for (int64_t d = 0; d < indices.rank(); ++d)
      if (d != vectorDim())
        batchDims.push(indices.dim(static_cast<int>(d)));
    size_t slice = 0, batch = 0;
    auto rank = static_cast<int64_t>(sliceDims.size() + batchDims.size());
    for (int64_t d = 0; d < rank; ++d)
      outDims.push(contains(n.offset, d) ? sliceDims[slice++] : batchDims[batch++]);
  }

  int64_t vectorDim() const { return n.indexVector.empty() ? 0 : n.indexVector[0]; }

  /// The offsets of the slices in the operand, clamped to its bounds.
  IndexedOffsets sources() const {
    IndexedOffsets offsets(indices, vectorDim(), IndexedOffsets::Bounds::Clamp);
    auto last = [&](int64_t d) { return x.dim(static_cast<int>(d)) - sizes[d]; };
    for (int64_t d : n.toOperand)
      offsets.addCoordinate(strides[d], last(d));
    for (size_t k = 0; k < n.operandBatching.size(); ++k)
      offsets.addPosition(n.indicesBatching[k], strides[n.operandBatching[k]]);
    return offsets;
  }

  /// The offsets of the slices in the result.
  IndexedOffsets targets(Dims batchTo) const {
    IndexedOffsets offsets(indices, vectorDim(), IndexedOffsets::Bounds::Reject);
    size_t batch = 0;
    for (int64_t d = 0; d < indices.rank(); ++d)
      if (d != vectorDim())
        offsets.addPosition(d, batchTo[batch++]);
    return offsets;
  }

  OpContext &ctx;
  const GatherNumbers &n;
  const Tensor x, indices;
  DimVector sizes, strides, sliceDims, sliceFrom, outDims;
};

void gather(OpContext &ctx) { Gather(ctx, ctx.state<GatherNumbers>()).run(); }

Expected<BoundKernel> bindGather(const BindContext &node) {
  GatherNumbers n;
  std::vector<int64_t> *fields[] = {&n.offset,      &n.collapsed,       &n.toOperand,
                                    &n.indexVector, &n.operandBatching, &n.indicesBatching};
  if (!readDimensionNumbers(node.attrs.getOr("dimension_numbers", std::string()), fields))
    return Unexpected(
        invalidArgument("attribute 'dimension_numbers' does not parse as GatherDimensionNumbers"));
  return boundWith(gather, std::move(n));
}

// --- barrier -----------------------------------------------------------------------------------

void barrier(OpContext &ctx) {
  for (int i = 0; i < ctx.numInputs(); ++i)
    ctx.setOutput(i, ctx.takeInput(i));
}

// --- precision ---------------------------------------------------------------------------------

struct Precision {
  int64_t exponent, mantissa;
};

/// Rounds the bits of a float to nearest even; values out of range of the smaller exponent become
/// infinite or zero.
template <typename Bits, int mantissaBits, int exponentBits>
Bits rounded(Bits bits, const Precision &precision) {
  constexpr Bits sign = Bits(1) << (mantissaBits + exponentBits);
  constexpr Bits exponentMask = ((Bits(1) << exponentBits) - 1) << mantissaBits;
  Bits size = bits & ~sign;
  if (size > exponentMask)
    return precision.mantissa > 0 ? bits : (bits & sign) | exponentMask; // NaN
  if (precision.mantissa < mantissaBits) {
    auto dropped = static_cast<int>(mantissaBits - precision.mantissa);
    Bits last = (size >> dropped) & 1, half = (Bits(1) << (dropped - 1)) - 1;
    size = (size + half + last) & ~((Bits(1) << dropped) - 1);
  }
  if (precision.exponent < exponentBits) {
    constexpr Bits bias = (Bits(1) << (exponentBits - 1)) - 1;
    Bits reduced = (Bits(1) << (precision.exponent - 1)) - 1;
    Bits most = (bias + reduced) << mantissaBits, least = (bias - reduced + 1) << mantissaBits;
    if (size >= most + (Bits(1) << mantissaBits))
      size = exponentMask;
    else if (size < least)
      size = 0;
  }
  return (bits & sign) | size;
}

template <typename T> struct ReducePrecision {
  static void run(OpContext &ctx) {
    const auto &precision = ctx.state<Precision>();
    const Tensor in = ctx.input(0);
    Tensor *out = TREADLE_OR_RETURN(ctx.allocateOutput(0, in.dtype(), in.dims()));
    for (int64_t i = 0; i < in.count(); ++i) {
      if constexpr (sizeof(T) == 8) {
        out->data<uint64_t>()[i] = rounded<uint64_t, 52, 11>(in.data<uint64_t>()[i], precision);
      } else {
        float wide(in.data<T>()[i]);
        uint32_t bits;
        std::memcpy(&bits, &wide, 4);
        bits = rounded<uint32_t, 23, 8>(bits, precision);
        std::memcpy(&wide, &bits, 4);
        out->data<T>()[i] = T(wide);
      }
    }
  }
};

Expected<BoundKernel> bindReducePrecision(const BindContext &node) {
  Precision precision{node.attrs.getOr<int64_t>("exponent_bits", 8),
                      node.attrs.getOr<int64_t>("mantissa_bits", 23)};
  if (precision.exponent < 1 || precision.mantissa < 0)
    return Unexpected(invalidArgument("exponent_bits is ", precision.exponent,
                                      " and mantissa_bits ", precision.mantissa,
                                      ", expected at least 1 and 0"));
  return bindByType<ReducePrecision, FloatTypes>(node).map([&](BoundKernel kernel) {
    kernel.state = std::make_shared<const Precision>(precision);
    return kernel;
  });
}

Expected<BoundKernel> bindDynamicSlice(const BindContext &node) {
  return bindPlainOnly(node, dynamicSlice);
}
Expected<BoundKernel> bindDynamicUpdateSlice(const BindContext &node) {
  return bindPlainOnly(node, dynamicUpdateSlice);
}

const KernelEntry table[] = {
    {"XlaPad", bindPad},
    {"XlaDynamicSlice", bindDynamicSlice},
    {"XlaDynamicUpdateSlice", bindDynamicUpdateSlice},
    {"XlaGather", bindGather},
    {"XlaOptimizationBarrier", bindPlain<barrier>},
    {"XlaReducePrecision", bindReducePrecision},
};

} // namespace

std::span<const KernelEntry> xlaKernels() { return table; }

} // namespace treadle
