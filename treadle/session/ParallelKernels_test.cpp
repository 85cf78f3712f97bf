// Kernels that divide their work among a session's threads: what they compute is what one thread
// computes.
#include "treadle/treadle.h"

#include <gtest/gtest.h>

#include <cmath>

namespace treadle {
namespace {

struct Case {
  const char *op;
  std::vector<const char *> inputs;
  const char *attrs; // beside T
};

constexpr const char *window = "attr { key: 'ksize' value { list { i: 1 i: 2 i: 2 i: 1 } } }"
                               "attr { key: 'strides' value { list { i: 1 i: 2 i: 2 i: 1 } } }"
                               "attr { key: 'padding' value { s: 'SAME' } }";
constexpr const char *strides = "attr { key: 'strides' value { list { i: 1 i: 1 i: 1 i: 1 } } }"
                                "attr { key: 'padding' value { s: 'SAME' } }";
constexpr const char *indexType = "attr { key: 'Tidx' value { type: DT_INT32 } }";

const Case cases[] = {
    {"AddV2", {"image", "image"}, ""},
    {"Mul", {"image", "channels"}, ""},
    {"_FusedScale",
     {"image", "channels", "channels"},
     "attr { key: 'num_args' value { i: 2 } }"
     "attr { key: 'fused_ops' value { list { s: 'Mul' s: 'Add' s: 'Tanh' } } }"},
    {"_Swish", {"image"}, ""},
    {"Tanh", {"image"}, ""},
    {"Lgamma", {"matrix"}, ""},
    {"Igamma", {"matrix", "matrix"}, ""},
    {"MatMul", {"matrix", "matrix"}, ""},
    {"BatchMatMulV2", {"image", "image"}, "attr { key: 'adj_y' value { b: true } }"},
    {"BatchMatMulV3",
     {"image", "columns"},
     "attr { key: 'Ta' value { type: DT_FLOAT } } attr { key: 'Tb' value { type: DT_FLOAT } }"
     "attr { key: 'Tout' value { type: DT_FLOAT } }"},
    {"Einsum",
     {"image", "image"},
     "attr { key: 'N' value { i: 2 } } attr { key: 'equation' value { s: 'abcd,abed->abce' } }"},
    {"Conv2D", {"image", "filter"}, strides},
    {"DepthwiseConv2dNative", {"image", "filter"}, strides},
    {"MaxPool", {"image"}, window},
    {"AvgPool", {"image"}, window},
    {"ConcatV2", {"image", "image", "axis"}, "attr { key: 'N' value { i: 2 } }"},
    {"Softmax", {"matrix"}, ""},
    {"Sum", {"matrix", "axis"}, indexType},
    {"Max", {"image", "axis"}, indexType},
    {"Cumsum", {"matrix", "axis"}, indexType},
};

std::string nodeText(const Case &c) {
  std::string text = std::string("node { name: '") + c.op + "' op: '" + c.op + "'";
  for (const char *input : c.inputs)
    text += std::string(" input: '") + input + "'";
  return text + " attr { key: 'T' value { type: DT_FLOAT } }" + c.attrs + " }\n";
}

std::string graphText() {
  std::string text;
  for (const char *name : {"image", "matrix", "filter", "channels", "columns"})
    text += std::string("node { name: '") + name +
            "' op: 'Placeholder' attr { key: 'dtype' value { type: DT_FLOAT } } }\n";
  text +=
      "node { name: 'axis' op: 'Const' attr { key: 'dtype' value { type: DT_INT32 } } attr { key: "
      "'value' value { tensor { dtype: DT_INT32 tensor_shape {} int_val: 1 } } } }\n";
  for (const Case &c : cases)
    text += nodeText(c);
  return text;
}

Tensor waves(std::vector<int64_t> dims) {
  Tensor t = *Tensor::make(DType::Float32, dims);
  for (int64_t i = 0; i < t.count(); ++i)
    t.data<float>()[i] = 2 + std::sin(static_cast<float>(i));
  return t;
}

std::vector<Tensor> runAll(int threads) {
  SessionOptions options;
  options.threads = threads;
  Expected<Graph> graph = Graph::fromBytes(graphText());
  if (!graph)
    throw std::runtime_error(graph.error().message);
  Expected<Session> session = Session::create(*graph, options);
  if (!session)
    throw std::runtime_error(session.error().message);
  std::vector<std::string> fetches;
  for (const Case &c : cases)
    fetches.push_back(c.op);
  auto out = session->run(fetches, {{"image:0", waves({4, 32, 32, 16})},
                                    {"matrix:0", waves({256, 256})},
                                    {"filter:0", waves({3, 3, 16, 8})},
                                    {"channels:0", waves({16})},
                                    {"columns:0", waves({16, 8})}});
  if (!out)
    throw std::runtime_error(out.error().message);
  return std::move(*out);
}

TEST(ParallelKernels, ComputeWhatOneThreadComputes) {
  std::vector<Tensor> alone = runAll(1), together = runAll(4);
  for (size_t i = 0; i < std::size(cases); ++i) {
    ASSERT_EQ(alone[i].count(), together[i].count()) << cases[i].op;
    for (int64_t j = 0; j < alone[i].count(); ++j) {
      float expected = alone[i].data<float>()[j];
      ASSERT_NEAR(together[i].data<float>()[j], expected, 1e-5f * std::abs(expected))
          << cases[i].op << ", element " << j;
    }
  }
}

} // namespace
} // namespace treadle
