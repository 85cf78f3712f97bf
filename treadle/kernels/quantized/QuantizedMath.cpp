// Sums, products and convolutions of quantized tensors. Products are exact: integers minus their
// zero points are multiplied and added in 32 bits.
#include "treadle/kernels/ElementCopy.h"
#include "treadle/kernels/Window.h"
#include "treadle/kernels/elementwise/Broadcast.h"
#include "treadle/kernels/elementwise/Elementwise.h"
#include "treadle/kernels/elementwise/Quantized.h"
#include "treadle/kernels/quantized/ProductSizes.h"
#include "treadle/kernels/quantized/SymmetricConvolution.h"

#include <vector>

namespace treadle {
namespace {

bool checkRange(OpContext &ctx, FloatRange range) {
  if (range.max > range.min)
    return true;
  ctx.fail(invalidArgument("the maximum of a range must be greater than its minimum, but they are ",
                           range.max, " and ", range.min));
  return false;
}

// The zero point. Products are computed with unsigned numbers, since those of ranges far from zero
// wrap around.
template <typename T> uint32_t zeroOf(FloatRange range) {
  return static_cast<uint32_t>(quantizedUnclamped<T>(0, range));
}

// Returns the elements minus the zero point.
template <typename T> std::vector<uint32_t> centred(const Tensor &t, FloatRange range) {
  uint32_t zero = zeroOf<T>(range);
  std::vector<uint32_t> out(static_cast<size_t>(t.count()));
  std::ranges::transform(t.values<T>(), out.begin(),
                         [&](T x) { return static_cast<uint32_t>(x) - zero; });
  return out;
}

/// Calls `visit` with the types of both operands.
template <typename Visitor> void visitBytes(DType a, DType b, Visitor &&visit) {
  auto withB = [&]<typename A>() {
    if (b == DType::QInt8)
      visit.template operator()<A, int8_t>();
    else
      visit.template operator()<A, uint8_t>();
  };
  if (a == DType::QInt8)
    withB.template operator()<int8_t>();
  else
    withB.template operator()<uint8_t>();
}

bool isByte(DType dtype) { return dtype == DType::QInt8 || dtype == DType::QUInt8; }

// --- QuantizedMatMul -----------------------------------------------------------------------------

// Inputs: a, b, and the ranges of both.
void matMul(OpContext &ctx) {
  ProductSizes sizes{ctx.state<Transpositions>()};
  const Tensor a = ctx.input(0), b = ctx.input(1);
  FloatRange aRange, bRange;
  if (!readRange(ctx, 2, aRange) || !readRange(ctx, 4, bRange) || !checkRange(ctx, aRange) ||
      !checkRange(ctx, bRange))
    return;
  if (!sizes.read(ctx, a, b))
    return;
  const int64_t rows = sizes.rows, inner = sizes.inner, columns = sizes.columns;
  Tensor *out = TREADLE_OR_RETURN(ctx.allocateOutput(0, DType::QInt32, {rows, columns}));
  auto *sums = out->data<uint32_t>();
  std::fill_n(sums, out->count(), 0);
  visitBytes(a.dtype(), b.dtype(), [&]<typename A, typename B>() {
    auto x = centred<A>(a, aRange), y = centred<B>(b, bRange);
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t k = 0; k < inner; ++k) {
        uint32_t factor = x[static_cast<size_t>(sizes.inA(i, k))];
        for (int64_t j = 0; j < columns; ++j)
          sums[i * columns + j] += factor * y[static_cast<size_t>(sizes.inB(k, j))];
      }
    setRangeOutputs(ctx, 1, rangeOfProduct<A, B, int32_t>(aRange, bRange));
  });
}

Expected<BoundKernel> bindMatMul(const BindContext &node) {
  for (DType dtype : node.inputTypes.first(2))
    if (!isByte(dtype))
      return unsupportedDType(node, dtype);
  return boundWith(matMul, Transpositions::of(node.attrs));
}

// --- QuantizedConv2D -----------------------------------------------------------------------------

// Inputs: the images, the filter, and the ranges of both.
void convolve(OpContext &ctx) {
  const auto &attrs = ctx.state<WindowAttrs>();
  const Tensor in = ctx.input(0), filter = ctx.input(1);
  FloatRange inRange, filterRange;
  ImageDims image;
  if (!readRange(ctx, 2, inRange) || !readRange(ctx, 4, filterRange))
    return;
  if (!image.read(in.dims()) || filter.rank() != 4 || filter.dim(2) != image.channels)
    return ctx.fail(invalidArgument("images of shape ", dimsText(in.dims()),
                                    " do not match a filter of shape ", dimsText(filter.dims())));
  Window window;
  if (!placeWindow(ctx, attrs, image.size, {1, filter.dim(0), filter.dim(1)}, window))
    return;
  ImageDims result = image;
  result.size = window.out;
  result.channels = filter.dim(3);
  Tensor *out = TREADLE_OR_RETURN(ctx.allocateOutput(0, DType::QInt32, result.tensorDims()));
  auto *sums = out->data<uint32_t>();
  std::fill_n(sums, out->count(), 0);
  int64_t from = image.channels, to = result.channels;
  visitBytes(in.dtype(), filter.dtype(), [&]<typename A, typename B>() {
    auto x = centred<A>(in, inRange), y = centred<B>(filter, filterRange);
    for (int64_t b = 0; b < image.batch; ++b)
      forEachTap(window, [&](int64_t outAt, int64_t inAt, int64_t tap) {
        const uint32_t *pixel = x.data() + (b * image.positions() + inAt) * from;
        uint32_t *sum = sums + (b * result.positions() + outAt) * to;
        for (int64_t i = 0; i < from; ++i)
          for (int64_t j = 0; j < to; ++j)
            sum[j] += pixel[i] * y[static_cast<size_t>((tap * from + i) * to + j)];
      });
    setRangeOutputs(ctx, 1, rangeOfProduct<A, B, int32_t>(inRange, filterRange));
  });
}

Expected<BoundKernel> bindConvolution(const BindContext &node) {
  if (node.inputTypes[1] == DType::QInt8)
    return bindSymmetricConvolution(node);
  for (DType dtype : node.inputTypes.first(2))
    if (!isByte(dtype))
      return unsupportedDType(node, dtype);
  auto attrs = TREADLE_TRY(WindowAttrs::of(node, 2));
  return boundWith(convolve, attrs);
}

// --- sums and products ---------------------------------------------------------------------------

// Returns a range for 32-bit sums: symmetric around zero, `room` bits wider than the operands'
// ranges.
FloatRange rangeOfSum(FloatRange a, FloatRange b, int room) {
  float most = std::max(a.max, std::max(-a.min, std::max(b.max, -b.min)));
  most *= static_cast<float>(1 << room);
  return {-most, most};
}

// An operand converted to the range of a sum. TensorFlow multiplies the integers of a tensor, so
// that the rounding errors of a level accumulate, but not those of a scalar.
template <typename T> struct RescaledOperand {
  RescaledOperand(const Tensor &t, FloatRange from, FloatRange to)
      : first(codeOf(t.count() == 1 ? *t.data<T>() : T(0), from, to)),
        step(t.count() == 1 ? 0 : codeOf(1, from, to) - first) {}
  static int32_t codeOf(T x, FloatRange from, FloatRange to) {
    return quantized<int32_t>(dequantized(x, from), to);
  }
  uint32_t operator()(T x) const {
    return static_cast<uint32_t>(first) + static_cast<uint32_t>(step) * x;
  }
  int32_t first, step;
};

template <typename T> struct SumOf {
  SumOf(const Tensor &x, FloatRange a, const Tensor &y, FloatRange b)
      : range(rangeOfSum(a, b, 14)), a(x, a, range), b(y, b, range) {}
  int32_t operator()(T x, T y) const { return static_cast<int32_t>(a(x) + b(y)); }
  FloatRange range;
  RescaledOperand<T> a, b;
};

template <typename T> struct ProductOf {
  ProductOf(const Tensor &, FloatRange a, const Tensor &, FloatRange b)
      : a(zeroOf<T>(a)), b(zeroOf<T>(b)), range(rangeOfProduct<T, T, int32_t>(a, b)) {}
  int32_t operator()(T x, T y) const {
    return static_cast<int32_t>((static_cast<uint32_t>(x) - a) * (static_cast<uint32_t>(y) - b));
  }
  uint32_t a, b;
  FloatRange range;
};

// Inputs: x, y, and the ranges of both.
template <template <typename> class Operation> void combine(OpContext &ctx) {
  const Tensor x = ctx.input(0), y = ctx.input(1);
  FloatRange xRange, yRange;
  if (!readRange(ctx, 2, xRange) || !readRange(ctx, 4, yRange) || !checkRange(ctx, xRange) ||
      !checkRange(ctx, yRange))
    return;
  if (!x.count() || !y.count())
    return ctx.fail(invalidArgument("operands must not be empty, but have shapes ",
                                    dimsText(x.dims()), " and ", dimsText(y.dims())));
  BroadcastPlan<2> plan;
  if (!planBroadcast<2>({x.dims(), y.dims()}, plan))
    return ctx.fail(incompatibleShapes(x.dims(), y.dims()));
  Tensor *out = TREADLE_OR_RETURN(ctx.allocateOutput(0, DType::QInt32, plan.resultDims()));
  Operation<uint8_t> operation(x, xRange, y, yRange);
  int inner = plan.loops - 1;
  forEachRow<2>(plan, [&](const std::array<int64_t, 2> &at, int64_t begin) {
    for (int64_t i = 0; i < plan.size[inner]; ++i)
      out->data<int32_t>()[begin + i] =
          operation(x.data<uint8_t>()[at[0] + i * plan.stride[0][inner]],
                    y.data<uint8_t>()[at[1] + i * plan.stride[1][inner]]);
  });
  setRangeOutputs(ctx, 1, operation.range);
}

template <KernelFn fn> Expected<BoundKernel> bindCombination(const BindContext &node) {
  for (DType dtype : node.inputTypes.first(2))
    if (dtype != DType::QUInt8)
      return unsupportedDType(node, dtype);
  return bindPlain<fn>(node);
}

// Inputs: the tensor, the bias of its last dimension, and the ranges of both.
void addBias(OpContext &ctx) {
  const Tensor in = ctx.input(0), bias = ctx.input(1);
  FloatRange inRange, biasRange;
  if (!readRange(ctx, 2, inRange) || !readRange(ctx, 4, biasRange))
    return;
  if (in.rank() < 2 || bias.rank() != 1 || bias.dim(0) != in.dim(in.rank() - 1) || !bias.count())
    return ctx.fail(invalidArgument("a bias of shape ", dimsText(bias.dims()),
                                    " does not match the last dimension of ", dimsText(in.dims())));
  Tensor *out = TREADLE_OR_RETURN(ctx.allocateOutput(0, DType::QInt32, in.dims()));
  FloatRange range = rangeOfSum(inRange, biasRange, 17);
  Quantizer<int32_t> quantize(range);
  visitQuantized(in.dtype(), [&]<typename T>() {
    Dequantizer<T> inValue(inRange), biasValue(biasRange);
    for (int64_t i = 0; i < in.count(); ++i)
      out->data<int32_t>()[i] = quantize(inValue(in.data<T>()[i])) +
                                quantize(biasValue(bias.data<T>()[i % bias.count()]));
  });
  setRangeOutputs(ctx, 1, range);
}

Expected<BoundKernel> bindBias(const BindContext &node) {
  if (!isByte(node.inputTypes[0]) || node.inputTypes[0] != node.inputTypes[1])
    return unsupportedDType(node, node.inputTypes[1]);
  return bindPlain<addBias>(node);
}

const KernelEntry quantizedMathTable[] = {
    {"QuantizedMatMul", bindMatMul},
    {"QuantizedConv2D", bindConvolution},
    {"QuantizedAdd", bindCombination<combine<SumOf>>},
    {"QuantizedMul", bindCombination<combine<ProductOf>>},
    {"QuantizedBiasAdd", bindBias},
};

} // namespace

std::span<const KernelEntry> quantizedMathKernels() { return quantizedMathTable; }

} // namespace treadle
