// Substrings, n-grams, and joining by segments.
#include "treadle/kernels/ElementCopy.h"

#include <unicode/utf8.h>

#include <algorithm>

namespace treadle {
namespace {

// --- Substr ------------------------------------------------------------------------------------

// Returns the start of each character, and the end. Invalid UTF-8 is split as in TensorFlow: before
// all bytes except continuation bytes.
std::vector<int64_t> characterStarts(std::string_view text) {
  std::vector<int64_t> starts;
  for (size_t i = 0; i < text.size(); ++i)
    if (i == 0 || !U8_IS_TRAIL(text[i]))
      starts.push_back(static_cast<int64_t>(i));
  starts.push_back(std::ssize(text));
  return starts;
}

// Clamps [position, position + length) to `size` units; returns false if it starts outside.
bool clampRange(int64_t size, int64_t &position, int64_t &length) {
  if (position < -size || position > size)
    return false;
  position += position < 0 ? size : 0;
  length = std::clamp<int64_t>(length, 0, size - position);
  return true;
}

// A negative length means the whole rest in bytes. In characters it means nothing, or after a
// negative position an error.
bool substring(std::string_view text, int64_t position, int64_t length, bool countsCharacters,
               std::string &out) {
  if (!countsCharacters) {
    length = length < 0 ? INT64_MAX : length;
    if (!clampRange(std::ssize(text), position, length))
      return false;
    out = text.substr(position, length);
    return true;
  }
  std::vector<int64_t> starts = characterStarts(text);
  if ((position < 0 && length < 0) || !clampRange(std::ssize(starts) - 1, position, length))
    return false;
  out = text.substr(starts[position], starts[position + length] - starts[position]);
  return true;
}

// Returns the strides of `in` in the broadcast result: 0 along broadcast dimensions.
DimVector broadcastStrides(Dims in, Dims out) {
  DimVector own = rowMajorStrides(in), strides(out.size());
  for (size_t d = 0; d < in.size(); ++d)
    strides[out.size() - in.size() + d] = in[d] == 1 ? 0 : own[d];
  return strides;
}

Expected<DimVector> broadcastDims(Dims a, Dims b) {
  DimVector out;
  size_t rank = std::max(a.size(), b.size());
  for (size_t d = 0; d < rank; ++d) {
    int64_t x = d + a.size() < rank ? 1 : a[d + a.size() - rank];
    int64_t y = d + b.size() < rank ? 1 : b[d + b.size() - rank];
    if (x != y && x != 1 && y != 1)
      return Unexpected(invalidArgument("the input and pos have shapes ", dimsText(a), " and ",
                                        dimsText(b), ", which can't be broadcast together"));
    out.push(x == 1 ? y : x);
  }
  return out;
}

void substr(OpContext &ctx) {
  const Tensor &in = ctx.input(0), &positions = ctx.input(1), &lengths = ctx.input(2);
  if (!std::ranges::equal(positions.dims(), lengths.dims()))
    return ctx.fail(invalidArgument("pos is ", tensorTypeText(positions), " and len is ",
                                    tensorTypeText(lengths), ", expected equal shapes"));
  auto dims = ctx.check(broadcastDims(in.dims(), positions.dims()));
  Tensor *out = TREADLE_OR_RETURN(dims ? ctx.allocateOutput(0, DType::String, *dims) : nullptr);
  DimVector inStrides = broadcastStrides(in.dims(), *dims),
            positionStrides = broadcastStrides(positions.dims(), *dims);
  for (int64_t i = 0; i < out->count(); ++i) {
    int64_t at = 0, place = 0, rest = i;
    for (size_t d = dims->size(); d-- > 0; rest /= (*dims)[d]) {
      at += rest % (*dims)[d] * inStrides[d];
      place += rest % (*dims)[d] * positionStrides[d];
    }
    const std::string &text = in.data<std::string>()[at];
    int64_t position = indexAt(positions, place), length = indexAt(lengths, place);
    if (!substring(text, position, length, ctx.state<bool>(), out->data<std::string>()[i]))
      return ctx.fail(
          invalidArgument("pos ", position, " is outside of string ", at, ": '", text, "'"));
  }
}

Expected<BoundKernel> bindSubstr(const BindContext &node) {
  return boundWith(substr, node.attrs.getOr("unit", std::string("BYTE")) == "UTF8_CHAR");
}

// --- StringNGrams ------------------------------------------------------------------------------

struct NGrams {
  std::string separator, left, right;
  std::vector<int64_t> widths;
  int64_t padWidth; // -1: as much as each width needs
  bool keepsShort;

  int64_t padding(int64_t width) const {
    return std::min(padWidth < 0 ? width - 1 : padWidth, width - 1);
  }

  // Appends the n-grams of `width` of a row that is padded on both sides.
  void add(std::span<const std::string> row, int64_t width, std::vector<std::string> &out) const {
    int64_t pad = padding(width), size = std::ssize(row) + 2 * pad;
    for (int64_t begin = 0; begin + width <= size; ++begin)
      out.push_back(joined(row, pad, begin, width));
  }

  std::string joined(std::span<const std::string> row, int64_t pad, int64_t begin,
                     int64_t width) const {
    std::string text;
    for (int64_t i = begin; i < begin + width; ++i) {
      if (i > begin)
        text += separator;
      text += i < pad ? left : i - pad < std::ssize(row) ? row[i - pad] : right;
    }
    return text;
  }

