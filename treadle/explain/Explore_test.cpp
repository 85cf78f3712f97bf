// Tests the explorer on graphs whose schedules can be counted by hand.
#include "treadle/testing/NodeText.h"
#include "treadle/treadle.h"

#include <gtest/gtest.h>

namespace treadle {
namespace {

std::string variable(std::string_view name) {
  std::string shape = " attr { key: 'shape' value { shape {} } }";
  std::string shared = str(" attr { key: 'shared_name' value { s: '", name, "' } }");
  return node(name, "VarHandleOp", {}, typed("dtype", "DT_INT32") + shape + shared) +
         constant(str(name, "_first"), 0) +
         node(str(name, "_init"), "AssignVariableOp", {std::string(name), str(name, "_first")},
              typed("dtype", "DT_INT32"));
}
std::string assign(std::string_view name, std::string_view variable, std::string_view value,
                   std::vector<std::string> after = {}, std::string_view op = "AssignVariableOp") {
  std::vector<std::string> inputs = {std::string(variable), std::string(value)};
  inputs.insert(inputs.end(), after.begin(), after.end());
  return node(name, op, inputs, typed("dtype", "DT_INT32"));
}
std::string read(std::string_view name, std::string_view variable,
                 std::vector<std::string> after = {}) {
  after.insert(after.begin(), std::string(variable));
  return node(name, "ReadVariableOp", after, typed("dtype", "DT_INT32"));
}

Exploration explore(const std::string &pbtxt, ExploreRequest request) {
  Expected<Graph> graph = Graph::fromBytes(pbtxt);
  EXPECT_TRUE(graph);
  Expected<Exploration> found = explore(*graph, request);
  EXPECT_TRUE(found) << (found ? "" : found.error().message);
  return found ? *found : Exploration();
}

const std::string two = variable("v") + variable("w") + constant("one", 1) + constant("two", 2);
using Names = std::vector<std::string>;

ExploreRequest asking(Names fetches, Names targets = {}, int64_t limit = 10000) {
  return {std::move(fetches), std::move(targets), {}, {"v_init", "w_init"}, limit};
}

TEST(Explore, FindsTheShortestDifferenceOfUnorderedWrites) {
  Exploration found =
      explore(two + assign("a", "v", "one") + assign("b", "v", "two") + assign("c", "w", "one"),
              asking({}, {"a", "b", "c"}));
  EXPECT_EQ(found.schedules, 2) << "the third write is another variable's";
  EXPECT_TRUE(found.isComplete);
  ASSERT_EQ(found.difference.size(), 2u);
  EXPECT_EQ(found.difference[0].firings, (Names{"a", "b", "c"}));
  EXPECT_EQ(found.difference[1].firings, (Names{"b", "a", "c"}));
  EXPECT_EQ(found.difference[0].outcome, "variable 'v': int32[] = 2\nvariable 'w': int32[] = 1");
}

TEST(Explore, EdgesAndReadsLeaveOneSchedule) {
  Exploration found = explore(two + assign("a", "v", "one") + assign("b", "v", "two", {"^a"}) +
                                  read("r", "v", {"^b"}) + read("s", "v", {"^b"}),
                              asking({"r", "s"}, {"b"}));
  EXPECT_EQ(found.schedules, 1);
  EXPECT_TRUE(found.difference.empty());
}

TEST(Explore, CountsOneScheduleOfAClass) {
  // A read may run before, between or after two ordered writes. For v and w together, that is three
  // times three.
  auto block = [](std::string v) {
    return assign("a" + v, v, "one") + assign("b" + v, v, "two", {"^a" + v}) + read("r" + v, v);
  };
  Exploration found = explore(two + block("v") + block("w"), asking({"rv", "rw"}, {"bv", "bw"}));
  EXPECT_EQ(found.schedules, 9);
  EXPECT_EQ(found.difference.size(), 2u);
  EXPECT_FALSE(
      explore(two + block("v") + block("w"), asking({"rv", "rw"}, {"bv", "bw"}, 4)).isComplete);
}

TEST(Explore, SumsMayComeInAnyOrder) {
  Exploration found = explore(two + assign("a", "v", "one", {}, "AssignAddVariableOp") +
                                  assign("b", "v", "two", {}, "AssignAddVariableOp"),
                              asking({}, {"a", "b"}));
  EXPECT_EQ(found.schedules, 2);
  EXPECT_TRUE(found.difference.empty());
}

/// Counts i from 0 to 3; each iteration assigns i to v. Only the frame orders the iterations.
std::string loop(int64_t parallelIterations) {
  std::string enter =
      " attr { key: 'frame_name' value { s: 'loop' } }" +
      str(" attr { key: 'parallel_iterations' value { i: ", parallelIterations, " } }");
  std::string constantEnter = enter + " attr { key: 'is_constant' value { b: true } }";
  std::string i32 = typed("T", "DT_INT32");
  return constant("zero", 0) + constant("three", 3) +
         node("enter", "Enter", {"zero"}, i32 + enter) +
         node("enter_one", "Enter", {"one"}, i32 + constantEnter) +
         node("enter_three", "Enter", {"three"}, i32 + constantEnter) +
         node("enter_v", "Enter", {"v"}, typed("T", "DT_RESOURCE") + constantEnter) +
         node("merge", "Merge", {"enter", "next"}, i32 + " attr { key: 'N' value { i: 2 } }") +
         node("less", "Less", {"merge", "enter_three"}) + node("cond", "LoopCond", {"less"}, "") +
         node("switch", "Switch", {"merge", "cond"}) + node("i", "Identity", {"switch:1"}) +
         assign("write", "enter_v", "i") + node("add", "AddV2", {"i", "enter_one"}) +
         node("next", "NextIteration", {"add"}) + node("exit", "Exit", {"switch"});
}

TEST(Explore, IterationsOverlapAsFarAsTheLoopSays) {
  Exploration free = explore(two + loop(10), asking({"exit"}, {"write"}));
  EXPECT_EQ(free.schedules, 6) << "three writes in any order";
  ASSERT_EQ(free.difference.size(), 2u);
  EXPECT_EQ(free.difference[0].firings, (Names{"write@0", "write@1", "write@2"}));
  EXPECT_EQ(explore(two + loop(2), asking({"exit"}, {"write"})).schedules, 3)
      << "the third iteration waits for the first";
  Exploration sequential = explore(two + loop(1), asking({"exit"}, {"write"}));
  EXPECT_EQ(sequential.schedules, 1);
  EXPECT_TRUE(sequential.difference.empty());
}

TEST(Explore, SaysWhatIsNotDecidedBySchedules) {
  std::string random =
      "node { name: 'dims' op: 'Const'" + typed("dtype", "DT_INT32") +
      " attr { key: 'value' value { tensor { dtype: DT_INT32 tensor_shape { dim { "
      "size: 1 } } int_val: 2 } } } }\n" +
      node("x", "RandomUniform", {"dims"}, typed("T", "DT_INT32") + typed("dtype", "DT_FLOAT"));
  EXPECT_TRUE(explore(two + random, asking({"x"})).isRandom);
  Exploration merged =
      explore(two + node("m", "Merge", {"one", "two"},
                         typed("T", "DT_INT32") + " attr { key: 'N' value { i: 2 } }"),
              asking({"m"}));
  EXPECT_TRUE(merged.isAmbiguous);
}

TEST(Explore, OneOrderFails) {
  // v isn't initialized: a read before the write fails.
  Exploration found =
      explore(two + assign("a", "v", "one") + read("r", "v"), {{"r"}, {"a"}, {}, {}, 100});
  ASSERT_EQ(found.difference.size(), 2u);
  EXPECT_EQ(found.difference[1].outcome,
            "the run fails: node 'r' (ReadVariableOp): variable 'v' has no value: it was never "
            "assigned, or was destroyed");
}

TEST(Record, EffectsFireOneByOne) {
  Graph graph = *Graph::fromBytes(two + assign("a", "v", "one") + assign("b", "v", "two", {"^a"}) +
                                  read("r", "v", {"^b"}));
  Expected<Recording> run = record(graph, asking({"r"}, {"b"}));
  ASSERT_TRUE(run) << run.error().message;
  Names effects;
  for (const Recording::Firing &firing : run->firings)
    if (firing.node.size() == 1 && firing.node < "s" && firing.outputs.size() < 2)
      effects.push_back(firing.node);
  EXPECT_EQ(effects, (Names{"a", "b", "r"}));
  EXPECT_EQ(run->results, (std::vector<std::pair<std::string, std::string>>{{"r", "int32[] = 2"}}));
  EXPECT_FALSE(run->isCut);
}

TEST(Explore, FramesThatAreNoneAreAnError) {
  Graph graph = *Graph::fromBytes(two + node("exit", "Exit", {"one"}));
  Expected<Exploration> found = explore(graph, {{"exit"}, {}, {}, {}, 10});
  ASSERT_FALSE(found);
  EXPECT_NE(found.error().message.find("node 'exit' (Exit)"), std::string::npos)
      << found.error().message;
}

TEST(Explore, FeedsMustBeWhatTheirUsersTake) {
  Graph graph = *Graph::fromBytes(placeholder("x", "DT_INT32") + node("y", "Neg", {"x"}));
  ExploreRequest request{{"y"}, {}, {{"x:0", Tensor::scalar(DType::Float64, 1.0)}}, {}, 10};
  Expected<Exploration> found = explore(graph, request);
  ASSERT_FALSE(found);
  EXPECT_NE(found.error().message.find("input 0 is float64, expected int32"), std::string::npos)
      << found.error().message;
}

TEST(Explore, WhatWaitsForeverIsStopped) {
  std::string types = " attr { key: 'component_types' value { list { type: DT_INT32 } } }";
  Graph graph = *Graph::fromBytes(node("q", "FIFOQueueV2", {}, types) +
                                  node("x", "QueueDequeueV2", {"q"}, types));
  Expected<Exploration> found = explore(graph, {{"x"}, {}, {}, {}, 10, 0.05});
  ASSERT_FALSE(found);
  EXPECT_NE(found.error().message.find("timeout of 0.05 s"), std::string::npos)
      << found.error().message;
}

TEST(Explore, NamesThatAreNotThere) {
  Graph graph = *Graph::fromBytes(two);
  Expected<Exploration> found = explore(graph, {{"nowhere"}, {}, {}, {}, 10});
  ASSERT_FALSE(found);
  EXPECT_NE(found.error().message.find("no node 'nowhere'"), std::string::npos);
}

} // namespace
} // namespace treadle
