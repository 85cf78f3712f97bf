// Requantization, and ops that change the shape of quantized tensors: concatenation, reshape, relu,
// pooling.
#include "treadle/kernels/ElementCopy.h"
#include "treadle/kernels/Window.h"
#include "treadle/kernels/elementwise/Quantized.h"

#include <vector>

namespace treadle {
namespace {

struct OutState {
  DType dtype;
};

template <KernelFn fn> Expected<BoundKernel> bindTo(const BindContext &node) {
  return boundWith(fn, OutState{node.outputTypes[0]});
}

bool checkInt32(OpContext &ctx) {
  if (ctx.input(0).dtype() == DType::QInt32)
    return true;
  ctx.fail(
      unimplemented("requantization of ", dtypeName(ctx.input(0).dtype()), " is not supported"));
  return false;
}

// --- requantization ------------------------------------------------------------------------------

// Fixed-point arithmetic with 16 fraction bits, as in TensorFlow.
void requantizeToUnsigned(const Tensor &in, FloatRange from, FloatRange to, Tensor &out) {
  constexpr int shift = 16;
  float inSize = from.max - from.min, outSize = to.max - to.min;
  float perStep = outSize == 0 ? 0.0f : static_cast<float>(255.0 / outSize);
  auto middle = static_cast<float>((from.min + from.max) / 2.0);
  auto fixed = [](double x) {
    constexpr double most = int64_t{1} << 60; // so that three of them can be added
    return static_cast<int64_t>(x > -most ? std::min(x, most) : -most);
  };
  int64_t scale = outSize == 0 ? 0 : fixed(255.0 * (1 << shift) * inSize / outSize);
  int64_t inOffset = fixed(middle * perStep * (1 << shift));
  int64_t outOffset = outSize == 0 ? 0 : fixed((1 << shift) * (to.min * 255.0) / outSize);
  int64_t offset = inOffset - outOffset + (1 << (shift - 1));
  for (int64_t i = 0; i < in.count(); ++i) {
    auto scaled = static_cast<int64_t>((__int128{in.data<int32_t>()[i]} * scale) >> 32);
    int64_t value = scaled + offset;
    out.data<uint8_t>()[i] = static_cast<uint8_t>(std::clamp<int64_t>(value >> shift, 0, 255));
  }
}

void requantize(OpContext &ctx, FloatRange from, FloatRange to) {
  const Tensor in = ctx.input(0);
  DType dtype = ctx.state<OutState>().dtype;
  Tensor *out = TREADLE_OR_RETURN(ctx.allocateOutput(0, dtype, in.dims()));
  if (dtype == DType::QUInt8) {
    requantizeToUnsigned(in, from, to, *out);
  } else {
    Dequantizer<int32_t> dequantize(from);
    visitQuantized(dtype, [&]<typename T>() {
      Quantizer<T> quantize(to);
      for (int64_t i = 0; i < in.count(); ++i)
        out->data<T>()[i] = quantize(dequantize(in.data<int32_t>()[i]));
    });
  }
  setRangeOutputs(ctx, 1, to);
}

// Returns the range of the elements, widened to contain zero.
FloatRange usedRange(const Tensor &in, FloatRange range) {
  int32_t least = std::numeric_limits<int32_t>::max(), most = std::numeric_limits<int32_t>::min();
  for (int32_t x : in.values<int32_t>()) {
    least = std::min(least, x);
    most = std::max(most, x);
  }
  return {std::min(0.0f, dequantized(least, range)), dequantized(most, range)};
}

void requantizationRange(OpContext &ctx) {
  FloatRange range;
  if (!checkInt32(ctx) || !readRange(ctx, 1, range))
    return;
  setRangeOutputs(ctx, 0, usedRange(ctx.input(0), range));
}

void shrinkRange(OpContext &ctx) {
  FloatRange range;
  if (checkInt32(ctx) && readRange(ctx, 1, range))
    requantize(ctx, range, usedRange(ctx.input(0), range));
}

void requantizeTo(OpContext &ctx) {
  FloatRange from, to;
  if (!checkInt32(ctx) || !readRange(ctx, 1, from) || !readRange(ctx, 3, to))
    return;
  if (to.min > 0 || to.max < to.min)
    return ctx.fail(invalidArgument("the requested range is ", to.min, " to ", to.max,
                                    ", expected one that begins at 0 or less"));
  requantize(ctx, from, to);
}

// --- shapes --------------------------------------------------------------------------------------

void reshapeQuantized(OpContext &ctx) {
  const Tensor in = ctx.input(0);
  FloatRange range;
  if (!readRange(ctx, 2, range))
    return;
  DimVector dims = readIndices(ctx.input(1));
  int64_t known = 1, free = -1;
  for (size_t d = 0; d < dims.size(); ++d)
    if (dims[d] == -1 && free < 0)
      free = static_cast<int64_t>(d);
    else if (__builtin_mul_overflow(known, dims[d], &known))
      return ctx.fail(
          invalidArgument("shape ", dimsText(dims), " has more elements than fit in 64 bits"));
  if (free >= 0 && known > 0)
    dims[static_cast<size_t>(free)] = in.count() / known;
  if (countElements(dims) != in.count())
    return ctx.fail(invalidArgument("a tensor of shape ", dimsText(in.dims()),
                                    " can't be reshaped to ", dimsText(readIndices(ctx.input(1)))));
  ctx.setOutput(0, in.withDims(dims));
  setRangeOutputs(ctx, 1, range);
}

// The inputs of a concatenation: the dimension, the tensors, their minima and their maxima
// (QuantizedConcatV2 has the dimension after the tensors).
struct ConcatInputs {
  int first, number, axisInput;
  int minOf(int k) const { return (axisInput ? first + number + 1 : first + number) + k; }
  int maxOf(int k) const { return minOf(k) + number; }
};

template <bool isV2> void concatQuantized(OpContext &ctx) {
  int number = (ctx.numInputs() - 1) / 3;
  ConcatInputs at{isV2 ? 0 : 1, number, isV2 ? number : 0};
  const Tensor first = ctx.input(at.first);
  if (!ctx.input(at.axisInput).isScalar())
    return ctx.fail(invalidArgument("concat_dim must be a scalar, but it is ",
                                    tensorTypeText(ctx.input(at.axisInput))));
  int64_t axis = indexAt(ctx.input(at.axisInput), 0);
  if (isV2)
    axis = normalizedAxis(axis, first.rank());
  if (axis < 0 || axis >= first.rank())
    return ctx.fail(invalidArgument("concat_dim is ", indexAt(ctx.input(at.axisInput), 0),
                                    ", but the inputs have rank ", first.rank()));
  auto d = static_cast<size_t>(axis);
  DimVector dims(first.dims());
  dims[d] = 0;
  FloatRange range{std::numeric_limits<float>::max(), std::numeric_limits<float>::lowest()};
  for (int k = 0; k < number; ++k) {
    const Tensor &in = ctx.input(at.first + k);
    for (int bound : {at.minOf(k), at.maxOf(k)})
      if (ctx.input(bound).count() != 1)
        return ctx.fail(invalidArgument("input ", bound,
                                        " bounds a range: it must be a scalar, but is ",
                                        tensorTypeText(ctx.input(bound))));
    for (size_t i = 0; i < dims.size() || i < in.dims().size(); ++i)
      if (in.rank() != first.rank() || (i != d && in.dims()[i] != dims[i]))
        return ctx.fail(invalidArgument("input ", k, " has shape ", dimsText(in.dims()),
                                        ", which does not match that of the first, ",
                                        dimsText(first.dims())));
    dims[d] += in.dims()[d];
    range.min = std::min(range.min, *ctx.input(at.minOf(k)).data<float>());
    range.max = std::max(range.max, *ctx.input(at.maxOf(k)).data<float>());
  }
  if (ctx.state<OutState>().dtype == DType::QInt32) // signed ranges are symmetric
    range = {-std::max(-range.min, range.max), std::max(-range.min, range.max)};
  Tensor *out = TREADLE_OR_RETURN(ctx.allocateOutput(0, first.dtype(), dims));
  int64_t outer = countBetween(dims, 0, d), row = countBetween(dims, d, dims.size()), begin = 0;
  visitQuantized(first.dtype(), [&]<typename T>() {
    for (int k = 0; k < number; ++k) {
      const Tensor &in = ctx.input(at.first + k);
      FloatRange own{*ctx.input(at.minOf(k)).data<float>(), *ctx.input(at.maxOf(k)).data<float>()};
      Dequantizer<T> dequantize(own);
      Quantizer<T> quantize(range);
      bool isSame = own.min == range.min && own.max == range.max;
      int64_t width = countBetween(in.dims(), d, in.dims().size());
      for (int64_t i = 0; i < outer * width; ++i) {
        T x = in.data<T>()[i];
        out->data<T>()[i / width * row + begin + i % width] = isSame ? x : quantize(dequantize(x));
      }
      begin += width;
    }
  });
  setRangeOutputs(ctx, 1, range);
}

// --- relu ----------------------------------------------------------------------------------------

// Inputs: the features, the limit (QuantizedReluX), and the range.
enum class Limit { None, Six, Input };

template <Limit limit> void rectify(OpContext &ctx) {
  const Tensor in = ctx.input(0);
  FloatRange range;
  if (!readRange(ctx, limit == Limit::Input ? 2 : 1, range))
    return;
  if (limit == Limit::Input && ctx.input(1).count() != 1)
    return ctx.fail(
        invalidArgument("max_value must be a scalar, but it is ", tensorTypeText(ctx.input(1))));
  Tensor *out = TREADLE_OR_RETURN(ctx.allocateOutput(0, in.dtype(), in.dims()));
  visitQuantized(in.dtype(), [&]<typename T>() {
    T zero = quantized<T>(0, range), most = std::numeric_limits<T>::max();
    if (limit == Limit::Six)
      most = quantized<T>(6, range);
    if (limit == Limit::Input)
      most = quantized<T>(*ctx.input(1).data<float>(), range);
    std::ranges::transform(in.values<T>(), out->data<T>(),
                           [&](T x) { return std::min(std::max(x, zero), most); });
  });
  setRangeOutputs(ctx, 1, range);
}

// --- pooling -------------------------------------------------------------------------------------

struct PoolingState {
  WindowAttrs attrs;
  Volume size;
};

template <bool isMean> void poolQuantized(OpContext &ctx) {
  const auto &s = ctx.state<PoolingState>();
  const Tensor in = ctx.input(0);
  FloatRange range;
  ImageDims image;
  if (!image.read(in.dims()))
    return ctx.fail(
        invalidArgument("the input must have rank 4, but has shape ", dimsText(in.dims())));
  Window window;
  if (!readRange(ctx, 1, range) || !placeWindow(ctx, s.attrs, image.size, s.size, window))
    return;
  ImageDims result = image;
  result.size = window.out;
  Tensor *out = TREADLE_OR_RETURN(ctx.allocateOutput(0, in.dtype(), result.tensorDims()));
  int64_t channels = image.channels, inSize = image.positions() * channels;
  int64_t outSize = result.positions() * channels;
  visitQuantized(in.dtype(), [&]<typename T>() {
    std::vector<int32_t> sums(static_cast<size_t>(outSize)), counts(sums.size());
    for (int64_t b = 0; b < image.batch; ++b) {
      const T *x = in.data<T>() + b * inSize;
      std::ranges::fill(sums, isMean ? 0 : std::numeric_limits<int32_t>::min());
      std::ranges::fill(counts, 0);
      forEachTap(window, [&](int64_t to, int64_t from, int64_t) {
        for (int64_t c = 0; c < channels; ++c) {
          auto i = static_cast<size_t>(to * channels + c);
          auto value = static_cast<int32_t>(x[from * channels + c]);
          sums[i] = isMean ? sums[i] + value : std::max(sums[i], value);
          ++counts[i];
        }
      });
      for (size_t i = 0; i < sums.size(); ++i)
        out->data<T>()[b * outSize + static_cast<int64_t>(i)] =
            static_cast<T>(isMean && counts[i] ? sums[i] / counts[i] : sums[i]);
    }
  });
  setRangeOutputs(ctx, 1, range);
}

template <bool isMean> Expected<BoundKernel> bindPooling(const BindContext &node) {
  auto attrs = TREADLE_TRY(WindowAttrs::of(node, 2));
  PoolingState s{attrs, {1, 1, 1}};
  auto channels =
      TREADLE_TRY(attrs.split("ksize", node.attrs.getOr("ksize", std::vector<int64_t>()), s.size));
  if (channels != 1)
    return Unexpected(unimplemented("op '", node.op, "' does not support windows over channels"));
  return boundWith(poolQuantized<isMean>, s);
}

const KernelEntry requantizeTable[] = {
    {"RequantizationRange", bindPlain<requantizationRange>},
    {"QuantizeDownAndShrinkRange", bindTo<shrinkRange>},
    {"Requantize", bindTo<requantizeTo>},
    {"QuantizedReshape", bindPlain<reshapeQuantized>},
    {"QuantizedConcat", bindTo<concatQuantized<false>>},
    {"QuantizedConcatV2", bindTo<concatQuantized<true>>},
    {"QuantizedRelu", bindPlain<rectify<Limit::None>>},
    {"QuantizedRelu6", bindPlain<rectify<Limit::Six>>},
    {"QuantizedReluX", bindPlain<rectify<Limit::Input>>},
    {"QuantizedMaxPool", bindPooling<false>},
    {"QuantizedAvgPool", bindPooling<true>},
};

} // namespace

std::span<const KernelEntry> requantizeKernels() { return requantizeTable; }

} // namespace treadle
