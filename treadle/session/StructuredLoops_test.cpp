// v1 loops have the same results with and without frames. transforms/structure_loops/tests shows
// which of them need no frames.
#include "treadle/treadle.h"

#include <gtest/gtest.h>

#include <array>
#include <map>
#include <set>

namespace treadle {
namespace {

/// The options to run a graph with. If iterations overlap, all loops have frames.
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

/// Builds the text of a graph of int32 scalars.
class FrameGraph {
public:
  void node(const std::string &name, const std::string &op, const std::vector<std::string> &inputs,
            const std::string &attrs = "attr { key: 'T' value { type: DT_INT32 } }") {
    text += "node { name: '" + name + "' op: '" + op + "'";
    for (const std::string &input : inputs)
      text += " input: '" + input + "'";
    if (auto it = waits.find(name); it != waits.end())
      text += " input: '^" + it->second + "'";
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
             std::to_string(parallel) +
             " } } attr { key: 'is_constant' value { b: " + (isConstant ? "true" : "false") +
             " } } attr { key: '_overlap' value { b: " + (staysFrame ? "true" : "false") + " } }");
  }
  /// Adds a loop variable `name`: the body sees it as `name/switch:1` and returns it as `next`.
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
  /// Adds 1 to a variable in each iteration, after `after`.
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

  std::map<std::string, std::string> waits; // for nodes yet to come: the node that each waits for
  bool staysFrame = false;                  // whether the rewrite leaves the frame alone in
                                            // interpreted runs

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

/// Returns the value of the variable after a run, starting from 0.
int countedBy(const SessionOptions &options, const Graph &graph,
              const std::vector<std::string> &fetches, const std::vector<std::string> &targets) {
  Session session = *Session::create(graph, options);
  EXPECT_TRUE(session.run({}, {}, {"init"}));
  Expected<std::vector<Tensor>> out = session.run(fetches, {}, targets);
  EXPECT_TRUE(out) << out.error().message;
  return valuesOf(session, {"read:0"})[0];
}

// The bound of the sum is dead, that of the count isn't: nodes that don't depend on the sum are
// alive.
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

/// Returns how a run ended and the value it counted.
std::string outcome(const FrameGraph &g, SessionOptions options) {
  options.timeout = 10;
  Session session = *Session::create(g.graph(), options);
  EXPECT_TRUE(session.run({}, {}, {"init"}));
  Expected<std::vector<Tensor>> out = session.run({"i/exit:0"}, {});
  std::string ended = out ? std::to_string((*out)[0].scalarValue<int32_t>()) : out.error().message;
  return ended + ", counted " + std::to_string(valuesOf(session, {"read:0"})[0]);
}

/// A loop in which `reader` waits, through a control edge alone, for the op that counts after
/// `after`.
FrameGraph waiting(const std::string &after, const std::string &tokenOp, const std::string &reader,
                   bool staysFrame) {
  FrameGraph g;
  g.staysFrame = staysFrame;
  g.waits[reader] = "token";
  g.counter();
  g.node("sides", "Switch", {"i", "first"});
  g.node("first", "Less", {"i", "from"});
  g.enter("from", "one/outside", true);
  g.constant("one/outside", 1);
  g.node("early", "Identity", {"sides:1"});
  g.node("late", "Identity", {"sides"});
  g.node("early/end", "Identity", {"early"});
  g.node("joined", "Merge", {"early/end", "late"},
         "attr { key: 'T' value { type: DT_INT32 } } attr { key: 'N' value { i: 2 } }");
  g.node("trigger", "ControlTrigger", {"^pivot"}, "");
  g.node("joined/body", "Identity", {"joined", "^pivot"});
  g.counting("count", after);
  if (tokenOp == "Const")
    g.constant("token", 0, {"^count"});
  else if (tokenOp == "Identity")
    g.node("token", "Identity", {"limit", "^count"});
  else
    g.node("token", "NoOp", {"^count"}, "");
  return g;
}

// The op may depend on the Merge, on the condition, on a side of a conditional or on the body.
TEST(StructuredLoops, EffectsThatOnlyTokensWaitForRunAsOftenAsInTheFrame) {
  const std::vector<std::pair<std::string, std::set<std::string>>> placesAndWhatWaitsThere = {
      {"i", {"less", "goes_on", "one", "step", "i/next"}},
      {"limit", {"less", "goes_on", "one", "step", "i/next"}},
      {"joined", {"less", "goes_on", "one", "step", "i/next"}},
      {"early", {"less", "goes_on", "one", "step", "i/next", "early/end"}},
      {"late", {"less", "goes_on", "one", "step", "i/next"}},
      {"less", {"goes_on", "one", "step", "i/next"}},
      {"goes_on", {"one", "step", "i/next"}},
      {"i/switch", {"one", "step", "i/next"}},
      {"pivot", {"one", "step", "i/next"}},
      {"joined/body", {"one", "step", "i/next"}},
      {"trigger", {"one", "step", "i/next"}},
      {"step", {"i/next"}}};
  SessionOptions frames;
  frames.tier = Tier::Interpret;
  const std::array tokenOps = {"NoOp", "Identity", "Const"};
  size_t graphs = 0;
  for (const auto &[after, readers] : placesAndWhatWaitsThere)
    for (const std::string &reader : readers) {
      std::string tokenOp = tokenOps[graphs++ % tokenOps.size()];
      std::string expected = outcome(waiting(after, tokenOp, reader, true), frames);
      for (const SessionOptions &options : ways())
        EXPECT_EQ(outcome(waiting(after, tokenOp, reader, false), options), expected)
            << reader << " waits for what counts after " << after << ", through " << tokenOp;
    }
}

// A node that depends on the Merge runs once more than the body does.
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
