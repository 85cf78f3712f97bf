#include "treadle/kernels/windows/ConvolutionPlan.h"
#include "treadle/kernels/windows/OrderedFilter.h"
#include "treadle/kernels/windows/TiledConvolution.h"
#include "treadle/kernels/windows/TiledFilterGradient.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace treadle {

std::span<const float> factorOf(const OrderedFilter &filter) { return filter.factor; }

std::span<const char> weightsOf(const OrderedFilter &filter) {
  if (!filter.panels)
    return {};
  return {static_cast<const char *>(filter.panels.raw()),
          static_cast<size_t>(filter.panels.count()) * sizeof(float)};
}

namespace {

using dnnl::memory;
using Dims = memory::dims;
constexpr auto f32 = memory::data_type::f32;

/// So many channels are computed together.
constexpr int64_t channelBlock = 16;
/// oneDNN counts many things in int: beyond these bounds nothing is left to it.
constexpr int64_t mostBytes = std::numeric_limits<int32_t>::max(), mostOfOne = 1 << 20;

memory memoryOf(const memory::desc &desc, const float *data) {
  return {desc, dnnlEngine(), const_cast<float *>(data)}; // of what is read, only read
}

int64_t roundUp(int64_t count, int64_t step) { return (count + step - 1) / step * step; }

// --- parts ---------------------------------------------------------------------------------------

/// A part of the work as a convolution of its own: some images, or some lines of one, or some of
/// its channels.
struct Piece {
  PlacedConvolution place;
  Volume padAfter;
  int64_t inAt = 0, outAt = 0; // where it begins, in elements
  int64_t channel = 0;         // the first, of input or output
};

int64_t extent(const Window &w, size_t d) { return (w.size[d] - 1) * w.dilation[d] + 1; }

Piece wholeOf(const PlacedConvolution &place) {
  Piece piece{place, {}};
  const Window &w = place.window;
  for (size_t d = 0; d < 3; ++d)
    piece.padAfter[d] = (w.out[d] - 1) * w.stride[d] + extent(w, d) - w.in[d] - w.padBefore[d];
  return piece;
}

int64_t positions(const Volume &size) { return size[0] * size[1] * size[2]; }
int64_t inImage(const PlacedConvolution &c) { return positions(c.window.in) * c.inChannels; }
int64_t outImage(const PlacedConvolution &c) { return positions(c.window.out) * c.outChannels; }

/// Images [begin, end) of a piece.
Piece imagesOf(Piece piece, int64_t begin, int64_t end) {
  piece.inAt += begin * inImage(piece.place);
  piece.outAt += begin * outImage(piece.place);
  piece.place.batch = end - begin;
  return piece;
}

/// Lines [begin, end) along `d` of one image's result, with the input that they need.
Piece linesOfResult(Piece piece, size_t d, int64_t begin, int64_t end) {
  Window &w = piece.place.window;
  int64_t inLine = inImage(piece.place) / w.in[d], outLine = outImage(piece.place) / w.out[d];
  int64_t first = begin * w.stride[d] - w.padBefore[d];
  int64_t last = (end - 1) * w.stride[d] - w.padBefore[d] + extent(w, d);
  piece.padAfter[d] = std::max<int64_t>(last - w.in[d], 0);
  w.padBefore[d] = std::max<int64_t>(-first, 0);
  first = std::max<int64_t>(first, 0);
  piece.inAt += first * inLine;
  piece.outAt += begin * outLine;
  w.in[d] = std::min(last, w.in[d]) - first;
  w.out[d] = end - begin;
  return piece;
}

/// Lines [begin, end) along `d` of one image's gradient, with that of the result which they need;
/// a window begins at `begin`.
Piece linesOfInput(Piece piece, size_t d, int64_t begin, int64_t end) {
  Window &w = piece.place.window;
  int64_t inLine = inImage(piece.place) / w.in[d], outLine = outImage(piece.place) / w.out[d];
  int64_t reach = begin + w.padBefore[d] - extent(w, d) + 1;
  int64_t first = reach > 0 ? (reach + w.stride[d] - 1) / w.stride[d] : 0;
  int64_t last = std::min(w.out[d], (end - 1 + w.padBefore[d]) / w.stride[d] + 1);
  piece.inAt += begin * inLine;
  piece.outAt += first * outLine;
  w.padBefore[d] += begin - first * w.stride[d];
  w.in[d] = end - begin;
  w.out[d] = last - first;
  piece.padAfter[d] = (w.out[d] - 1) * w.stride[d] + extent(w, d) - w.in[d] - w.padBefore[d];
  return piece;
}

/// One image in some parts.
void addLines(const ConvolutionForm &form, const Piece &image, int64_t parts,
              std::vector<Piece> &to) {
  const Window &w = image.place.window;
  bool isResult = form.wanted == Wanted::Result;
  const Volume &size = isResult ? w.out : w.in;
  // Lines along it lie side by side.
  size_t d = w.in[0] > 1 || w.out[0] > 1 ? 0 : w.in[1] > 1 || w.out[1] > 1 ? 1 : 2;
  int64_t step = isResult ? 1 : w.stride[d], shift = isResult ? 0 : w.padBefore[d] % step;
  int64_t perPart = roundUp((size[d] + parts - 1) / parts, step);
  for (int64_t begin = 0, end; begin < size[d]; begin = end) {
    end = std::min(begin + perPart - (begin == 0 ? shift : 0), size[d]);
    to.push_back(isResult ? linesOfResult(image, d, begin, end)
                          : linesOfInput(image, d, begin, end));
  }
}

/// Windows of one point, one after the other, are those of one long line.
PlacedConvolution straightened(PlacedConvolution c) {
  Window &w = c.window;
  if (w.size != Volume{1, 1, 1} || w.stride != Volume{1, 1, 1} || w.in != w.out ||
      w.padBefore != Volume{0, 0, 0})
    return c;
  w.in = w.out = {1, 1, c.batch * positions(w.in)};
  c.batch = 1;
  return c;
}

/// Whether the parts are some channels each: of the result, of the input where its gradient is
/// computed. What has them is copied, but each part reads its own part of the filter alone.
bool isByChannels(const ConvolutionForm &form) {
  if (form.groups > 1)
    return false;
  const PlacedConvolution &c = form.place;
  if (form.wanted == Wanted::FilterGradient)
    return true; // sums of several filters would cost more
  constexpr int64_t copiesPerFilter = 4;
  bool isResult = form.wanted == Wanted::Result;
  int64_t filter = positions(c.window.size) * c.inChannels * c.outChannels;
  return filter / copiesPerFilter > c.batch * (isResult ? outImage(c) : inImage(c));
}

/// Some channels of the input where its gradient is computed, else of the output.
int64_t &channelsOf(const ConvolutionForm &form, PlacedConvolution &place) {
  return form.wanted == Wanted::InputGradient ? place.inChannels : place.outChannels;
}

std::vector<Piece> piecesOf(const ConvolutionForm &form) {
  const int64_t parts = form.parts;
  Piece whole = wholeOf(straightened(form.place));
  std::vector<Piece> pieces;
  if (isByChannels(form)) {
    int64_t channels = channelsOf(form, whole.place);
    int64_t perPart = roundUp((channels + parts - 1) / parts, channelBlock);
    for (int64_t c = 0; c < channels; c += perPart) {
      Piece &piece = pieces.emplace_back(whole);
      piece.channel = c;
      channelsOf(form, piece.place) = std::min(perPart, channels - c);
    }
    return pieces;
  }
  if (form.wanted == Wanted::FilterGradient)
    return {whole};
  int64_t batch = whole.place.batch, perPart = std::max<int64_t>((batch + parts - 1) / parts, 1);
  for (int64_t image = 0; image < batch; image += perPart) {
    Piece images = imagesOf(whole, image, std::min(image + perPart, batch));
    if (batch < parts)
      addLines(form, images, (parts + batch - 1) / batch, pieces);
    else
      pieces.push_back(images);
  }
  return pieces;
}

// --- descriptions --------------------------------------------------------------------------------

/// What oneDNN is told of a piece: of an image or a volume.
struct Description {
  Description(const ConvolutionForm &form, const Piece &piece) : form(form), piece(piece) {
    const Window &w = piece.place.window;
    rank = w.in[0] == 1 && w.out[0] == 1 && w.size[0] == 1 ? 2 : 3;
    stride = spatial(w.stride);
    dilation = spatial(w.dilation);
    for (auto &d : dilation)
      --d;
    before = spatial(w.padBefore);
    after = spatial(piece.padAfter);
  }

