#include "treadle/object_files/VariableReads.h"

#include "treadle/lowering/VariableGather.h"
#include "treadle/ops/OpTable.h"

using namespace mlir;

namespace treadle {
namespace {

bool gathersFromVariable(Operation *op) {
  return tfg::Node::isNode(op) && tfg::Node(op).numData() > 1 && tfg::Node(op).attr("dtype") &&
         opFacts(tfg::Node(op).opType()).readsVariables;
}

void separate(tfg::Node node, tfg::NameScope &names) {
  OpBuilder b(node.getOperation());
  auto element = cast<TypeAttr>(node.attr("dtype")).getValue();
  tfg::Node read = tfg::NodeBuilder(b, "ReadVariableOp")
                       .name(names.unique((node.name() + "/read").str()))
                       .placedAs(node)
                       .attr("dtype", node.attr("dtype"))
                       .inputs(node->getOperand(0))
                       .control(SmallVector<Value>(node.control()))
                       .results(UnrankedTensorType::get(element))
                       .build();
  tfg::Node made = tfg::gatherFrom(read->getResult(0), node, names);
  node->replaceAllUsesWith(made.getOperation());
  node->erase();
}

} // namespace

void separateVariableReads(ModuleOp module) {
  tfg::forEachBody(module, [](Block &body) {
    SmallVector<tfg::Node> found;
    for (Operation &op : body)
      if (gathersFromVariable(&op))
        found.emplace_back(&op);
    if (found.empty())
      return;
    tfg::NameScope names(body);
    for (tfg::Node node : found)
      separate(node, names);
  });
}

} // namespace treadle
