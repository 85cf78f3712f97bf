// Convolutions and products of bytes with a fused bias, addend, activation and requantization, as
// oneDNN computes them for TensorFlow: an integer represents its value times a scale, so that zero
// is 0, and filters may have a scale per channel. The sum of products is exact; the rest is
// computed in single precision and rounded once, to the nearest even integer.
#include "treadle/kernels/Window.h"
#include "treadle/kernels/elementwise/Quantized.h"
#include "treadle/kernels/quantized/Families.h"
#include "treadle/kernels/quantized/ProductSizes.h"
#include "treadle/kernels/quantized/SymmetricConvolution.h"

#include <vector>

namespace treadle {
namespace {

/// The steps of an op after the sum of products.
struct FusedSteps {
  bool hasBias = false, rectifies = false, hasSummand = false;
  bool givesRange = true;   // outputs the range of its result
  bool takesRange = false;  // the range of its result is an input
  bool isDepthwise = false; // a depthwise convolution
};

/// The indices of the inputs: two operands, the bias, the ranges of the operands, the range of the
/// result, the addend, and the addend's range if the result has one.
struct InputIndices {
  explicit constexpr InputIndices(FusedSteps form)
      : ranges(form.hasBias ? 3 : 2), result(ranges + 4) {
    summand = result + (form.takesRange ? 2 : 0);
  }
  int ranges, result, summand;
};

float magnitude(FloatRange range) { return std::max(std::abs(range.min), std::abs(range.max)); }

bool isSigned(DType dtype) { return dtype != DType::QUInt8 && dtype != DType::UInt8; }

/// Returns the highest integer of a dtype, which represents the end of its range.
float greatest(DType dtype) { return isSigned(dtype) ? 127.0f : 255.0f; }

/// Calls `visit` with the typed elements of a tensor.
template <typename Visit> void visitValues(const Tensor &t, Visit &&visit) {
  switch (t.dtype()) {
  case DType::Float32:
    return visit(t.data<float>());
  case DType::QInt32:
    return visit(t.data<int32_t>());
  case DType::QInt8:
    return visit(t.data<int8_t>());
  default:
    return visit(t.data<uint8_t>());
  }
}

/// Applies the steps after the sum of products; the sums have one column per channel.
class QuantizedEpilogue {
public:
  QuantizedEpilogue(OpContext &ctx, FusedSteps form) : ctx(ctx), form(form), at(form) {}

  /// Reads the inputs. `isShifted`: integer 0 of the first operand represents the minimum of its
  /// range, which the sums don't include; `columns` are the sums of the second operand's columns.
  bool read(int64_t channels, bool isShifted = false, std::span<const int64_t> columns = {});
  /// Writes output 0 and its range.
  void run(std::span<const int32_t> sums, Dims dims, DType dtype);

private:
  bool readFilterRange(int64_t channels);
  bool readBias(int64_t channels);
  bool readSummand(Dims dims);
  void setRangeOutputs(DType dtype);
  float resultScale(DType dtype) const;
  template <typename Out> void write(std::span<const int32_t> sums, Out *out, DType dtype) const;

