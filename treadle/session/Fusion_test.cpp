// Chains of nodes that become one: which do, and that the values stay what they are.
#include "treadle/lowering/Fusion.h"
#include "treadle/runtime/SoftOrder.h"

#include "treadle/treadle.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace treadle {
namespace {

/// Writes down a graph over float32 values.
struct Chain {
  GraphSpec spec;

  int add(std::string op, std::vector<int> inputs, int outputs = 1) {
    NodeSpec node;
    node.name = op + std::to_string(spec.nodes.size());
    node.op = std::move(op);
    for (int input : inputs) {
      node.inputs.push_back({input, 0});
      node.inputTypes.push_back({DType::Float32});
    }
    node.outputTypes.assign(static_cast<size_t>(outputs), {DType::Float32});
    spec.nodes.push_back(std::move(node));
    return static_cast<int>(spec.nodes.size()) - 1;
  }
  template <typename T> void attr(int node, std::string_view name, T value) {
    spec.nodes[static_cast<size_t>(node)].attrs.set(name, std::move(value));
  }
  int placeholder() { return add("Placeholder", {}); }
  void result(int node) { spec.results.push_back({{node, 0}, "result", {}}); }

  /// The ops in order, placeholders left out; fused ones with what is fused.
  std::vector<std::string> fused() {
    fuseNodes(spec);
    std::vector<std::string> out;
    for (const NodeSpec &node : spec.nodes) {
      if (node.op == "Placeholder")
        continue;
      std::string text = node.op;
      for (const std::string &op : node.attrs.getOr("fused_ops", std::vector<std::string>()))
        text += " " + op;
      out.push_back(text);
    }
    return out;
  }
};

using Ops = std::vector<std::string>;

TEST(Fusion, TakesBiasFactorsSummandsAndActivation) {
  Chain g;
  int x = g.placeholder(), w = g.placeholder(), b = g.placeholder();
  int product = g.add("MatMul", {x, w});
  int biased = g.add("BiasAdd", {product, b});
  int scaled = g.add("Mul", {b, biased});
  int summed = g.add("AddV2", {scaled, x});
  g.result(g.add("Relu", {summed}));
  EXPECT_EQ(g.fused(), Ops({"_FusedMatMul BiasAdd Mul Add Relu"}));
  const NodeSpec &node = g.spec.nodes.back();
  EXPECT_EQ(node.name, "MatMul3") << "errors are the product's";
  ASSERT_EQ(node.inputs.size(), 5u);
  EXPECT_EQ(node.inputs[4].node, x);
  EXPECT_EQ(g.spec.results[0].from.node, 3);
}

TEST(Fusion, StopsAtWhatOthersSee) {
  auto ops = [](auto change) {
    Chain g;
    int x = g.placeholder(), w = g.placeholder();
    int product = g.add("MatMul", {x, w});
    int relu = g.add("Relu", {product});
    g.result(relu);
    change(g, product, relu);
    return g.fused();
  };
  EXPECT_EQ(ops([](Chain &, int, int) {}), Ops({"_FusedMatMul Relu"}));
  EXPECT_EQ(ops([](Chain &g, int product, int) { g.result(product); }), Ops({"MatMul", "Relu"}));
  EXPECT_EQ(ops([](Chain &g, int product, int) { g.result(g.add("Neg", {product})); }),
            Ops({"MatMul", "Relu", "Neg"}));
  EXPECT_EQ(ops([](Chain &g, int product, int relu) {
              g.spec.nodes[static_cast<size_t>(relu)].controls = {product};
            }),
            Ops({"MatMul", "Relu"}));
  EXPECT_EQ(ops([](Chain &g, int product, int) {
              g.spec.nodes[static_cast<size_t>(product)].outputTypes[0].dtype = DType::Int32;
            }),
            Ops({"MatMul", "Relu"}));
}

TEST(Fusion, WaitsForWhatItsPartsWaitedFor) {
  Chain g;
  int x = g.placeholder(), first = g.placeholder(), second = g.placeholder();
  int product = g.add("MatMul", {x, x}), relu = g.add("Relu", {product});
  g.spec.nodes[static_cast<size_t>(product)].controls = {first};
  g.spec.nodes[static_cast<size_t>(relu)].controls = {first, second};
  g.result(relu);
  EXPECT_EQ(g.fused(), Ops({"_FusedMatMul Relu"}));
  EXPECT_EQ(g.spec.nodes.back().controls, (std::vector<int32_t>{first, second}));
}

TEST(Fusion, TwoChainsThatMeetKeepTheirOwn) {
  Chain g;
  int x = g.placeholder();
  int a = g.add("Relu", {g.add("MatMul", {x, x})}), b = g.add("Mul", {g.add("MatMul", {x, x}), x});
  g.result(g.add("AddV2", {a, b}));
  EXPECT_EQ(g.fused(), Ops({"_FusedMatMul Relu", "_FusedMatMul Mul Add"}));
}

/// A convolution of a padded image. `change` gets the graph, the Pad and the convolution.
template <typename Change> GraphSpec padded(const std::vector<int32_t> &sizes, Change change) {
  Chain g;
  int x = g.placeholder(), w = g.placeholder(), paddings = g.add("Const", {});
  Tensor value = *Tensor::make(DType::Int32, {static_cast<int64_t>(sizes.size() / 2), 2});
  std::ranges::copy(sizes, value.data<int32_t>());
  g.attr(paddings, "value", value);
  int pad = g.add("Pad", {x, paddings}), convolution = g.add("DepthwiseConv2dNative", {pad, w});
  g.attr(convolution, "padding", std::string("VALID"));
  g.result(g.add("Relu", {convolution}));
  change(g, pad, convolution);
  fuseNodes(g.spec);
  return std::move(g.spec);
}

TEST(Fusion, AConvolutionAddsItsMargin) {
  auto nothing = [](Chain &, int, int) {};
  GraphSpec spec = padded({0, 0, 1, 2, 3, 4, 0, 0}, nothing);
  const NodeSpec &node = spec.nodes.back();
  EXPECT_EQ(node.op, "_FusedDepthwiseConv2dNative");
  EXPECT_EQ(node.inputs[0].node, 0);
  EXPECT_EQ(node.attrs.getOr<std::string>("padding", ""), "EXPLICIT");
  EXPECT_EQ(node.attrs.getOr("explicit_paddings", std::vector<int64_t>()),
            (std::vector<int64_t>{0, 0, 1, 2, 3, 4, 0, 0}));

  auto keepsPad = [](const GraphSpec &graph) {
    return std::ranges::count(graph.nodes, "Pad", &NodeSpec::op) == 1;
  };
  EXPECT_FALSE(keepsPad(spec));
  EXPECT_TRUE(keepsPad(padded({0, 0, 1, 2, 3, 4, 0, 1}, nothing))) << "zeros among the channels";
  EXPECT_TRUE(keepsPad(padded({1, 0, 1, 2, 3, 4, 0, 0}, nothing))) << "an image of zeros";
  EXPECT_TRUE(keepsPad(padded({0, 0, -1, 2, 3, 4, 0, 0}, nothing))) << "an error to come";
  EXPECT_TRUE(keepsPad(padded({0, 0, 1, 2, 0, 0}, nothing))) << "another rank";
  EXPECT_TRUE(keepsPad(padded({0, 0, 1, 2, 3, 4, 0, 0}, [](Chain &g, int, int convolution) {
    g.attr(convolution, "padding", std::string("SAME"));
  }))) << "a window over zeros and the margin";
  EXPECT_TRUE(keepsPad(padded({0, 0, 1, 2, 3, 4, 0, 0}, [](Chain &g, int pad, int) {
    g.result(pad);
  }))) << "somebody asks for it";
}

TEST(Fusion, NormalisationForTrainingStays) {
  for (bool isTraining : {true, false}) {
    Chain g;
    int x = g.placeholder();
    int conv = g.add("Conv2D", {x, x}), norm = g.add("FusedBatchNormV3", {conv, x, x, x, x}, 6);
    g.attr(norm, "is_training", isTraining);
    g.attr(norm, "epsilon", 0.25F);
    g.result(norm);
    EXPECT_EQ(g.fused(), isTraining ? Ops({"Conv2D", "FusedBatchNormV3"})
                                    : Ops({"_FusedConv2D FusedBatchNorm"}));
    if (!isTraining)
      EXPECT_EQ(g.spec.nodes.back().attrs.getOr("epsilon", 0.0F), 0.25F);
  }
}

TEST(Fusion, ChannelsFirstStay) {
  Chain g;
  int x = g.placeholder(), conv = g.add("Conv2D", {x, x});
  g.attr(conv, "data_format", std::string("NCHW"));
  g.result(g.add("Relu", {conv}));
  EXPECT_EQ(g.fused(), Ops({"Conv2D", "Relu"}));
}

TEST(Fusion, TheInterpreterTakesNodesOneByOneAndAgrees) {
  // The shapes of what is added and multiplied are known only when it runs.
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
  auto filled = [](std::vector<int64_t> dims, int seed) {
    Tensor t = *Tensor::make(DType::Float32, dims);
    for (int64_t i = 0; i < t.count(); ++i)
      t.data<float>()[i] = static_cast<float>((i * 29 + seed) % 23 - 11) / 4;
    return t;
  };
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

/// A step of a long short-term memory as Keras writes it.
struct LstmStep : Chain {
  int sums = placeholder(), bias = placeholder(), cell = placeholder();
  int biased = add("BiasAdd", {sums, bias});
  int split = add("Split", {axis(), biased}, 4);
  int input = gate("Sigmoid", 0), forget = gate("Sigmoid", 1), fresh = gate("Tanh", 2);
  int next = add("AddV2", {add("Mul", {forget, cell}), add("Mul", {input, fresh})});
  int opened = gate("Sigmoid", 3);
  int output = add("Mul", {opened, add("Tanh", {next})});

  int axis() {
    int node = add("Const", {});
    attr(node, "value", Tensor::scalar<int32_t>(DType::Int32, 1));
    spec.nodes.back().outputTypes[0].dtype = DType::Int32;
    return node;
  }
  int gate(std::string op, int part) {
    int node = add(std::move(op), {split});
    spec.nodes.back().inputs[0].output = part;
    return node;
  }
};

TEST(Fusion, MakesOneNodeOfAnLstmsGates) {
  LstmStep g;
  g.result(g.output);
  g.result(g.next);
  g.result(g.add("Neg", {g.output}));
  EXPECT_EQ(g.fused(), Ops({"Const", "_FusedLstmGates", "Neg"}));
  const NodeSpec &node = g.spec.nodes[4];
  ASSERT_EQ(node.inputs.size(), 3u);
  EXPECT_EQ(node.inputs[0].node, g.sums);
  EXPECT_EQ(node.inputs[1].node, g.cell);
  EXPECT_EQ(node.inputs[2].node, g.bias);
  EXPECT_EQ(node.attrs.getOr("gates", std::vector<int64_t>()), std::vector<int64_t>({0, 1, 2, 3}));
  EXPECT_EQ(g.spec.results[0].from, (Endpoint{4, 1}));
  EXPECT_EQ(g.spec.results[1].from, (Endpoint{4, 0}));
  EXPECT_EQ(g.spec.nodes[5].inputs[0], (Endpoint{4, 1}));
}

TEST(Fusion, LeavesGatesApartThatOthersSee) {
  for (int LstmStep::*seen : {&LstmStep::biased, &LstmStep::input, &LstmStep::forget,
                              &LstmStep::fresh, &LstmStep::opened, &LstmStep::split}) {
    LstmStep g;
    g.result(g.output);
    g.result(g.*seen);
    Ops ops = g.fused();
    bool isFused = std::ranges::count(ops, "_FusedLstmGates") == 1;
    EXPECT_EQ(isFused, seen == &LstmStep::biased) << g.*seen; // then without the bias
  }
  LstmStep twice; // two gates of one part are no gates
  twice.spec.nodes[static_cast<size_t>(twice.forget)].inputs[0].output = 0;
  twice.result(twice.output);
  EXPECT_EQ(std::ranges::count(twice.fused(), "_FusedLstmGates"), 0);
}

// A wish for an order stops nothing, and is the fused node's.
TEST(Fusion, GoesOnOverSoftEdges) {
  Chain g;
  int x = g.placeholder(), w = g.placeholder(), b = g.placeholder();
  int product = g.add("MatMul", {x, w});
  int biased = g.add("BiasAdd", {product, b});
  int other = g.add("Neg", {x});
  auto follow = [&](int node, int after) {
    g.spec.nodes[static_cast<size_t>(node)].soft = std::make_shared<SoftInputs>(
        SoftInputs{{g.spec.nodes[static_cast<size_t>(after)].name}, {}});
  };
  follow(biased, other);
  int last = g.add("Abs", {x});
  follow(last, biased);
  g.result(g.add("Relu", {biased}));
  g.result(last);
  EXPECT_EQ(g.fused(), (Ops{"Neg", "Abs", "_FusedMatMul BiasAdd Relu"}));
  std::vector<std::string> kept;
  for (SoftEdge edge : softEdges(g.spec))
    kept.push_back(g.spec.nodes[static_cast<size_t>(edge.from)].op + " before " +
                   g.spec.nodes[static_cast<size_t>(edge.to)].op);
  EXPECT_EQ(kept, (Ops{"_FusedMatMul before Abs", "Neg before _FusedMatMul"}));
}

} // namespace
} // namespace treadle
