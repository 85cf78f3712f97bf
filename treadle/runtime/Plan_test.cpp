// Tests of plans of both layouts, built by hand and run.
#include "treadle/runtime/Plan.h"

#include "treadle/runtime/Run.h"

#include <gtest/gtest.h>

namespace treadle {
namespace {

template <int32_t (*op)(int32_t, int32_t)> void binary(OpContext &ctx) {
  int32_t a = ctx.input(0).scalarValue<int32_t>(), b = ctx.input(1).scalarValue<int32_t>();
  ctx.setOutput(0, Tensor::scalar(DType::Int32, op(a, b)));
}

void notEqual(OpContext &ctx) {
  bool differ = ctx.input(0).scalarValue<int32_t>() != ctx.input(1).scalarValue<int32_t>();
  ctx.setOutput(0, Tensor::scalar(DType::Bool, differ));
}

void identity(OpContext &ctx) { ctx.setOutput(0, ctx.takeInput(0)); }

template <KernelFn fn> Expected<BoundKernel> bind(const BindContext &) { return BoundKernel{fn}; }

int32_t add(int32_t a, int32_t b) { return a + b; }
int32_t mul(int32_t a, int32_t b) { return a * b; }

const KernelEntry table[] = {
    {"Add", bind<binary<add>>},   {"Mul", bind<binary<mul>>},   {"NotEqual", bind<notEqual>},
    {"Identity", bind<identity>}, {"LoopCond", bind<identity>},
};

constexpr ValueType i32{DType::Int32};
constexpr ValueType i1{DType::Bool};

class GraphMaker {
public:
  int add(std::string name, std::string op, std::vector<Endpoint> inputs,
          std::vector<ValueType> outputs, std::vector<int32_t> controls = {}) {
    NodeSpec node;
    node.name = std::move(name);
    node.op = std::move(op);
    node.inputs = std::move(inputs);
    node.controls = std::move(controls);
    for (Endpoint e : node.inputs)
      node.inputTypes.push_back(e.node < static_cast<int>(graph.nodes.size()) && e.node >= 0
                                    ? graph.nodes[e.node].outputTypes[e.output]
                                    : i32);
    node.outputTypes = std::move(outputs);
    graph.nodes.push_back(std::move(node));
    return static_cast<int>(graph.nodes.size()) - 1;
  }
  int constant(int32_t value) {
    int node = add("c" + std::to_string(value), "Const", {}, {i32});
    graph.nodes[node].attrs.set("value", Tensor::scalar(DType::Int32, value));
    return node;
  }
  int arg() {
    int node = add("arg", "_Arg", {}, {i32});
    graph.args.push_back({node, 0});
    return node;
  }
  void result(Endpoint from, std::vector<IterationSelector> iterations = {}) {
    graph.results.push_back({from, graph.nodes[from.node].name, std::move(iterations)});
  }
  GraphSpec graph;
};

class PlanTest : public testing::Test {
protected:
  PlanTest() { kernels.add(table); }
  Expected<std::vector<Tensor>> run(GraphSpec graph, std::vector<Tensor> args = {},
                                    FunctionLibrary *functions = nullptr) {
    std::unique_ptr<Plan> plan = TREADLE_TRY(buildPlan(std::move(graph), {&kernels, functions}));
    wasSequential = plan->isSequential;
    ResourceManager resources;
    RunState state(resources, nullptr);
    return plan->run(std::move(args), state);
  }
  KernelRegistry kernels;
  bool wasSequential = false;
};

// Counts 32 down to 0 in a v1 frame.
GraphMaker countdown(int32_t parallelIterations) {
  GraphMaker g;
  int init = g.constant(32), minusOne = g.constant(-1), zero = g.constant(0);
  auto enter = [&](int from, bool isConstant) {
    int node = g.add("enter" + std::to_string(from), "Enter", {{from, 0}}, {i32});
    AttrMap &attrs = g.graph.nodes[node].attrs;
    attrs.set("frame_name", std::string("loop"));
    attrs.set("is_constant", isConstant);
    attrs.set("parallel_iterations", int64_t{parallelIterations});
    return node;
  };
  int start = enter(init, false), step = enter(minusOne, true), end = enter(zero, true);
  int merge = g.add("merge", "Merge", {{start, 0}, {-1, 0}}, {i32, i32});
  int more = g.add("ne", "NotEqual", {{merge, 0}, {end, 0}}, {i1});
  int cond = g.add("cond", "LoopCond", {{more, 0}}, {i1});
  int branch = g.add("switch", "Switch", {{merge, 0}, {cond, 0}}, {i32, i32});
  int dec = g.add("dec", "Add", {{branch, 1}, {step, 0}}, {i32});
  int next = g.add("next", "NextIteration", {{dec, 0}}, {i32});
  g.graph.nodes[merge].inputs[1] = {next, 0};
  int exit = g.add("exit", "Exit", {{branch, 0}}, {i32});
  g.result({exit, 0});
  g.result({dec, 0});
  g.result({dec, 0}, {{IterationSelector::At, 3}});
  g.result({dec, 0}, {{IterationSelector::Last}});
  g.result({dec, 0}, {{IterationSelector::All}});
  return g;
}

class CountdownTest : public PlanTest, public testing::WithParamInterface<int32_t> {};

TEST_P(CountdownTest, GivesItsEndAndItsIterations) {
  auto out = run(countdown(GetParam()).graph);
  ASSERT_TRUE(out) << out.error().message;
  EXPECT_EQ((*out)[0].scalarValue<int32_t>(), 0);
  EXPECT_EQ((*out)[1].scalarValue<int32_t>(), 31);
  EXPECT_EQ((*out)[2].scalarValue<int32_t>(), 28);
  EXPECT_EQ((*out)[3].scalarValue<int32_t>(), 0);
  ASSERT_EQ((*out)[4].count(), 32);
  for (int i = 0; i < 32; ++i)
    EXPECT_EQ((*out)[4].values<int32_t>()[i], 31 - i);
}

INSTANTIATE_TEST_SUITE_P(ParallelIterations, CountdownTest, testing::Values(1, 2, 10, 100));

// Passes more values between two nodes than 16 bits can count, in both layouts.
class WideTest : public PlanTest, public testing::WithParamInterface<int> {};

TEST_P(WideTest, NodesHaveAnyNumberOfInputsAndOutputs) {
  kernels.add("Fan", [](const BindContext &) -> Expected<BoundKernel> {
    return BoundKernel{[](OpContext &ctx) {
      for (int i = 0; i < ctx.numOutputs(); ++i)
        ctx.setOutput(i, Tensor::scalar<int32_t>(DType::Int32, i));
    }};
  });
  kernels.add("Sum", [](const BindContext &) -> Expected<BoundKernel> {
    return BoundKernel{[](OpContext &ctx) {
      int64_t sum = 0;
      for (int i = 0; i < ctx.numInputs(); ++i)
        sum += ctx.input(i).scalarValue<int32_t>();
      ctx.setOutput(0, Tensor::scalar<int64_t>(DType::Int64, sum));
    }};
  });
  int64_t count = GetParam();
  for (bool inFrame : {false, true}) {
    GraphMaker g;
    if (inFrame)
      g = countdown(10); // with a loop, a dataflow plan is needed
    int fan = g.add("fan", "Fan", {}, std::vector<ValueType>(count, i32));
    std::vector<Endpoint> all;
    for (int32_t i = 0; i < count; ++i)
      all.push_back({fan, i});
    int sum = g.add("sum", "Sum", all, {ValueType{DType::Int64}});
    g.graph.results.insert(g.graph.results.begin(), {{sum, 0}, "sum", {}});
    auto out = run(std::move(g.graph));
    ASSERT_TRUE(out) << out.error().message;
    EXPECT_EQ(wasSequential, !inFrame);
    EXPECT_EQ(out->front().scalarValue<int64_t>(), count * (count - 1) / 2);
  }
}

INSTANTIATE_TEST_SUITE_P(Counts, WideTest, testing::Values(65535, 65536, 65537, 200000));

TEST_F(PlanTest, ParallelIterationsMustBePositive) {
  auto out = run(countdown(0).graph);
  ASSERT_FALSE(out);
  EXPECT_EQ(out.error().code, Code::InvalidArgument);
  EXPECT_NE(out.error().message.find("parallel_iterations is 0"), std::string::npos);
}

TEST_F(PlanTest, StraightCodeRunsInOrderWithoutCounters) {
  GraphMaker g;
  int x = g.arg(), two = g.constant(2);
  int square = g.add("square", "Mul", {{x, 0}, {x, 0}}, {i32});
  int sum = g.add("sum", "Add", {{square, 0}, {two, 0}}, {i32});
  g.result({sum, 0});
  g.result({square, 0});
  auto out = run(std::move(g.graph), {Tensor::scalar(DType::Int32, 5)});
  ASSERT_TRUE(out) << out.error().message;
  EXPECT_TRUE(wasSequential);
  EXPECT_EQ((*out)[0].scalarValue<int32_t>(), 27);
  EXPECT_EQ((*out)[1].scalarValue<int32_t>(), 25);
}

TEST_F(PlanTest, CycleOutsideALoopIsNamed) {
  GraphMaker g;
  int one = g.constant(1);
  int a = g.add("a", "Add", {{one, 0}, {-1, 0}}, {i32});
  int b = g.add("b", "Add", {{a, 0}, {one, 0}}, {i32});
  g.graph.nodes[a].inputs[1] = {b, 0};
  g.result({b, 0});
  auto out = run(std::move(g.graph));
  ASSERT_FALSE(out);
  EXPECT_EQ(out.error().code, Code::InvalidArgument);
  EXPECT_NE(out.error().message.find("a -> b -> a"), std::string::npos) << out.error().message;
}

TEST_F(PlanTest, UnknownOpFailsOnlyWhenReached) {
  GraphMaker g;
  int one = g.constant(1);
  int no = g.constant(0);
  int isOne = g.add("ne", "NotEqual", {{one, 0}, {no, 0}}, {i1});
  int branch = g.add("switch", "Switch", {{one, 0}, {isOne, 0}}, {i32, i32});
  int strange = g.add("strange", "Frobnicate", {{branch, 0}}, {i32});
  int fine = g.add("fine", "Identity", {{branch, 1}}, {i32});
  int merge = g.add("merge", "Merge", {{strange, 0}, {fine, 0}}, {i32, i32});
  g.result({merge, 0});
  g.result({merge, 1});
  auto out = run(g.graph);
  ASSERT_TRUE(out) << out.error().message;
  EXPECT_EQ((*out)[1].scalarValue<int32_t>(), 1);

  g.result({strange, 0});
  g.graph.nodes[strange].inputs = {{branch, 1}};
  out = run(g.graph);
  ASSERT_FALSE(out);
  EXPECT_EQ(out.error().code, Code::Unimplemented);
  EXPECT_NE(out.error().message.find("node 'strange' (Frobnicate)"), std::string::npos);
}

} // namespace
} // namespace treadle
