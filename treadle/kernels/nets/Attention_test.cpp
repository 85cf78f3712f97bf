// _Attention and its gradient against the ops that they replace.
#include "treadle/testing/KernelTest.h"

#include <cmath>

namespace treadle {
namespace {

Tensor waves(std::vector<int64_t> dims, float step) {
  Tensor t = *Tensor::make(DType::Float32, dims);
  for (int64_t i = 0; i < t.count(); ++i)
    t.data<float>()[i] = std::sin(step * static_cast<float>(i));
  return t;
}

struct Case {
  int64_t batch, queries, keys, width, valueWidth;
  bool isCausal = false;
  std::vector<int64_t> maskDims = {};

  Tensor query() const { return waves({2, batch, queries, width}, 0.7F); }
  Tensor key() const { return waves({2, batch, keys, width}, 1.3F); }
  Tensor value() const { return waves({2, batch, keys, valueWidth}, 0.37F); }
  std::vector<Tensor> inputs() const {
    std::vector<Tensor> out{query(), key(), value()};
    if (!maskDims.empty())
      out.push_back(waves(maskDims, 2.1F));
    return out;
  }
  AttrMap attrs() const {
    AttrMap attrs;
    attrs.set("scale", scale);
    attrs.set("causal", isCausal);
    return attrs;
  }

  /// exp(scores - largest) divided by their sum, computed op by op.
  Tensor probabilities() const {
    Tensor scores = run1("BatchMatMulV2", {query(), key()}, DType::Float32, transposed("adj_y"));
    scores = run1("Mul", {scores, scalar(scale)});
    if (!maskDims.empty())
      scores = run1("AddV2", {scores, waves(maskDims, 2.1F)});
    for (int64_t i = 0; isCausal && i < scores.count(); ++i)
      if (i % keys > i / keys % queries)
        scores.data<float>()[i] = -INFINITY;
    return run1("Softmax", {scores});
  }

  static AttrMap transposed(const char *key) {
    AttrMap attrs;
    attrs.set(key, true);
    return attrs;
  }

