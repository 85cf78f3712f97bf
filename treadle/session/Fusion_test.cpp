// Tests of fused nodes: values are unchanged, and intermediate values can still be fetched and fed.
// transforms/fuse_kernels/tests shows which nodes are fused.
#include "treadle/treadle.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace treadle {
namespace {

Tensor filled(std::vector<int64_t> dims, int seed) {
  Tensor t = *Tensor::make(DType::Float32, dims);
  for (int64_t i = 0; i < t.count(); ++i)
    t.data<float>()[i] = static_cast<float>((i * 29 + seed) % 23 - 11) / 4;
  return t;
}

TEST(Fusion, TheInterpreterTakesNodesOneByOneAndAgrees) {
  // The shapes of the summands and factors are known only at run time.
  Graph graph = *Graph::fromBytes(R"(
    node { name: 'x' op: 'Placeholder' attr { key: 'dtype' value { type: DT_FLOAT } } }
    node { name: 'w' op: 'Placeholder' attr { key: 'dtype' value { type: DT_FLOAT } } }
    node { name: 'm' op: 'Placeholder' attr { key: 'dtype' value { type: DT_FLOAT } } }
    node { name: 'a' op: 'Placeholder' attr { key: 'dtype' value { type: DT_FLOAT } } }
    node { name: 'b' op: 'Placeholder' attr { key: 'dtype' value { type: DT_FLOAT } } }
    node { name: 'p' op: 'MatMul' input: 'x' input: 'w'
           attr { key: 'T' value { type: DT_FLOAT } } }
    node { name: 'q' op: 'Mul' input: 'p' input: 'm' attr { key: 'T' value { type: DT_FLOAT } } }
    node { name: 'r' op: 'AddV2' input: 'a' input: 'q' attr { key: 'T' value { type: DT_FLOAT } } }
    node { name: 's' op: 'AddV2' input: 'r' input: 'b' attr { key: 'T' value { type: DT_FLOAT } } }
    node { name: 't' op: 'Relu' input: 's' attr { key: 'T' value { type: DT_FLOAT } } })");
  const std::vector<int64_t> shapes[] = {{}, {20}, {1}, {1, 20}, {7, 20}, {7, 1}, {2, 7, 20}};
  SessionOptions interpret;
  interpret.tier = Tier::Interpret;
  Session one = *Session::create(graph), other = *Session::create(graph, interpret);
  for (const auto &m : shapes)
    for (const auto &a : shapes)
      for (const auto &b : shapes) {
        Session::Feeds feeds = {{"x", filled({7, 5}, 1)},
                                {"w", filled({5, 20}, 2)},
                                {"m", filled(m, 3)},
                                {"a", filled(a, 4)},
                                {"b", filled(b, 5)}};
        Tensor got = one.run({"t"}, feeds).value()[0], want = other.run({"t"}, feeds).value()[0];
        ASSERT_TRUE(std::ranges::equal(got.dims(), want.dims()));
        for (int64_t i = 0; i < got.count(); ++i)
          ASSERT_NEAR(got.data<float>()[i], want.data<float>()[i], 1e-4)
              << dimsText(m) << " " << dimsText(a) << " " << dimsText(b);
      }
}

/// Pointwise convolutions with a stride after a strided one of 3 x 3 and a sum.
Graph sampledImages() {
  return *Graph::fromBytes(R"(
    node { name: 'x' op: 'Placeholder' attr { key: 'dtype' value { type: DT_FLOAT } } }
    node { name: 'y' op: 'Placeholder' attr { key: 'dtype' value { type: DT_FLOAT } } }
    node { name: 'w' op: 'Placeholder' attr { key: 'dtype' value { type: DT_FLOAT } } }
    node { name: 'v' op: 'Placeholder' attr { key: 'dtype' value { type: DT_FLOAT } } }
    node { name: 'p' op: 'Identity' input: 'v' attr { key: 'T' value { type: DT_FLOAT } }
           attr { key: '_output_shapes' value { list { shape {
             dim { size: 1 } dim { size: 1 } dim { size: 3 } dim { size: 3 } } } } } }
    node { name: 'a' op: 'Conv2D' input: 'x' input: 'w' attr { key: 'T' value { type: DT_FLOAT } }
           attr { key: 'padding' value { s: 'SAME' } }
           attr { key: 'strides' value { list { i: 1 i: 1 i: 1 i: 1 } } } }
    node { name: 's' op: 'AddV2' input: 'a' input: 'y' attr { key: 'T' value { type: DT_FLOAT } } }
    node { name: 'r' op: 'Relu' input: 's' attr { key: 'T' value { type: DT_FLOAT } } }
    node { name: 'b' op: 'Conv2D' input: 'r' input: 'p' attr { key: 'T' value { type: DT_FLOAT } }
           attr { key: 'padding' value { s: 'VALID' } }
           attr { key: 'strides' value { list { i: 1 i: 2 i: 2 i: 1 } } } })");
}

TEST(Fusion, PositionsThatNobodyLooksAtAreNotComputed) {
  SessionOptions interpret;
  interpret.tier = Tier::Interpret;
  Session one = *Session::create(sampledImages()),
          other = *Session::create(sampledImages(), interpret);
  for (const std::vector<int64_t> &y :
       {std::vector<int64_t>{2, 7, 8, 3}, {3}, {1, 1, 8, 3}, {7, 1, 3}}) {
    Session::Feeds feeds = {{"x", filled({2, 7, 8, 2}, 1)},
                            {"y", filled(y, 2)},
                            {"w", filled({3, 3, 2, 3}, 3)},
                            {"v", filled({1, 1, 3, 3}, 4)}};
    Tensor got = one.run({"b"}, feeds).value()[0], want = other.run({"b"}, feeds).value()[0];
    ASSERT_TRUE(std::ranges::equal(got.dims(), want.dims())) << dimsText(y);
    for (int64_t i = 0; i < got.count(); ++i)
      ASSERT_NEAR(got.data<float>()[i], want.data<float>()[i], 1e-4) << dimsText(y);
  }
}

TEST(Fusion, AWindowThatIsNoPointAsTheGraphSaysIsAnError) {
  Session session = *Session::create(sampledImages());
  auto result = session.run({"b"}, {{"x", filled({2, 7, 8, 2}, 1)},
                                    {"y", filled({3}, 2)},
                                    {"w", filled({3, 3, 2, 3}, 3)},
                                    {"v", filled({2, 2, 3, 3}, 4)}});
  ASSERT_FALSE(result);
  EXPECT_NE(result.error().message.find("the node requires a window of size 1"), std::string::npos)
      << result.error().message;
}

// An intermediate value can be fetched and fed; it is fused away if the request does neither.
TEST(Fusion, DependsOnWhatIsAsked) {
  Graph graph = *Graph::fromBytes(R"(
    node { name: 'x' op: 'Placeholder' attr { key: 'dtype' value { type: DT_FLOAT } } }
    node { name: 'p' op: 'MatMul' input: 'x' input: 'x' attr { key: 'T' value { type: DT_FLOAT } } }
    node { name: 'q' op: 'Mul' input: 'p' input: 'x' attr { key: 'T' value { type: DT_FLOAT } } }
    node { name: 'r' op: 'Relu' input: 'q' attr { key: 'T' value { type: DT_FLOAT } } })");
  auto number = [](float value) {
    Tensor t = *Tensor::make(DType::Float32, {1, 1});
    t.data<float>()[0] = value;
    return t;
  };
  SessionOptions options;
  options.trace = true;
  auto run = [&](const std::vector<std::string> &fetches, const Session::Feeds &feeds,
                 const std::vector<std::string> &targets = {}) {
    Session session = *Session::create(graph, options);
    std::string text;
    std::vector<Tensor> values = session.run(fetches, feeds, targets).value();
    for (const Tensor &value : values)
      text += std::to_string(static_cast<int>(value.data<float>()[0])) + " ";
    std::string trace = *session.trace();
    bool isFused = trace.find("_FusedMatMul") != trace.npos;
    return text + (isFused ? "fused" : "apart");
  };
  EXPECT_EQ(run({"r"}, {{"x", number(3)}}), "27 fused");
  EXPECT_EQ(run({"r", "q"}, {{"x", number(3)}}), "27 27 fused") << "up to q";
  EXPECT_EQ(run({"r", "p"}, {{"x", number(3)}}), "27 9 apart");
  EXPECT_EQ(run({"p"}, {{"x", number(3)}}), "9 apart");
  EXPECT_EQ(run({"r"}, {{"x", number(3)}, {"p", number(2)}}), "6 apart");
  EXPECT_EQ(run({}, {{"x", number(3)}}, {"r", "p"}), "fused") << "targets have no values";
}

// Layers of a network as graphs spell them out, with sizes known only at run time, compared with
// their separate nodes. The compiler leaves them to the kernels.
TEST(Fusion, FormsAgreeWithTheirParts) {
  Graph graph = *Graph::fromBytes(R"(
    node { name: 'x' op: 'Placeholder' attr { key: 'dtype' value { type: DT_FLOAT } } }
    node { name: 'g' op: 'Placeholder' attr { key: 'dtype' value { type: DT_FLOAT } } }
    node { name: 'b' op: 'Placeholder' attr { key: 'dtype' value { type: DT_FLOAT } } }
    node { name: 'axis' op: 'Const' attr { key: 'dtype' value { type: DT_INT32 } }
           attr { key: 'value' value { tensor { dtype: DT_INT32 tensor_shape { dim { size: 1 } } int_val: -1 } } } }
    node { name: 'e' op: 'Const' attr { key: 'dtype' value { type: DT_FLOAT } }
           attr { key: 'value' value { tensor { dtype: DT_FLOAT tensor_shape { } float_val: 0.001 } } } }
    node { name: 'm' op: 'Mean' input: 'x' input: 'axis' attr { key: 'T' value { type: DT_FLOAT } }
           attr { key: 'Tidx' value { type: DT_INT32 } } attr { key: 'keep_dims' value { b: true } } }
    node { name: 'd' op: 'SquaredDifference' input: 'x' input: 'm' attr { key: 'T' value { type: DT_FLOAT } } }
    node { name: 'v' op: 'Mean' input: 'd' input: 'axis' attr { key: 'T' value { type: DT_FLOAT } }
           attr { key: 'Tidx' value { type: DT_INT32 } } attr { key: 'keep_dims' value { b: true } } }
    node { name: 'a' op: 'AddV2' input: 'v' input: 'e' attr { key: 'T' value { type: DT_FLOAT } } }
    node { name: 'q' op: 'Rsqrt' input: 'a' attr { key: 'T' value { type: DT_FLOAT } } }
    node { name: 'f' op: 'Mul' input: 'q' input: 'g' attr { key: 'T' value { type: DT_FLOAT } } }
    node { name: 'h' op: 'Mul' input: 'm' input: 'f' attr { key: 'T' value { type: DT_FLOAT } } }
    node { name: 'k' op: 'Sub' input: 'b' input: 'h' attr { key: 'T' value { type: DT_FLOAT } } }
    node { name: 'l' op: 'Mul' input: 'x' input: 'f' attr { key: 'T' value { type: DT_FLOAT } } }
    node { name: 'n' op: 'AddV2' input: 'l' input: 'k' attr { key: 'T' value { type: DT_FLOAT } } }
    node { name: 's' op: 'Sigmoid' input: 'n' attr { key: 'T' value { type: DT_FLOAT } } }
    node { name: 'w' op: 'Mul' input: 'n' input: 's' attr { key: 'T' value { type: DT_FLOAT } } }
    node { name: 'p' op: 'Mul' input: 'w' input: 'g' attr { key: 'T' value { type: DT_FLOAT } } }
    node { name: 'o' op: 'Mul' input: 'b' input: 'g' attr { key: 'T' value { type: DT_FLOAT } } }
    node { name: 't' op: 'Sub' input: 'b' input: 'o' attr { key: 'T' value { type: DT_FLOAT } } }
    node { name: 'u' op: 'AddV2' input: 'p' input: 't' attr { key: 'T' value { type: DT_FLOAT } } }
    node { name: 'y' op: 'Relu' input: 'u' attr { key: 'T' value { type: DT_FLOAT } } })");
  SessionOptions interpret, jit;
  interpret.tier = Tier::Interpret;
  jit.tier = Tier::Jit;
  jit.trace = true;
  Session one = *Session::create(graph), two = *Session::create(graph, jit),
          other = *Session::create(graph, interpret);
  for (const auto &x : {std::vector<int64_t>{20}, {1, 20}, {7, 20}, {2, 7, 20}})
    for (const auto &g : {std::vector<int64_t>{20}, {1, 1, 20}, {1}, {3, 7, 1, 20}})
      for (const auto &b : {std::vector<int64_t>{20}, {7, 1}}) {
        Session::Feeds feeds = {{"x", filled(x, 1)}, {"g", filled(g, 3)}, {"b", filled(b, 5)}};
        auto wanted = other.run({"y"}, feeds);
        for (Session *session : {&one, &two}) {
          auto result = session->run({"y"}, feeds);
          ASSERT_EQ(result.has_value(), wanted.has_value()) << dimsText(x) << " " << dimsText(g);
          if (!result)
            continue;
          const Tensor &got = result->front(), &want = wanted->front();
          ASSERT_TRUE(std::ranges::equal(got.dims(), want.dims()));
          for (int64_t i = 0; i < got.count(); ++i)
            ASSERT_NEAR(got.data<float>()[i], want.data<float>()[i], 2e-4)
                << dimsText(x) << " " << dimsText(g) << " " << dimsText(b);
        }
      }
  std::string trace = *two.trace();
  for (const char *op : {"_LayerNorm", "_Swish", "_FusedScale"})
    EXPECT_NE(trace.find(op), trace.npos) << op;
}

} // namespace
} // namespace treadle
