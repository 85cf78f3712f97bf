// Nodes that don't match the definitions of their ops are errors when they are lowered.
#include "treadle/testing/TestExpected.h"
#include "treadle/treadle.h"

#include <gtest/gtest.h>

namespace treadle {
namespace {

// Kernels rely on the number and the dtypes of their inputs, and MLIR text can state any.
TEST(LoweringTest, ANodeThatDoesNotMatchItsOpIsAnError) {
  struct Case {
    const char *node, *message;
  };
  const Case cases[] = {
      {R"(%x:2, %ctl = Split name("x") : () -> (tensor<f32>, tensor<f32>))",
       "node 'x' (Split): it has 0 inputs, expected 2"},
      {R"(%x, %ctl = Neg(%a, %a) name("x") {T = i32} : (tensor<i32>, tensor<i32>) -> (tensor<i32>))",
       "it has 2 inputs, expected 1"},
      {R"(%x, %ctl = Neg(%a) name("x") {T = f64} : (tensor<i32>) -> (tensor<f64>))",
       "input 0 ('x') is int32, expected float64"},
      {R"(%x, %ctl = Neg(%a) name("x") {T = i32} : (tensor<i32>) -> (tensor<f64>))",
       "output 0 ('y') is float64, expected int32"},
      {R"(%x:2, %ctl = Neg(%a) name("x") {T = i32} : (tensor<i32>) -> (tensor<i32>, tensor<i32>))",
       "it has 2 outputs, expected 1"},
      {R"(%x, %ctl = AddN(%a, %a) name("x") {N = 1099511627776, T = i32}
              : (tensor<i32>, tensor<i32>) -> (tensor<i32>))",
       "it has 2 inputs, expected 1099511627776"},
      {R"(%x:2, %ctl = IdentityN(%a, %a) name("x") {T = [i32, f32]}
              : (tensor<i32>, tensor<i32>) -> (tensor<i32>, tensor<f32>))",
       "input 1 ('input') is int32, expected float32"},
      {R"(%x, %ctl = Assign(%a, %a) name("x") {T = i32}
              : (tensor<i32>, tensor<i32>) -> (tensor<!tf_type.int32ref>))",
       "input 0 ('ref') is a value, expected a reference to a variable"},
  };
  for (const Case &c : cases) {
    SCOPED_TRACE(c.node);
    Expected<Graph> graph = Graph::fromBytes(
        str("tfg.graph #tf_type.version<producer = 1482, min_consumer = 12> {\n",
            R"(%a, %ca = Const name("a") {dtype = i32, value = dense<1> : tensor<i32>})",
            " : () -> (tensor<i32>)\n", c.node, "\n}\n"));
    ASSERT_TRUE(graph) << graph.error().message;
    Expected<Session> session = Session::create(*graph);
    ASSERT_TRUE(session) << session.error().message;
    EXPECT_FAILS(session->run({"x"}), InvalidArgument, c.message);
    EXPECT_TRUE(session->run({"a"}));
  }
}

} // namespace
} // namespace treadle
