// Unicode: decoding, encoding, transcoding and scripts. ICU decodes.
#include "treadle/kernels/Element.h"
#include "treadle/kernels/ElementCopy.h"

#include <unicode/uchar.h>
#include <unicode/ucnv.h>
#include <unicode/ucnv_err.h>
#include <unicode/uscript.h>
#include <unicode/utf16.h>

#include <memory>

namespace treadle {
namespace {

// --- malformed text ------------------------------------------------------------------------------

struct ErrorPolicy {
  enum { Replace, Ignore, Strict } kind = Replace;
  UChar32 replacement = 0xfffd;
  bool replacesControls = false;

  /// Whether the policy applies to the character.
  bool appliesTo(UChar32 c, bool isMalformed) const {
    return isMalformed || (replacesControls && c <= 0x1f);
  }
};

Expected<ErrorPolicy> readPolicy(const BindContext &node) {
  ErrorPolicy policy;
  std::string errors = node.attrs.getOr("errors", std::string("replace"));
  auto replacement = node.attrs.getOr<int64_t>("replacement_char", 0xfffd);
  if (errors == "ignore")
    policy.kind = ErrorPolicy::Ignore;
  else if (errors == "strict")
    policy.kind = ErrorPolicy::Strict;
  else if (errors != "replace")
    return Unexpected(invalidArgument("attribute 'errors' is '", errors,
                                      "', expected 'strict', 'replace' or 'ignore'"));
  if (replacement < 0 || replacement > UCHAR_MAX_VALUE)
    return Unexpected(invalidArgument("attribute 'replacement_char' is ", replacement,
                                      ", which is not a Unicode code point"));
  policy.replacement = static_cast<UChar32>(replacement);
  policy.replacesControls = node.attrs.getOr("replace_control_characters", false);
  return policy;
}

Error malformed() {
  return invalidArgument(
      "the text is malformed in its encoding; set errors to 'replace' or 'ignore' to accept it");
}

// --- decoding ------------------------------------------------------------------------------------

/// A decoder of one encoding. Keeps the byte order that it detected in a text for later texts, as
/// TensorFlow's does.
class TextReader {
public:
  explicit TextReader(const std::string &encoding) {
    UErrorCode status = U_ZERO_ERROR;
    converter.reset(ucnv_open(encoding.c_str(), &status));
    if (U_FAILURE(status))
      converter.reset();
    else
      ucnv_setToUCallBack(converter.get(), substitute, &sawError, nullptr, nullptr, &status);
  }
  explicit operator bool() const { return converter != nullptr; }

