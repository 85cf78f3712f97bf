#include "treadle/analysis/races/Races.h"

#include "treadle/analysis/races/FrameGraph.h"
#include "treadle/testing/AnalysisTest.h"

#include <set>

namespace treadle::tfg {
namespace {

class RacesTest : public AnalysisTest {
protected:
  /// Returns `a b: variable 'v'; a a: variable 'v' in loop`.
  std::string racesOf(const std::string &body) {
    parseGraph(body);
    EffectAnalysis effects(*module);
    std::string out;
    for (const Race &race : findRaces(graph(), effects))
      out += (out.empty() ? "" : "; ") + race.first.name().str() + " " + race.second.name().str() +
             ": " + effects.resource(race.resource).text +
             (race.frame.empty() ? "" : " in " + race.frame);
    return out;
  }
};

TEST_F(RacesTest, WhatNoPathOrdersIsARace) {
  std::string start = variable("v") + constant("c") + assign("a", "v", "c");
  EXPECT_EQ(racesOf(start + assign("b", "v", "c")), "a b: variable 'v'");
  EXPECT_EQ(racesOf(start + assign("b", "v", "c", "[%a]")), "");
  EXPECT_EQ(racesOf(start + constant("d", "[%a]") + assign("b", "v", "d")), "");
  EXPECT_EQ(racesOf(start + variable("w") + assign("b", "w", "c")), "");
  EXPECT_EQ(racesOf(start + read("r", "v") + read("s", "v", "[%a]")), "a r: variable 'v'");
}

TEST_F(RacesTest, ManyNodesOnOneResource) {
  std::string body = variable("v") + constant("c");
  for (int i = 0; i < 200; ++i)
    body += assign("a" + std::to_string(i), "v", "c",
                   i % 100 ? "[%a" + std::to_string(i - 1) + "]" : "");
  parseGraph(body);
  EffectAnalysis effects(*module);
  EXPECT_EQ(findRaces(graph(), effects, 100000).size(), 100u * 100u);
  EXPECT_EQ(findRaces(graph(), effects, 17).size(), 17u);
}

constexpr const char *predicate =
    "%p, %pc = Placeholder name(\"p\") {dtype = i1} : () -> (tensor<i1>)\n"
    "%s:2, %sc = Switch(%c, %p) name(\"s\") : (tensor<f32>, tensor<i1>) -> (tensor<f32>, "
    "tensor<f32>)\n";

TEST_F(RacesTest, TheSidesOfASwitchDontMeet) {
  std::string start = variable("v") + constant("c") + predicate;
  EXPECT_EQ(racesOf(start + assign("a", "v", "s#0") + assign("b", "v", "s#1")), "");
  EXPECT_EQ(racesOf(start + assign("a", "v", "s#0") + assign("b", "v", "c")), "a b: variable 'v'");
  EXPECT_EQ(racesOf(start + assign("a", "v", "s#0") + assign("b", "v", "m#0") +
                    "%m:2, %mc = Merge(%s#0, %s#1) name(\"m\") : (tensor<f32>, tensor<f32>) -> "
                    "(tensor<f32>, tensor<i32>)\n"),
            "a b: variable 'v'");
}

/// Returns a loop over i that contains `body`; `%i` is the value of this iteration, `%j` the value
/// for the next one.
std::string loop(const std::string &body, int parallel = 10) {
  return variable("v") + constant("c") + R"(
    %e, %ec = Enter(%c) name("e") {frame_name = "loop", parallel_iterations = )" +
         std::to_string(parallel) + R"( : i64} : (tensor<f32>) -> (tensor<f32>)
    %h, %hc = Enter(%v) name("h") {frame_name = "loop", is_constant = true, parallel_iterations = )" +
         std::to_string(parallel) +
         R"( : i64} : (tensor<!tf_type.resource>) -> (tensor<!tf_type.resource>)
    %m:2, %mc = Merge(%e, %n) name("m") : (tensor<f32>, tensor<f32>) -> (tensor<f32>, tensor<i32>)
    %g, %gc = Less(%m#0, %m#0) name("g") : (tensor<f32>, tensor<f32>) -> (tensor<i1>)
    %l, %lc = LoopCond(%g) name("l") : (tensor<i1>) -> (tensor<i1>)
    %s:2, %sc = Switch(%m#0, %l) name("s") : (tensor<f32>, tensor<i1>) -> (tensor<f32>, tensor<f32>)
    %i, %ic = Identity(%s#1) name("i") : (tensor<f32>) -> (tensor<f32>)
    %n, %nc = NextIteration(%j) name("n") : (tensor<f32>) -> (tensor<f32>)
    %x, %xc = Exit(%s#0) name("x") : (tensor<f32>) -> (tensor<f32>)
)" + body;
}

std::string next(const std::string &control = "") {
  return "%j, %jc = Add(%i, %i) " + control +
         " name(\"j\") : (tensor<f32>, tensor<f32>) -> (tensor<f32>)\n";
}

TEST_F(RacesTest, AnIterationAndTheNextMayOverlap) {
  EXPECT_EQ(racesOf(loop(assign("a", "h", "i") + next())), "a a: variable 'v' in loop");
  EXPECT_EQ(racesOf(loop(assign("a", "h", "i") + next("[%a]"))), "");
  EXPECT_EQ(racesOf(loop(assign("a", "h", "i") + next(), /*parallel=*/1)), "");
  EXPECT_EQ(racesOf(loop(read("r", "h", "[%ic]") + next())), "");
}

TEST_F(RacesTest, ReadThenWriteNeedsTheWayBackAsWell) {
  EXPECT_EQ(racesOf(loop(read("r", "h", "[%ic]") + assign("a", "h", "r") + next("[%rc]"))),
            "r a: variable 'v' in loop; a a: variable 'v' in loop");
  EXPECT_EQ(racesOf(loop(read("r", "h", "[%ic]") + assign("a", "h", "r") + next("[%a]"))), "");
}

TEST_F(RacesTest, WhatComesBeforeAndAfterALoopIsOrderedByIt) {
  std::string inside = assign("a", "h", "i") + next("[%a]");
  EXPECT_EQ(racesOf(loop(inside + assign("after", "v", "x"))), "");
  EXPECT_EQ(racesOf(loop(inside + assign("beside", "v", "c"))), "a beside: variable 'v'");
  EXPECT_EQ(racesOf(loop(assign("a", "h", "i") + next() + assign("after", "v", "x"))),
            "a after: variable 'v'; a a: variable 'v' in loop");
}

TEST_F(RacesTest, ALoopsConditionSeparatesIterationsNotNodes) {
  EXPECT_EQ(racesOf(loop(assign("a", "h", "i") + next() + assign("b", "v", "x"))),
            "a b: variable 'v'; a a: variable 'v' in loop");
}

TEST_F(RacesTest, AgreesWithAllPathsOfRandomGraphs) {
  unsigned state = 3;
  auto random = [&](unsigned below) {
    return ((state = state * 1'664'525u + 1'013'904'223u) >> 16) % below;
  };
  constexpr size_t count = 14;
  for (int round = 0; round < 200; ++round) {
    std::string body = variable("v") + variable("w") + constant("c"), expected;
    std::vector<std::string> names, variables, tokens;
    std::vector<bool> writes;
    std::vector<std::vector<bool>> leads(count, std::vector<bool>(count));
    for (size_t i = 0; i < count; ++i) {
      std::string control;
      for (size_t before = 0; before < i; ++before)
        if (random(round % 4 + 1) == 0) {
          control += (control.empty() ? "[%" : ", %") + tokens[before];
          leads[before][i] = true;
          for (size_t first = 0; first < before; ++first)
            leads[first][i] = leads[first][i] || leads[first][before];
        }
      control += control.empty() ? "" : "]";
      writes.push_back(random(2));
      names.push_back((writes[i] ? "a" : "r") + std::to_string(i));
      variables.push_back(random(3) ? "v" : "w");
      tokens.push_back(names[i] + (writes[i] ? "" : "c"));
      body += writes[i] ? assign(names[i], variables[i], "c", control)
                        : read(names[i], variables[i], control);
    }
    std::multiset<std::string> wanted, found;
    for (size_t i = 0; i < count; ++i)
      for (size_t j = i + 1; j < count; ++j)
        if (variables[i] == variables[j] && (writes[i] || writes[j]) && !leads[i][j])
          wanted.insert(names[i] + " " + names[j]);
    parseGraph(body);
    EffectAnalysis effects(*module);
    for (const Race &race : findRaces(graph(), effects))
      found.insert((race.first.name() + " " + race.second.name()).str());
    ASSERT_EQ(found, wanted) << body;
  }
}

TEST_F(RacesTest, ALoopOfManyVariablesHasFewEdges) {
  constexpr size_t count = 100;
  std::string body = constant("c"), sum, types;
  for (size_t i = 0; i < count; ++i) {
    std::string id = std::to_string(i);
    auto node = [&](const std::string &name, const std::string &rest) {
      body += "%" + name + id + (name == "m" || name == "s" ? ":2" : "") + ", %" + name + "c" + id +
              " = " + rest + " : ";
    };
    node("e", "Enter(%c) name(\"e" + id + "\") {frame_name = \"loop\"}");
    body += "(tensor<f32>) -> (tensor<f32>)\n";
    node("m", "Merge(%e" + id + ", %n" + id + ") name(\"m" + id + "\")");
    body += "(tensor<f32>, tensor<f32>) -> (tensor<f32>, tensor<i32>)\n";
    node("s", "Switch(%m" + id + "#0, %l) name(\"s" + id + "\")");
    body += "(tensor<f32>, tensor<i1>) -> (tensor<f32>, tensor<f32>)\n";
    node("n", "NextIteration(%s" + id + "#1) name(\"n" + id + "\")");
    body += "(tensor<f32>) -> (tensor<f32>)\n";
    node("x", "Exit(%s" + id + "#0) name(\"x" + id + "\")");
    body += "(tensor<f32>) -> (tensor<f32>)\n";
    sum += (i ? ", %m" : "%m") + id + "#0";
    types += i ? ", tensor<f32>" : "tensor<f32>";
  }
  body += "%a, %ac = AddN(" + sum + ") name(\"a\") : (" + types +
          ") -> (tensor<i1>)\n"
          "%l, %lc = LoopCond(%a) name(\"l\") : (tensor<i1>) -> (tensor<i1>)\n";
  parseGraph(body);
  FrameGraph frames(graph().getNodes().front());
  size_t numEdges = 0;
  for (const auto &users : frames.forward())
    numEdges += users.size();
  EXPECT_LT(numEdges, 10 * count);
}

TEST_F(RacesTest, AHandleFromNowhereMayBeAnything) {
  EXPECT_EQ(racesOf(variable("v") + constant("c") +
                    "%h, %hc = Placeholder name(\"h\") {dtype = !tf_type.resource} : () -> "
                    "(tensor<!tf_type.resource>)\n" +
                    assign("a", "v", "c") + read("r", "h")),
            "a r: variable 'v'");
}

TEST_F(RacesTest, WhatARegionUsesComesBeforeIt) {
  auto conditional = [](const std::string &control) {
    return R"(
    %p, %pc = Placeholder name("p") {dtype = i1} : () -> (tensor<i1>)
    %i = IfRegion %p then {
      %t = AssignVariableOp(%v, %c) )" +
           control + R"( name("inside") {dtype = f32} : tensor<!tf_type.resource>, tensor<f32>
      yield [%t]
    } else {
      yield
    } {_mlir_name = "i"} : (tensor<i1>) -> ()
)";
  };
  std::string start = variable("v") + constant("c") + assign("a", "v", "c");
  EXPECT_EQ(racesOf(start + conditional("")), "a i: variable 'v'");
  EXPECT_EQ(racesOf(start + conditional("[%a]")), "");
}

} // namespace
} // namespace treadle::tfg
