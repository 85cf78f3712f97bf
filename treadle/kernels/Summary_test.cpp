// Tests of summaries: the bytes are those that TensorFlow gives.
#include "treadle/kernels/KernelTest.h"

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

} // namespace
} // namespace treadle
