#include "treadle/graph/EditIndex.h"

#include "treadle/dialect/NodeAttributes.h"

using namespace mlir;

namespace treadle {

void EditIndexDeleter::operator()(EditIndex *index) const { delete index; }

EditIndex::EditIndex(const Graph::Impl &impl)
    : context(impl.context.get()), types(impl.context.get()) {
  for (Operation &op : *impl.module->getBody())
    if (auto function = dyn_cast<tfg::FuncOp>(op))
      functions[function.getName()] = function;
    else if (auto graphOp = dyn_cast<tfg::GraphOp>(op))
      graph = graphOp;
  if (graph)
    for (Operation &op : graph.getNodes().front())
      if (tfg::Node::isNode(&op)) {
        nodes[tfg::Node(&op).name()] = tfg::Node(&op);
        mayHaveSoftEdges |= op.hasAttr(tfg::softInputsKey);
      }
}

tfg::TopologicalOrder &EditIndex::order() {
  if (!topologicalOrder)
    topologicalOrder.emplace(graph.getNodes().front());
  return *topologicalOrder;
}

SmallVector<tfg::Node> EditIndex::nodesWithSoftEdges() {
  SmallVector<tfg::Node> following;
  if (mayHaveSoftEdges)
    for (Operation &op : graph.getNodes().front())
      if (tfg::Node::isNode(&op) && op.hasAttr(tfg::softInputsKey))
        following.emplace_back(&op);
  return following;
}

Type EditIndex::tensor(ValueType type) {
  Type element = types.element(static_cast<int>(type.dtype));
  if (!element || type.dtype == DType::Invalid)
    return {};
  return type.isRef ? types.referenceTensor(element) : types.tensor(element);
}

Expected<tfg::Node> EditIndex::node(StringRef name) const {
  auto entry = nodes.find(name);
  if (entry != nodes.end())
    return entry->second;
  return Unexpected(notFound("there is no node '", name.str(), "' in the graph"));
}

Expected<Value> EditIndex::value(StringRef name) const {
  StringRef rest = name;
  bool isToken = rest.consume_front("^");
  auto [nodeName, output] = rest.split(':');
  tfg::Node from = TREADLE_TRY(node(nodeName));
  if (isToken)
    return from.controlResult();
  unsigned index = 0;
  if (!output.empty() && output.getAsInteger(10, index))
    return Unexpected(
        invalidArgument("'", name.str(), "' is not a value; expected 'x:0', 'x' or '^x'"));
  if (index >= from.numResults())
    return Unexpected(notFound("there is no value '", name.str(), "': '", nodeName.str(), "' (",
                               from.opType().str(), ") has ", from.numResults(), " outputs"));
  return from.results()[index];
}

std::string nameOf(Value value) {
  std::string node = tfg::Node(value.getDefiningOp()).name().str();
  if (tfg::isControl(value))
    return "^" + node;
  return str(node, ":", cast<OpResult>(value).getResultNumber());
}

} // namespace treadle