  Dims spatial(const Volume &v) const { return {v.end() - rank, v.end()}; }

  memory::desc image(int64_t channels, const Volume &size) const {
    Dims dims = spatial(size);
    dims.insert(dims.begin(), {piece.place.batch, channels});
    return {dims, f32, rank == 2 ? memory::format_tag::nhwc : memory::format_tag::ndhwc};
  }
  memory::desc in() const { return image(piece.place.inChannels, piece.place.window.in); }
  memory::desc out() const { return image(piece.place.outChannels, piece.place.window.out); }

  Dims filterDims() const {
    int64_t groups = form.groups;
    Dims dims = spatial(piece.place.window.size);
    dims.insert(dims.begin(), {piece.place.outChannels / groups, piece.place.inChannels / groups});
    if (groups > 1)
      dims.insert(dims.begin(), groups);
    return dims;
  }
  memory::desc anyFilter() const { return {filterDims(), f32, memory::format_tag::any}; }
  int64_t inPerGroup() const { return form.place.inChannels / form.groups; }
  /// From a channel to the next in the filter of the whole.
  int64_t inStride() const {
    return form.outermostFirst ? positions(piece.place.window.size) : form.place.outChannels;
  }
  int64_t outStride() const { return form.outermostFirst ? inStride() * inPerGroup() : 1; }
  /// As it lies in the whole.
  memory::desc plainFilter() const {
    Dims dims = filterDims(), strides(dims.size());
    strides.end()[-1] = form.outermostFirst ? 1 : inPerGroup() * form.place.outChannels;
    for (int d = 2; d <= rank; ++d)
      strides.end()[-d] = strides.end()[1 - d] * dims.end()[1 - d];
    strides.end()[-rank - 1] = inStride();
    strides.end()[-rank - 2] = outStride();
    if (form.groups > 1)
      strides[0] = dims[1] * outStride();
    return {dims, f32, strides};
  }
  memory::desc offset() const {
    return form.hasOffset ? memory::desc{{piece.place.outChannels}, f32, memory::format_tag::x}
                          : memory::desc();
  }

