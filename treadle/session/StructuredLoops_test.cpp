// Loops of v1 control flow give the same with frames and without. Which of them need no frames is
// shown in transforms/structure_loops/tests.
#include "treadle/treadle.h"

#include <gtest/gtest.h>

namespace treadle {
namespace {

/// The ways to run a graph; where iterations overlap, all loops have frames.
std::vector<SessionOptions> ways() {
  std::vector<SessionOptions> all;
  for (Tier tier : {Tier::Interpret, Tier::Auto, Tier::Jit})
    for (LoopOverlap overlap : {LoopOverlap::Off, LoopOverlap::Auto, LoopOverlap::On}) {
      all.emplace_back();
      all.back().tier = tier;
      all.back().loopOverlap = overlap;
    }
  return all;
}

/// Writes down a graph of int32 scalars.
class FrameGraph {
public:
  void node(const std::string &name, const std::string &op, const std::vector<std::string> &inputs,
            const std::string &attrs = "attr { key: 'T' value { type: DT_INT32 } }") {
    text += "node { name: '" + name + "' op: '" + op + "'";
    for (const std::string &input : inputs)
      text += " input: '" + input + "'";
    text += " " + attrs + " }\n";
  }
  void constant(const std::string &name, int value, const std::vector<std::string> &inputs = {}) {
    node(name, "Const", inputs,
         "attr { key: 'dtype' value { type: DT_INT32 } } attr { key: 'value' value { tensor { "
         "dtype: DT_INT32 tensor_shape {} int_val: " +
             std::to_string(value) + " } } }");
  }
  void enter(const std::string &name, const std::string &from, bool isConstant, int parallel = 10) {
    node(name, "Enter", {from},
         "attr { key: 'T' value { type: DT_INT32 } } attr { key: 'frame_name' value { s: 'f' } } "
         "attr { key: 'parallel_iterations' value { i: " +
             std::to_string(parallel) + " } } attr { key: 'is_constant' value { b: " +
             (isConstant ? "true" : "false") + " } }");
  }
  /// A value of the loop, `name`, that the body sees as `name/switch:1` and gives as `next`.
  void variable(const std::string &name, const std::string &from, const std::string &next,
                int parallel = 10) {
    enter(name + "/enter", from, false, parallel);
    node(name, "Merge", {name + "/enter", name + "/next"},
         "attr { key: 'T' value { type: DT_INT32 } } attr { key: 'N' value { i: 2 } }");
    node(name + "/switch", "Switch", {name, "goes_on"});
    node(name + "/next", "NextIteration", {next});
    node(name + "/exit", "Exit", {name + "/switch"});
  }
  /// i counts from 0 to 3.
  void counter(int parallel = 10) {
    constant("zero", 0);
    constant("three", 3);
    enter("limit", "three", true, parallel);
    variable("i", "zero", "step", parallel);
    node("less", "Less", {"i", "limit"});
    node("goes_on", "LoopCond", {"less"}, "");
    constant("one", 1, {"^pivot"});
    node("pivot", "Identity", {"i/switch:1"});
    node("step", "AddV2", {"i/switch:1", "one"});
  }
  /// Adds 1 to a variable at each run, once `after` ran in the frame.
  void counting(const std::string &name, const std::string &after) {
    node("v", "VarHandleOp", {},
         "attr { key: 'dtype' value { type: DT_INT32 } } attr { key: 'shape' value { shape {} } }");
    node("init", "AssignVariableOp", {"v", "zero"},
         "attr { key: 'dtype' value { type: DT_INT32 } }");
    node("read", "ReadVariableOp", {"v"}, "attr { key: 'dtype' value { type: DT_INT32 } }");
    node("v/enter", "Enter", {"v"},
         "attr { key: 'T' value { type: DT_RESOURCE } } attr { key: 'frame_name' value { s: 'f' } }"
         " attr { key: 'is_constant' value { b: true } }");
    constant(name + "/one", 1, {"^" + after});
    node(name, "AssignAddVariableOp", {"v/enter", name + "/one"},
         "attr { key: 'dtype' value { type: DT_INT32 } }");
  }
  Graph graph() const { return *Graph::fromBytes(text); }

private:
  std::string text;
};

std::vector<int> valuesOf(Session &session, const std::vector<std::string> &fetches) {
  Expected<std::vector<Tensor>> out = session.run(fetches, {});
  EXPECT_TRUE(out) << out.error().message;
  std::vector<int> values;
  if (out)
    for (const Tensor &value : *out)
      values.push_back(value.scalarValue<int32_t>());
  return values;
}

/// What is in the variable after a run, each time from 0.
int countedBy(const SessionOptions &options, const Graph &graph,
              const std::vector<std::string> &fetches, const std::vector<std::string> &targets) {
  Session session = *Session::create(graph, options);
  EXPECT_TRUE(session.run({}, {}, {"init"}));
  Expected<std::vector<Tensor>> out = session.run(fetches, {}, targets);
  EXPECT_TRUE(out) << out.error().message;
  return valuesOf(session, {"read:0"})[0];
}

// The bound of the sum is dead, the count isn't: what doesn't depend on it lives.
TEST(StructuredLoops, OneThatIsDeadInPartGivesTheRest) {
  FrameGraph g;
  g.counter();
  g.node("no", "Const", {},
         "attr { key: 'dtype' value { type: DT_BOOL } } attr { key: 'value' value { tensor { "
         "dtype: DT_BOOL tensor_shape {} bool_val: false } } }");
  g.node("branch", "Switch", {"three", "no"});
  g.enter("bound", "branch:1", true);
  g.variable("sum", "zero", "added");
  g.node("added", "AddV2", {"sum/switch:1", "bound"});
  g.node("joined", "Merge", {"sum/exit", "branch"},
         "attr { key: 'T' value { type: DT_INT32 } } attr { key: 'N' value { i: 2 } }");
  for (const SessionOptions &options : ways()) {
    Session session = *Session::create(g.graph(), options);
    EXPECT_EQ(valuesOf(session, {"i/exit:0", "joined:0"}), (std::vector{3, 3}));
  }
}

// What hangs on the Merge runs once more than the body does.
TEST(StructuredLoops, EffectsRunAsOftenAsInTheFrame) {
  FrameGraph atAll, inBody;
  atAll.counter();
  atAll.counting("count", "i");
  inBody.counter();
  inBody.counting("count", "pivot");
  for (const SessionOptions &options : ways()) {
    EXPECT_EQ(countedBy(options, atAll.graph(), {"i/exit:0"}, {"count"}), 4);
    EXPECT_EQ(countedBy(options, atAll.graph(), {}, {"count"}), 4);
    EXPECT_EQ(countedBy(options, inBody.graph(), {"i/exit:0"}, {"count"}), 3);
    EXPECT_EQ(countedBy(options, inBody.graph(), {}, {"count"}), 3);
    EXPECT_EQ(countedBy(options, inBody.graph(), {"i/exit:0"}, {}), 0) << "nobody asks";
  }
}

TEST(StructuredLoops, WhoLooksIntoOneSeesTheSame) {
  FrameGraph g;
  g.counter();
  for (const SessionOptions &options : ways()) {
    Session session = *Session::create(g.graph(), options);
    EXPECT_EQ(valuesOf(session, {"i/exit:0", "step:0", "step:0@2", "step:0@last"}),
              (std::vector{3, 1, 3, 3}));
  }
}

TEST(StructuredLoops, AFrameWithoutIterationsIsAnErrorStill) {
  FrameGraph g;
  g.counter(/*parallel=*/0);
  for (const SessionOptions &options : ways()) {
    Session session = *Session::create(g.graph(), options);
    auto out = session.run({"i/exit:0"}, {});
    ASSERT_FALSE(out);
    EXPECT_NE(out.error().message.find("parallel_iterations is 0"), std::string::npos)
        << out.error().message;
  }
}

} // namespace
} // namespace treadle
