// Tests of string ops.
#include "treadle/testing/KernelTest.h"

namespace treadle {
namespace {

using Strings = std::vector<std::string>;

AttrMap texts(std::initializer_list<std::pair<const char *, const char *>> values) {
  AttrMap attrs;
  for (auto [name, value] : values)
    attrs.set(name, std::string(value));
  return attrs;
}

TEST(StringsTest, Case) {
  Tensor in = vec<std::string>({"aBé", "xЯ"});
  EXPECT_EQ(values<std::string>(run1("StringUpper", {in})), (Strings{"ABé", "XЯ"}));
  AttrMap unicode = texts({{"encoding", "utf-8"}});
  EXPECT_EQ(values<std::string>(run1("StringUpper", {in}, DType::String, unicode)),
            (Strings{"ABÉ", "XЯ"}));
  EXPECT_EQ(values<std::string>(run1("StringLower", {in}, DType::String, unicode)),
            (Strings{"abé", "xя"}));
}

TEST(StringsTest, CaseOfInvalidUtf8) {
  AttrMap unicode = texts({{"encoding", "utf-8"}});
  Tensor in = vec<std::string>({"\xe0\x81\x81", "\xe2\x82"
                                                "A"}); // overlong, truncated
  EXPECT_EQ(values<std::string>(run1("StringLower", {in}, DType::String, unicode)),
            (Strings{"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd", "\xef\xbf\xbd"
                                                             "a"}));
}

TEST(StringsTest, Length) {
  Tensor in = vec<std::string>({"aé", ""});
  EXPECT_EQ(values<int32_t>(run1("StringLength", {in}, DType::Int32)),
            (std::vector<int32_t>{3, 0}));
  EXPECT_EQ(
      values<int32_t>(run1("StringLength", {in}, DType::Int32, texts({{"unit", "UTF8_CHAR"}}))),
      (std::vector<int32_t>{2, 0}));
}

TEST(StringsTest, Join) {
  AttrMap dash = texts({{"separator", "-"}});
  Tensor in = vec<std::string>({"a", "b"}), x = scalar<std::string>("x");
  EXPECT_EQ(values<std::string>(run1("StringJoin", {in, x}, DType::String, dash)),
            (Strings{"a-x", "b-x"}));
  EXPECT_EQ(errorClassOf("StringJoin", {in, vec<std::string>({"x"})}), "InvalidArgumentError");
}

TEST(StringsTest, ReduceJoin) {
  AttrMap dash = texts({{"separator", "-"}});
  Tensor in = tensor<std::string>({2, 2}, {"a", "b", "c", "d"});
  auto joined = [&](std::vector<int32_t> axes) {
    return values<std::string>(run1("ReduceJoin", {in, vec<int32_t>(axes)}, DType::String, dash));
  };
  EXPECT_EQ(joined({0}), (Strings{"a-c", "b-d"}));
  EXPECT_EQ(joined({-1}), (Strings{"a-b", "c-d"}));
  EXPECT_EQ(joined({1, 0}), (Strings{"a-b-c-d"}));
  EXPECT_EQ(joined({0, 1}), (Strings{"a-c-b-d"}));
  EXPECT_EQ(joined({}), (Strings{"a", "b", "c", "d"}));
  EXPECT_EQ(errorClassOf("ReduceJoin", {in, vec<int32_t>({0, -2})}), "InvalidArgumentError");
}

TEST(StringsTest, Format) {
  Tensor numbers = iota<int32_t>({9}, 1), x = scalar<std::string>("x");
  AttrMap attrs = texts({{"template", "a%s b%s"}, {"placeholder", "%s"}});
  attrs.set("summarize", int64_t{2});
  EXPECT_EQ(values<std::string>(run1("StringFormat", {numbers, x}, DType::String, attrs)),
            (Strings{"a[1 2 ... 8 9] b\"x\""}));
  EXPECT_EQ(errorClassOf("StringFormat", {numbers}, {DType::String}, attrs),
            "InvalidArgumentError");
}

TEST(StringsTest, ShardedNames) {
  Tensor name = scalar<std::string>("a"), one = scalar<int32_t>(1), ten = scalar<int32_t>(10);
  EXPECT_EQ(values<std::string>(run1("ShardedFilename", {name, one, ten})),
            (Strings{"a-00001-of-00010"}));
  EXPECT_EQ(values<std::string>(run1("ShardedFilespec", {name, ten})),
            (Strings{"a-\?\?\?\?\?-of-00010"}));
}

} // namespace
} // namespace treadle