  /// Calls `visit(code point, bytes, is malformed)` for each character of the text.
  template <typename Visit> void read(const std::string &text, Visit &&visit) {
    const char *at = text.data(), *end = at + text.size();
    UErrorCode status = U_ZERO_ERROR;
    while (at < end) {
      const char *begin = at;
      sawError = false;
      UChar32 c = ucnv_getNextUChar(converter.get(), &at, end, &status);
      if (U_FAILURE(status))
        at = end;
      visit(c, at - begin, sawError);
    }
  }

private:
  static void substitute(const void *flag, UConverterToUnicodeArgs *args, const char *units,
                         int32_t length, UConverterCallbackReason reason, UErrorCode *status) {
    if (reason == UCNV_UNASSIGNED || reason == UCNV_ILLEGAL || reason == UCNV_IRREGULAR)
      *static_cast<bool *>(const_cast<void *>(flag)) = true;
    UCNV_TO_U_CALLBACK_SUBSTITUTE(nullptr, args, units, length, reason, status);
  }
  struct Close {
    void operator()(UConverter *converter) const { ucnv_close(converter); }
  };
  std::unique_ptr<UConverter, Close> converter;
  bool sawError = false;
};

Expected<void> checkEncoding(const std::string &encoding) {
  if (TextReader(encoding))
    return {};
  return Unexpected(
      invalidArgument("attribute 'input_encoding' is '", encoding, "', which is unknown"));
}

// --- encoding ------------------------------------------------------------------------------------

void appendBigEndian(std::string &text, uint32_t value, int bytes) {
  while (bytes--)
    text += static_cast<char>(value >> (8 * bytes));
}

void appendUtf8(std::string &text, UChar32 c) {
  char bytes[4];
  int32_t size = 0;
  U8_APPEND_UNSAFE(bytes, size, c);
  text.append(bytes, static_cast<size_t>(size));
}

void appendUtf16(std::string &text, UChar32 c) {
  if (c <= 0xffff)
    return appendBigEndian(text, static_cast<uint32_t>(c), 2);
  appendBigEndian(text, U16_LEAD(c), 2);
  appendBigEndian(text, U16_TRAIL(c), 2);
}

void appendUtf32(std::string &text, UChar32 c) {
  appendBigEndian(text, static_cast<uint32_t>(c), 4);
}

using AppendFn = void (*)(std::string &, UChar32);

Expected<AppendFn> readOutputEncoding(const BindContext &node) {
  static const std::pair<std::string_view, AppendFn> encodings[] = {
      {"UTF-8", appendUtf8}, {"UTF-16-BE", appendUtf16}, {"UTF-32-BE", appendUtf32}};
  std::string asked = node.attrs.getOr("output_encoding", std::string());
  for (auto [name, append] : encodings)
    if (name == asked)
      return append;
  return Unexpected(invalidArgument("attribute 'output_encoding' is '", asked,
                                    "', expected UTF-8, UTF-16-BE or UTF-32-BE"));
}

// --- UnicodeTranscode ----------------------------------------------------------------------------

struct Transcoding {
  std::string encoding;
  ErrorPolicy policy;
  AppendFn append;
};

void transcode(OpContext &ctx) {
  const auto &how = ctx.state<Transcoding>();
  const Tensor &in = ctx.input(0);
  Tensor *out = TREADLE_OR_RETURN(ctx.allocateOutput(0, DType::String, in.dims()));
  TextReader reader(how.encoding);
  bool sawError = false;
  for (int64_t i = 0; i < in.count(); ++i) {
    std::string &text = out->data<std::string>()[i];
    reader.read(in.data<std::string>()[i], [&](UChar32 c, ptrdiff_t, bool isMalformed) {
      if (how.policy.appliesTo(c, isMalformed)) {
        sawError = true;
        if (how.policy.kind == ErrorPolicy::Ignore)
          return;
        c = how.policy.replacement;
      }
      how.append(text, c);
    });
  }
  if (sawError && how.policy.kind == ErrorPolicy::Strict)
    ctx.fail(malformed());
}

Expected<BoundKernel> bindTranscode(const BindContext &node) {
  auto policy = TREADLE_TRY(readPolicy(node));
  auto append = TREADLE_TRY(readOutputEncoding(node));
  std::string encoding = node.attrs.getOr("input_encoding", std::string());
  TREADLE_TRY(checkEncoding(encoding));
  return boundWith(transcode, Transcoding{encoding, policy, append});
}

// --- UnicodeDecode -------------------------------------------------------------------------------

struct Decoding {
  std::string encoding;
  ErrorPolicy policy;
};

template <typename Split> struct Decode {
  static void run(OpContext &ctx) {
    const auto &how = ctx.state<Decoding>();
    const Tensor &in = ctx.input(0);
    Tensor *splits = TREADLE_OR_RETURN(ctx.allocateOutput(0, dtypeOf<Split>, {in.count() + 1}));
    std::vector<int32_t> points;
    std::vector<int64_t> starts;
    TextReader reader(how.encoding);
    splits->data<Split>()[0] = 0;
    for (int64_t i = 0; i < in.count(); ++i) {
      int64_t start = 0;
      reader.read(in.data<std::string>()[i], [&](UChar32 c, ptrdiff_t bytes, bool isMalformed) {
        if (isMalformed && how.policy.kind == ErrorPolicy::Strict)
          ctx.fail(malformed());
        bool isReplaced = how.policy.appliesTo(c, isMalformed);
        if (!isReplaced || how.policy.kind != ErrorPolicy::Ignore) {
          points.push_back(isReplaced ? how.policy.replacement : c);
          starts.push_back(start);
        }
        start += bytes;
      });
      splits->data<Split>()[i + 1] = static_cast<Split>(points.size());
    }
    if (ctx.hasFailed())
      return;
    ctx.setOutput(1, Tensor::vector<int32_t>(DType::Int32, points));
    if (ctx.numOutputs() > 2)
      ctx.setOutput(2, Tensor::vector<int64_t>(DType::Int64, starts));
  }
};

Expected<BoundKernel> bindDecode(const BindContext &node) {
  auto policy = TREADLE_TRY(readPolicy(node));
  std::string encoding = node.attrs.getOr("input_encoding", std::string());
  TREADLE_TRY(checkEncoding(encoding));
  bool isLong = node.attrs.getOr("Tsplits", DType::Int64) == DType::Int64;
  return boundWith(isLong ? Decode<int64_t>::run : Decode<int32_t>::run,
                   Decoding{encoding, policy});
}

// --- UnicodeEncode -------------------------------------------------------------------------------

struct Encoding {
  AppendFn append;
  ErrorPolicy policy;
};

bool checkSplits(OpContext &ctx, const Tensor &points, const Tensor &splits) {
  auto require = [&](bool holds, const auto &...text) {
    if (!holds && !ctx.hasFailed())
      ctx.fail(invalidArgument(text...));
    return !ctx.hasFailed();
  };
  if (!require(points.rank() == 1, "input_values must be a vector, but is ",
               tensorTypeText(points)) ||
      !require(splits.rank() == 1 && splits.count(),
               "input_splits must be a vector with an element, but is ", tensorTypeText(splits)))
    return false;
  int64_t previous = 0;
  for (int64_t i = 0; i < splits.count(); ++i) {
    int64_t split = indexAt(splits, i);
    if (!require(i || !split, "input_splits must begin with 0, but begin with ", split) ||
        !require(split >= previous, "input_splits[", i, "] is ", split, ", less than ", previous,
                 " before it") ||
        !require(split <= points.count(), "input_splits[", i, "] is ", split,
                 ", but there are only ", points.count(), " input_values"))
      return false;
    previous = split;
  }
  return require(previous == points.count(), "input_splits end with ", previous, ", but there are ",
                 points.count(), " input_values");
}

void encode(OpContext &ctx) {
  const auto &how = ctx.state<Encoding>();
  const Tensor &points = ctx.input(0), &splits = ctx.input(1);
  if (!checkSplits(ctx, points, splits))
    return;
  Tensor *out = TREADLE_OR_RETURN(ctx.allocateOutput(0, DType::String, {splits.count() - 1}));
  for (int64_t i = 0; i < out->count(); ++i)
    for (int64_t k = indexAt(splits, i); k < indexAt(splits, i + 1); ++k) {
      UChar32 c = points.data<int32_t>()[k];
      if (c < 0 || c > UCHAR_MAX_VALUE || U_IS_SURROGATE(c)) {
        if (how.policy.kind == ErrorPolicy::Strict)
          return ctx.fail(
              invalidArgument("input_values[", k, "] is ", c,
                              ", which is not a Unicode code point, and errors is 'strict'"));
        if (how.policy.kind == ErrorPolicy::Ignore)
          continue;
        c = how.policy.replacement;
      }
      how.append(out->data<std::string>()[i], c);
    }
}

Expected<BoundKernel> bindEncode(const BindContext &node) {
  auto append = TREADLE_TRY(readOutputEncoding(node));
  auto policy = TREADLE_TRY(readPolicy(node));
  return boundWith(encode, Encoding{append, policy});
}

// --- scripts -------------------------------------------------------------------------------------

// Characters newer than the Unicode version of TensorFlow 2.21 have no script there.
constexpr int knownUnicode = 13;

int32_t scriptOf(int32_t c) {
  UVersionInfo age{};
  u_charAge(c, age);
  if (age[0] > knownUnicode)
    return USCRIPT_UNKNOWN;
  UErrorCode status = U_ZERO_ERROR;
  UScriptCode found = uscript_getScript(c, &status);
  return U_SUCCESS(status) ? static_cast<int32_t>(found) : USCRIPT_INVALID_CODE;
}

void script(OpContext &ctx) {
  const Tensor in = ctx.input(0);
  Tensor *out = TREADLE_OR_RETURN(ctx.allocateOutput(0, DType::Int32, in.dims()));
  std::ranges::transform(in.values<int32_t>(), out->data<int32_t>(), scriptOf);
}

const KernelEntry unicodeTable[] = {
    {"UnicodeDecode", bindDecode},        {"UnicodeDecodeWithOffsets", bindDecode},
    {"UnicodeEncode", bindEncode},        {"UnicodeTranscode", bindTranscode},
    {"UnicodeScript", bindPlain<script>},
};

} // namespace

std::span<const KernelEntry> unicodeKernels() { return unicodeTable; }

} // namespace treadle
