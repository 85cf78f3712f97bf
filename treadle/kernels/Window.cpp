#include "treadle/kernels/Window.h"
#include "treadle/kernels/ElementCopy.h"

namespace treadle {
namespace {

constexpr int64_t largestEntry = std::numeric_limits<int32_t>::max(); // so that sums can't overflow

// Copies a tensor from [batch, space, channels] to [batch, channels, space] if `toFirst`, else
// back.
void moveChannels(OpContext &ctx, const Tensor &in, const ImageDims &dims, bool toFirst,
                  Tensor &out) {
  int64_t n = dims.batch, p = dims.positions(), c = dims.channels;
  std::array<int64_t, 3> shape = {n, p, c}, last = {p * c, c, 1}, first = {p * c, 1, p};
  copyStrided(ctx, in.dtype(), shape, out.raw(), toFirst ? first : last, in.raw(),
              toFirst ? last : first);
}

// oneDNN's attribute of explicit paddings, whose nodes state VALID padding.
constexpr std::string_view oneDnnPaddings = "padding_list";

bool hasOneDnnPaddings(const BindContext &node) {
  return !node.attrs.getOr(oneDnnPaddings, std::vector<int64_t>()).empty();
}

// Reads explicit paddings: two for each dimension of the tensor.
std::optional<Error> readPaddings(const BindContext &node, WindowAttrs &attrs) {
  auto pads = node.attrs.getOr(hasOneDnnPaddings(node) ? oneDnnPaddings : "explicit_paddings",
                               std::vector<int64_t>());
  auto spatial = static_cast<size_t>(attrs.spatial);
  if (pads.size() != 2 * (spatial + 2))
    return invalidArgument("explicit_paddings must have ", 2 * (spatial + 2), " elements, but has ",
                           pads.size());
  for (size_t i = 0; i < spatial; ++i) {
    size_t at = 2 * ((attrs.channelsFirst ? 2 : 1) + i);
    attrs.padBefore[3 - spatial + i] = pads[at];
    attrs.padAfter[3 - spatial + i] = pads[at + 1];
    if (std::min(pads[at], pads[at + 1]) < 0 || std::max(pads[at], pads[at + 1]) > largestEntry)
      return invalidArgument("explicit_paddings must not be negative");
  }
  return std::nullopt;
}

} // namespace

bool ImageDims::read(Dims dims) {
  if (static_cast<int>(dims.size()) != spatial + 2)
    return false;
  batch = dims[0];
  channels = dims[channelsFirst ? 1 : dims.size() - 1];
  size = {1, 1, 1};
  for (int i = 0; i < spatial; ++i)
    size[3 - spatial + i] = dims[(channelsFirst ? 2 : 1) + i];
  return true;
}

std::vector<int64_t> ImageDims::tensorDims() const {
  std::vector<int64_t> dims = {batch};
  if (channelsFirst)
    dims.push_back(channels);
  dims.insert(dims.end(), size.end() - spatial, size.end());
  if (!channelsFirst)
    dims.push_back(channels);
  return dims;
}

Expected<int64_t> WindowAttrs::split(std::string_view name, std::span<const int64_t> list,
                                     Volume &volume) const {
  ImageDims entries{.spatial = spatial, .channelsFirst = channelsFirst};
  if (!entries.read(list))
    return Unexpected(
        invalidArgument(name, " must have ", spatial + 2, " elements, but has ", list.size()));
  for (int64_t entry : list)
    if (entry <= 0 || entry > largestEntry)
      return Unexpected(invalidArgument(name, " must be positive, but one is ", entry));
  if (entries.batch != 1)
    return Unexpected(unimplemented(name, " is ", entries.batch,
                                    " for the batch dimension; only 1 is supported"));
  volume = entries.size;
  return entries.channels;
}

Expected<WindowAttrs> WindowAttrs::of(const BindContext &node, int spatial) {
  WindowAttrs attrs;
  attrs.spatial = spatial;
  std::string format = node.attrs.getOr("data_format", std::string("NHWC"));
  attrs.channelsFirst = format.starts_with("NC") || format == "CHANNELS_FIRST";
  if (format == "NCHW_VECT_C")
    return Unexpected(unimplemented("op '", node.op, "' does not support data_format NCHW_VECT_C"));
  if (auto list = node.attrs.getOr("strides", std::vector<int64_t>()); !list.empty()) {
    int64_t channels = TREADLE_TRY(attrs.split("strides", list, attrs.strides));
    attrs.channelStride = channels;
  }
  if (auto list = node.attrs.getOr("dilations", std::vector<int64_t>()); !list.empty()) {
    int64_t channels = TREADLE_TRY(attrs.split("dilations", list, attrs.dilations));
    if (channels != 1)
      return Unexpected(unimplemented("dilations is ", channels,
                                      " for the channel dimension; only 1 is supported"));
  }
  std::string padding = node.attrs.getOr("padding", std::string("VALID"));
  attrs.padding = hasOneDnnPaddings(node) || padding == "EXPLICIT" ? Padding::Explicit
                  : padding == "SAME"                              ? Padding::Same
                                                                   : Padding::Valid;
  if (attrs.padding == Padding::Explicit)
    if (std::optional<Error> error = readPaddings(node, attrs))
      return Unexpected(std::move(*error));
  return attrs;
}

bool placeWindow(OpContext &ctx, const WindowAttrs &attrs, const Volume &in, const Volume &size,
                 Window &w) {
  w = {in, {1, 1, 1}, size, attrs.strides, attrs.dilations, attrs.padBefore};
  for (int d = 3 - attrs.spatial; d < 3; ++d) {
    int64_t reach = (size[d] - 1) * attrs.dilations[d] + 1, stride = attrs.strides[d];
    if (attrs.padding == WindowAttrs::Padding::Same) {
      w.out[d] = (in[d] + stride - 1) / stride;
      w.padBefore[d] = std::max<int64_t>(0, (w.out[d] - 1) * stride + reach - in[d]) / 2;
      continue;
    }
    int64_t padded = in[d] + attrs.padBefore[d] + attrs.padAfter[d];
    w.out[d] = (padded - reach + stride) / stride; // 0 too for values between -1 and 0
    if (w.out[d] < 0) {
      ctx.fail(invalidArgument("the output size would be negative: an input of ", padded,
                               " under a window of ", reach, " with stride ", stride));
      return false;
    }
  }
  return true;
}

std::optional<Tensor> withChannelsLast(OpContext &ctx, const Tensor &t, const ImageDims &dims) {
  if (!dims.channelsFirst)
    return t;
  ImageDims last = dims;
  last.channelsFirst = false;
  auto moved = ctx.check(Tensor::make(t.dtype(), last.tensorDims()));
  if (moved)
    moveChannels(ctx, t, dims, false, *moved);
  return moved;
}

void setImageOutput(OpContext &ctx, int i, Tensor result, const ImageDims &dims) {
  if (!dims.channelsFirst)
    return ctx.setOutput(i, std::move(result));
  Tensor *out = ctx.allocateOutput(i, result.dtype(), dims.tensorDims());
  if (out)
    moveChannels(ctx, result, dims, true, *out);
}

} // namespace treadle