  dnnl::primitive_attr attributes() const {
    dnnl::post_ops after;
    if (form.adds)
      after.append_sum();
    if (form.activation == Activation::Relu)
      after.append_eltwise(1, dnnl::algorithm::eltwise_relu, 0, 0);
    else if (form.activation == Activation::Relu6)
      after.append_eltwise(1, dnnl::algorithm::eltwise_clip, 0, 6);
    else if (form.activation == Activation::LeakyRelu)
      after.append_eltwise(1, dnnl::algorithm::eltwise_relu, form.alpha, 0);
    dnnl::primitive_attr attributes;
    attributes.set_post_ops(after);
    return attributes;
  }

  dnnl::convolution_forward::primitive_desc forward(dnnl::prop_kind kind,
                                                    const memory::desc &filter) const {
    return {{kind, dnnl::algorithm::convolution_direct, in(), filter, offset(), out(), stride,
             dilation, before, after},
            attributes(),
            dnnlEngine()};
  }

  const ConvolutionForm &form;
  const Piece &piece;
  int rank;
  Dims stride, dilation, before, after;
};

/// Whether there is something to compute, of something.
bool hasElements(const PlacedConvolution &c) {
  auto isEmpty = [](const Volume &size) { return std::ranges::min(size) < 1; };
  return c.batch > 0 && c.inChannels > 0 && c.outChannels > 0 && !isEmpty(c.window.in) &&
         !isEmpty(c.window.out) && !isEmpty(c.window.size);
}

/// Whether it is one that counts in int, and whose windows all reach the image.
bool isOrdinary(const Piece &piece) {
  const PlacedConvolution &c = piece.place;
  const Window &w = c.window;
  int64_t in = c.batch * c.inChannels, out = c.batch * c.outChannels,
          filter = c.inChannels * c.outChannels;
  if (!hasElements(c) || std::max({c.batch, c.inChannels, c.outChannels}) > mostOfOne)
    return false;
  for (size_t d = 0; d < 3; ++d) {
    if (std::max({w.in[d], w.out[d], w.size[d], w.stride[d], w.dilation[d]}) > mostBytes ||
        w.padBefore[d] >= extent(w, d) || piece.padAfter[d] >= extent(w, d) || w.padBefore[d] < 0 ||
        piece.padAfter[d] <= -w.stride[d])
      return false;
    for (auto [count, by] : {std::pair{&in, w.in[d]}, {&out, w.out[d]}, {&filter, w.size[d]}})
      if (__builtin_mul_overflow(*count, by, count) || *count > mostBytes / 4)
        return false;
  }
  return true;
}

/// Which implementation of oneDNN's own a primitive is; those that begin with this are loops that
/// show what is meant.
bool isReference(const char *name) { return std::string_view(name).starts_with("ref"); }

/// Whether oneDNN applies it to the result itself.
bool isPostOp(Activation activation) {
  using enum Activation;
  return activation == None || activation == Relu || activation == Relu6 || activation == LeakyRelu;
}

int64_t elementsOf(const memory::desc &desc) {
  Dims dims = desc.dims();
  return std::accumulate(dims.begin(), dims.end(), int64_t{1}, std::multiplies<>());
}

class Plan final : public ConvolutionPlan {
public:
  explicit Plan(const ConvolutionForm &form) : form(form) {}

