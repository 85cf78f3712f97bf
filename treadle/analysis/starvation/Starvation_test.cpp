#include "treadle/analysis/starvation/Starvation.h"

#include "treadle/testing/AnalysisTest.h"

namespace treadle::tfg {
namespace {

class StarvationTest : public AnalysisTest {
protected:
  /// Returns `add: step; sub: step in outer`: the starved nodes, the nodes that starve them, and
  /// the loop's name unless it is `f`.
  std::string starvedIn(const std::string &body) {
    parseGraph(body);
    std::string out;
    for (const StarvedNode &starved : findStarvedNodes(FrameGraph(*graph().getBody()))) {
      out += (out.empty() ? "" : "; ") + starved.node.name().str() + ":";
      for (Node enter : starved.enters)
        out += " " + enter.name().str();
      out += starved.decidesOnce ? " decides once" : "";
      out += starved.frame == "f" ? "" : " in " + starved.frame;
    }
    return out;
  }
};

/// Returns the text of a node with one result of type f32.
std::string node(const std::string &op, const std::string &name, const std::string &inputs,
                 const std::string &types, const std::string &control = "",
                 const std::string &attrs = "") {
  return "%" + name + ", %" + name + "c = " + op + "(" + inputs + ") " + control + " name(\"" +
         name + "\") " + (attrs.empty() ? "" : "{" + attrs + "}") + " : (" + types +
         ") -> (tensor<f32>)\n";
}
std::string add(const std::string &name, const std::string &a, const std::string &b,
                const std::string &control = "") {
  return node("Add", name, "%" + a + ", %" + b, "tensor<f32>, tensor<f32>", control);
}
std::string copy(const std::string &op, const std::string &name, const std::string &input,
                 const std::string &control = "") {
  return node(op, name, "%" + input, "tensor<f32>", control);
}
std::string enter(const std::string &name, const std::string &input, bool isConstant = false,
                  const std::string &frame = "f") {
  return node("Enter", name, "%" + input, "tensor<f32>", "",
              "frame_name = \"" + frame + "\", is_constant = " + (isConstant ? "true" : "false"));
}
std::string merge(const std::string &name, const std::string &a, const std::string &b,
                  const std::string &control = "") {
  return "%" + name + ":2, %" + name + "c = Merge(%" + a + ", %" + b + ") " + control + " name(\"" +
         name + "\") : (tensor<f32>, tensor<f32>) -> (tensor<f32>, tensor<i32>)\n";
}
std::string branch(const std::string &name, const std::string &value,
                   const std::string &predicate) {
  return "%" + name + ":2, %" + name + "c = Switch(%" + value + ", %" + predicate + ") name(\"" +
         name + "\") : (tensor<f32>, tensor<i1>) -> (tensor<f32>, tensor<f32>)\n";
}

/// Returns a loop over i0, starting at constant c: `%m#0` is the value of this iteration, `%s#1`
/// the same value if the loop continues, `%j` the value for the next iteration. The condition
/// compares m with `%limit`.
std::string loop(const std::string &body, const std::string &frame = "f") {
  return constant("c") + enter("i0", "c", false, frame) + merge("m", "i0", "n") +
         "%less, %lessc = Less(%m#0, %limit) name(\"less\") : (tensor<f32>, tensor<f32>) -> "
         "(tensor<i1>)\n"
         "%l, %lc = LoopCond(%less) name(\"l\") : (tensor<i1>) -> (tensor<i1>)\n" +
         branch("s", "m#0", "l") + copy("NextIteration", "n", "j") + copy("Exit", "x", "s#0") +
         body;
}
const std::string limit = enter("limit", "c", true);

TEST_F(StarvationTest, AnEnterThatIsNotConstantFeedsIterationZero) {
  EXPECT_EQ(starvedIn(loop(limit + enter("e", "c", true) + add("j", "s#1", "e"))), "");
  EXPECT_EQ(starvedIn(loop(limit + enter("e", "c") + add("j", "s#1", "e"))), "j: e");
  EXPECT_EQ(starvedIn(loop(enter("limit", "c") + add("j", "s#1", "s#1"))), "less: limit");
}

TEST_F(StarvationTest, AllThatMustBeMendedIsListed) {
  std::string both = enter("limit", "c") + enter("e", "c");
  EXPECT_EQ(starvedIn(loop(both + add("j", "s#1", "e"))), "less: limit; j: e");
  std::string two = limit + enter("e", "c") + enter("g", "c");
  EXPECT_EQ(starvedIn(loop(two + add("h", "s#1", "e") + add("j", "h", "g"))), "h: e; j: g");
  EXPECT_EQ(starvedIn(loop(two + add("h", "e", "g") + add("j", "h", "s#1"))), "j: e g");
}

TEST_F(StarvationTest, WhatNeedsAStarvedNodeIsNotListed) {
  EXPECT_EQ(starvedIn(loop(limit + enter("e", "c") + add("h", "s#1", "e") + add("k", "h", "h") +
                           add("j", "k", "s#1"))),
            "h: e");
}

TEST_F(StarvationTest, ValuesOnTheWayToAMergeStarveNothing) {
  std::string second = enter("e", "c") + enter("g", "c") + enter("k", "c", true) +
                       add("h", "e", "g") + add("start", "h", "k") + merge("v", "start", "vn") +
                       copy("NextIteration", "vn", "v#0");
  EXPECT_EQ(starvedIn(loop(limit + second + add("j", "s#1", "v#0"))), "");
}

TEST_F(StarvationTest, ControlEdgesCount) {
  std::string e = limit + enter("e", "c");
  EXPECT_EQ(starvedIn(loop(e + add("j", "s#1", "s#1", "[%ec]"))), "j: e");
  EXPECT_EQ(starvedIn(loop(e + constant("one", "[%ec]") + add("j", "s#1", "one"))), "j: e");
  EXPECT_EQ(starvedIn(loop(e + copy("Identity", "w", "e", "[%mc]") + add("j", "s#1", "s#1"))),
            "w: e");
  EXPECT_EQ(starvedIn(loop(e + constant("one", "[%mc]") + add("j", "s#1", "one"))), "");
}

TEST_F(StarvationTest, AValueThatIsHandedOnOnce) {
  EXPECT_EQ(starvedIn(loop(limit + enter("e", "c") + copy("Identity", "j", "e"))), "n: e");
}

TEST_F(StarvationTest, ALoopThatEndsInIterationZeroOrNever) {
  std::string text = loop(limit + add("j", "s#1", "s#1"));
  text.replace(text.find("Less(%m#0, %limit)"), 18, "Less(%i0, %limit)");
  EXPECT_EQ(starvedIn(text), "s: i0 decides once");
}

TEST_F(StarvationTest, AMergeWaitsForOneOfItsInputs) {
  std::string sides = limit + enter("e", "c") + branch("t", "s#1", "l");
  EXPECT_EQ(starvedIn(loop(sides + merge("u", "t#0", "t#1") + add("j", "u#0", "u#0"))), "");
  EXPECT_EQ(starvedIn(loop(sides + merge("u", "e", "t#1") + add("j", "u#0", "u#0"))), "");
  EXPECT_EQ(starvedIn(loop(sides + merge("u", "t#0", "t#1", "[%ec]") + add("j", "u#0", "u#0"))),
            "u: e");
}

TEST_F(StarvationTest, WhatLeavesTheLoopIsFree) {
  EXPECT_EQ(starvedIn(loop(limit + enter("e", "c") + copy("Exit", "y", "e") + add("z", "y", "x") +
                           add("j", "s#1", "s#1"))),
            "");
}

/// Returns an inner loop over k that starts at `%start` and adds `%step`.
std::string inner(const std::string &start, const std::string &step, bool isConstant = true) {
  return enter("k0", start, false, "g") + enter("by", step, isConstant, "g") +
         merge("k", "k0", "kn") +
         "%kless, %klessc = Less(%k#0, %by) name(\"kless\") : (tensor<f32>, tensor<f32>) -> "
         "(tensor<i1>)\n"
         "%kl, %klc = LoopCond(%kless) name(\"kl\") : (tensor<i1>) -> (tensor<i1>)\n" +
         branch("ks", "k#0", "kl") + add("kj", "ks#1", "by") + copy("NextIteration", "kn", "kj") +
         copy("Exit", "kx", "ks#0") + copy("Identity", "j", "kx");
}

TEST_F(StarvationTest, LoopsInLoops) {
  EXPECT_EQ(starvedIn(loop(limit + inner("s#1", "limit"))), "");
  EXPECT_EQ(starvedIn(loop(limit + inner("s#1", "limit", false))), "kless: by in g; kj: by in g");
  // The inner loop gets its constant in iteration 0 of the outer one only.
  EXPECT_EQ(starvedIn(loop(limit + enter("e", "c") + inner("s#1", "e"))), "kless: e; kj: e");
  EXPECT_EQ(starvedIn(loop(limit + enter("e", "c") + inner("e", "limit"))), "n: e");
}

TEST_F(StarvationTest, TheTextNamesNodeEnterAndIteration) {
  parseGraph(loop(limit + enter("e", "c") + add("j", "s#1", "e")));
  EXPECT_EQ(
      textOf(findStarvedNodes(FrameGraph(*graph().getBody()))),
      "node 'j' (Add) waits in iteration 1 of loop 'f' for 'e' (Enter), which isn't constant, "
      "so its value is available in iteration 0 only; set is_constant = true, or pass the "
      "value through a Merge and a NextIteration");
}

} // namespace
} // namespace treadle::tfg