  const float scale = 0.4F;
};

void expectNear(const Tensor &got, const Tensor &want, float tolerance) {
  ASSERT_EQ(dimsText(got.dims()), dimsText(want.dims()));
  for (int64_t i = 0; i < want.count(); ++i)
    ASSERT_NEAR(got.data<float>()[i], want.data<float>()[i], tolerance) << "at " << i;
}

std::vector<Tensor> attend(const Case &c) {
  return runAll("_Attention", c.inputs(), {DType::Float32, DType::Float32}, c.attrs());
}

// Sizes around the block sizes of 64 queries and 512 keys.
const Case cases[] = {
    {1, 1, 1, 1, 1},
    {3, 5, 7, 4, 6},
    {2, 64, 512, 8, 8},
    {1, 65, 513, 16, 3},
    {2, 130, 1100, 8, 5},
    {2, 70, 70, 8, 5, true},
    {1, 600, 600, 4, 4, true},
    {1, 9, 4, 4, 4, true},
    {2, 3, 0, 4, 5}, // a cache that is empty at first
    {2, 3, 5, 0, 4},
    {2, 66, 530, 4, 4, false, {66, 530}},
    {3, 5, 7, 4, 4, false, {2, 1, 5, 1}},
    {3, 5, 7, 4, 4, true, {3, 1, 7}},
};

TEST(Attention, EqualsTheSeparateOps) {
  for (const Case &c : cases) {
    SCOPED_TRACE(dimsText(c.query().dims()) + " with " + std::to_string(c.keys) + " keys");
    std::vector<Tensor> got = attend(c);
    ASSERT_EQ(got.size(), 2U);
    expectNear(got[0], run1("BatchMatMulV2", {c.probabilities(), c.value()}), 2e-5F);
  }
}

// The gradient of sum(result * weights).
TEST(Attention, GradientsEqualThoseOfTheSeparateOps) {
  for (const Case &c : cases) {
    SCOPED_TRACE(dimsText(c.query().dims()) + " with " + std::to_string(c.keys) + " keys");
    Tensor flow = waves({2, c.batch, c.queries, c.valueWidth}, 0.91F), p = c.probabilities();
    std::vector<Tensor> inputs = c.inputs(), forward = attend(c);
    inputs.insert(inputs.begin() + 3, {forward[0], forward[1], flow});
    std::vector<Tensor> got =
        runAll("_AttentionGrad", inputs, std::vector(3, DType::Float32), c.attrs());
    ASSERT_EQ(got.size(), 3U);
    auto multiply = [](const Tensor &a, const Tensor &b, const AttrMap &attrs = {}) {
      return run1("BatchMatMulV2", {a, b}, DType::Float32, attrs);
    };
    Tensor dp = multiply(flow, c.value(), Case::transposed("adj_y")), ds = waves({0}, 0);
    ds = run1("Mul", {p, dp});
    for (int64_t row = 0; c.keys > 0 && row < p.count() / c.keys; ++row) {
      float *at = ds.data<float>() + row * c.keys, sum = 0;
      for (int64_t i = 0; i < c.keys; ++i)
        sum += at[i];
      for (int64_t i = 0; i < c.keys; ++i)
        at[i] = (at[i] - p.data<float>()[row * c.keys + i] * sum) * c.scale;
    }
    expectNear(got[0], multiply(ds, c.key()), 1e-4F);
    expectNear(got[1], multiply(ds, c.query(), Case::transposed("adj_x")), 1e-4F);
    expectNear(got[2], multiply(p, flow, Case::transposed("adj_x")), 1e-4F);
  }
}

// Like softmax: a row whose scores are all -infinity has no probabilities, and NaN spreads within a
// row.
TEST(Attention, NaNStaysInItsRow) {
  Case c{1, 4, 3, 2, 2, false, {4, 3}};
  std::vector<Tensor> inputs = c.inputs();
  for (int64_t k = 0; k < 3; ++k)
    inputs[3].data<float>()[3 + k] = -INFINITY;
  inputs[3].data<float>()[7] = NAN;
  Tensor out = runAll("_Attention", inputs, {DType::Float32, DType::Float32}, c.attrs())[0];
  for (int64_t i = 0; i < out.count(); ++i)
    EXPECT_EQ(std::isnan(out.data<float>()[i]), i / 2 % 4 == 1 || i / 2 % 4 == 2) << i;
}

// Like PyTorch's safe softmax: a row without keys yields zeros and has no gradient.
TEST(Attention, RowsWithoutKeysYieldZerosOnRequest) {
  for (bool broadcasts : {false, true}) {
    Case c{1, 4, 600, 2, 2, false, {4, 600}};
    std::vector<Tensor> inputs = c.inputs();
    for (int64_t k = 0; k < c.keys; ++k)
      inputs[3].data<float>()[c.keys + k] = -INFINITY;
    if (broadcasts)
      inputs[1] = waves({1, 1, c.keys, c.width}, 1.3F);
    AttrMap attrs = c.attrs();
    attrs.set("zero_if_masked", true);
    std::vector<Tensor> out = runAll("_Attention", inputs, {DType::Float32, DType::Float32}, attrs);
    for (int64_t i = 0; i < out[0].count(); ++i)
      EXPECT_EQ(out[0].data<float>()[i] == 0, i / 2 % 4 == 1) << i;
    if (broadcasts)
      continue;
    inputs.insert(inputs.begin() + 3, {out[0], out[1], waves({2, 1, 4, 2}, 0.91F)});
    std::vector<Tensor> flows =
        runAll("_AttentionGrad", inputs, std::vector(3, DType::Float32), attrs);
    for (int64_t i = 0; i < flows[0].count(); ++i)
      EXPECT_EQ(flows[0].data<float>()[i] == 0, i / 2 % 4 == 1) << i;
    for (const Tensor &flow : flows)
      for (float x : flow.values<float>())
        EXPECT_TRUE(std::isfinite(x));
  }
}

// The fuser doesn't know shapes, so batches may be broadcast, and masks may enlarge the scores.
TEST(Attention, BroadcastsAsTheOpsDo) {
  Tensor q = waves({2, 1, 3, 4}, 1), k = waves({5, 6, 4}, 1.1F), v = waves({2, 5, 6, 2}, 0.7F);
  for (const Tensor &mask : {Tensor(), waves({3, 1, 1, 3, 6}, 0.3F)}) {
    std::vector<Tensor> inputs{q, k, v};
    Tensor scores = run1("BatchMatMulV2", {q, k}, DType::Float32, Case::transposed("adj_y"));
    if (mask) {
      inputs.push_back(mask);
      scores = run1("AddV2", {scores, mask});
    }
    Tensor want = run1("BatchMatMulV2", {run1("Softmax", {scores}), v});
    std::vector<Tensor> got = runAll("_Attention", inputs, {DType::Float32, DType::Float32});
    expectNear(got[0], want, 1e-5F);
    EXPECT_EQ(dimsText(got[1].dims()), dimsText(scores.dims().first(scores.dims().size() - 1)));
  }
}

TEST(Attention, ShapesThatDoNotFit) {
  auto errorOf = [](std::vector<Tensor> inputs, bool isCausal) {
    AttrMap attrs;
    attrs.set("causal", isCausal);
    auto out = runOp(builtinKernels(), "_Attention", attrs, std::move(inputs),
                     {DType::Float32, DType::Float32});
    return out ? std::string() : out.error().message;
  };
  Tensor q = waves({2, 3, 4}, 1), k = waves({2, 5, 4}, 1), v = waves({2, 5, 6}, 1);
  EXPECT_EQ(errorOf({q, k, v}, true), "");
  EXPECT_NE(errorOf({q, waves({2, 5, 3}, 1), v}, true).find("shapes [2,3,4], [2,5,3] and [2,5,6]"),
            std::string::npos);
  EXPECT_NE(errorOf({q, k, waves({2, 4, 6}, 1)}, false).find("incompatible"), std::string::npos);
  EXPECT_NE(errorOf({q, k, v, waves({3, 4}, 1)}, false).find("[3,4]"), std::string::npos);
  EXPECT_NE(errorOf({q, waves({4}, 1), v}, false), "");
}

} // namespace
} // namespace treadle