  /// False where there is no fast code.
  bool build() {
    if (!hasElements(form.place))
      return false;
    std::vector<Piece> pieces = piecesOf(form);
    byChannels = pieces.size() > 1 && isByChannels(form);
    for (const Piece &piece : pieces)
      if (!isOrdinary(piece) || !add(piece))
        return false;
    cost = form.cost() / static_cast<double>(parts.size());
    return true;
  }

  bool reads(const OrderedFilter &filter) const override {
    auto isRead = [](const OwnMemory &own, const Part &part) {
      return own.memory.get_desc() == part.filter;
    };
    return std::ranges::equal(filter.parts, filters(), isRead);
  }

  std::shared_ptr<const OrderedFilter> order(OpContext &ctx, const float *filter,
                                             const float *factor) const override {
    try {
      auto ordered = std::make_shared<OrderedFilter>();
      if (factor)
        ordered->factor.assign(factor, factor + form.place.outChannels);
      for (const Part &part : filters())
        ordered->parts.emplace_back(part.filter);
      std::vector<Slice> slices = slicesOfFilters(form.parts);
      constexpr double nsPerElement = 0.3;
      double each =
          nsPerElement * static_cast<double>(filterElements()) / static_cast<double>(slices.size());
      ctx.parallelFor(std::ssize(slices), each, [&](int64_t begin, int64_t end) {
        OneThread alone;
        for (const Slice &slice : std::span(slices).subspan(begin, end - begin))
          order(slice, filter, factor, ordered->parts[slice.part].memory);
      });
      return ordered;
    } catch (const std::exception &) {
      ctx.fail(
          resourceExhausted("there is no memory for a filter of ", filterElements(), " numbers"));
      return nullptr;
    }
  }

