#include "treadle/reference/KernelOps.h"

namespace treadle::reference {

// Returns a graph of the node alone, with an argument for each input and a result for each output.
static GraphSpec alone(const NodeSpec &node) {
  GraphSpec graph;
  NodeSpec copy = node;
  copy.controls.clear();
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    NodeSpec arg;
    arg.name = "input_" + std::to_string(i);
    arg.op = "_Arg";
    arg.outputTypes = {node.inputTypes[i]};
    auto number = static_cast<int32_t>(graph.nodes.size());
    graph.nodes.push_back(std::move(arg));
    graph.args.push_back({number, 0});
    copy.inputs[i] = {number, 0};
  }
  auto number = static_cast<int32_t>(graph.nodes.size());
  for (size_t o = 0; o < node.outputTypes.size(); ++o)
    graph.results.push_back({{number, static_cast<int32_t>(o)}, node.name, {}});
  graph.nodes.push_back(std::move(copy));
  return graph;
}

Expected<std::vector<Tensor>> KernelOps::compute(const GraphSpec &graph, int32_t node,
                                                 std::vector<Tensor> inputs) {
  // A fed value may have another dtype than the node specifies.
  const NodeSpec &spec = graph.nodes[static_cast<size_t>(node)];
  for (size_t i = 0; i < inputs.size(); ++i)
    if (DType stated = spec.inputTypes[i].dtype;
        inputs[i] && !inputs[i].isRef() && inputs[i].dtype() != stated)
      return Unexpected(invalidArgument("node '", spec.name, "' (", spec.op, "): input ", i, " is ",
                                        dtypeName(inputs[i].dtype()), ", expected ",
                                        dtypeName(stated)));
  std::unique_ptr<Plan> &plan = plans[{&graph, node}];
  if (!plan) {
    auto built = TREADLE_TRY(
        buildPlan(alone(graph.nodes[static_cast<size_t>(node)]), {&kernels, functions}));
    plan = std::move(built);
  }
  return plan->run(std::move(inputs), *run);
}

} // namespace treadle::reference
