#include "treadle/analysis/effects/Effects.h"

#include "treadle/testing/AnalysisTest.h"

namespace treadle::tfg {
namespace {

class EffectsTest : public AnalysisTest {
protected:
  void analyze() { effects = std::make_unique<EffectAnalysis>(*module); }

  /// Returns `read variable 'v'; write the world`.
  std::string effectsOf(llvm::StringRef node) {
    std::string out;
    for (Effect effect : effects->of(nodes[node]))
      out += (out.empty() ? "" : "; ") + std::string(effect.writes ? "write " : "read ") +
             effects->resource(effect.resource).text;
    return out;
  }

  bool conflict(llvm::StringRef a, llvm::StringRef b) {
    for (Effect left : effects->of(nodes[a]))
      for (Effect right : effects->of(nodes[b]))
        if (effects->conflict(left, right))
          return true;
    return false;
  }

  std::unique_ptr<EffectAnalysis> effects;
};

TEST_F(EffectsTest, VariablesAreToldApartByTheirSharedName) {
  parseGraph(variable("v") + variable("w") +
             "%o, %oc = VarHandleOp name(\"other\") {shared_name = \"v\", container = \"\"} : () "
             "-> (tensor<!tf_type.resource>)\n" +
             constant("c") + assign("a", "v", "c") + assign("b", "w", "c") + read("r", "o"));
  analyze();
  EXPECT_EQ(effectsOf("a"), "write variable 'v'");
  EXPECT_EQ(effectsOf("r"), "read variable 'v'");
  EXPECT_EQ(effectsOf("v"), "");
  EXPECT_EQ(effectsOf("c"), "");
  EXPECT_TRUE(conflict("a", "r"));
  EXPECT_FALSE(conflict("b", "r"));
  EXPECT_FALSE(conflict("r", "r"));
}

TEST_F(EffectsTest, HandlesAreFollowedThroughFrames) {
  parseGraph(variable("v") + variable("w") + R"(
    %e, %ec = Enter(%v) name("e") {frame_name = "f"} : (tensor<!tf_type.resource>) -> (tensor<!tf_type.resource>)
    %m:2, %mc = Merge(%e, %n) name("m") : (tensor<!tf_type.resource>, tensor<!tf_type.resource>) -> (tensor<!tf_type.resource>, tensor<i32>)
    %s:2, %sc = Switch(%m, %p) name("s") : (tensor<!tf_type.resource>, tensor<i1>) -> (tensor<!tf_type.resource>, tensor<!tf_type.resource>)
    %x, %xc = Select(%p, %s#1, %w) name("x") : (tensor<i1>, tensor<!tf_type.resource>, tensor<!tf_type.resource>) -> (tensor<!tf_type.resource>)
    %n, %nc = NextIteration(%x) name("n") : (tensor<!tf_type.resource>) -> (tensor<!tf_type.resource>)
    %p, %pc = Placeholder name("p") {dtype = i1} : () -> (tensor<i1>)
    %q, %qc = Exit(%s#0) name("q") : (tensor<!tf_type.resource>) -> (tensor<!tf_type.resource>)
  )" + read("r", "q"));
  analyze();
  EXPECT_EQ(effectsOf("r"), "read variable 'v'; read variable 'w'");
}

TEST_F(EffectsTest, AFunctionsEffectsAreThoseOfTheHandlesThatACallGives) {
  parseGraph(variable("v") + variable("w") + constant("c") + R"(
    %a = StatefulPartitionedCall(%v, %c) name("a") {f = #tf_type.func<@set, {}>} : tensor<!tf_type.resource>, tensor<f32>
    %b = set(%w, %c) name("b") : tensor<!tf_type.resource>, tensor<f32>
    %d = StatefulPartitionedCall(%v, %c) name("d") {f = #tf_type.func<@gone, {}>} : tensor<!tf_type.resource>, tensor<f32>
  )",
             "tfg.func @set(%h: tensor<!tf_type.resource> {tfg.name = \"h\"}, %x: tensor<f32> "
             "{tfg.name = \"x\"}) -> () {\n" +
                 assign("inner", "h", "x") + "return() [%inner]\n}\n");
  analyze();
  EXPECT_EQ(effectsOf("inner"), "write argument 'h'");
  EXPECT_EQ(effectsOf("a"), "write variable 'v'");
  EXPECT_EQ(effectsOf("b"), "write variable 'w'");
  EXPECT_EQ(effectsOf("d"), "write the world; write variable 'v'");
  EXPECT_FALSE(conflict("a", "b"));
}

constexpr const char *swapping = R"(
  tfg.func @body(%h: tensor<!tf_type.resource> {tfg.name = "h"}, %k: tensor<!tf_type.resource> {tfg.name = "k"})
      -> (tensor<!tf_type.resource> {tfg.name = "x"}, tensor<!tf_type.resource> {tfg.name = "y"}) {
    %r, %rc = ReadVariableOp(%h) name("r") {dtype = f32} : (tensor<!tf_type.resource>) -> (tensor<f32>)
    %i = AssignVariableOp(%k, %r) name("i") : tensor<!tf_type.resource>, tensor<f32>
    return(%k, %h) [%i] : tensor<!tf_type.resource>, tensor<!tf_type.resource>
  }
  tfg.func @cond(%h: tensor<!tf_type.resource> {tfg.name = "h"}, %k: tensor<!tf_type.resource> {tfg.name = "k"}) -> (tensor<i1> {tfg.name = "p"}) {
    %p, %pc = VarIsInitializedOp(%h) name("p") : (tensor<!tf_type.resource>) -> (tensor<i1>)
    return(%p) : tensor<i1>
  })";

TEST_F(EffectsTest, ALoopsArgumentsAreItsResultsAsWell) {
  parseGraph(variable("v") + variable("w") + R"(
    %l:2, %lc = While(%v, %w) name("l") {cond = #tf_type.func<@cond, {}>, body = #tf_type.func<@body, {}>}
        : (tensor<!tf_type.resource>, tensor<!tf_type.resource>) -> (tensor<!tf_type.resource>, tensor<!tf_type.resource>)
  )" + read("after", "l#1"),
             swapping);
  analyze();
  EXPECT_EQ(effectsOf("l"), "read variable 'v'; write variable 'v'; read variable 'w'; "
                            "write variable 'w'");
  EXPECT_EQ(effectsOf("after"), "read variable 'v'; read variable 'w'");
  EXPECT_TRUE(conflict("r", "i")) << "a call gives both arguments either variable";
}

TEST_F(EffectsTest, ArgumentsAreDifferentResourcesUntilACallSaysOtherwise) {
  std::string call = R"( = PartitionedCall(%v, %w) name("l") {f = #tf_type.func<@body, {}>}
        : (tensor<!tf_type.resource>, tensor<!tf_type.resource>) -> (tensor<!tf_type.resource>, tensor<!tf_type.resource>)
  )";
  parseGraph(variable("v") + variable("w") + "%l:2, %lc" + call, swapping);
  analyze();
  EXPECT_FALSE(conflict("r", "i"));
  parseGraph(variable("v") +
                 "%w, %wc = Identity(%v) name(\"id\") : (tensor<!tf_type.resource>) "
                 "-> (tensor<!tf_type.resource>)\n%l:2, %lc" +
                 call,
             swapping);
  analyze();
  EXPECT_TRUE(conflict("r", "i"));
}

TEST_F(EffectsTest, UnknownOpsAreTheWorldAndWhatTheyReach) {
  parseGraph(variable("v") + variable("w") + R"(
    %u = Mystery(%v) name("u") : tensor<!tf_type.resource>
    %p = PrintV2(%s) name("p") : tensor<!tf_type.string>
    %s, %sc = Const name("s") {dtype = !tf_type.string} : () -> (tensor<!tf_type.string>)
    %h, %hc = Placeholder name("h") {dtype = !tf_type.resource} : () -> (tensor<!tf_type.resource>)
  )" + read("r", "v") +
             read("q", "w") + read("n", "h") + constant("c") + assign("a", "w", "c"));
  analyze();
  EXPECT_EQ(effectsOf("u"), "write the world; write variable 'v'");
  EXPECT_TRUE(conflict("u", "r"));
  EXPECT_FALSE(conflict("u", "q"));
  EXPECT_TRUE(conflict("u", "p"));
  EXPECT_EQ(effectsOf("n"), "read the resource of the handle from 'h'");
  EXPECT_TRUE(conflict("n", "a")) << "a handle that is fed may be any";
  EXPECT_FALSE(conflict("n", "p"));
}

TEST_F(EffectsTest, BothEndsOfAQueueAreApart) {
  parseGraph(constant("c") + R"(
    %q, %qc = FIFOQueueV2 name("q") {shared_name = "", container = ""} : () -> (tensor<!tf_type.resource>)
    %z, %zc = RandomShuffleQueueV2 name("z") {shared_name = "", container = ""} : () -> (tensor<!tf_type.resource>)
    %a = QueueEnqueueV2(%q, %c) name("a") : tensor<!tf_type.resource>, tensor<f32>
    %b = QueueEnqueueV2(%q, %c) name("b") : tensor<!tf_type.resource>, tensor<f32>
    %d, %dc = QueueDequeueV2(%q) name("d") : (tensor<!tf_type.resource>) -> (tensor<f32>)
    %n, %nc = QueueSizeV2(%q) name("n") : (tensor<!tf_type.resource>) -> (tensor<i32>)
    %y = QueueEnqueueV2(%z, %c) name("y") : tensor<!tf_type.resource>, tensor<f32>
    %x, %xc = QueueDequeueV2(%z) name("x") : (tensor<!tf_type.resource>) -> (tensor<f32>)
  )");
  analyze();
  EXPECT_TRUE(conflict("a", "b"));
  EXPECT_FALSE(conflict("a", "d"));
  EXPECT_TRUE(conflict("n", "d"));
  EXPECT_TRUE(conflict("x", "y")) << "what a shuffling queue gives depends on all that is in it";
}

TEST_F(EffectsTest, ReferencesAreWrittenByAssignAndReadByWhoTakesTheirValue) {
  parseGraph(constant("c") + R"(
    %v, %vc = VariableV2 name("v") {shared_name = "", container = ""} : () -> (tensor<!tf_type.f32ref>)
    %a, %ac = Assign(%v, %c) name("a") : (tensor<!tf_type.f32ref>, tensor<f32>) -> (tensor<!tf_type.f32ref>)
    %i, %ic = Identity(%a) name("i") : (tensor<!tf_type.f32ref>) -> (tensor<f32>)
    %k, %kc = RefIdentity(%v) name("k") : (tensor<!tf_type.f32ref>) -> (tensor<!tf_type.f32ref>)
    %n, %nc = Neg(%i) name("n") : (tensor<f32>) -> (tensor<f32>)
  )");
  analyze();
  EXPECT_EQ(effectsOf("a"), "write reference variable 'v'");
  EXPECT_EQ(effectsOf("i"), "read reference variable 'v'");
  EXPECT_EQ(effectsOf("k"), "");
  EXPECT_EQ(effectsOf("n"), "");
}

TEST_F(EffectsTest, WhatACallMakesForItselfIsNotSeenOutside) {
  parseGraph(
      R"(
    %a, %ac = PartitionedCall name("a") {f = #tf_type.func<@own, {}>} : () -> (tensor<f32>)
  )",
      "tfg.func @own() -> (tensor<f32> {tfg.name = \"x\"}) {\n" + constant("c") + R"(
    %n, %nc = Const name("n") {dtype = i32} : () -> (tensor<i32>)
    %s, %sc = StackV2(%n) name("s") {stack_name = ""} : (tensor<i32>) -> (tensor<!tf_type.resource>)
    %p, %pc = StackPushV2(%s, %c) name("p") : (tensor<!tf_type.resource>, tensor<f32>) -> (tensor<f32>)
    return(%p) : tensor<f32>
  })");
  analyze();
  EXPECT_EQ(effectsOf("p"), "write stack created by 's' in 'own'");
  EXPECT_EQ(effectsOf("a"), "");
}

TEST_F(EffectsTest, FunctionsThatCallThemselvesComeToAnEnd) {
  parseGraph(variable("v") + "%a = f(%v) name(\"a\") : tensor<!tf_type.resource>\n",
             "tfg.func @f(%h: tensor<!tf_type.resource> {tfg.name = \"h\"}) -> () {\n" +
                 read("r", "h") + "%b = f(%h) name(\"b\") : tensor<!tf_type.resource>\n" +
                 assign("i", "h", "r", "[%b]") + "return() [%i]\n}\n");
  analyze();
  EXPECT_EQ(effectsOf("a"), "read variable 'v'; write variable 'v'");
}

TEST_F(EffectsTest, ARandomOpHasAStateOfItsOwnIfItIsSeeded) {
  parseGraph(R"(
    %n, %nc = Const name("n") {dtype = i32} : () -> (tensor<1xi32>)
    %a, %ac = RandomUniform(%n) name("a") {seed = 1 : i64, seed2 = 0 : i64, T = i32, dtype = f32} : (tensor<1xi32>) -> (tensor<*xf32>)
    %b, %bc = RandomUniform(%n) name("b") {seed = 0 : i64, seed2 = 0 : i64, T = i32, dtype = f32} : (tensor<1xi32>) -> (tensor<*xf32>)
  )");
  analyze();
  EXPECT_EQ(effectsOf("a"), "write the state of 'a'");
  EXPECT_EQ(effectsOf("b"), "");
}

TEST_F(EffectsTest, AnIteratorReachesWhatItsDatasetUses) {
  parseGraph(
      variable("v") + constant("c") + R"(
    %d, %dc = TensorDataset(%c) name("d") : (tensor<f32>) -> (tensor<!tf_type.variant>)
    %m, %mc = MapDataset(%d, %v) name("m") {f = #tf_type.func<@f, {}>} : (tensor<!tf_type.variant>, tensor<!tf_type.resource>) -> (tensor<!tf_type.variant>)
    %i, %ic = IteratorV2 name("i") {shared_name = "it", container = ""} : () -> (tensor<!tf_type.resource>)
    %k = MakeIterator(%m, %i) name("k") : tensor<!tf_type.variant>, tensor<!tf_type.resource>
    %n, %nc = IteratorGetNext(%i) name("n") : (tensor<!tf_type.resource>) -> (tensor<f32>)
  )" + assign("a", "v", "c"),
      "tfg.func @f(%x: tensor<f32> {tfg.name = \"x\"}, %h: tensor<!tf_type.resource> {tfg.name = "
      "\"h\"}) -> (tensor<f32> {tfg.name = \"y\"}) {\n" +
          read("r", "h") + "return(%r) : tensor<f32>\n}\n");
  analyze();
  EXPECT_EQ(effectsOf("m"), "");
  EXPECT_TRUE(conflict("n", "a"));
  EXPECT_TRUE(conflict("n", "k"));
}

TEST_F(EffectsTest, RegionsOfAConditionalUseHandlesFromOutside) {
  parseGraph(variable("v") + variable("w") + constant("c") + R"(
    %p, %pc = Placeholder name("p") {dtype = i1} : () -> (tensor<i1>)
    %h, %hc = IfRegion %p then {
      %t = AssignVariableOp(%v, %c) name("inside") {dtype = f32} : tensor<!tf_type.resource>, tensor<f32>
      yield(%v) [%t] : tensor<!tf_type.resource>
    } else {
      yield(%w) : tensor<!tf_type.resource>
    } {_mlir_name = "if"} : (tensor<i1>) -> tensor<!tf_type.resource>
  )" + read("r", "h"));
  analyze();
  EXPECT_EQ(effectsOf("if"), "write variable 'v'");
  EXPECT_EQ(effectsOf("inside"), "write variable 'v'");
  EXPECT_EQ(effectsOf("r"), "read variable 'v'; read variable 'w'");
  EXPECT_TRUE(conflict("if", "r"));
}

TEST_F(EffectsTest, HandlesGoAroundLoopsWithRegions) {
  parseGraph(variable("v") + variable("w") + constant("c") + R"(
    %i, %ic = Placeholder name("i") {dtype = i32} : () -> (tensor<i32>)
    %p, %pc = Placeholder name("p") {dtype = i1} : () -> (tensor<i1>)
    %l:2, %lc = WhileRegion(%v, %w) {
    ^bb0(%a: tensor<!tf_type.resource>, %b: tensor<!tf_type.resource>, %ac: !tf_type.control, %bc: !tf_type.control):
      condition %p : tensor<i1> (%a, %b) : tensor<!tf_type.resource>, tensor<!tf_type.resource>
    } do {
    ^bb0(%a: tensor<!tf_type.resource>, %b: tensor<!tf_type.resource>, %ac: !tf_type.control, %bc: !tf_type.control):
      %t = AssignVariableOp(%a, %c) name("inside") {dtype = f32} : tensor<!tf_type.resource>, tensor<f32>
      yield(%b, %b) [%t] : tensor<!tf_type.resource>, tensor<!tf_type.resource>
    } {_mlir_name = "while", parallel_iterations = 1 : i64} : (tensor<!tf_type.resource>, tensor<!tf_type.resource>) -> (tensor<!tf_type.resource>, tensor<!tf_type.resource>)
    %f, %fc = ForRegion(%w) from %i to %i by %i {
    ^bb0(%n: tensor<i32>, %b: tensor<!tf_type.resource>, %nc: !tf_type.control, %bc: !tf_type.control):
      %t = AssignVariableOp(%b, %c) name("stored") {dtype = f32} : tensor<!tf_type.resource>, tensor<f32>
      yield(%b) [%t] : tensor<!tf_type.resource>
    } {_mlir_name = "for"} : (tensor<i32>, tensor<i32>, tensor<i32>, tensor<!tf_type.resource>) -> (tensor<!tf_type.resource>)
  )" + read("r", "l#0") +
             read("s", "l#1") + read("q", "f"));
  analyze();
  EXPECT_EQ(effectsOf("inside"), "write variable 'v'; write variable 'w'");
  EXPECT_EQ(effectsOf("while"), "write variable 'v'; write variable 'w'");
  EXPECT_EQ(effectsOf("for"), "write variable 'w'");
  EXPECT_EQ(effectsOf("r"), "read variable 'v'; read variable 'w'");
  EXPECT_EQ(effectsOf("s"), "read variable 'w'");
  EXPECT_EQ(effectsOf("q"), "read variable 'w'");
}

} // namespace
} // namespace treadle::tfg
