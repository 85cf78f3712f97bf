#include "treadle/testing/KernelTest.h"

using namespace std::string_literals;

namespace treadle {
namespace {

AttrMap textAttrs(std::string input, std::string output, std::string errors) {
  AttrMap attrs;
  attrs.set("input_encoding", std::move(input));
  attrs.set("output_encoding", std::move(output));
  attrs.set("errors", std::move(errors));
  return attrs;
}

TEST(Unicode, DecodesIntoARaggedTensorWithByteStarts) {
  auto out =
      runAll("UnicodeDecodeWithOffsets", {vec<std::string>({"a\xc3\xa9", "", "\xf0\x9f\x98\x80!"})},
             {DType::Int64, DType::Int32, DType::Int64}, textAttrs("UTF-8", "", "replace"));
  ASSERT_EQ(out.size(), 3u);
  EXPECT_EQ(values<int64_t>(out[0]), (std::vector<int64_t>{0, 2, 2, 4}));
  EXPECT_EQ(values<int32_t>(out[1]), (std::vector<int32_t>{'a', 0xe9, 0x1f600, '!'}));
  EXPECT_EQ(values<int64_t>(out[2]), (std::vector<int64_t>{0, 1, 0, 4}));
}

TEST(Unicode, MalformedTextIsReplacedIgnoredOrAnError) {
  Tensor text = vec<std::string>({"a\xff"
                                  "b"});
  auto points = [&](const char *errors) {
    return values<int32_t>(runAll("UnicodeDecode", {text}, {DType::Int64, DType::Int32},
                                  textAttrs("UTF-8", "", errors))
                               .at(1));
  };
  EXPECT_EQ(points("replace"), (std::vector<int32_t>{'a', 0xfffd, 'b'}));
  EXPECT_EQ(points("ignore"), (std::vector<int32_t>{'a', 'b'}));
  EXPECT_EQ(errorClassOf("UnicodeDecode", {text}, {DType::Int64, DType::Int32},
                         textAttrs("UTF-8", "", "strict")),
            "InvalidArgumentError");
}

TEST(Unicode, TranscodesBetweenEncodings) {
  auto transcode = [](const char *from, const char *to, std::string text) {
    return values<std::string>(run1("UnicodeTranscode", {scalar<std::string>(std::move(text))},
                                    DType::String, textAttrs(from, to, "replace")))
        .at(0);
  };
  EXPECT_EQ(transcode("SHIFT-JIS", "UTF-8", "\x93\xfa"), "\xe6\x97\xa5");
  EXPECT_EQ(transcode("UTF-8", "UTF-16-BE", "\xf0\x9f\x98\x80"), "\xd8\x3d\xde\x00"s);
  EXPECT_EQ(transcode("windows-1252", "UTF-32-BE", "\x80"), "\0\0\x20\xac"s);
  EXPECT_EQ(errorClassOf("UnicodeTranscode", {scalar<std::string>("")}, {DType::String},
                         textAttrs("nonsense", "UTF-8", "replace")),
            "InvalidArgumentError");
}

TEST(Unicode, EncodesRowsAndRejectsSurrogates) {
  Tensor points = vec<int32_t>({'h', 0x20ac, 0xd800}), splits = vec<int64_t>({0, 1, 3});
  EXPECT_EQ(values<std::string>(run1("UnicodeEncode", {points, splits}, DType::String,
                                     textAttrs("", "UTF-8", "replace"))),
            (std::vector<std::string>{"h", "\xe2\x82\xac\xef\xbf\xbd"}));
  EXPECT_EQ(errorOf("UnicodeEncode", {points, vec<int64_t>({0, 2})}, {DType::String},
                    textAttrs("", "UTF-8", "replace")),
            "InvalidArgumentError: input_splits end with 2, but there are 3 input_values");
}

TEST(Unicode, Scripts) {
  EXPECT_EQ(values<int32_t>(run1("UnicodeScript", {vec<int32_t>({'a', 0x431, ' ', -1, 0x870})})),
            (std::vector<int32_t>{25, 8, 0, -1, 103}));
}

} // namespace
} // namespace treadle