  void run(OpContext &ctx, const float *from, const OrderedFilter &filter, const float *offset,
           float *to, std::span<const char> next) const override {
    bool isResult = form.wanted == Wanted::Result;
    forEachPart(ctx, [&](const Part &part) {
      const memory &weights =
          filter.parts[byChannels ? static_cast<size_t>(&part - parts.data()) : 0].memory;
      SomeChannels some(*this, part, isResult ? part.out : part.in);
      float *result = to + (isResult ? part.outAt : part.inAt);
      if (byChannels)
        result = form.adds ? some.copyFrom(to) : some.data();
      std::unordered_map<int, memory> arguments = {{DNNL_ARG_WEIGHTS, weights}};
      auto add = [&](int what, memory which) { arguments.emplace(what, std::move(which)); };
      if (isResult) {
        add(DNNL_ARG_SRC, memoryOf(part.in, from + part.inAt));
        add(DNNL_ARG_DST, memoryOf(part.out, result));
        if (form.hasOffset)
          add(DNNL_ARG_BIAS, memoryOf(part.offset, offset + part.channel));
      } else {
        add(DNNL_ARG_DIFF_DST, memoryOf(part.out, from + part.outAt));
        add(DNNL_ARG_DIFF_SRC, memoryOf(part.in, result));
      }
      part.primitive.execute(dnnlStream(), arguments);
      if (!isPostOp(form.activation))
        activate(form.activation, form.alpha, result, elementsOf(part.out));
      if (byChannels)
        some.copyTo(to);
    });
  }

  void runFilterGradient(OpContext &ctx, const float *in, const float *out,
                         float *filter) const override {
    forEachPart(ctx, [&](const Part &part) {
      SomeChannels some(*this, part, part.out);
      OwnMemory own(part.filter);
      memory ordered = own.memory, plain = memoryOf(part.plainFilter, filter + part.filterAt);
      part.primitive.execute(
          dnnlStream(),
          {{DNNL_ARG_SRC, memoryOf(part.in, in)},
           {DNNL_ARG_DIFF_DST, memoryOf(part.out, byChannels ? some.copyFrom(out) : out)},
           {DNNL_ARG_DIFF_WEIGHTS, ordered}});
      dnnl::reorder(ordered, plain).execute(dnnlStream(), ordered, plain);
    });
  }

private:
  struct Part {
    dnnl::primitive primitive;
    memory::desc in, filter, out, offset, plainFilter;
    int64_t inAt, outAt, filterAt, channel;
  };

  /// A part's channels of an image, side by side.
  class SomeChannels {
  public:
    SomeChannels(const Plan &plan, const Part &part, const memory::desc &desc) {
      if (!plan.byChannels)
        return;
      auto place = plan.form.place;
      first = part.channel;
      all = channelsOf(plan.form, place);
      channels = desc.dims()[1];
      elements.emplace(desc);
    }

    float *data() { return elements->storage.data<float>(); }
    float *copyFrom(const float *whole) {
      forEachPosition([&](float *at, int64_t position) {
        std::copy_n(whole + position * all + first, channels, at);
      });
      return data();
    }
    void copyTo(float *whole) {
      forEachPosition([&](const float *at, int64_t position) {
        std::copy_n(at, channels, whole + position * all + first);
      });
    }

  private:
    template <typename Visit> void forEachPosition(const Visit &visit) {
      for (int64_t i = 0, count = elements->storage.count() / channels; i < count; ++i)
        visit(data() + i * channels, i);
    }

    std::optional<OwnMemory> elements;
    int64_t channels = 0, all = 0, first = 0;
  };

  /// Some indices along the first dimension of a part's filter: groups or output channels.
  struct Slice {
    size_t part;
    int64_t begin, end;
  };