  OpContext &ctx;
  FusedSteps form;
  InputIndices at;
  FloatRange input, result, summandRange;
  std::vector<FloatRange> filter; // one, or one per channel
  float inputScale = 0;
  std::vector<float> scales, bias; // one per channel
  std::vector<float> summand;      // one per element, dequantized
};

bool QuantizedEpilogue::readFilterRange(int64_t channels) {
  const Tensor &min = ctx.input(at.ranges + 2), &max = ctx.input(at.ranges + 3);
  if (min.count() != max.count() || (min.count() != 1 && min.count() != channels)) {
    ctx.fail(invalidArgument("the range of the filter must be two scalars or two vectors of ",
                             channels, " elements, one per channel, but they have shapes ",
                             dimsText(min.dims()), " and ", dimsText(max.dims())));
    return false;
  }
  for (int64_t i = 0; i < min.count(); ++i)
    filter.push_back({min.data<float>()[i], max.data<float>()[i]});
  return true;
}

bool QuantizedEpilogue::readBias(int64_t channels) {
  bias.assign(static_cast<size_t>(channels), 0);
  if (!form.hasBias)
    return true;
  const Tensor &t = ctx.input(2);
  if (t.count() != channels) {
    ctx.fail(invalidArgument("the bias must have ", channels,
                             " elements, one per channel, but has shape ", dimsText(t.dims())));
    return false;
  }
  visitValues(t, [&](const auto *from) {
    for (size_t c = 0; c < bias.size(); ++c)
      bias[c] = static_cast<float>(from[c]) * (t.dtype() == DType::Float32 ? 1 : scales[c]);
  });
  return true;
}

bool QuantizedEpilogue::read(int64_t channels, bool isShifted, std::span<const int64_t> columns) {
  if (!readRange(ctx, at.ranges, input) || !readFilterRange(channels) ||
      (form.takesRange && !readRange(ctx, at.result, result)))
    return false;
  float size = isShifted ? input.max - input.min : magnitude(input);
  inputScale = size / greatest(ctx.input(0).dtype());
  for (int64_t c = 0; c < channels; ++c)
    scales.push_back(inputScale *
                     (magnitude(filter[filter.size() > 1 ? static_cast<size_t>(c) : 0]) /
                      greatest(DType::QInt8)));
  if (!readBias(channels))
    return false;
  // An integer bias already includes the shift.
  bool isToAdd = isShifted && ctx.input(2).dtype() == DType::Float32;
  for (size_t c = 0; isToAdd && c < columns.size(); ++c)
    bias[c] += static_cast<float>(columns[c]) * (input.min / inputScale) * scales[c];
  return true;
}

bool QuantizedEpilogue::readSummand(Dims dims) {
  const Tensor &t = ctx.input(at.summand);
  if (!std::ranges::equal(t.dims(), dims)) {
    ctx.fail(invalidArgument("the addend must have the shape of the result, ", dimsText(dims),
                             ", but has ", dimsText(t.dims())));
    return false;
  }
  if (form.takesRange && !readRange(ctx, at.summand + 1, summandRange))
    return false;
  float scale = form.takesRange ? magnitude(summandRange) / greatest(t.dtype()) : 1;
  summand.resize(static_cast<size_t>(t.count()));
  visitValues(t, [&](const auto *from) {
    for (size_t i = 0; i < summand.size(); ++i)
      summand[i] = static_cast<float>(from[i]) * scale;
  });
  return true;
}

/// Returns the value of one step of the result's integers.
float QuantizedEpilogue::resultScale(DType dtype) const {
  if (dtype == DType::Float32)
    return 1;
  if (form.takesRange)
    return magnitude(result) / greatest(dtype);
  float widest = 0;
  for (FloatRange range : filter)
    widest = std::max(widest, magnitude(range));
  return inputScale * (widest / greatest(DType::QInt8));
}

// Outputs the range. For 32 bits, the lowest integer isn't used if there are negative ones.
void QuantizedEpilogue::setRangeOutputs(DType dtype) {
  int range = 1;
  if (!form.givesRange)
    return;
  if (form.takesRange)
    return treadle::setRangeOutputs(ctx, range, result);
  const Tensor &stated = ctx.input(at.ranges + 2);
  std::vector<int64_t> dims(stated.dims().begin(), stated.dims().end());
  Tensor *min = ctx.allocateOutput(range, DType::Float32, dims);
  Tensor *max =
      TREADLE_OR_RETURN(min ? ctx.allocateOutput(range + 1, DType::Float32, dims) : nullptr);
  float levels = isSigned(dtype) ? 254.0f : 255.0f;
  for (size_t c = 0; c < filter.size(); ++c) {
    float level = (input.max - input.min) / levels * ((filter[c].max - filter[c].min) / 254.0f);
    max->data<float>()[c] = level * 2147483647.0f;
    min->data<float>()[c] = -max->data<float>()[c];
  }
}

template <typename Out>
void QuantizedEpilogue::write(std::span<const int32_t> sums, Out *out, DType dtype) const {
  float perStep = 1 / resultScale(dtype);
  constexpr bool isRounded = !std::is_same_v<Out, float>;
  constexpr float low = isRounded ? static_cast<float>(std::numeric_limits<Out>::lowest()) : 0;
  constexpr float high = std::is_same_v<Out, int32_t>
                             ? 2147483520.0f
                             : static_cast<float>(std::numeric_limits<Out>::max());
  // A result with a signed addend is computed in the addend's buffer and stays signed.
  bool staysSigned = form.hasSummand && ctx.input(at.summand).dtype() == DType::QInt8;
  float most = staysSigned ? greatest(DType::QInt8) : high;
  for (size_t i = 0, c = 0; i < sums.size(); ++i, c = c + 1 == scales.size() ? 0 : c + 1) {
    float x = static_cast<float>(sums[i]) * scales[c] + bias[c];
    if (form.hasSummand)
      x += summand[i];
    if (form.rectifies)
      x = std::max(x, 0.0f);
    x *= perStep;
    if constexpr (isRounded) {
      x = std::nearbyint(x);
      x = x > low ? x : low; // NaN too
      x = std::min(x, most);
    }
    out[i] = static_cast<Out>(x);
  }
}

void QuantizedEpilogue::run(std::span<const int32_t> sums, Dims dims, DType dtype) {
  if (form.hasSummand && !readSummand(dims))
    return;
  Tensor *out = TREADLE_OR_RETURN(ctx.allocateOutput(0, dtype, dims));
  if (dtype == DType::Float32)
    write(sums, out->data<float>(), dtype);
  else
    visitQuantized(dtype, [&]<typename T>() { write(sums, out->data<T>(), dtype); });
  setRangeOutputs(ctx.input(0).dtype());
}

// --- convolutions --------------------------------------------------------------------------------

struct ConvolutionState {
  WindowAttrs attrs;
  DType out;
};

/// Adds the products of one image's windows and the filter to `sums`.
template <bool isDepthwise, typename A>
void convolveImage(const Window &window, const A *image, const Tensor &filter, uint32_t *sums) {
  int64_t from = filter.dim(2), multiple = filter.dim(3),
          to = isDepthwise ? from * multiple : multiple;
  const auto *weights = filter.data<int8_t>();
  forEachTap(window, [&](int64_t outAt, int64_t inAt, int64_t tap) {
    const A *pixel = image + inAt * from;
    uint32_t *sum = sums + outAt * to;
    for (int64_t i = 0; i < from; ++i) {
      const int8_t *row = weights + (tap * from + i) * multiple;
      uint32_t *first = isDepthwise ? sum + i * multiple : sum;
      for (int64_t j = 0; j < multiple; ++j)
        first[j] += static_cast<uint32_t>(pixel[i] * row[j]); // may wrap around
    }
  });
}

template <FusedSteps form> void convolve(OpContext &ctx) {
  const auto &s = ctx.state<ConvolutionState>();
  const Tensor in = ctx.input(0), filter = ctx.input(1);
  ImageDims image;
  if (!image.read(in.dims()) || filter.rank() != 4 || filter.dim(2) != image.channels)
    return ctx.fail(invalidArgument("images of shape ", dimsText(in.dims()),
                                    " do not match a filter of shape ", dimsText(filter.dims())));
  ImageDims result = image;
  result.channels = filter.dim(3) * (form.isDepthwise ? image.channels : 1);
  Window window;
  QuantizedEpilogue finish(ctx, form);
  if (!placeWindow(ctx, s.attrs, image.size, {1, filter.dim(0), filter.dim(1)}, window) ||
      !finish.read(result.channels))
    return;
  result.size = window.out;
  auto sums = TREADLE_OR_RETURN(ctx.check(Tensor::make(DType::Int32, result.tensorDims())));
  std::fill_n(sums.data<int32_t>(), sums.count(), 0);
  int64_t inSize = image.positions() * image.channels;
  int64_t outSize = result.positions() * result.channels;
  double nsPerImage =
      static_cast<double>(outSize * filter.count() / std::max<int64_t>(1, filter.dim(3)));
  ctx.parallelFor(image.batch, nsPerImage * 0.1, [&](int64_t begin, int64_t end) {
    for (int64_t b = begin; b < end; ++b) {
      uint32_t *to = sums.data<uint32_t>() + b * outSize;
      if (in.dtype() == DType::QInt8)
        convolveImage<form.isDepthwise>(window, in.data<int8_t>() + b * inSize, filter, to);
      else
        convolveImage<form.isDepthwise>(window, in.data<uint8_t>() + b * inSize, filter, to);
    }
  });
  finish.run(sums.values<int32_t>(), result.tensorDims(), s.out);
}

bool isByte(DType dtype) { return dtype == DType::QInt8 || dtype == DType::QUInt8; }

/// Returns an error for unsupported dtypes: only the second operand may be signed bytes.
Expected<void> checkTypes(const BindContext &node, FusedSteps form) {
  auto isIn = [&](int i, std::initializer_list<DType> known) {
    return std::ranges::find(known, node.inputTypes[static_cast<size_t>(i)]) != known.end();
  };
  using enum DType;
  int bad =
      !isIn(0, {QInt8, QUInt8})                     ? 0
      : !isIn(1, {QInt8})                           ? 1
      : form.hasBias && !isIn(2, {Float32, QInt32}) ? 2
      : form.hasSummand && form.takesRange && !isIn(InputIndices(form).summand, {QInt8, QUInt8})
          ? InputIndices(form).summand
          : -1;
  if (bad >= 0)
    return unsupportedDType(node, node.inputTypes[static_cast<size_t>(bad)]);
  DType out = node.outputTypes[0];
  bool isKnown = !form.givesRange ? out == Float32 : form.takesRange ? isByte(out) : out == QInt32;
  if (!isKnown)
    return unsupportedDType(node, out);
  return {};
}

template <FusedSteps form> Expected<BoundKernel> bindConvolution(const BindContext &node) {
  TREADLE_TRY(checkTypes(node, form));
  auto attrs = TREADLE_TRY(WindowAttrs::of(node, 2));
  if (attrs.channelsFirst)
    return Unexpected(unimplemented("op '", node.op, "' does not support data_format NCHW"));
  return expensive(boundWith(convolve<form>, ConvolutionState{attrs, node.outputTypes[0]}));
}

// --- products ------------------------------------------------------------------------------------

struct ProductState {
  Transpositions transposes;
  bool isShifted;
  DType out;
};

template <FusedSteps form> void multiply(OpContext &ctx) {
  const auto &s = ctx.state<ProductState>();
  const Tensor a = ctx.input(0), b = ctx.input(1);
  ProductSizes sizes{s.transposes};
  if (!sizes.read(ctx, a, b))
    return;
  const int64_t rows = sizes.rows, inner = sizes.inner, columns = sizes.columns;
  std::vector<int64_t> dims = {rows, columns}, ofColumns(static_cast<size_t>(columns));
  auto sums = TREADLE_OR_RETURN(ctx.check(Tensor::make(DType::Int32, dims)));
  std::fill_n(sums.data<int32_t>(), sums.count(), 0);
  const auto *y = b.data<int8_t>();
  for (int64_t k = 0; k < inner; ++k)
    for (int64_t j = 0; j < columns; ++j)
      ofColumns[static_cast<size_t>(j)] += y[sizes.inB(k, j)];
  auto add = [&](const auto *x) {
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t k = 0; k < inner; ++k) {
        int32_t factor = x[sizes.inA(i, k)];
        for (int64_t j = 0; j < columns; ++j)
          sums.data<uint32_t>()[i * columns + j] +=
              static_cast<uint32_t>(factor * y[sizes.inB(k, j)]);
      }
  };
  if (a.dtype() == DType::QInt8)
    add(a.data<int8_t>());
  else
    add(a.data<uint8_t>());
  QuantizedEpilogue finish(ctx, form);
  if (finish.read(columns, s.isShifted, ofColumns))
    finish.run(sums.values<int32_t>(), dims, s.out);
}

template <FusedSteps form> Expected<BoundKernel> bindProduct(const BindContext &node) {
  TREADLE_TRY(checkTypes(node, form));
  bool isShifted = node.attrs.getOr("input_quant_mode", std::string("MIN_FIRST")) == "MIN_FIRST";
  return expensive(boundWith(multiply<form>, ProductState{Transpositions::of(node.attrs), isShifted,
                                                          node.outputTypes[0]}));
}

constexpr FusedSteps plain{}, biased{.hasBias = true};
constexpr FusedSteps withRelu(FusedSteps form) {
  form.rectifies = true;
  return form;
}
constexpr FusedSteps summed(FusedSteps form) {
  form.hasSummand = true;
  return withRelu(form);
}
constexpr FusedSteps requantized(FusedSteps form) {
  form.takesRange = true;
  return form;
}
constexpr FusedSteps inFloats(FusedSteps form) {
  form.givesRange = false;
  return requantized(form);
}
constexpr FusedSteps depthwise(FusedSteps form) {
  form.isDepthwise = true;
  return form;
}

template <FusedSteps form> constexpr BindFn conv = bindConvolution<form>;

const KernelEntry fusedQuantizedTable[] = {
    {"QuantizedConv2DPerChannel", conv<plain>},
    {"QuantizedConv2DAndRelu", conv<withRelu(plain)>},
    {"QuantizedConv2DAndRequantize", conv<requantized(plain)>},
    {"QuantizedConv2DAndReluAndRequantize", conv<requantized(withRelu(plain))>},
    {"QuantizedConv2DWithBias", conv<biased>},
    {"QuantizedConv2DWithBiasAndRelu", conv<withRelu(biased)>},
    {"QuantizedConv2DWithBiasAndRequantize", conv<requantized(biased)>},
    {"QuantizedConv2DWithBiasAndReluAndRequantize", conv<requantized(withRelu(biased))>},
    {"QuantizedConv2DWithBiasSumAndRelu", conv<summed(biased)>},
    {"QuantizedConv2DWithBiasSumAndReluAndRequantize", conv<requantized(summed(biased))>},
    {"QuantizedConv2DWithBiasSignedSumAndReluAndRequantize", conv<requantized(summed(biased))>},
    {"QuantizedDepthwiseConv2D", conv<depthwise(plain)>},
    {"QuantizedDepthwiseConv2DWithBias", conv<depthwise(biased)>},
    {"QuantizedDepthwiseConv2DWithBiasAndRelu", conv<depthwise(withRelu(biased))>},
    {"QuantizedDepthwiseConv2DWithBiasAndReluAndRequantize",
     conv<depthwise(requantized(withRelu(biased)))>},
    {"QuantizedMatMulWithBias", bindProduct<biased>},
    {"QuantizedMatMulWithBiasAndRelu", bindProduct<withRelu(biased)>},
    {"QuantizedMatMulWithBiasAndRequantize", bindProduct<requantized(biased)>},
    {"QuantizedMatMulWithBiasAndReluAndRequantize", bindProduct<requantized(withRelu(biased))>},
    {"QuantizedMatMulWithBiasAndDequantize", bindProduct<inFloats(biased)>},
};

} // namespace

Expected<BoundKernel> bindSymmetricConvolution(const BindContext &node) {
  return bindConvolution<plain>(node);
}

std::span<const KernelEntry> fusedQuantizedKernels() { return fusedQuantizedTable; }

} // namespace treadle
