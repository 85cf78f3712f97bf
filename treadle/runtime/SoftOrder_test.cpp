// Tests of which soft edges are kept, and of the order of plans with soft edges.
#include "treadle/runtime/SoftOrder.h"

#include "treadle/runtime/Plan.h"
#include "treadle/runtime/Run.h"

#include <gtest/gtest.h>

#include <random>

namespace treadle {
namespace {

using Edges = std::vector<std::vector<int32_t>>;

bool reaches(const Edges &before, int32_t from, int32_t to) {
  std::vector<int32_t> found = {to};
  for (size_t i = 0; i < found.size(); ++i)
    for (int32_t source : before[static_cast<size_t>(found[i])]) {
      if (source == from)
        return true;
      if (std::find(found.begin(), found.end(), source) == found.end())
        found.push_back(source);
    }
  return false;
}

// Compares with a search of all paths: an edge is accepted exactly if it closes no cycle.
TEST(SoftOrder, TakesWhatClosesNoCycle) {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    int32_t n = 2 + static_cast<int32_t>(random() % 20);
    auto node = [&] { return static_cast<int32_t>(random() % static_cast<unsigned>(n)); };
    Edges before(static_cast<size_t>(n));
    for (int32_t i = 1; i < n; ++i)
      if (random() % 2)
        before[static_cast<size_t>(i)].push_back(
            static_cast<int32_t>(random() % static_cast<unsigned>(i)));
    SoftOrder order(before);
    for (int added = 0; added < 3 * n; ++added) {
      int32_t from = node(), to = node();
      bool closes = from == to || reaches(before, to, from);
      EXPECT_EQ(order.isImplied(from, to, 1000), from != to && reaches(before, from, to));
      ASSERT_EQ(order.add(from, to), !closes) << from << " -> " << to;
      if (!closes)
        before[static_cast<size_t>(to)].push_back(from);
    }
  }
}

TEST(SoftOrder, LeavesCyclesAlone) {
  SoftOrder order({{1}, {0}, {1}, {}});
  EXPECT_FALSE(order.add(3, 0));
  EXPECT_FALSE(order.add(2, 3));
  EXPECT_FALSE(order.isImplied(3, 0, 10));
}

/// Records which nodes ran.
std::vector<std::string> *ran = nullptr;

Expected<BoundKernel> bindRecording(const BindContext &context) {
  return boundWith<std::string>(
      [](OpContext &ctx) {
        ran->push_back(ctx.state<std::string>());
        for (int i = 0; i < ctx.numOutputs(); ++i)
          ctx.setOutput(i, Tensor::scalar(DType::Int32, 0));
      },
      std::string(context.node));
}

// Binds an op that suspends, so that the graph needs a dataflow plan.
Expected<BoundKernel> bindWaiting(const BindContext &context) {
  auto bound = boundWith<std::string>(
      [](OpContext &ctx) {
        ran->push_back(ctx.state<std::string>());
        Ref<Suspension> suspension = ctx.suspend();
        if (suspension->claim())
          suspension->complete({Tensor::scalar(DType::Int32, 0)});
      },
      std::string(context.node));
  bound.mayBlock = true;
  return bound;
}

const KernelEntry table[] = {{"Record", bindRecording}, {"Wait", bindWaiting}};

struct Recorded {
  GraphSpec graph;

  int32_t add(std::string name, std::string op, std::vector<int32_t> inputs,
              std::vector<std::string> after = {}) {
    NodeSpec node;
    node.name = std::move(name);
    node.op = std::move(op);
    for (int32_t input : inputs) {
      node.inputs.push_back({input, 0});
      node.inputTypes.push_back({DType::Int32});
    }
    node.outputTypes.push_back({DType::Int32});
    if (!after.empty())
      node.soft = std::make_shared<SoftInputs>(SoftInputs{std::move(after)});
    graph.nodes.push_back(std::move(node));
    return static_cast<int32_t>(graph.nodes.size()) - 1;
  }

  std::vector<std::string> run(bool isSequential = true) {
    KernelRegistry kernels;
    kernels.add(table);
    Expected<std::unique_ptr<Plan>> plan = buildPlan(graph, {&kernels});
    EXPECT_TRUE(plan);
    EXPECT_EQ((*plan)->isSequential, isSequential);
    std::vector<std::string> names;
    ran = &names;
    ResourceManager resources;
    RunState state(resources, nullptr);
    EXPECT_TRUE((*plan)->run({}, state));
    return names;
  }
};

using Names = std::vector<std::string>;

TEST(SoftEdges, ChangeTheOrderOfASequentialPlan) {
  Recorded g;
  g.add("a", "Record", {}, {"c"});
  g.add("b", "Record", {}, {"a"});
  g.add("c", "Record", {});
  EXPECT_EQ(g.run(), (Names{"c", "a", "b"}));
}

TEST(SoftEdges, ChangeTheOrderOfAPlanThatWaits) {
  Recorded g;
  g.add("a", "Record", {}, {"c", "d"});
  g.add("b", "Record", {}, {"a"});
  g.add("c", "Wait", {});
  g.add("d", "Wait", {});
  EXPECT_EQ(g.run(false), (Names{"c", "d", "a", "b"}));
}

TEST(SoftEdges, GiveWayToOthersAndToUnknownNames) {
  Recorded g;
  int32_t a = g.add("a", "Record", {}, {"b", "nobody", "a"});
  g.add("b", "Record", {a});
  g.add("c", "Record", {}, {"d"});
  g.add("d", "Record", {}, {"c"});
  EXPECT_EQ(g.run(), (Names{"a", "b", "d", "c"}));
}

// Edges that the graph's order or another edge implies aren't counted.
TEST(SoftEdges, CostNothingWherePathsSayTheSame) {
  Recorded g;
  int32_t a = g.add("a", "Wait", {});
  int32_t b = g.add("b", "Record", {a});
  g.add("c", "Record", {b}, {"a"});
  EXPECT_TRUE(softEdges(g.graph).empty());
}

} // namespace
} // namespace treadle
