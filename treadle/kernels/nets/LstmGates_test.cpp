// _FusedLstmGates against the ops that it replaces.
#include "treadle/testing/KernelTest.h"

#include <numeric>

namespace treadle {
namespace {

Tensor waves(std::vector<int64_t> dims, float step) {
  Tensor t = *Tensor::make(DType::Float32, dims);
  for (int64_t i = 0; i < t.count(); ++i)
    t.data<float>()[i] = 3 * std::sin(step * static_cast<float>(i));
  return t;
}

struct Step {
  Tensor sums, cell, bias;
  std::vector<int64_t> gates = {0, 1, 2, 3};
  float forgetBias = 0;

  AttrMap attrs() const {
    AttrMap attrs;
    attrs.set("gates", gates);
    attrs.set("axis", int64_t{1});
    attrs.set("forget_bias", forgetBias);
    return attrs;
  }
  std::vector<Tensor> inputs() const {
    return bias ? std::vector{sums, cell, bias} : std::vector{sums, cell};
  }
  std::vector<Tensor> fused() const {
    return runAll("_FusedLstmGates", inputs(), {DType::Float32, DType::Float32}, attrs());
  }
  std::vector<Tensor> runUnfused() const {
    AttrMap four;
    four.set("num_split", int64_t{4});
    Tensor all = bias ? run1("BiasAdd", {sums, bias}) : sums;
    std::vector<Tensor> parts =
        runAll("Split", {scalar<int32_t>(1), all}, std::vector(4, DType::Float32), four);
    auto part = [&](size_t i) { return parts[static_cast<size_t>(gates[i])]; };
    Tensor forget = run1("AddV2", {part(1), scalar(forgetBias)});
    Tensor kept = run1("Mul", {run1("Sigmoid", {forget}), cell});
    Tensor added = run1("Mul", {run1("Sigmoid", {part(0)}), run1("Tanh", {part(2)})});
    Tensor next = run1("AddV2", {kept, added});
    return {next, run1("Mul", {run1("Sigmoid", {part(3)}), run1("Tanh", {next})})};
  }
};

void expectSame(const Step &step) {
  std::vector<Tensor> got = step.fused(), want = step.runUnfused();
  ASSERT_EQ(got.size(), 2u);
  for (size_t k = 0; k < 2; ++k) {
    ASSERT_EQ(dimsText(got[k].dims()), dimsText(want[k].dims()));
    for (int64_t i = 0; i < want[k].count(); ++i)
      ASSERT_FLOAT_EQ(got[k].data<float>()[i], want[k].data<float>()[i]) << k << " at " << i;
  }
}

TEST(LstmGates, EqualsTheSeparateOps) {
  for (int64_t rows : {1, 2, 7})
    for (int64_t cells : {1, 8, 19, 128})
      for (bool hasBias : {false, true})
        for (float forgetBias : {0.0F, 1.0F})
          for (const auto &gates : {std::vector<int64_t>{0, 1, 2, 3}, {0, 2, 1, 3}, {3, 0, 1, 2}})
            expectSame({waves({rows, 4 * cells}, 0.37F), waves({rows, cells}, 0.91F),
                        hasBias ? waves({4 * cells}, 0.53F) : Tensor(), gates, forgetBias});
}

TEST(LstmGates, BroadcastsAsTheOpsDo) {
  expectSame({waves({3, 20}, 0.37F), waves({1, 5}, 0.91F), waves({20}, 0.53F)});
  expectSame({waves({3, 20}, 0.37F), waves({5}, 0.91F), {}});
  expectSame({waves({3, 20, 2}, 0.37F), waves({3, 5, 2}, 0.91F), {}, {0, 1, 2, 3}, 1});
}

TEST(LstmGates, FailsAsTheOpsDo) {
  auto failureOf = [](const Step &s) {
    auto out = runOp(builtinKernels(), "_FusedLstmGates", s.attrs(), s.inputs(),
                     {DType::Float32, DType::Float32});
    return out ? std::string() : std::string(errorClass(out.error().code));
  };
  EXPECT_EQ(failureOf({waves({3, 21}, 1), waves({3, 5}, 1), {}}), "InvalidArgumentError");
  EXPECT_EQ(failureOf({waves({3, 20}, 1), waves({3, 6}, 1), {}}), "InvalidArgumentError");
  EXPECT_EQ(failureOf({waves({3, 20}, 1), waves({3, 5}, 1), waves({5}, 1)}),
            "InvalidArgumentError");
  EXPECT_EQ(failureOf({waves({3, 20}, 1), waves({3, 5}, 1), {}, {0, 1, 2, 4}}),
            "InvalidArgumentError");
}

} // namespace
} // namespace treadle
