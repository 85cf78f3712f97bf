// The numbers expected here are those that TensorFlow 2.21 draws from the same seeds.
#include "treadle/testing/KernelTest.h"

namespace treadle {
namespace {

AttrMap seeds(int64_t seed, int64_t seed2) {
  AttrMap attrs;
  attrs.set("seed", seed);
  attrs.set("seed2", seed2);
  return attrs;
}

struct Draw {
  const char *op;
  DType dtype;
  std::vector<double> values;
};

class SeededRandom : public testing::TestWithParam<Draw> {};

TEST_P(SeededRandom, DrawsTensorFlowsNumbers) {
  const Draw &draw = GetParam();
  Tensor t = run1(draw.op, {vec<int32_t>({5})}, draw.dtype, seeds(12, 34));
  if (draw.dtype == DType::Float64)
    expectNear<double>(t, draw.values, 1e-12);
  else if (draw.dtype == DType::Float16)
    expectNear<Half>(t, draw.values, 1e-3);
  else
    expectNear<float>(t, draw.values, 1e-6);
}

INSTANTIATE_TEST_SUITE_P(
    Ops, SeededRandom,
    testing::Values(Draw{"RandomUniform",
                         DType::Float32,
                         {0.76856780, 0.96784055, 0.06247985, 0.96037531, 0.93201792}},
                    Draw{"RandomUniform",
                         DType::Float64,
                         {0.1485424208787094, 0.4998395106948452, 0.4561434682338641,
                          0.35766436486626696, 0.6979831397085405}},
                    Draw{"RandomUniform",
                         DType::Float16,
                         {0.107421875, 0.5498046875, 0.8349609375, 0.39453125, 0.0908203125}},
                    Draw{"RandomStandardNormal",
                         DType::Float32,
                         {-0.14561598, 0.71080869, -0.58027374, 2.28234625, -0.36127636}},
                    Draw{"TruncatedNormal",
                         DType::Float32,
                         {-0.14561598, 0.71080869, -0.58027374, -0.36127636, 1.10779942}},
                    Draw{"TruncatedNormal",
                         DType::Float64,
                         {0.001969260212262035, -1.9528864585824532, -0.3274050101838082,
                          0.388193897437449, 0.43071439357501884}}));

TEST(Random, IntegersOfARange) {
  EXPECT_EQ(values<int32_t>(run1("RandomUniformInt",
                                 {vec<int32_t>({5}), scalar<int32_t>(-7), scalar<int32_t>(90)},
                                 DType::Int32, seeds(12, 34))),
            (std::vector<int32_t>{3, 21, 46, 27, 66}));
  EXPECT_EQ(values<int64_t>(run1("RandomUniformInt",
                                 {vec<int32_t>({5}), scalar<int64_t>(-7), scalar<int64_t>(90)},
                                 DType::Int64, seeds(12, 34))),
            (std::vector<int64_t>{13, 72, 70, 87, 17}));
  EXPECT_EQ(
      errorClassOf("RandomUniformInt", {vec<int32_t>({5}), scalar<int32_t>(7), scalar<int32_t>(7)}),
      "InvalidArgumentError");
}

TEST(Random, ShuffledRows) {
  EXPECT_EQ(
      values<int32_t>(run1("RandomShuffle", {iota<int32_t>({10}, 0)}, DType::Int32, seeds(12, 34))),
      (std::vector<int32_t>{2, 3, 9, 1, 5, 4, 8, 0, 6, 7}));
}

TEST(Random, WrongShapes) {
  EXPECT_EQ(errorClassOf("RandomUniform", {scalar<int32_t>(5)}, {DType::Float32}),
            "InvalidArgumentError");
  EXPECT_EQ(errorClassOf("RandomUniform", {vec<int32_t>({-5})}, {DType::Float32}),
            "InvalidArgumentError");
}

TEST(Random, UnsupportedAlgorithm) {
  AttrMap dtype;
  dtype.set("dtype", TypeAttr{DType::UInt32});
  EXPECT_EQ(errorClassOf("XlaRngBitGenerator",
                         {vec<int32_t>({}), vec<uint64_t>({1, 2}), vec<int32_t>({2})},
                         {DType::UInt64, DType::UInt32}, dtype),
            "InvalidArgumentError");
}

TEST(StatelessRandom, KeyAndCounterOfASeed) {
  auto out = runAll("StatelessRandomGetKeyCounter", {vec<int32_t>({3, -4})},
                    {DType::UInt64, DType::UInt64});
  ASSERT_EQ(out.size(), 2u);
  EXPECT_EQ(values<uint64_t>(out[0]), (std::vector<uint64_t>{8496633186236937083u}));
  EXPECT_EQ(values<uint64_t>(out[1]), (std::vector<uint64_t>{0, 10170721048406114738u}));
  std::vector<Tensor> in = {vec<int32_t>({5}), out[0], out[1], scalar<int32_t>(1)};
  std::vector<double> expected = {0.19548893, 0.72270668, 0.88525987, 0.60831046, 0.84863687};
  expectNear<float>(run1("StatelessRandomUniformV2", in, DType::Float32), expected);
  expectNear<float>(run1("StatelessRandomUniform", {in[0], vec<int64_t>({3, -4})}, DType::Float32),
                    expected);
  EXPECT_EQ(values<uint64_t>(run1("StatelessRandomUniformFullIntV2", in, DType::UInt64))[4],
            9336348136158690388u);
  in[3] = scalar<int32_t>(2);
  EXPECT_EQ(errorClassOf("StatelessRandomUniformV2", in, {DType::Float32}), "InvalidArgumentError");
}

} // namespace
} // namespace treadle
