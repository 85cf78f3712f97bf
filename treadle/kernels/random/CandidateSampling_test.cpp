// The classes and counts expected here are those that TensorFlow 2.21 draws from the same seeds.
#include "treadle/kernels/random/CandidateSampler.h"
#include "treadle/testing/KernelTest.h"

namespace treadle {
namespace {

const std::vector<DType> outputTypes = {DType::Int64, DType::Float32, DType::Float32};

AttrMap attrsOf(int64_t range) {
  AttrMap attrs;
  for (auto [name, value] : std::initializer_list<std::pair<const char *, int64_t>>{
           {"num_true", 2}, {"num_sampled", 5}, {"range_max", range}, {"seed", 3}, {"seed2", 5}})
    attrs.set(name, value);
  attrs.set("unique", true);
  return attrs;
}

struct Sampled {
  const char *op;
  std::vector<int64_t> ids;
  std::vector<double> trueCounts;
};

class CandidateSampling : public testing::TestWithParam<Sampled> {};

TEST_P(CandidateSampling, DrawsTensorFlowsClasses) {
  AttrMap attrs = attrsOf(10);
  attrs.set("unigrams", std::vector<float>{1, 2, 3, 4, 5, 6, 7, 8, 9, 10});
  attrs.set("distortion", .5f);
  auto out = runAll(GetParam().op, {tensor<int64_t>({1, 2}, {1, 4})}, outputTypes, attrs);
  ASSERT_EQ(out.size(), 3u);
  EXPECT_EQ(values<int64_t>(out[0]), GetParam().ids);
  expectNear<float>(out[1], GetParam().trueCounts);
}

INSTANTIATE_TEST_SUITE_P(
    Ops, CandidateSampling,
    testing::Values(Sampled{"UniformCandidateSampler", {9, 8, 2, 5, 0}, {.5, .5}},
                    Sampled{"LogUniformCandidateSampler",
                            {0, 1, 4, 5, 6},
                            {0.6709079742431641, 0.37779146432876587}},
                    Sampled{"LearnedUnigramCandidateSampler", {1, 8, 6, 7, 2}, {.5, .5}},
                    Sampled{"FixedUnigramCandidateSampler",
                            {8, 7, 5, 3, 9},
                            {0.31471338868141174, 0.497605562210083}}));

TEST(CandidateSampling, TooFewClasses) {
  EXPECT_EQ(errorClassOf("UniformCandidateSampler", {tensor<int64_t>({1, 2}, {1, 2})}, outputTypes,
                         attrsOf(4)),
            "InvalidArgumentError");
  EXPECT_EQ(errorClassOf("FixedUnigramCandidateSampler", {tensor<int64_t>({1, 2}, {1, 2})},
                         outputTypes, attrsOf(10)),
            "InvalidArgumentError"); // without weights
}

TEST(CandidateSampling, LearntClassesBecomeLikelier) {
  LearningSampler sampler(5);
  sampler.learn(std::vector<int64_t>(995, 3));
  EXPECT_FLOAT_EQ(sampler.probability(3), .996f);
  Philox stream;
  PhiloxNumbers numbers(stream);
  int drawn[5] = {};
  for (int i = 0; i < 1000; ++i)
    ++drawn[sampler.sample(numbers)];
  EXPECT_GT(drawn[3], 980);
}

TEST(CandidateSampling, AccidentalHits) {
  AttrMap attrs = attrsOf(10);
  auto out = runAll("ComputeAccidentalHits",
                    {tensor<int64_t>({2, 2}, {7, 1, 3, 4}), vec<int64_t>({4, 5, 7})},
                    {DType::Int32, DType::Int64, DType::Float32}, attrs);
  ASSERT_EQ(out.size(), 3u);
  EXPECT_EQ(values<int32_t>(out[0]), (std::vector<int32_t>{0, 1}));
  EXPECT_EQ(values<int64_t>(out[1]), (std::vector<int64_t>{2, 0}));
}

} // namespace
} // namespace treadle
