// Case, length, joining and formatting of strings.
#include "treadle/kernels/Element.h"
#include "treadle/kernels/ElementCopy.h"
#include "treadle/kernels/text/TensorText.h"

#include <unicode/locid.h>
#include <unicode/unistr.h>
#include <unicode/utf8.h>

#include <algorithm>
#include <cstdio>

namespace treadle {
namespace {

// Applies a function that changes a string in place to each element.
template <typename Change> void mapStrings(OpContext &ctx, Change change) {
  const Tensor &in = ctx.input(0);
  Tensor *out = TREADLE_OR_RETURN(ctx.allocateOutput(0, DType::String, in.dims()));
  for (int64_t i = 0; i < in.count(); ++i) {
    std::string text = in.data<std::string>()[i];
    change(text);
    out->data<std::string>()[i] = std::move(text);
  }
}

// --- case --------------------------------------------------------------------------------------

char changeAscii(char c, bool toUpper) {
  char first = toUpper ? 'a' : 'A';
  return c >= first && c <= first + 25 ? static_cast<char>(c ^ 0x20) : c;
}

// Converts with Unicode's locale-independent rules; invalid UTF-8 becomes U+FFFD. TensorFlow stops
// at a zero byte; this doesn't.
void changeUnicode(std::string &text, bool toUpper) {
  auto characters = icu::UnicodeString::fromUTF8(text);
  if (toUpper)
    characters.toUpper(icu::Locale::getRoot());
  else
    characters.toLower(icu::Locale::getRoot());
  text.clear();
  characters.toUTF8String(text);
}

template <bool toUpper> void changeCase(OpContext &ctx) {
  bool isUnicode = ctx.state<bool>();
  mapStrings(ctx, [isUnicode](std::string &text) {
    if (isUnicode)
      return changeUnicode(text, toUpper);
    for (char &c : text)
      c = changeAscii(c, toUpper);
  });
}

template <bool toUpper> Expected<BoundKernel> bindCase(const BindContext &node) {
  std::string encoding = node.attrs.getOr("encoding", std::string());
  if (!encoding.empty() && encoding != "utf-8")
    return Unexpected(
        invalidArgument("encoding is '", encoding, "', expected 'utf-8', or '' for bytes"));
  return boundWith(changeCase<toUpper>, encoding == "utf-8");
}

void strip(OpContext &ctx) {
  mapStrings(ctx, [](std::string &text) {
    constexpr std::string_view blanks = " \t\n\v\f\r";
    text.erase(text.find_last_not_of(blanks) + 1);
    text.erase(0, text.find_first_not_of(blanks));
  });
}

// --- length ------------------------------------------------------------------------------------

// Counts characters as TensorFlow does, also in invalid UTF-8: all bytes except continuation bytes.
void stringLength(OpContext &ctx) {
  const Tensor &in = ctx.input(0);
  bool countsCharacters = ctx.state<bool>();
  Tensor *out = TREADLE_OR_RETURN(ctx.allocateOutput(0, DType::Int32, in.dims()));
  std::ranges::transform(in.values<std::string>(), out->data<int32_t>(), [&](const auto &text) {
    auto continues = [](char c) { return U8_IS_TRAIL(c); };
    auto length = static_cast<int64_t>(text.size());
    return static_cast<int32_t>(countsCharacters ? length - std::ranges::count_if(text, continues)
                                                 : length);
  });
}

Expected<BoundKernel> bindStringLength(const BindContext &node) {
  return boundWith(stringLength, node.attrs.getOr("unit", std::string("BYTE")) == "UTF8_CHAR");
}

// --- joining -----------------------------------------------------------------------------------

void stringJoin(OpContext &ctx) {
  int shaped = -1;
  for (int i = 0; i < ctx.numInputs(); ++i) {
    if (ctx.input(i).isScalar())
      continue;
    if (shaped >= 0 && !std::ranges::equal(ctx.input(shaped).dims(), ctx.input(i).dims()))
      return ctx.fail(invalidArgument("inputs of shapes ", dimsText(ctx.input(shaped).dims()),
                                      " and ", dimsText(ctx.input(i).dims()),
                                      " can't be joined, expected equal shapes or scalars"));
    shaped = i;
  }
  Tensor *out = TREADLE_OR_RETURN(
      ctx.allocateOutput(0, DType::String, shaped < 0 ? Dims() : ctx.input(shaped).dims()));
  const auto &separator = ctx.state<std::string>();
  for (int64_t e = 0; e < out->count(); ++e) {
    std::string &text = out->data<std::string>()[e];
    for (int i = 0; i < ctx.numInputs(); ++i) {
      if (i)
        text += separator;
      text += ctx.input(i).data<std::string>()[ctx.input(i).isScalar() ? 0 : e];
    }
  }
}

Expected<BoundKernel> bindStringJoin(const BindContext &node) {
  return boundWith(stringJoin, node.attrs.getOr("separator", std::string()));
}

struct ReduceJoinOptions {
  bool keepsDims;
  std::string separator;
};

// Returns the dimensions to join, in the requested order: the first varies fastest.
Expected<DimVector> joinedAxes(const Tensor &asked, int rank) {
  DimVector axes, isJoined(static_cast<size_t>(rank));
  for (int64_t i = 0; i < asked.count(); ++i) {
    int64_t axis = normalizedAxis(indexAt(asked, i), rank);
    if (axis < 0)
      return Unexpected(invalidArgument("reduction_indices[", i, "] is ", indexAt(asked, i),
                                        ", but the input has ", rank, " dimensions"));
    if (isJoined[axis]++)
      return Unexpected(invalidArgument("reduction_indices names dimension ", axis, " twice"));
    axes.push(axis);
  }
  return axes;
}

// Returns the offset of element `i` along `axes`, of which the first varies fastest.
int64_t offsetAlong(const DimVector &axes, Dims dims, const DimVector &strides, int64_t i) {
  int64_t offset = 0;
  for (int64_t axis : axes) {
    offset += i % dims[axis] * strides[axis];
    i /= dims[axis];
  }
  return offset;
}

void reduceJoin(OpContext &ctx) {
  const Tensor &in = ctx.input(0);
  const auto &options = ctx.state<ReduceJoinOptions>();
  auto axes = TREADLE_OR_RETURN(ctx.check(joinedAxes(ctx.input(1), in.rank())));
  if (!axes.size())
    return ctx.setOutput(0, ctx.takeInput(0));
  DimVector dims, kept, strides = rowMajorStrides(in.dims());
  for (int64_t d = in.rank() - 1; d >= 0; --d)
    if (std::ranges::find(axes, d) == axes.end())
      kept.push(d);
  int64_t joined = 1;
  for (int64_t d = 0; d < in.rank(); ++d) {
    bool isJoined = std::ranges::find(axes, d) != axes.end();
    joined *= isJoined ? in.dims()[d] : 1;
    if (!isJoined || options.keepsDims)
      dims.push(isJoined ? 1 : in.dims()[d]);
  }
  Tensor *out = TREADLE_OR_RETURN(ctx.allocateOutput(0, DType::String, dims));
  for (int64_t o = 0; o < out->count(); ++o) {
    const std::string *from = in.data<std::string>() + offsetAlong(kept, in.dims(), strides, o);
    std::string &text = out->data<std::string>()[o];
    for (int64_t i = 0; i < joined; ++i) {
      if (i)
        text += options.separator;
      text += from[offsetAlong(axes, in.dims(), strides, i)];
    }
  }
}

Expected<BoundKernel> bindReduceJoin(const BindContext &node) {
  return boundWith(reduceJoin, ReduceJoinOptions{node.attrs.getOr("keep_dims", false),
                                                 node.attrs.getOr("separator", std::string())});
}

// --- formatting --------------------------------------------------------------------------------

struct Format {
  std::vector<std::string> between; // one more than there are inputs
  int64_t summarize;
};

void stringFormat(OpContext &ctx) {
  const auto &format = ctx.state<Format>();
  std::string text = format.between[0];
  for (int i = 0; i < ctx.numInputs(); ++i) {
    text += nestedText(ctx.input(i), format.summarize);
    text += format.between[static_cast<size_t>(i) + 1];
  }
  ctx.setOutput(0, Tensor::scalarString(std::move(text)));
}

Expected<BoundKernel> bindStringFormat(const BindContext &node) {
  std::string rest = node.attrs.getOr("template", std::string("%s"));
  std::string placeholder = node.attrs.getOr("placeholder", std::string("%s"));
  Format format{{}, node.attrs.getOr<int64_t>("summarize", 3)};
  for (size_t at; !placeholder.empty() && (at = rest.find(placeholder)) != std::string::npos;) {
    format.between.push_back(rest.substr(0, at));
    rest.erase(0, at + placeholder.size());
  }
  format.between.push_back(rest);
  if (format.between.size() != node.inputTypes.size() + 1)
    return Unexpected(invalidArgument("the template has ", format.between.size() - 1,
                                      " placeholders '", placeholder, "' for ",
                                      node.inputTypes.size(), " inputs"));
  return boundWith(stringFormat, std::move(format));
}

// `name-00001-of-00010`
template <bool hasShard> void shardedName(OpContext &ctx) {
  for (int i = 0; i < ctx.numInputs(); ++i)
    if (!ctx.input(i).isScalar())
      return ctx.fail(invalidArgument("input ", i, " must be a scalar, but it is ",
                                      tensorTypeText(ctx.input(i))));
  char buffer[40];
  int32_t count = ctx.input(hasShard ? 2 : 1).scalarValue<int32_t>();
  if constexpr (hasShard)
    std::snprintf(buffer, sizeof buffer, "-%05d-of-%05d", ctx.input(1).scalarValue<int32_t>(),
                  count);
  else
    std::snprintf(buffer, sizeof buffer, "-%s-of-%05d", "?????", count);
  ctx.setOutput(0, Tensor::scalarString(ctx.input(0).scalarValue<std::string>() + buffer));
}

const KernelEntry stringTable[] = {
    {"ReduceJoin", bindReduceJoin},
    {"ShardedFilename", bindPlain<shardedName<true>>},
    {"ShardedFilespec", bindPlain<shardedName<false>>},
    {"StringFormat", bindStringFormat},
    {"StringJoin", bindStringJoin},
    {"StringLength", bindStringLength},
    {"StringLower", bindCase<false>},
    {"StringStrip", bindPlain<strip>},
    {"StringUpper", bindCase<true>},
};

} // namespace

std::span<const KernelEntry> stringKernels() { return stringTable; }

} // namespace treadle
