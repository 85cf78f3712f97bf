// The builder: graphs with known results, and one test for each error.
#include "treadle/Builder.h"

#include <gtest/gtest.h>

namespace treadle::builder {
namespace {

std::vector<Tensor> run(Builder &g, const std::vector<std::string> &fetches,
                        const Session::Feeds &feeds = {}) {
  Expected<Graph> graph = g.build();
  if (!graph)
    throw std::runtime_error(graph.error().message);
  Expected<Session> session = Session::create(*graph);
  if (!session)
    throw std::runtime_error(session.error().message);
  if (graph->nodeOp(Builder::initName))
    if (auto done = session->run({}, {}, {std::string(Builder::initName)}); !done)
      throw std::runtime_error(done.error().message);
  auto values = session->run(fetches, feeds);
  if (!values)
    throw std::runtime_error(values.error().message);
  return *values;
}

Tensor f32(float value) { return Tensor::scalar(DType::Float32, value); }

float number(const Tensor &tensor) { return tensor.scalarValue<float>(); }

TEST(BuilderTest, NumbersTakeTheDtypeOfTheOtherInput) {
  Builder g;
  Output x = g.placeholder("x", DType::Float64, PartialShape::ranked({}));
  Output y = 2 * x + 0.5;
  EXPECT_EQ(y.dtype(), DType::Float64);
  EXPECT_TRUE(y.shape().hasRank);
  auto values = run(g, {y.name()}, {{"x:0", Tensor::scalar(DType::Float64, 3.0)}});
  EXPECT_EQ(values[0].scalarValue<double>(), 6.5);
}

TEST(BuilderTest, EffectsOfALoopRunInOrder) {
  Builder g;
  Variable v = g.variable("v", 1.0);
  Loop loop = g.whileLoop({"loop", {{"i", 0}, {"sum", 0.0}}});
  loop.condition(loop["i"] < 3);
  Output before = v.read();
  v.assignAdd(before);
  loop.set("sum", loop["sum"] + before + v);
  loop.set("i", loop["i"] + 1);
  loop.end();
  Output after = v.read();
  auto values = run(g, {loop["sum"].name(), after.name()});
  EXPECT_EQ(number(values[0]), 1 + 2 + 2 + 4 + 4 + 8);
  EXPECT_EQ(number(values[1]), 8);
}

TEST(BuilderTest, BranchesGiveResultsAndHaveEffects) {
  Builder g;
  Output p = g.placeholder("p", DType::Bool, PartialShape::ranked({}));
  Variable v = g.variable("v", 1.0);
  Branches c = g.cond(p);
  c.begin();
  c.set("y", v.read() + 1.0);
  c.endBranch();
  c.begin();
  v.assign(10.0);
  c.set("y", v);
  c.endBranch();
  c.end();
  Output y = c["y"], after = v.read();
  for (bool which : {true, false}) {
    auto values = run(g, {y.name(), after.name()}, {{"p:0", Tensor::scalar(DType::Bool, which)}});
    EXPECT_EQ(number(values[0]), which ? 2 : 10);
    EXPECT_EQ(number(values[1]), which ? 1 : 10);
  }
}

TEST(BuilderTest, FunctionsCaptureOuterValues) {
  Builder g;
  Variable v = g.variable("v", 2.0);
  Output scale = g.constant(f32(3));
  Function f = g.function("scaled", {{"x", DType::Float32, PartialShape::ranked({})}});
  v.assignAdd(1.0);
  f.end({f.arguments()[0] * scale + v});
  Output a = g.call(f, {1.0}).output(0), b = g.call(f, {a}).output(0);
  auto values = run(g, {a.name(), b.name()});
  EXPECT_EQ(number(values[0]), 1 * 3 + 3);
  EXPECT_EQ(number(values[1]), 6 * 3 + 4);
}

TEST(BuilderTest, AnAbandonedLoopLeavesNothing) {
  Builder g;
  Loop loop = g.whileLoop({"loop", {{"i", 0}}});
  loop.condition(loop["i"] < 3);
  Loop inner = g.whileLoop({"inner", {{"j", 0}}});
  inner.condition(inner["j"] < loop["i"]);
  inner.end();
  g.cond(loop["i"] < 1).begin();
  loop.abandon();
  g.constant(f32(1), "y");
  EXPECT_EQ(g.build()->functionNames(), std::vector<std::string>());
  EXPECT_EQ(number(run(g, {"y"})[0]), 1);
}

/// Returns the error of a program.
template <typename Program> std::string errorOf(Program program) {
  Builder g;
  program(g);
  Expected<Graph> graph = g.build();
  return graph ? "none" : graph.error().message;
}

TEST(BuilderTest, AVariableIsNotReadBeforeItHasAValue) {
  EXPECT_EQ(
      errorOf([](Builder &g) { g.variable("v", DType::Float32, PartialShape::ranked({})).read(); }),
      "variable 'v' is read, but it has no initial value, and nothing before assigns one; "
      "expected an initial value");
}

TEST(BuilderTest, ALoopVariableKeepsItsDtype) {
  EXPECT_EQ(errorOf([](Builder &g) {
              Loop loop = g.whileLoop({"loop", {{"i", 0}}});
              loop.condition(loop["i"] < 3);
              loop.set("i", g.cast(loop["i"], DType::Float32));
            }),
            "loop 'loop': variable 'i' is int32, but is set to 'Cast:0', float32[]; expected the "
            "same dtype");
}

TEST(BuilderTest, AValueStaysInItsBody) {
  EXPECT_EQ(errorOf([](Builder &g) {
              Loop loop = g.whileLoop({"loop", {{"i", 0}}});
              loop.condition(loop["i"] < 3);
              Output next = loop["i"] + 1;
              loop.set("i", next);
              loop.end();
              next + 1;
            }),
            "node 'AddV2' (AddV2): input 0 is 'AddV2:0' of the body of loop 'loop', and is used in "
            "the graph; a value leaves a loop only as one of its variables");
}

TEST(BuilderTest, AnEmptyValueIsTakenInSilence) {
  Builder g;
  Output wrong = g.constant(f32(1)) + g.constant(Tensor::scalar(DType::Int32, 1));
  EXPECT_FALSE(wrong);
  EXPECT_TRUE(g.takeError());
  EXPECT_FALSE(wrong + 1.0);
  EXPECT_FALSE(g.error());
  EXPECT_TRUE(g.build());
}

} // namespace
} // namespace treadle::builder
