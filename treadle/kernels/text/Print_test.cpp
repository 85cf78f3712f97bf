// Assert and Print: what is said, and where.
#include "treadle/testing/KernelTest.h"

#include <cstdio>
#include <fstream>
#include <sstream>

namespace treadle {
namespace {

AttrMap attributes(std::initializer_list<std::pair<std::string_view, AttrValue>> entries) {
  AttrMap attrs;
  for (const auto &[name, value] : entries)
    attrs.set(name, value);
  return attrs;
}

TEST(Assert, reportsValues) {
  std::vector<Tensor> inputs = {scalar(false), tensor<int32_t>({2, 2}, {1, 2, 3, 4}),
                                scalar<std::string>("a\nb")};
  EXPECT_EQ(errorOf("Assert", inputs, {}, attributes({{"summarize", int64_t{3}}})),
            "InvalidArgumentError: assertion failed: [[1 2][3...]...] [a\\nb]");
  EXPECT_EQ(errorOf("Assert", inputs, {}, attributes({{"summarize", int64_t{-1}}})),
            "InvalidArgumentError: assertion failed: [[1 2][3 4]] [a\\nb]");
}

TEST(Assert, holdsForTrue) { EXPECT_EQ(errorOf("Assert", {scalar(true), scalar(1)}), ""); }

TEST(Assert, wantsAScalar) {
  EXPECT_EQ(errorOf("Assert", {vec<bool>({true})}),
            "InvalidArgumentError: the condition must be a scalar bool, found bool[1]");
}

TEST(Print, writesToStandardErrorAndPassesItsInput) {
  testing::internal::CaptureStderr();
  Tensor out = run1("Print", {scalar(7), vec<int32_t>({1, 2, 3, 4}), scalar<std::string>("x")},
                    DType::Invalid,
                    attributes({{"message", std::string("m: ")}, {"summarize", int64_t{3}}}));
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "m: [1 2 3...][x]\n");
  EXPECT_EQ(out.scalarValue<int32_t>(), 7);
}

TEST(Print, mayBeEmpty) {
  testing::internal::CaptureStderr();
  run1("Print", {scalar(7)}, DType::Invalid, attributes({{"first_n", int64_t{0}}}));
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

std::string printV2(std::string stream, std::string end = "\n") {
  auto out = runOpWith(FileAccess::all(), builtinKernels(), "PrintV2",
                       attributes({{"output_stream", std::move(stream)}, {"end", std::move(end)}}),
                       {scalar<std::string>("text")}, {});
  return out ? "" : str(errorClass(out.error().code), ": ", out.error().message);
}

TEST(PrintV2, writesToTheStreamAskedFor) {
  testing::internal::CaptureStdout();
  EXPECT_EQ(printV2("stdout", "!"), "");
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "text!");
  testing::internal::CaptureStderr();
  EXPECT_EQ(printV2("log(warning)"), "");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "text\n");
}

TEST(PrintV2, appendsToFiles) {
  std::string file = testing::TempDir() + "/treadle_print_test.txt";
  std::remove(file.c_str());
  EXPECT_EQ(printV2("file://" + file), "");
  EXPECT_EQ(printV2("file://" + file), "");
  std::stringstream read;
  read << std::ifstream(file).rdbuf();
  std::remove(file.c_str());
  EXPECT_EQ(read.str(), "text\ntext\n");
  EXPECT_EQ(printV2("file:///no/such/folder/file").substr(0, 16), "UnavailableError");
}

TEST(PrintV2, knowsItsStreams) {
  EXPECT_EQ(printV2("stdotu"), "InvalidArgumentError: output_stream is 'stdotu', expected stdout, "
                               "stderr, log(info), log(warning), log(error) or file://<path>");
}

} // namespace
} // namespace treadle
