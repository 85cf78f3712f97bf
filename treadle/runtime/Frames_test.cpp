// Tests of frame assignment and of the execution order.
#include "treadle/runtime/PlanBuilder.h"
#include "treadle/testing/TestGraph.h"

#include <gtest/gtest.h>

namespace treadle::test {
namespace {

struct Loop {
  int counter, cond, branch, pivot, next, exit;
};

// Adds a loop that counts from `from` to `limit`. `inBody` may add nodes to the body and returns
// the value for the next iteration.
Loop addLoop(GraphMaker &g, Endpoint from, Endpoint limit, const std::string &frame,
             const std::function<Endpoint(Loop)> &inBody = nullptr) {
  Loop loop{};
  loop.counter = g.loopVariable(from, frame);
  int bound = g.enter(limit, frame, true);
  int less = g.add(frame + "/less", "Less", {{loop.counter, 0}, {bound, 0}}, {i1});
  loop.cond = g.add(frame + "/cond", "LoopCond", {{less, 0}}, {i1});
  loop.branch = g.switchOn({loop.counter, 0}, {loop.cond, 0});
  loop.pivot = g.identity({loop.branch, 1});
  int one = g.constant(1, {loop.pivot});
  loop.next = g.add(frame + "/step", "Add", {{loop.pivot, 0}, {one, 0}}, {i32});
  g.close(loop.counter, inBody ? inBody(loop) : Endpoint{loop.next, 0});
  loop.exit = g.add(frame + "/exit", "Exit", {{loop.branch, 0}}, {i32});
  return loop;
}

Error errorOf(const GraphSpec &graph) {
  auto frames = plan::assignFrames(graph);
  return frames ? Error{Code::Ok, ""} : frames.error();
}

TEST(Frames, NestAsTheirEntersDo) {
  GraphMaker g;
  Endpoint zero{g.constant(0), 0}, three{g.constant(3), 0};
  Loop inner{};
  Loop outer = addLoop(g, zero, three, "outer", [&](Loop loop) {
    Endpoint bound{g.enter(three, "outer", true), 0};
    inner = addLoop(g, {loop.next, 0}, bound, "inner");
    return Endpoint{inner.exit, 0};
  });
  auto frames = plan::assignFrames(g.graph);
  ASSERT_TRUE(frames) << frames.error().message;
  ASSERT_EQ(frames->frames.size(), 3u);
  EXPECT_EQ(frames->frames[1].name, "outer");
  EXPECT_EQ(frames->frames[2].name, "inner");
  EXPECT_EQ(frames->frames[2].parent, 1);
  EXPECT_EQ(frames->frames[2].depth, 2u);
  EXPECT_EQ(frames->frames[1].numEnters, 3u);
  EXPECT_EQ(frames->locations[inner.next].frame, 2u);
  EXPECT_EQ(frames->locations[inner.exit].frame, 2u);
  EXPECT_EQ(frames->locations[outer.exit].frame, 1u);
  EXPECT_EQ(frames->locations[zero.node].frame, 0u);
}

TEST(Frames, InputsOfDifferentFramesAreAnError) {
  GraphMaker g;
  Endpoint zero{g.constant(0), 0};
  int inside = g.enter(zero, "loop");
  g.add("both", "Add", {{inside, 0}, zero}, {i32});
  Error e = errorOf(g.graph);
  EXPECT_EQ(e.code, Code::InvalidArgument);
  EXPECT_NE(e.message.find("node 'both' (Add)"), std::string::npos) << e.message;
  EXPECT_NE(e.message.find("different frames"), std::string::npos) << e.message;
}

TEST(Frames, AControlEdgeIntoAFrameIsAnError) {
  GraphMaker g;
  Endpoint zero{g.constant(0), 0};
  int inside = g.enter(zero, "loop");
  g.identity({inside, 0}, {zero.node});
  EXPECT_EQ(errorOf(g.graph).code, Code::InvalidArgument);
}

TEST(Frames, AnExitOutsideAFrameIsAnError) {
  GraphMaker g;
  g.add("out", "Exit", {{g.constant(0), 0}}, {i32});
  Error e = errorOf(g.graph);
  EXPECT_EQ(e.code, Code::InvalidArgument);
  EXPECT_NE(e.message.find("'out' (Exit)"), std::string::npos) << e.message;
}

TEST(Frames, AnEnterNeedsAFrameName) {
  GraphMaker g;
  g.add("in", "Enter", {{g.constant(0), 0}}, {i32});
  EXPECT_NE(errorOf(g.graph).message.find("'frame_name' is missing"), std::string::npos);
}

TEST(Frames, IterationsInFlightAreAtLeastOne) {
  for (int64_t parallel : {0, -3}) {
    GraphMaker g;
    g.enter({g.constant(0), 0}, "loop", false, parallel);
    EXPECT_NE(errorOf(g.graph).message.find(str("parallel_iterations is ", parallel)),
              std::string::npos);
  }
}

TEST(Frames, ANextIterationOfAnotherFrameIsAnError) {
  GraphMaker g;
  Endpoint zero{g.constant(0), 0};
  int a = g.loopVariable(zero, "a"), b = g.loopVariable(zero, "b");
  g.close(a, {b, 0});
  g.close(b, {a, 0});
  EXPECT_NE(errorOf(g.graph).message.find("another frame"), std::string::npos);
}

TEST(Frames, AControlEdgeFromANextIterationOfAnotherFrameIsAnError) {
  GraphMaker g;
  Endpoint zero{g.constant(0), 0}, three{g.constant(3), 0};
  Loop a = addLoop(g, zero, three, "a");
  int merge = g.merge({zero, zero}, {g.graph.nodes[a.counter].inputs[1].node});
  EXPECT_NE(errorOf(g.graph).message.find("another frame"), std::string::npos);
  g.result({merge, 0});
  auto out = run(g.graph);
  ASSERT_FALSE(out);
  EXPECT_NE(out.error().message.find("another frame"), std::string::npos) << out.error().message;
}

// --- order -------------------------------------------------------------------------------------

TEST(ExecutionOrder, KeepsEdgesAndElseTheProgramsOrder) {
  GraphMaker g;
  int late = g.add("late", "Identity", {{-1, 0}}, {i32});
  int first = g.constant(1), second = g.constant(2);
  g.graph.nodes[late].inputs[0] = {second, 0};
  auto order = plan::executionOrder(g.graph);
  ASSERT_TRUE(order);
  EXPECT_EQ(*order, (std::vector<int32_t>{first, second, late}));
}

TEST(ExecutionOrder, ACycleOfControlEdgesIsAnError) {
  GraphMaker g;
  int a = g.constant(1), b = g.constant(2, {a});
  g.graph.nodes[a].controls = {b};
  auto order = plan::executionOrder(g.graph);
  ASSERT_FALSE(order);
  EXPECT_NE(order.error().message.find("cycle outside a loop"), std::string::npos);
}

TEST(ExecutionOrder, ALongCycleIsShortened) {
  GraphMaker g;
  int first = g.identity({-1, 0}), last = first;
  for (int i = 0; i < 1000; ++i)
    last = g.identity({last, 0});
  g.graph.nodes[first].inputs[0] = {last, 0};
  auto order = plan::executionOrder(g.graph);
  ASSERT_FALSE(order);
  EXPECT_LT(order.error().message.size(), 400u);
}

} // namespace
} // namespace treadle::test
