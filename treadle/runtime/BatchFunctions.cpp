#include "treadle/runtime/PlanBuilder.h"

#include <algorithm>

namespace treadle::plan {

// Rewrites `y = BatchFunction(x..., captured...)` to `f = _FillBatch(x...)`, `r = call(f...,
// captured...)` and `y = _CutBatch(x0, f0, r...)`.
void expandBatchFunctions(GraphSpec &graph) {
  size_t n = graph.nodes.size();
  for (size_t i = 0; i < n; ++i) {
    if (graph.nodes[i].op != "BatchFunction")
      continue;
    NodeSpec cut = graph.nodes[i];
    size_t passed =
        std::min(cut.attrs.getOr("Tin", std::vector<DType>()).size(), cut.inputs.size());
    if (passed == 0)
      continue;
    auto fillIndex = static_cast<int32_t>(graph.nodes.size()), callIndex = fillIndex + 1;
    NodeSpec fill = cut, call = cut;
    fill.op = "_FillBatch";
    fill.inputs.resize(passed);
    fill.inputTypes.resize(passed);
    for (ValueType &type : fill.inputTypes)
      type.isRef = false;
    fill.outputTypes = fill.inputTypes;
    fill.inputTypes.assign(cut.inputTypes.begin(), cut.inputTypes.begin() + passed);
    call.op = "PartitionedCall";
    for (size_t k = 0; k < passed; ++k) {
      call.inputs[k] = {fillIndex, static_cast<int32_t>(k)};
      call.inputTypes[k] = fill.outputTypes[k];
    }
    cut.op = "_CutBatch";
    cut.inputs = {graph.nodes[i].inputs[0], {fillIndex, 0}};
    cut.inputTypes = {graph.nodes[i].inputTypes[0], fill.outputTypes[0]};
    for (size_t r = 0; r < cut.outputTypes.size(); ++r) {
      cut.inputs.push_back({callIndex, static_cast<int32_t>(r)});
      cut.inputTypes.push_back(cut.outputTypes[r]);
    }
    graph.nodes[i] = std::move(cut);
    graph.nodes.push_back(std::move(fill));
    graph.nodes.push_back(std::move(call));
  }
}

} // namespace treadle::plan
