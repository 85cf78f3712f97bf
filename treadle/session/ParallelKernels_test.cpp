// Kernels that divide their work among the threads of a session are bitwise equal to
// single-threaded ones.
#include "treadle/treadle.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

namespace treadle {
namespace {

struct Case {
  const char *op;
  std::vector<const char *> inputs;
  const char *attrs; // in addition to T
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
    {"Conv2D", {"features", "manyChannels"}, strides}, // each thread reads a part of the filter
    {"DepthwiseConv2dNative", {"image", "filter"}, strides},
    {"MaxPool", {"image"}, window},
    {"AvgPool", {"image"}, window},
    {"ConcatV2", {"image", "image", "axis"}, "attr { key: 'N' value { i: 2 } }"},
    {"Softmax", {"matrix"}, ""},
    {"Sum", {"matrix", "axis"}, indexType},
    {"Max", {"image", "axis"}, indexType},
    {"Cumsum", {"matrix", "axis"}, indexType},
};

std::string nameOf(size_t i) { return cases[i].op + std::to_string(i); }

std::string nodeText(size_t i) {
  const Case &c = cases[i];
  std::string text = "node { name: '" + nameOf(i) + "' op: '" + c.op + "'";
  for (const char *input : c.inputs)
    text += std::string(" input: '") + input + "'";
  return text + " attr { key: 'T' value { type: DT_FLOAT } }" + c.attrs + " }\n";
}

std::string graphText() {
  std::string text;
  for (const char *name :
       {"image", "matrix", "filter", "channels", "columns", "features", "manyChannels"})
    text += std::string("node { name: '") + name +
            "' op: 'Placeholder' attr { key: 'dtype' value { type: DT_FLOAT } } }\n";
  text +=
      "node { name: 'axis' op: 'Const' attr { key: 'dtype' value { type: DT_INT32 } } attr { key: "
      "'value' value { tensor { dtype: DT_INT32 tensor_shape {} int_val: 1 } } } }\n";
  for (size_t i = 0; i < std::size(cases); ++i)
    text += nodeText(i);
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
  for (size_t i = 0; i < std::size(cases); ++i)
    fetches.push_back(nameOf(i));
  auto out = session->run(fetches, {{"image:0", waves({4, 32, 32, 16})},
                                    {"matrix:0", waves({256, 256})},
                                    {"filter:0", waves({3, 3, 16, 8})},
                                    {"channels:0", waves({16})},
                                    {"columns:0", waves({16, 8})},
                                    {"features:0", waves({1, 7, 7, 256})},
                                    {"manyChannels:0", waves({3, 3, 256, 256})}});
  if (!out)
    throw std::runtime_error(out.error().message);
  return std::move(*out);
}

TEST(ParallelKernels, ComputeWhatOneThreadComputes) {
  std::vector<Tensor> alone = runAll(1);
  for (int threads : {2, 3, 5, 16}) {
    std::vector<Tensor> together = runAll(threads);
    for (size_t i = 0; i < std::size(cases); ++i) {
      ASSERT_EQ(alone[i].count(), together[i].count()) << cases[i].op;
      size_t bytes = static_cast<size_t>(alone[i].count()) * sizeof(float);
      EXPECT_EQ(std::memcmp(alone[i].raw(), together[i].raw(), bytes), 0)
          << nameOf(i) << " by " << threads << " threads";
    }
  }
}

} // namespace
} // namespace treadle
