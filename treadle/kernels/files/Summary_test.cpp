// Tests of summaries: the bytes are those that TensorFlow gives.
#include "treadle/testing/KernelTest.h"

namespace treadle {
namespace {

using namespace std::string_literals;

std::string text(const Tensor &t) { return t ? t.scalarValue<std::string>() : ""; }
Tensor word(std::string value) { return scalar<std::string>(std::move(value)); }

TEST(SummaryTest, Scalars) {
  EXPECT_EQ(text(run1("ScalarSummary", {word("a"), scalar(3.0f)}, DType::String)), "\n\x08\n\x01"s
                                                                                   "a\x15\0\0@@"s);
  EXPECT_EQ(text(run1("ScalarSummary", {vec<std::string>({"a", "b"}), vec<int32_t>({3, 4})},
                      DType::String)),
            "\n\x08\n\x01"s
            "a\x15\0\0@@"s
            "\n\x08\n\x01"s
            "b\x15\0\0\x80@"s);
  EXPECT_EQ(errorClassOf("ScalarSummary", {word("a"), vec<float>({3})}, {DType::String}),
            "InvalidArgumentError");
}

TEST(SummaryTest, Histograms) {
  std::string histogram =
      text(run1("HistogramSummary", {word("h"), vec<float>({})}, DType::String));
  EXPECT_EQ(histogram, "\n+\n\x01h*&\t\xff\xff\xff\xff\xff\xff\xef\x7f\x11\xff\xff\xff\xff\xff\xff"
                       "\xef\xff"
                       "2\x08\xff\xff\xff\xff\xff\xff\xef\x7f:\x08\0\0\0\0\0\0\0\0"s);
  histogram = text(run1("HistogramSummary", {word("h"), vec<int32_t>({5, 5, 7})}, DType::String));
  ASSERT_EQ(histogram.size(), 138u);
  EXPECT_EQ(histogram.substr(0, 17), "\n\x87\x01\n\x01h*\x81\x01\t\0\0\0\0\0\0\x14"s);
  EXPECT_EQ(errorClassOf("HistogramSummary", {word("h"), vec<float>({NAN})}, {DType::String}),
            "InvalidArgumentError");
}

TEST(SummaryTest, Tensors) {
  EXPECT_EQ(
      text(run1("TensorSummaryV2",
                {word("t"), vec<float>({1, 2}),
                 word("\n\x05\n\x03"s
                      "abc")},
                DType::String)),
      "\n \n\x01tB\x12\x08\x01\x12\x04\x12\x02\x08\x02\"\x08\0\0\x80?\0\0\0@J\x07\n\x05\n\x03"s
      "abc"s);
}

TEST(SummaryTest, Merged) {
  std::string a = "\n\x08\n\x01"s
                  "a\x15\0\0@@"s,
              b = "\n\x08\n\x01"s
                  "b\x15\0\0@@"s;
  EXPECT_EQ(text(run1("MergeSummary", {word(a), word(b)}, DType::String)), a + b);
  for (const std::string &bad : {a, "\x08garb"s})
    EXPECT_EQ(errorClassOf("MergeSummary", {word(a), word(bad)}, {DType::String}),
              "InvalidArgumentError");
}

TEST(SummaryTest, Images) {
  Tensor images = tensor<float>({2, 1, 2, 1}, {0, 2, NAN, 1});
  std::string summary = text(run1("ImageSummary", {word("i"), images}, DType::String));
  EXPECT_NE(summary.find("i/image/0"), std::string::npos);
  EXPECT_NE(summary.find("i/image/1"), std::string::npos);
  size_t first = summary.find("\x89PNG");
  Tensor pixels = run1("DecodePng", {word(summary.substr(first))}, DType::UInt8);
  EXPECT_EQ(values<uint8_t>(pixels), (std::vector<uint8_t>{0, 255}));
  pixels =
      run1("DecodePng", {word(summary.substr(summary.find("\x89PNG", first + 1)))}, DType::UInt8);
  EXPECT_EQ(values<uint8_t>(pixels), (std::vector<uint8_t>{255, 255})); // red component, and 1
  EXPECT_EQ(errorClassOf("ImageSummary", {word("i"), tensor<float>({1, 1, 1, 2}, {1, 2})},
                         {DType::String}),
            "InvalidArgumentError");
}

} // namespace
} // namespace treadle
