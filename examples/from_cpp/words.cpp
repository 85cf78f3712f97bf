// Calls a SavedModel from C++, and edits a graph.
#include <treadle/treadle.h>

#include <cstdio>
#include <vector>

using namespace treadle;

static Expected<void> callModel(const char *path) {
  Model model = TREADLE_TRY(Model::load(path));
  Tensor x = Tensor::vector<float>(DType::Float32, std::vector<float>{1, 2, 3});
  for (auto &[key, value] : TREADLE_TRY(model.call("serving_default", {{"x", x}})))
    if (value.dtype() == DType::Float32)
      for (float number : value.values<float>())
        std::printf("%g ", number);
  std::printf("\n");
  return {};
}

static Expected<void> editGraph() {
  Graph graph = TREADLE_TRY(Graph::fromBytes(R"(
    node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } } })"));
  Graph::NodeInfo square{.name = "square", .op = "Mul", .inputs = {"x", "x"}};
  TREADLE_TRY(graph.addNode(square));
  Session session = TREADLE_TRY(Session::create(graph));
  std::vector<Tensor> values =
      TREADLE_TRY(session.run({"square"}, {{"x", Tensor::scalar(DType::Float32, 3.0F)}}));
  std::printf("%g\n", values[0].scalarValue<float>());
  return {};
}

int main(int argc, char **argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: words MODEL\n");
    return 2;
  }
  Expected<void> done = callModel(argv[1]);
  if (done)
    done = editGraph();
  if (!done) {
    std::fprintf(stderr, "%s\n", done.error().message.c_str());
    return 1;
  }
  return 0;
}