  /// So many indices along the first dimension are laid out as one.
  static int64_t firstBlock(const memory::desc &desc) {
    const dnnl_blocking_desc_t &blocking = desc.data.format_desc.blocking;
    int64_t block = 1;
    for (int i = 0; i < blocking.inner_nblks; ++i)
      block *= blocking.inner_idxs[i] == 0 ? blocking.inner_blks[i] : 1;
    return block;
  }

  /// About so many slices of equal size.
  std::vector<Slice> slicesOfFilters(int64_t wanted) const {
    wanted = std::max<int64_t>(wanted / std::ssize(filters()), 1);
    std::vector<Slice> slices;
    for (size_t part = 0; part < filters().size(); ++part) {
      int64_t count = parts[part].filter.dims()[0],
              each = roundUp((count + wanted - 1) / wanted, firstBlock(parts[part].filter));
      for (int64_t begin = 0; begin < count; begin += each)
        slices.push_back({part, begin, std::min(begin + each, count)});
    }
    return slices;
  }

  void order(const Slice &slice, const float *filter, const float *factor, const memory &to) const {
    const Part &part = parts[slice.part];
    auto sliceOf = [&](const memory::desc &desc) {
      Dims dims = desc.dims(), offsets(dims.size());
      dims[0] = slice.end - slice.begin;
      offsets[0] = slice.begin;
      return desc.submemory_desc(dims, offsets);
    };
    memory from(sliceOf(part.plainFilter), dnnlEngine(),
                const_cast<float *>(filter + part.filterAt)),
        ordered(sliceOf(part.filter), dnnlEngine(), to.get_data_handle());
    std::unordered_map<int, memory> arguments = {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, ordered}};
    dnnl::primitive_attr attributes;
    if (factor) {
      // Of [groups, out, in, ...] the first two dimensions, of [out, in, ...] the first.
      attributes.set_output_scales(form.groups > 1 ? 3 : 1, {DNNL_RUNTIME_F32_VAL});
      int64_t perIndex = part.out.dims()[1] / part.filter.dims()[0];
      memory::desc channels({(slice.end - slice.begin) * perIndex}, f32, memory::format_tag::x);
      arguments.emplace(DNNL_ARG_ATTR_OUTPUT_SCALES,
                        memoryOf(channels, factor + part.channel + slice.begin * perIndex));
    }
    dnnl::reorder(dnnl::reorder::primitive_desc(from, ordered, attributes))
        .execute(dnnlStream(), arguments);
  }

  /// Those whose filters are all that there are.
  std::span<const Part> filters() const { return {parts.data(), byChannels ? parts.size() : 1}; }

  int64_t filterElements() const {
    const PlacedConvolution &c = form.place;
    return positions(c.window.size) * (c.inChannels / form.groups) * c.outChannels;
  }

  bool add(const Piece &piece) {
    Description d(form, piece);
    // All parts of one filter read it in one order.
    memory::desc filter = parts.empty() || byChannels ? d.anyFilter() : parts.front().filter;
    auto keep = [&](const auto &described, dnnl::primitive primitive, const memory::desc &ordered) {
      bool isIn = form.wanted == Wanted::InputGradient;
      parts.push_back({std::move(primitive), d.in(), ordered, d.out(), d.offset(), d.plainFilter(),
                       piece.inAt, piece.outAt,
                       piece.channel * (isIn ? d.inStride() : d.outStride()), piece.channel});
      return !isReference(described.impl_info_str());
    };
    if (form.wanted == Wanted::Result) {
      auto forward = d.forward(dnnl::prop_kind::forward_inference, filter);
      return keep(forward, dnnl::convolution_forward(forward), forward.weights_desc());
    }
    auto gradient = [&]<typename Op>() {
      return typename Op::primitive_desc(
          {dnnl::algorithm::convolution_direct, d.in(), filter, d.out(), d.stride, d.dilation,
           d.before, d.after},
          dnnlEngine(), d.forward(dnnl::prop_kind::forward_training, d.anyFilter()));
    };
    if (form.wanted == Wanted::InputGradient) {
      using Op = dnnl::convolution_backward_data;
      auto backward = gradient.template operator()<Op>();
      return keep(backward, Op(backward), backward.weights_desc());
    }
    using Op = dnnl::convolution_backward_weights;
    auto backward = gradient.template operator()<Op>();
    return keep(backward, Op(backward), backward.diff_weights_desc());
  }

