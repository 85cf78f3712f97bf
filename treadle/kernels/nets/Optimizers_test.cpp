// Optimizer steps against their formulas, on all rows and on some.
#include "treadle/kernels/state/Variables.h"
#include "treadle/testing/KernelTest.h"

#include <cmath>

namespace treadle {
namespace {

struct StepCase {
  const char *op;
  std::vector<double> variables; // the first element of each before the step
  std::vector<double> numbers;   // the op's scalars
  int gradient;                  // index of the gradient input
  std::vector<double> expected;  // each variable after a step with gradient 2
  const char *flag = nullptr;
};

std::ostream &operator<<(std::ostream &out, const StepCase &step) { return out << step.op; }

Ref<Variable> filled(double value) {
  auto variable = makeRef<Variable>("v", DType::Float64);
  variable->assign(tensor<double>({3, 2}, std::vector<double>(6, value)));
  return variable;
}

class Step : public testing::TestWithParam<StepCase> {
protected:
  // Runs the op with `gradient`, for `rows` if given. Returns the variables.
  std::vector<Ref<Variable>> run(const std::string &op, Tensor gradient, Tensor rows, bool isRef) {
    const StepCase &step = GetParam();
    std::vector<Ref<Variable>> variables;
    std::vector<Tensor> inputs;
    for (double value : step.variables) {
      variables.push_back(filled(value));
      inputs.push_back(isRef ? makeRefTensor(variables.back()) : makeHandle(variables.back()));
    }
    for (double number : step.numbers) {
      addGradient(inputs, gradient, rows);
      inputs.push_back(scalar(number));
    }
    addGradient(inputs, gradient, rows);
    AttrMap attrs;
    if (step.flag)
      attrs.set(step.flag, true);
    std::vector<DType> outputs;
    if (isRef)
      outputs.push_back(DType::Float64);
    auto out = runOp(builtinKernels(), op, attrs, inputs, outputs);
    EXPECT_TRUE(out) << op << ": " << (out ? "" : out.error().message);
    if (out && isRef)
      EXPECT_TRUE(out->at(0).isRef());
    return variables;
  }

private:
  static void addGradient(std::vector<Tensor> &inputs, const Tensor &gradient, const Tensor &rows) {
    if (static_cast<int>(inputs.size()) != GetParam().gradient)
      return;
    inputs.push_back(gradient);
    if (rows)
      inputs.push_back(rows);
  }
};

TEST_P(Step, onAllRows) {
  for (bool isRef : {false, true}) {
    std::string op = str(isRef ? "" : "Resource", GetParam().op);
    if (!builtinKernels().find(op))
      continue; // the op is newer than reference variables
    auto variables = run(op, tensor<double>({3, 2}, std::vector<double>(6, 2)), {}, isRef);
    for (size_t i = 0; i < variables.size(); ++i)
      expectNear<double>(variables[i]->read(), std::vector<double>(6, GetParam().expected[i]));
  }
}

TEST_P(Step, onSomeRows) {
  std::string op = str("ResourceSparse", GetParam().op);
  if (!builtinKernels().find(op))
    return;
  auto variables = run(op, tensor<double>({1, 2}, {2, 2}), vec<int64_t>({1}), false);
  for (size_t i = 0; i < variables.size(); ++i) {
    double before = GetParam().variables[i], after = GetParam().expected[i];
    expectNear<double>(variables[i]->read(), {before, before, after, after, before, before});
  }
}

double root(double x) { return std::sqrt(x); }

INSTANTIATE_TEST_SUITE_P(
    Rules, Step,
    testing::Values(
        StepCase{"ApplyGradientDescent", {1}, {0.1}, 2, {0.8}},
        StepCase{"ApplyMomentum", {1, 3}, {0.1, 0.5}, 3, {1 - 0.35, 3.5}},
        StepCase{"ApplyMomentum", {1, 3}, {0.1, 0.5}, 3, {1 - 0.2 - 0.175, 3.5}, "use_nesterov"},
        StepCase{"ApplyKerasMomentum", {1, 3}, {0.1, 0.5}, 3, {2.3, 1.3}},
        StepCase{"ApplyKerasMomentum", {1, 3}, {0.1, 0.5}, 3, {1.45, 1.3}, "use_nesterov"},
        // m = 0.5 + (2 - 0.5) / 10, v = 0.25 + (4 - 0.25) / 100, with the corrected rate
        StepCase{"ApplyAdam",
                 {1, 0.5, 0.25},
                 {0.9, 0.99, 0.1, 0.9, 0.99, 1e-3},
                 9,
                 {1 - 0.65 * 0.1 / (root(0.2875) + 1e-3), 0.65, 0.2875}},
        StepCase{"ApplyAdam",
                 {1, 0.5, 0.25},
                 {0.9, 0.99, 0.1, 0.9, 0.99, 1e-3},
                 9,
                 {1 - (2 * 0.1 + 0.9 * 0.65) * 0.1 / (root(0.2875) + 1e-3), 0.65, 0.2875},
                 "use_nesterov"},
        StepCase{"ApplyAdamWithAmsgrad",
                 {1, 0.5, 0.25, 0.5},
                 {0.9, 0.99, 0.1, 0.9, 0.99, 1e-3},
                 10,
                 {1 - 0.65 * 0.1 / (root(0.5) + 1e-3), 0.65, 0.2875, 0.5}},
        StepCase{"ApplyAdaMax",
                 {1, 0.5, 0.25},
                 {0.9, 0.1, 0.9, 0.99, 1e-3},
                 8,
                 {1 - 1 * 0.65 / 2.001, 0.65, 2}},
        StepCase{"ApplyAdagrad", {1, 5}, {0.3}, 3, {1 - 0.6 / 3, 9}},
        StepCase{"ApplyAdagradV2", {1, 5}, {0.3, 1}, 4, {1 - 0.6 / 4, 9}},
        StepCase{"ApplyAdadelta", {1, 4, 9}, {0.1, 0.5, 0}, 6, {1 - 0.1 * 3, 4, 0.5 * 9 + 0.5 * 9}},
        StepCase{"ApplyRMSProp", {1, 4, 3}, {0.1, 0.5, 0.5, 0}, 7, {1 - 1.6, 4, 1.6}},
        StepCase{"ApplyCenteredRMSProp",
                 {1, 0, 4, 3},
                 {0.1, 0.5, 0.5, 0},
                 8,
                 {1 - (1.5 + 0.2 / root(3)), 1, 4, 1.5 + 0.2 / root(3)}},
        // sum of squares 5 -> 9 with the root as power: y = 3 / 0.5 + 2 * 0.25
        StepCase{"ApplyFtrl",
                 {1, 5, -4},
                 {0.5, 0.25, 0.25, -0.5},
                 3,
                 {(4 - 2 + (3 - root(5)) / 0.5 - 0.25) / 6.5, 9, -2 - (3 - root(5)) / 0.5}},
        StepCase{"ApplyFtrlV2",
                 {1, 5, -4},
                 {0.5, 0.25, 0.25, 0.1, -0.5},
                 3,
                 {(4 - 2.2 + (3 - root(5)) / 0.5 - 0.25) / 6.5, 9, -1.8 - (3 - root(5)) / 0.5}},
        StepCase{"ApplyAddSign", {1, 4}, {0.1, 1, 0.5, 0.5}, 6, {1 - 0.1 * 1.5 * 2, 3}},
        StepCase{"ApplyPowerSign", {1, 4}, {0.1, 1, 0.5, 0.5}, 6, {1 - 0.1 * std::exp(0.5) * 2, 3}},
        StepCase{"ApplyProximalGradientDescent", {1}, {0.1, 1, 2}, 4, {(0.8 - 0.1) / 1.2}},
        StepCase{"ApplyProximalAdagrad", {1, 5}, {0.3, 1, 2}, 5, {(0.8 - 0.1) / 1.2, 9}}));

TEST(Optimizers, stepsOfDualAveragingCountWithIntegers) {
  auto variable = filled(1), sum = filled(3), squares = filled(5);
  Tensor gradient = tensor<double>({3, 2}, std::vector<double>(6, 2));
  auto out = runOp(builtinKernels(), "ResourceApplyAdagradDA", {},
                   {makeHandle(variable), makeHandle(sum), makeHandle(squares), gradient,
                    scalar(0.5), scalar(1.0), scalar(2.0), scalar<int64_t>(2)},
                   {});
  ASSERT_TRUE(out) << out.error().message;
  // x = -rate * (5 - 1 * 2), y = 2 * 2 * rate + 3
  expectNear<double>(variable->read(), std::vector<double>(6, -1.5 / 5));
  expectNear<double>(sum->read(), std::vector<double>(6, 5));
}

TEST(Optimizers, mismatchesAreErrorsAndChangeNothing) {
  auto variable = filled(1), slot = filled(2);
  auto fails = [&](std::string_view op, std::vector<Tensor> inputs) {
    auto out = runOp(builtinKernels(), op, {}, std::move(inputs), {});
    return out ? "" : std::string(errorClass(out.error().code));
  };
  Tensor v = makeHandle(variable), s = makeHandle(slot), rate = scalar(0.1);
  Tensor gradient = tensor<double>({3, 2}, std::vector<double>(6, 2));
  EXPECT_EQ(fails("ResourceApplyMomentum", {v, s, rate, vec<double>({1}), rate}),
            "InvalidArgumentError");
  EXPECT_EQ(fails("ResourceApplyMomentum", {v, s, vec<double>({1, 1}), gradient, rate}),
            "InvalidArgumentError");
  EXPECT_EQ(fails("ResourceApplyMomentum", {v, v, rate, gradient, rate}), "InvalidArgumentError");
  EXPECT_EQ(fails("ResourceSparseApplyMomentum",
                  {v, s, rate, tensor<double>({1, 2}, {1, 1}), vec<int32_t>({3}), rate}),
            "InvalidArgumentError");
  auto empty = makeRef<Variable>("empty", DType::Float64);
  EXPECT_EQ(fails("ResourceApplyMomentum", {makeHandle(empty), s, rate, gradient, rate}),
            "NotFoundError");
  expectNear<double>(variable->read(), std::vector<double>(6, 1));
}

} // namespace
} // namespace treadle
