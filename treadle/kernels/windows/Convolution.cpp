// Convolutions of images and volumes, grouped and depthwise, with fused epilogues, and their
// gradients. Float convolutions use a plan; other floating-point ones with one group are matrix
// products. All others are one loop over the elements of windows, which applies a row operation on
// channels to each.
#include "treadle/kernels/ElementCopy.h"
#include "treadle/kernels/Widened.h"
#include "treadle/kernels/Window.h"
#include "treadle/kernels/elementwise/Elementwise.h"
#include "treadle/kernels/products/OperandCache.h"
#include "treadle/kernels/windows/ConvolutionPlan.h"
#include "treadle/kernels/windows/Depthwise.h"
#include "treadle/runtime/NextWeightsPool.h"
#include "treadle/runtime/ThreadPool.h"

#include <vector>

namespace treadle {
namespace {

/// The channels of a convolution. Input channel c of group g = c / filterIn contributes to the
/// `perGroup` output channels of that group. The filter is [window, filterIn, out]; a depthwise
/// one, [window, in, multiplier], has the same layout.
struct Channels {
  int64_t in, filterIn, out, groups, perGroup;
};

/// Whether each input channel has a filter of its own and exactly one output channel.
bool isDepthwise(const Channels &c) { return c.filterIn == 1 && c.perGroup == 1; }

struct ConvolutionState;
using ConvolveFn = void (*)(OpContext &, const ConvolutionState &, const Window &, const Channels &,
                            int64_t batch, const Tensor &a, const Tensor &b, Tensor &out,
                            const Epilogue *epilogue);

struct ConvolutionState {
  WindowAttrs attrs;
  ConvolutionOperand wanted;
  bool isDepthwise;
  ConvolveFn convolve;
  bool shapesAreTensors = false; // the shape inputs are tensors of that shape instead
  bool outermostFirst = false;   // the filter's layout is [out, in, window...]
  int64_t sampling = 1;          // compute only one of so many positions of the result
  bool isPointwise = false;      // the window must be of size 1
  std::optional<EpilogueSpec> epilogue = {};
  std::shared_ptr<const ConvolutionPlans> plans = std::make_shared<const ConvolutionPlans>();
  std::shared_ptr<const OperandCache<OrderedFilter>> filters =
      std::make_shared<const OperandCache<OrderedFilter>>();
  std::shared_ptr<NextWeights> next = makeNextWeights();
};

// --- window elements -----------------------------------------------------------------------------

// Applies one window element. The pointers refer to channel 0; the wanted array is updated, the
// others are read.
template <typename T, ConvolutionOperand wanted>
void applyTap(const Channels &c, T *in, T *filter, T *out) {
  if (isDepthwise(c)) {
    TREADLE_VECTORISE
    for (int64_t i = 0; i < c.in; ++i)
      if constexpr (wanted == ConvolutionOperand::Result)
        out[i] += in[i] * filter[i];
      else if constexpr (wanted == ConvolutionOperand::InputGradient)
        in[i] += out[i] * filter[i];
      else
        filter[i] += in[i] * out[i];
    return;
  }
  for (int64_t i = 0; i < c.in; ++i) {
    int64_t group = i / c.filterIn;
    T *weights = filter + (i % c.filterIn) * c.out + group * c.perGroup;
    T *result = out + group * c.perGroup;
    if constexpr (wanted == ConvolutionOperand::Result) {
      const T x = in[i];
      for (int64_t o = 0; o < c.perGroup; ++o)
        result[o] += x * weights[o];
    } else if constexpr (wanted == ConvolutionOperand::InputGradient) {
      T sum = 0;
      for (int64_t o = 0; o < c.perGroup; ++o)
        sum += result[o] * weights[o];
      in[i] += sum;
    } else {
      const T x = in[i];
      for (int64_t o = 0; o < c.perGroup; ++o)
        weights[o] += x * result[o];
    }
  }
}

template <typename T, ConvolutionOperand wanted>
void convolveImages(OpContext &ctx, const Window &w, const Channels &c, int64_t batch, T *in,
                    T *filter, T *out) {
  int64_t inSize = w.in[0] * w.in[1] * w.in[2] * c.in;
  int64_t outSize = w.out[0] * w.out[1] * w.out[2] * c.out;
  int64_t taps = w.size[0] * w.size[1] * w.size[2];
  auto images = [&](int64_t begin, int64_t end) {
    for (int64_t n = begin; n < end; ++n)
      forEachTap(w, [&](int64_t o, int64_t i, int64_t k) {
        applyTap<T, wanted>(c, in + n * inSize + i * c.in, filter + k * c.filterIn * c.out,
                            out + n * outSize + o * c.out);
      });
  };
  if (wanted == ConvolutionOperand::FilterGradient) // all images add to one filter
    return images(0, batch);
  ctx.parallelFor(batch, 0.3 * static_cast<double>(outSize * taps * c.filterIn), images);
}

/// Runs the faster implementation for these shapes if there is one; returns whether there was.
template <typename T, ConvolutionOperand wanted>
bool convolveFast(OpContext &ctx, const Window &w, const Channels &c, int64_t batch, T *in,
                  T *filter, T *out, const Epilogue *epilogue) {
  if constexpr (std::is_floating_point_v<T>) {
    PlacedConvolution placed{w, batch, c.in, c.out};
    if (isDepthwise(c)) {
      if constexpr (wanted == ConvolutionOperand::Result)
        convolveDepthwise(ctx, placed, in, filter, out, epilogue);
      else if constexpr (wanted == ConvolutionOperand::InputGradient)
        inputGradientDepthwise(ctx, placed, in, filter, out);
      else
        filterGradientDepthwise(ctx, placed, in, filter, out);
      return true;
    }
    if (c.groups != 1)
      return false;
    if constexpr (wanted == ConvolutionOperand::Result)
      convolveByMatrix<T>(ctx, placed, in, filter, out, epilogue);
    else if constexpr (wanted == ConvolutionOperand::InputGradient)
      inputGradientByMatrix<T>(ctx, placed, in, filter, out);
    else
      filterGradientByMatrix<T>(ctx, placed, in, filter, out);
    return true;
  }
  return false;
}

/// The elements of a tensor as C: in place, or converted to a copy.
template <typename T, typename C> struct ElementsAs {
  explicit ElementsAs(const Tensor &t) {
    if constexpr (std::is_same_v<T, C>) {
      data = const_cast<C *>(t.data<C>()); // only read
    } else {
      copy.resize(static_cast<size_t>(t.count()));
      std::transform(t.data<T>(), t.data<T>() + t.count(), copy.data(), [](T v) { return C(v); });
      data = copy.data();
    }
  }

  std::vector<C> copy;
  C *data;
};

// --- plans ---------------------------------------------------------------------------------------

ConvolutionForm formOf(OpContext &ctx, const ConvolutionState &s, const PlacedConvolution &place,
                       int64_t groups, const Epilogue *epilogue) {
  ConvolutionForm form{
      .place = place, .groups = groups, .wanted = s.wanted, .outermostFirst = s.outermostFirst};
  form.parts = form.partsFor(ctx.pool() ? ctx.pool()->numWorkers() + 1 : 1);
  if (!epilogue)
    return form;
  form.hasOffset = static_cast<bool>(epilogue->channelOffset());
  form.adds = static_cast<bool>(epilogue->addendTensor());
  form.activation = epilogue->lastActivation();
  if (form.activation == Activation::LeakyRelu)
    form.alpha = epilogue->activationAlpha();
  return form;
}

const float *floatsOf(const Tensor &t) { return t ? t.data<float>() : nullptr; }

bool goesByStrips(const ConvolutionState &s, const PlacedConvolution &place, const Channels &c) {
  return s.wanted == ConvolutionOperand::Result && isDepthwise(c) && suitsDepthwiseStrips(place);
}

/// Runs the plan if there is one; returns whether there was. `from` is multiplied by the filter.
/// `data` holds the elements of the tensor `filter`, possibly converted.
bool runPlan(OpContext &ctx, const ConvolutionState &s, const ConvolutionForm &form,
             const float *from, const Tensor &filter, const float *data, float *to,
             const Epilogue *epilogue) {
  std::shared_ptr<const ConvolutionPlan> plan = s.plans->find(form);
  if (!plan || !plan->supportsElements(from))
    return false;
  const float *factor = epilogue ? floatsOf(epilogue->channelFactor()) : nullptr;
  auto order = [&] { return plan->order(ctx, data, factor); };
  auto suits = [&](const OrderedFilter &kept) {
    auto channels = static_cast<size_t>(factor ? form.place.outChannels : 0);
    return plan->canReadFilter(kept) &&
           std::ranges::equal(factorOf(kept), std::span(factor, channels));
  };
  auto ordered = s.filters->find(filter, suits, order);
  if (!ordered && !ctx.hasFailed())
    ordered = order();
  if (!ordered)
    return true;
  const float *offset = nullptr;
  if (form.adds && floatsOf(epilogue->addendTensor()) != to)
    std::copy_n(floatsOf(epilogue->addendTensor()), epilogue->addendTensor().count(), to);
  if (form.hasOffset)
    offset = floatsOf(epilogue->channelOffset());
  plan->run(ctx, from, *ordered, offset, to, ctx.nextWeights(*s.next, weightsOf(*ordered)));
  return true;
}

/// Like `runPlan`, but for the gradient of the filter.
bool runFilterPlan(OpContext &ctx, const ConvolutionState &s, const ConvolutionForm &form,
                   const float *in, const float *out, float *filter) {
  std::shared_ptr<const ConvolutionPlan> plan = s.plans->find(form);
  if (plan)
    plan->runFilterGradient(ctx, in, out, filter);
  return plan != nullptr;
}

/// Converts filter dimensions to [window..., in, out].
DimVector windowFirst(const ConvolutionState &s, Dims filter) {
  if (!s.outermostFirst || filter.size() < 2)
    return filter;
  DimVector dims(filter.subspan(2));
  dims.push(filter[1]);
  dims.push(filter[0]);
  return dims;
}

/// Returns the filter as [window..., in, out].
std::optional<Tensor> toWindowFirst(OpContext &ctx, const ConvolutionState &s,
                                    const Tensor &filter) {
  DimVector strides = windowFirst(s, rowMajorStrides(filter.dims())),
            dims = windowFirst(s, filter.dims());
  auto out = ctx.check(Tensor::make(filter.dtype(), dims));
  if (out)
    copyStrided(ctx, filter.dtype(), dims, out->raw(), rowMajorStrides(dims), filter.raw(),
                strides);
  return out;
}

// `a` and `b` are the two given tensors of (input, filter, result), in this order.
template <typename T, typename C, ConvolutionOperand wanted>
void convolveAs(OpContext &ctx, const ConvolutionState &s, const Window &w, const Channels &c,
                int64_t batch, const Tensor &a, const Tensor &b, Tensor &out,
                const Epilogue *epilogue) {
  ElementsAs<T, C> x(a), y(b);
  const PlacedConvolution place{w, batch, c.in, c.out};
  auto compute = [&](C *result) {
    C *arrays[3] = {x.data, y.data, result};
    if (wanted == ConvolutionOperand::InputGradient)
      std::rotate(arrays, arrays + 2, arrays + 3);
    else if (wanted == ConvolutionOperand::FilterGradient)
      std::swap(arrays[1], arrays[2]);
    if constexpr (std::is_floating_point_v<C> && wanted == ConvolutionOperand::Result)
      if (isLongLine(place))
        return convolveLine(ctx, place, arrays[0], arrays[1], arrays[2], epilogue);
    if constexpr (std::is_same_v<C, float>)
      if (!goesByStrips(s, place, c)) {
        ConvolutionForm form = formOf(ctx, s, place, c.groups, epilogue);
        if (wanted == ConvolutionOperand::FilterGradient
                ? runFilterPlan(ctx, s, form, x.data, y.data, result)
            : wanted == ConvolutionOperand::Result
                ? runPlan(ctx, s, form, x.data, b, y.data, result, epilogue)
                : runPlan(ctx, s, form, y.data, a, x.data, result, nullptr))
          return;
      }
    if (s.outermostFirst) { // only a plan can read this layout
      ConvolutionState plain = s;
      plain.outermostFirst = false;
      if constexpr (wanted == ConvolutionOperand::FilterGradient) {
        DimVector dims = windowFirst(s, out.dims());
        auto gradient = TREADLE_OR_RETURN(ctx.check(Tensor::make(out.dtype(), dims)));
        convolveAs<T, C, wanted>(ctx, plain, w, c, batch, a, b, gradient, nullptr);
        return copyStrided(ctx, out.dtype(), dims, out.raw(),
                           windowFirst(s, rowMajorStrides(out.dims())), gradient.raw(),
                           rowMajorStrides(dims));
      }
      auto filter = toWindowFirst(ctx, s, wanted == ConvolutionOperand::Result ? b : a);
      if (filter && wanted == ConvolutionOperand::Result)
        convolveAs<T, C, wanted>(ctx, plain, w, c, batch, a, *filter, out, epilogue);
      else if (filter)
        convolveAs<T, C, wanted>(ctx, plain, w, c, batch, *filter, b, out, epilogue);
      return;
    }
    if (convolveFast<C, wanted>(ctx, w, c, batch, arrays[0], arrays[1], arrays[2], epilogue))
      return;
    std::fill_n(result, out.count(), C(0));
    convolveImages<C, wanted>(ctx, w, c, batch, arrays[0], arrays[1], arrays[2]);
    if constexpr (std::is_floating_point_v<C>)
      if (epilogue)
        epilogue->apply(result, 0, out.count() / c.out, 0, c.out);
  };
  if constexpr (std::is_same_v<T, C>) {
    compute(out.data<C>());
  } else {
    std::vector<C> sum(static_cast<size_t>(out.count()));
    compute(sum.data());
    std::transform(sum.begin(), sum.end(), out.data<T>(), [](C v) { return T(v); });
  }
}

template <typename T, typename C>
void convolve(OpContext &ctx, const ConvolutionState &s, const Window &w, const Channels &c,
              int64_t batch, const Tensor &a, const Tensor &b, Tensor &out,
              const Epilogue *epilogue) {
  constexpr decltype(&convolveAs<T, C, ConvolutionOperand::Result>) fns[] = {
      convolveAs<T, C, ConvolutionOperand::Result>,
      convolveAs<T, C, ConvolutionOperand::InputGradient>,
      convolveAs<T, C, ConvolutionOperand::FilterGradient>};
  fns[static_cast<int>(s.wanted)](ctx, s, w, c, batch, a, b, out, epilogue);
}

// --- shapes --------------------------------------------------------------------------------------

struct Shapes {
  ImageDims in, out;
  Volume window;
  Channels channels;
  Window place;
};

bool fail(OpContext &ctx, Error error) {
  ctx.fail(std::move(error));
  return false;
}

// Reads the window and the channels of a filter [window..., in, out].
bool readFilter(OpContext &ctx, const ConvolutionState &s, Dims filter, Shapes &shapes) {
  auto rank = filter.size();
  if (static_cast<int>(rank) != s.attrs.spatial + 2)
    return fail(ctx, invalidArgument("the filter must have rank ", s.attrs.spatial + 2,
                                     ", but has shape ", dimsText(filter)));
  shapes.window = {1, 1, 1};
  for (int i = 0; i < s.attrs.spatial; ++i)
    shapes.window[3 - s.attrs.spatial + i] = filter[i];
  if (!countElements(filter).value_or(0))
    return fail(ctx,
                invalidArgument("the filter must have elements, but has shape ", dimsText(filter)));
  Channels &c = shapes.channels;
  int64_t in = filter[rank - 2], out = filter[rank - 1];
  c = s.isDepthwise ? Channels{in, 1, in * out, 0, 0} : Channels{0, in, out, 0, 0};
  return true;
}

/// Keeps only every `step`-th position of the result.
void sample(Window &w, int spatial, int64_t step) {
  for (auto d = static_cast<size_t>(3 - spatial); d < 3; ++d) {
    w.out[d] = (w.out[d] + step - 1) / step;
    w.stride[d] *= step;
  }
}

// Computes all shapes of a convolution of that input and that filter.
bool findShapes(OpContext &ctx, const ConvolutionState &s, Dims in, Dims filter, Shapes &shapes) {
  shapes.in = {.spatial = s.attrs.spatial, .channelsFirst = s.attrs.channelsFirst};
  if (!shapes.in.read(in))
    return fail(ctx, invalidArgument("the input must have rank ", s.attrs.spatial + 2,
                                     ", but has shape ", dimsText(in)));
  if (!readFilter(ctx, s, filter, shapes))
    return false;
  Channels &c = shapes.channels;
  if (s.isDepthwise ? c.in != shapes.in.channels : shapes.in.channels % c.filterIn != 0)
    return fail(ctx, invalidArgument("the input's depth ", shapes.in.channels,
                                     " does not match the filter's shape ", dimsText(filter)));
  c.in = shapes.in.channels;
  c.groups = c.in / c.filterIn;
  if (c.groups == 0 || c.out % c.groups != 0)
    return fail(ctx, invalidArgument("the filter's ", c.out,
                                     " output channels can't be split into ", c.groups, " groups"));
  c.perGroup = c.out / c.groups;
  shapes.out = shapes.in;
  shapes.out.channels = c.out;
  if (!placeWindow(ctx, s.attrs, shapes.in.size, shapes.window, shapes.place))
    return false;
  if (s.sampling > 1)
    sample(shapes.place, s.attrs.spatial, s.sampling);
  shapes.out.size = shapes.place.out;
  if (s.isPointwise && shapes.window != Volume{1, 1, 1})
    return fail(ctx, invalidArgument("the filter has shape ", dimsText(filter),
                                     ", but the node requires a window of size 1"));
  return true;
}

bool checkGradient(OpContext &ctx, const Tensor &gradient, const Shapes &shapes) {
  if (std::ranges::equal(gradient.dims(), shapes.out.tensorDims()))
    return true;
  return fail(ctx, invalidArgument("out_backprop has shape ", dimsText(gradient.dims()),
                                   ", but the convolution's result has ",
                                   dimsText(shapes.out.tensorDims())));
}

// Reads the shape in input 0 or 1 of a gradient op. For the shape of the convolution's input, the
// spatial dimensions alone are enough.
std::optional<DimVector> readShape(OpContext &ctx, const ConvolutionState &s, int i) {
  const Tensor &t = ctx.input(i);
  if (s.shapesAreTensors)
    return DimVector(t.dims());
  int full = s.attrs.spatial + 2;
  if (t.rank() != 1 || (t.dim(0) != full && t.dim(0) != full - 2)) {
    ctx.fail(invalidArgument("the sizes must be a vector of ", full, " elements, but have shape ",
                             dimsText(t.dims())));
    return std::nullopt;
  }
  DimVector dims = readIndices(t);
  if (t.dim(0) == full || s.wanted != ConvolutionOperand::InputGradient)
    return dims;
  const Tensor &filter = ctx.input(1), &gradient = ctx.input(2);
  if (filter.rank() != full || gradient.rank() != full)
    return dims; // reported as an error later
  ImageDims all{.spatial = s.attrs.spatial, .channelsFirst = s.attrs.channelsFirst};
  all.batch = gradient.dim(0);
  all.channels = windowFirst(s, filter.dims())[static_cast<size_t>(full) - 2];
  std::copy(dims.begin(), dims.end(), all.size.end() - s.attrs.spatial);
  return DimVector(Dims(all.tensorDims()));
}

// --- the ops -------------------------------------------------------------------------------------

// Reads the arguments of the epilogue, with the addend in channels-last layout; `epilogue` stays
// empty if the op has none. Returns false, with ctx failed, on errors.
bool readEpilogue(OpContext &ctx, const ConvolutionState &s, const Shapes &shapes, DType dtype,
                  std::optional<Epilogue> &epilogue) {
  if (!s.epilogue)
    return true;
  epilogue = Epilogue::of(
      ctx, *s.epilogue, 2,
      {dtype, shapes.out.tensorDims(), shapes.channels.out, !shapes.out.channelsFirst});
  if (!epilogue || !epilogue->addendTensor())
    return epilogue.has_value();
  auto last = withChannelsLast(ctx, epilogue->addendTensor(), shapes.out);
  if (last)
    epilogue->setAddend(std::move(*last));
  return last.has_value();
}

// Whether the result may overwrite the addend.
bool canAddInPlace(OpContext &ctx, const ConvolutionState &s, const Shapes &shapes, DType dtype,
                   const std::optional<Epilogue> &epilogue) {
  if (dtype != DType::Float32 || !epilogue || !epilogue->addendTensor() ||
      !epilogue->addendTensor().isUnique())
    return false;
  const Channels &c = shapes.channels;
  PlacedConvolution place{shapes.place, shapes.in.batch, c.in, c.out};
  if (goesByStrips(s, place, c) || isLongLine(place))
    return false;
  auto plan = s.plans->find(formOf(ctx, s, place, c.groups, &*epilogue));
  return plan && plan->supportsAllElements();
}

void runForward(OpContext &ctx) {
  const ConvolutionState &s = ctx.state<ConvolutionState>();
  const Tensor in = ctx.input(0), filter = ctx.input(1);
  Shapes shapes;
  if (!findShapes(ctx, s, in.dims(), windowFirst(s, filter.dims()), shapes))
    return;
  std::optional<Epilogue> epilogue;
  if (!readEpilogue(ctx, s, shapes, in.dtype(), epilogue))
    return;
  ImageDims last = shapes.out;
  last.channelsFirst = false;
  auto x = TREADLE_OR_RETURN(withChannelsLast(ctx, in, shapes.in));
  std::optional<Tensor> out;
  if (canAddInPlace(ctx, s, shapes, in.dtype(), epilogue))
    out = epilogue->addendTensor();
  else
    out = ctx.check(Tensor::make(in.dtype(), last.tensorDims()));
  if (!out)
    return;
  if (out->count())
    s.convolve(ctx, s, shapes.place, shapes.channels, shapes.in.batch, x, filter, *out,
               epilogue ? &*epilogue : nullptr);
  if (epilogue && !epilogue->finish(ctx, *out))
    return;
  setImageOutput(ctx, 0, std::move(*out), shapes.out);
}

void runInputGradient(OpContext &ctx) {
  const ConvolutionState &s = ctx.state<ConvolutionState>();
  const Tensor filter = ctx.input(1), gradient = ctx.input(2);
  std::optional<DimVector> dims = readShape(ctx, s, 0);
  Shapes shapes;
  if (!dims || !findShapes(ctx, s, *dims, windowFirst(s, filter.dims()), shapes) ||
      !checkGradient(ctx, gradient, shapes))
    return;
  ImageDims last = shapes.in;
  last.channelsFirst = false;
  auto g = withChannelsLast(ctx, gradient, shapes.out);
  auto out = ctx.check(Tensor::make(gradient.dtype(), last.tensorDims()));
  if (!g || !out)
    return;
  if (out->count())
    s.convolve(ctx, s, shapes.place, shapes.channels, shapes.in.batch, filter, *g, *out, nullptr);
  setImageOutput(ctx, 0, std::move(*out), shapes.in);
}

void runFilterGradient(OpContext &ctx) {
  const ConvolutionState &s = ctx.state<ConvolutionState>();
  const Tensor in = ctx.input(0), gradient = ctx.input(2);
  std::optional<DimVector> dims = readShape(ctx, s, 1);
  Shapes shapes;
  if (!dims || !findShapes(ctx, s, in.dims(), windowFirst(s, *dims), shapes) ||
      !checkGradient(ctx, gradient, shapes))
    return;
  auto x = withChannelsLast(ctx, in, shapes.in);
  auto g = withChannelsLast(ctx, gradient, shapes.out);
  Tensor *out = ctx.allocateOutput(0, gradient.dtype(), *dims);
  if (x && g && out && out->count())
    s.convolve(ctx, s, shapes.place, shapes.channels, shapes.in.batch, *x, *g, *out, nullptr);
}

constexpr KernelFn runs[] = {runForward, runInputGradient, runFilterGradient};

// For the op Conv, the length of `strides` determines the number of dimensions.
int spatialDims(const BindContext &node, int spatial) {
  if (spatial)
    return spatial;
  auto strides = node.attrs.getOr("strides", std::vector<int64_t>());
  return static_cast<int>(strides.size()) - 2;
}

template <int spatial, ConvolutionOperand wanted, bool isDepthwise = false>
Expected<BoundKernel> bindConvolution(const BindContext &node) {
  int dims = spatialDims(node, spatial);
  if (dims < 1 || dims > 3 || node.attrs.getOr<int64_t>("batch_dims", 1) != 1)
    return Unexpected(unimplemented("op '", node.op,
                                    "' supports only images and volumes with one batch dimension"));
  WindowAttrs attrs = TREADLE_TRY(WindowAttrs::of(node, dims));
  if (attrs.channelStride != 1)
    return Unexpected(unimplemented("strides along the channels are not supported"));
  ConvolutionState s{attrs, wanted, isDepthwise, nullptr};
  std::string format = node.attrs.getOr("filter_format", std::string("HWIO"));
  s.outermostFirst = format == "OIHW";
  if (format != "HWIO" && (!s.outermostFirst || isDepthwise))
    return Unexpected(unimplemented("op '", node.op, "' does not support filter_format ", format));
  s.sampling = node.attrs.getOr("sampling", int64_t{1});
  constexpr int64_t maxSampling = 1 << 20, maxStride = int64_t{1} << 40;
  if (s.sampling != 1 &&
      (s.sampling < 1 || s.sampling > maxSampling || std::ranges::max(attrs.strides) > maxStride))
    return Unexpected(invalidArgument("sampling is ", s.sampling, ", expected 1 to ", maxSampling));
  s.isPointwise = node.attrs.getOr("is_pointwise", false);
  DType dtype = node.outputTypes[0];
  visitType(dtype, FloatTypes(), [&]<typename T>() { s.convolve = convolve<T, Computed<T>>; });
  if (dtype == DType::Int32)
    s.convolve = convolve<uint32_t, uint32_t>; // integers wrap around
  if (!s.convolve)
    return unsupportedDType(node, dtype);
  return expensive(boundWith(runs[static_cast<int>(wanted)], s));
}

template <int spatial, ConvolutionOperand wanted>
Expected<BoundKernel> bindWithTensors(const BindContext &node) {
  BoundKernel bound = TREADLE_TRY(bindConvolution<spatial, wanted>(node));
  ConvolutionState s = *static_cast<const ConvolutionState *>(bound.state.get());
  s.shapesAreTensors = true;
  bound.state = std::make_shared<const ConvolutionState>(std::move(s));
  return bound;
}

template <int spatial, bool isDepthwise> Expected<BoundKernel> bindFused(const BindContext &node) {
  DType dtype = node.outputTypes[0];
  if (dtype != DType::Float32 && dtype != DType::Float64)
    return unsupportedDType(node, dtype);
  Expected<BoundKernel> bound =
      bindConvolution<spatial, ConvolutionOperand::Result, isDepthwise>(node);
  Expected<EpilogueSpec> epilogue = EpilogueSpec::of(node);
  if (!bound || !epilogue)
    return bound ? Unexpected(std::move(epilogue.error())) : bound;
  ConvolutionState s = *static_cast<const ConvolutionState *>(bound->state.get());
  s.epilogue = *epilogue;
  bound->state = std::make_shared<const ConvolutionState>(s);
  return bound;
}

using enum ConvolutionOperand;
const KernelEntry convolutionTable[] = {
    {"Conv", bindConvolution<0, Result>},
    {"Conv2D", bindConvolution<2, Result>},
    {"Conv3D", bindConvolution<3, Result>},
    {"Conv2DBackpropInput", bindConvolution<2, InputGradient>},
    {"Conv2DBackpropInputV2", bindWithTensors<2, InputGradient>},
    {"Conv3DBackpropInput", bindWithTensors<3, InputGradient>},
    {"Conv3DBackpropInputV2", bindConvolution<3, InputGradient>},
    {"Conv2DBackpropFilter", bindConvolution<2, FilterGradient>},
    {"Conv2DBackpropFilterV2", bindWithTensors<2, FilterGradient>},
    {"Conv3DBackpropFilter", bindWithTensors<3, FilterGradient>},
    {"Conv3DBackpropFilterV2", bindConvolution<3, FilterGradient>},
    {"_FusedConv2D", bindWithHalfFloats<bindFused<2, false>>},
    {"_FusedConv3D", bindWithHalfFloats<bindFused<3, false>>},
    {"DepthwiseConv2dNative", bindConvolution<2, Result, true>},
    {"_FusedDepthwiseConv2dNative", bindWithHalfFloats<bindFused<2, true>>},
    {"DepthwiseConv2dNativeBackpropInput", bindConvolution<2, InputGradient, true>},
    {"DepthwiseConv2dNativeBackpropFilter", bindConvolution<2, FilterGradient, true>},
};

} // namespace

std::span<const KernelEntry> convolutionKernels() { return convolutionTable; }

} // namespace treadle