  template <typename Run> void forEachPart(OpContext &ctx, const Run &run) const {
    auto some = [&](int64_t begin, int64_t end) {
      OneThread alone;
      for (int64_t i = begin; i < end; ++i)
        run(parts[static_cast<size_t>(i)]);
    };
    try {
      ctx.parallelFor(std::ssize(parts), std::max(cost, nsPerPart), some);
    } catch (const std::exception &e) {
      ctx.fail(resourceExhausted("a convolution by oneDNN: ", e.what()));
    }
  }

  ConvolutionForm form;
  bool byChannels = false; // the parts are some channels each; one part never is
  std::vector<Part> parts;
  double cost = 0;
};

} // namespace

double ConvolutionForm::products() const {
  const Window &w = place.window;
  double product = static_cast<double>(place.batch * place.outChannels) *
                   (static_cast<double>(place.inChannels) / static_cast<double>(groups));
  for (size_t d = 0; d < 3; ++d)
    product *= static_cast<double>(w.out[d]) * static_cast<double>(w.size[d]);
  return product;
}

double ConvolutionForm::cost() const {
  // Where each channel has a filter of its own, it is the elements' way from and to memory.
  constexpr double nsPerLoneProduct = 0.06;
  return products() * (groups == place.inChannels && groups > 1 ? nsPerLoneProduct : nsPerProduct);
}

int ConvolutionForm::partsFor(int threads) const {
  return static_cast<int>(std::clamp<double>(cost() / nsPerPart, 1, threads));
}

std::shared_ptr<const ConvolutionPlan> ConvolutionPlan::make(const ConvolutionForm &form) {
  try {
    OneThread alone;
    Piece whole = wholeOf(straightened(form.place));
    ConvolutionForm straight = form;
    straight.place = whole.place;
    if (isOrdinary(whole)) {
      bool isFilter = form.wanted == Wanted::FilterGradient;
      auto tiled = isFilter ? makeTiledFilterGradient(straight) : makeTiledConvolution(straight);
      if (tiled)
        return tiled;
    }
    auto plan = std::make_shared<Plan>(form);
    return plan->build() ? plan : nullptr;
  } catch (const dnnl::error &) { // it has no code at all
    return nullptr;
  }
}

std::shared_ptr<const ConvolutionPlan> ConvolutionPlans::find(const ConvolutionForm &form) const {
  if (auto own = slots.tryTake(); own && own->isMade && own->form == form)
    return own->plan;
  Known found = findKnown(form);
  found.plan = ownShare(std::move(found.plan));
  if (auto own = slots.tryTake())
    *own = found;
  return found.plan;
}

ConvolutionPlans::Known ConvolutionPlans::findKnown(const ConvolutionForm &form) const {
  constexpr size_t most = 16;
  constexpr double largeProducts = 1e6;
  std::lock_guard lock(mutex);
  auto found = std::ranges::find(known, form, &Known::form);
  bool isNew = found == known.end();
  if (isNew) {
    if (known.size() == most)
      known.pop_back();
    found = known.insert(known.end(), {form, nullptr});
  }
  if (!found->isMade && (!isNew || form.products() > largeProducts)) {
    found->plan = ConvolutionPlan::make(form);
    found->isMade = true;
  }
  std::rotate(known.begin(), found, found + 1);
  return known.front();
}

} // namespace treadle