  std::vector<std::string> of(std::span<const std::string> row) const {
    std::vector<std::string> out;
    for (int64_t width : widths)
      add(row, width, out);
    // A row too short for any width becomes a single n-gram, padded if requested.
    if (keepsShort && out.empty() && !row.empty()) {
      int64_t pad = std::max<int64_t>(padWidth, 0);
      out.push_back(joined(row, pad, 0, std::ssize(row) + 2 * pad));
    }
    return out;
  }
};

void stringNGrams(OpContext &ctx) {
  const auto &ngrams = ctx.state<NGrams>();
  const Tensor &data = ctx.input(0), &splits = ctx.input(1);
  if (data.rank() != 1 || splits.rank() != 1)
    return ctx.fail(invalidArgument("data and data_splits are ", tensorTypeText(data), " and ",
                                    tensorTypeText(splits), ", expected vectors"));
  for (int64_t i = 0; i < splits.count(); ++i) {
    int64_t low = i ? indexAt(splits, i - 1) : 0, at = indexAt(splits, i);
    if (at < low || at > data.count() || (i == 0 && at != 0) ||
        (i + 1 == splits.count() && at != data.count()))
      return ctx.fail(invalidArgument("data_splits[", i, "] is ", at,
                                      ", expected splits from 0 to ", data.count(),
                                      " that don't decrease"));
  }
  if (data.count() == 0 || splits.count() == 0) { // no n-grams, even with padding
    for (int i : {0, 1}) {
      Tensor *out = ctx.allocateOutput(i, ctx.input(i).dtype(), ctx.input(i).dims());
      if (out)
        zeroElements(out->dtype(), out->raw(), out->count());
    }
    return;
  }
  Tensor *outSplits = TREADLE_OR_RETURN(ctx.allocateOutput(1, splits.dtype(), splits.dims()));
  std::vector<std::string> all;
  for (int64_t i = 0; i < splits.count(); ++i) {
    if (i)
      std::ranges::move(ngrams.of(data.values<std::string>().subspan(
                            indexAt(splits, i - 1), indexAt(splits, i) - indexAt(splits, i - 1))),
                        std::back_inserter(all));
    if (splits.dtype() == DType::Int64)
      outSplits->data<int64_t>()[i] = std::ssize(all);
    else
      outSplits->data<int32_t>()[i] = static_cast<int32_t>(all.size());
  }
  Tensor *out = ctx.allocateOutput(0, DType::String, {std::ssize(all)});
  if (out)
    std::ranges::move(all, out->data<std::string>());
}

Expected<BoundKernel> bindNGrams(const BindContext &node) {
  auto text = [&](const char *name) { return node.attrs.getOr(name, std::string()); };
  NGrams ngrams{text("separator"),
                text("left_pad"),
                text("right_pad"),
                node.attrs.getOr("ngram_widths", std::vector<int64_t>()),
                node.attrs.getOr<int64_t>("pad_width", 0),
                node.attrs.getOr("preserve_short_sequences", false)};
  for (int64_t width : ngrams.widths)
    if (width < 1)
      return Unexpected(invalidArgument("ngram_widths contains ", width, ", expected at least 1"));
  return boundWith(stringNGrams, std::move(ngrams));
}

// --- UnsortedSegmentJoin -----------------------------------------------------------------------

void segmentJoin(OpContext &ctx) {
  const Tensor &in = ctx.input(0), &ids = ctx.input(1), &number = ctx.input(2);
  auto lead = static_cast<size_t>(ids.rank());
  if (!number.isScalar() || indexAt(number, 0) < 0 || in.rank() < ids.rank() || lead == 0 ||
      !std::ranges::equal(in.dims().first(lead), ids.dims()))
    return ctx.fail(invalidArgument("inputs, segment_ids and num_segments are ", tensorTypeText(in),
                                    ", ", tensorTypeText(ids), " and ", tensorTypeText(number),
                                    ", expected ids for leading dimensions of the inputs, and a "
                                    "number >= 0"));
  int64_t segments = indexAt(number, 0);
  DimVector dims;
  dims.push(segments);
  for (int64_t d : in.dims().subspan(lead))
    dims.push(d);
  Tensor *out = TREADLE_OR_RETURN(ctx.allocateOutput(0, DType::String, dims));
  int64_t width = countBetween(in.dims(), lead, in.dims().size());
  for (int64_t i = 0; i < ids.count(); ++i) {
    int64_t segment = indexAt(ids, i);
    if (segment < 0 || segment >= segments)
      return ctx.fail(invalidArgument("segment_ids[", i, "] is ", segment, ", expected one in [0, ",
                                      segments, ")"));
    for (int64_t k = 0; k < width; ++k) {
      std::string &text = out->data<std::string>()[segment * width + k];
      if (!text.empty())
        text += ctx.state<std::string>();
      text += in.data<std::string>()[i * width + k];
    }
  }
}

Expected<BoundKernel> bindSegmentJoin(const BindContext &node) {
  return boundWith(segmentJoin, node.attrs.getOr("separator", std::string()));
}

const KernelEntry substringTable[] = {
    {"StringNGrams", bindNGrams},
    {"Substr", bindSubstr},
    {"UnsortedSegmentJoin", bindSegmentJoin},
};

} // namespace

std::span<const KernelEntry> substringKernels() { return substringTable; }

} // namespace treadle
