#include "treadle/testing/KernelTest.h"

#include <cmath>

namespace treadle {
namespace {

Tensor wave(std::vector<int64_t> dims, double step, double shift = 0) {
  Tensor t = iota<float>(dims, 0);
  for (int64_t i = 0; i < t.count(); ++i)
    t.data<float>()[i] = static_cast<float>(std::sin(step * static_cast<double>(i) + shift));
  return t;
}

struct Sequence {
  int64_t time = 3, batch = 2, input = 2, cell = 2;
  std::vector<Tensor> inputs = {scalar<int64_t>(time),
                                wave({time, batch, input}, 0.7),
                                wave({batch, cell}, 1.1),
                                wave({batch, cell}, 0.9, 1),
                                wave({input + cell, 4 * cell}, 0.3),
                                wave({cell}, 0.5),
                                wave({cell}, 0.6),
                                wave({cell}, 0.8),
                                wave({4 * cell}, 0.2)};
};

AttrMap peepholes() {
  AttrMap attrs;
  attrs.set("use_peephole", true);
  attrs.set("cell_clip", 0.0f);
  return attrs;
}

// The sequence equals the cell's steps, one after another; steps after its end yield 0.
TEST(BlockLstm, EqualsTheCellStepByStep) {
  Sequence s;
  s.inputs[0] = scalar<int64_t>(2);
  std::vector<Tensor> out =
      runAll("BlockLSTM", s.inputs, std::vector<DType>(7, DType::Float32), peepholes());
  ASSERT_EQ(out.size(), 7u);
  Tensor state = s.inputs[2], h = s.inputs[3];
  for (int64_t t = 0; t < 2; ++t) {
    std::vector<Tensor> in = {s.inputs[1].view(t * 4, std::array<int64_t, 2>{2, 2}), state, h};
    in.insert(in.end(), s.inputs.begin() + 4, s.inputs.end());
    std::vector<Tensor> step =
        runAll("LSTMBlockCell", in, std::vector<DType>(7, DType::Float32), peepholes());
    ASSERT_EQ(step.size(), 7u);
    state = step[1], h = step[6];
    for (int k = 0; k < 7; ++k)
      for (int64_t i = 0; i < 4; ++i)
        EXPECT_EQ(out[k].data<float>()[t * 4 + i], step[k].data<float>()[i]);
  }
  for (int64_t i = 8; i < 12; ++i)
    EXPECT_EQ(out[6].data<float>()[i], 0);
}

// Compares with the numerical gradient of the sum of all outputs.
TEST(BlockLstm, GradientEqualsTheNumericalOne) {
  Sequence s;
  auto sum = [](const std::vector<Tensor> &in) {
    double total = 0;
    for (float v : values<float>(
             runAll("BlockLSTMV2", in, std::vector<DType>(7, DType::Float32), peepholes()).at(6)))
      total += v;
    return total;
  };
  std::vector<Tensor> in = s.inputs;
  for (Tensor &t : runAll("BlockLSTMV2", in, std::vector<DType>(7, DType::Float32), peepholes()))
    in.push_back(t);
  Tensor zeros = wave({3, 2, 2}, 0), ones = wave({3, 2, 2}, 0, 1.5707963267948966);
  in.push_back(zeros);
  in.push_back(ones);
  std::vector<Tensor> slopes =
      runAll("BlockLSTMGradV2", in, std::vector<DType>(8, DType::Float32), peepholes());
  ASSERT_EQ(slopes.size(), 8u);
  for (int k = 0; k < 8; ++k) {
    std::vector<Tensor> moved = s.inputs;
    Tensor &t = moved[k + 1] = *moved[k + 1].clone();
    float before = t.data<float>()[1];
    t.data<float>()[1] = before + 0.01f;
    double above = sum(moved);
    t.data<float>()[1] = before - 0.01f;
    EXPECT_NEAR(slopes[k].data<float>()[1], (above - sum(moved)) / 0.02, 1e-3) << "input " << k + 1;
  }
}

TEST(BlockLstm, ChecksItsInputs) {
  Sequence s;
  s.inputs[0] = scalar<int64_t>(4);
  EXPECT_EQ(errorOf("BlockLSTM", s.inputs, std::vector<DType>(7, DType::Float32)),
            "InvalidArgumentError: seq_len_max is 4, expected 0 to 3");
}

// Values from TensorFlow.
TEST(GruCell, StepAndGradient) {
  std::vector<Tensor> in = {wave({1, 2}, 0.7), wave({1, 2}, 1.1), wave({4, 4}, 0.3),
                            wave({4, 2}, 0.5), wave({4}, 0.2),    wave({2}, 0.4)};
  std::vector<Tensor> out = runAll("GRUBlockCell", in, std::vector<DType>(4, DType::Float32));
  ASSERT_EQ(out.size(), 4u);
  expectNear<float>(out[3], {0.24022424, 0.80536789});
  in.insert(in.end(), out.begin(), out.begin() + 3);
  in.push_back(wave({1, 2}, 0.3, 1));
  out = runAll("GRUBlockCellGrad", in, std::vector<DType>(4, DType::Float32));
  ASSERT_EQ(out.size(), 4u);
  expectNear<float>(out[0], {0.074477829, 0.35765219});
  expectNear<float>(out[1], {0.64633346, 0.57862449});
}

} // namespace
} // namespace treadle
