#include "treadle/view/Nodes.h"

#include "treadle/analysis/shapes/TypeShapes.h"
#include "treadle/dialect/NodeAttributes.h"
#include "treadle/dialect/SourceLocation.h"
#include "treadle/explain/ClusterExplanation.h"
#include "treadle/ops/OpTable.h"
#include "treadle/rewriting/Frames.h"
#include "treadle/rewriting/Rewriting.h"
#include "treadle/rewriting/SoftEdges.h"

using namespace mlir;

namespace treadle::view {
namespace {

using tfg::Node;

/// Returns whether the scene has a separate field for the attribute.
bool isShownElsewhere(Node node, NamedAttribute attr) {
  return node.isKeyword(attr.getName()) || attr.getName() == tfg::softInputsKey;
}

/// Returns whether the node is the initial value of a chain, which tfg-deps-to-chains creates for a
/// loop with ordered side effects.
bool isChainStart(Node node) { return node.opType() == "Const" && node.name().ends_with("/chain"); }

} // namespace

uint32_t Nodes::addNode(Operation *op, StringRef name, StringRef type) {
  auto number = static_cast<uint32_t>(operations.size());
  operations.push_back(op);
  nodeName.push_back(strings.number(name));
  nodeOp.push_back(strings.number(type));
  nodeDevice.push_back(0);
  nodeLine.push_back(0);
  nodeAttrs.push_back(0);
  nodeFrame.push_back(-1);
  nodeCluster.push_back(-1);
  nodeWhy.push_back(0);
  if (op)
    numbers[op] = number;
  return number;
}

void Nodes::describe(uint32_t number, Node node) {
  nodeDevice[number] = strings.number(node.device());
  nodeLine[number] = strings.number(sourceLine(node->getLoc()));
  std::string text;
  for (NamedAttribute attr : node.attrs())
    if (!isShownElsewhere(node, attr))
      text += str(text.empty() ? "" : "\n", attr.getName().str(), " = ",
                  attributes.of(attr.getValue()));
  nodeAttrs[number] = strings.number(text);
}

uint32_t Nodes::typeOf(Value value) {
  auto type = dyn_cast<TensorType>(value.getType());
  if (!type)
    return 0;
  if (auto shape = known.find(value); shape != known.end() && shape->second.shape.hasRank())
    type = tfg::tensorOf(shape->second.shape, type.getElementType());
  auto [entry, isNew] = types.try_emplace(type, 0);
  if (isNew)
    entry->second = strings.number(typeText(type));
  return entry->second;
}

void Nodes::addOutputs(ValueRange values) {
  for (Value value : values)
    outType.push_back(typeOf(value));
  outBegin.push_back(static_cast<uint32_t>(outType.size()));
}

void Nodes::addEdge(Value value) {
  bool isControl = tfg::isControl(value);
  if (auto argument = arguments.find(value); argument != arguments.end()) {
    edgeFrom.push_back(argument->second);
    edgePort.push_back(isControl ? -1 : 0);
    edgeKind.push_back(static_cast<uint8_t>(isControl ? EdgeKind::Control : EdgeKind::Data));
    return;
  }
  Node from = tfg::definingNode(value);
  auto number = from ? numbers.find(from.getOperation()) : numbers.end();
  if (number == numbers.end())
    return; // of a node that isn't shown
  bool isPlain = value.getDefiningOp() == from.getOperation();
  EdgeKind kind = isControl                                      ? EdgeKind::Control
                  : chains.contains(value)                       ? EdgeKind::Chain
                  : tfg::feedsNextIteration(from.getOperation()) ? EdgeKind::Back
                                                                 : EdgeKind::Data;
  edgeFrom.push_back(number->second);
  edgePort.push_back(isControl ? -1
                     : isPlain ? static_cast<int32_t>(cast<OpResult>(value).getResultNumber())
                               : 0);
  edgeKind.push_back(static_cast<uint8_t>(kind));
}

void Nodes::addEdges(Operation *op, const llvm::StringMap<uint32_t> &named) {
  for (Value value : op->getOperands())
    addEdge(value);
  if (Node::isNode(op))
    for (StringRef name : tfg::softInputs(Node(op)))
      if (auto from = named.find(name); from != named.end()) {
        edgeFrom.push_back(from->second);
        edgePort.push_back(-1);
        edgeKind.push_back(static_cast<uint8_t>(EdgeKind::Soft));
      }
}

void Nodes::findChains(Block &block) {
  SmallVector<Value> work;
  auto reach = [&](ValueRange values) {
    for (Value value : values)
      if (chains.insert(value).second)
        work.push_back(value);
  };
  for (Operation &op : block)
    if (Node::isNode(&op) && isChainStart(Node(&op)))
      reach(Node(&op).results());
  while (!work.empty())
    for (Operation *user : work.pop_back_val().getUsers())
      if (Node::isNode(user) && forwardsInput(opKind(Node(user).opType())))
        reach(Node(user).results());
}

/// Enters are drawn in the loop that they lead into.
void Nodes::addFrames(Block &block, uint32_t first) {
  if (!tfg::hasFrames(block))
    return;
  tfg::FrameGraph graph(block);
  auto base = static_cast<int32_t>(frames.size());
  std::map<std::pair<tfg::FrameGraph::Index, std::string_view>, int32_t> byName; // and its parent
  for (const tfg::FrameGraph::Frame &frame : graph.frames()) {
    byName[{frame.parent, frame.name}] = static_cast<int32_t>(frames.size());
    frames.push_back(
        {static_cast<int32_t>(bodies.size()) - 1, frame.name,
         frame.parent == tfg::FrameGraph::none ? -1 : base + static_cast<int32_t>(frame.parent),
         10});
  }
  for (uint32_t number = first; number < operations.size(); ++number) {
    Operation *op = operations[number];
    if (!op || !Node::isNode(op))
      continue;
    Node node(op);
    tfg::FrameGraph::Index around = graph.frameOf(graph.indexOf(node));
    nodeFrame[number] = around == tfg::FrameGraph::none ? -1 : base + static_cast<int32_t>(around);
    if (!tfg::entersFrame(op))
      continue;
    StringAttr name = tfg::frameName(node);
    auto entered = byName.find({around, name ? std::string_view(name.getValue()) : ""});
    if (entered == byName.end())
      continue;
    nodeFrame[number] = entered->second;
    frames[static_cast<size_t>(entered->second)].parallelIterations = tfg::parallelIterations(node);
  }
}

void Nodes::addArguments(tfg::FuncOp function) {
  for (unsigned i = 0; i < function.getNumDataArguments(); ++i) {
    BlockArgument argument = function.getDataArgument(i);
    uint32_t number = addNode(nullptr, function.getDataArgumentName(i), "_Arg");
    arguments[argument] = arguments[tfg::FuncOp::getControlTokenOf(argument)] = number;
    addOutputs(ValueRange(argument));
    inBegin.push_back(static_cast<uint32_t>(edgeFrom.size()));
  }
}

void Nodes::addResults(tfg::ReturnOp end) {
  for (auto [i, value] : llvm::enumerate(end->getOperands())) {
    bool isControl = tfg::isControl(value);
    addNode(nullptr, str(isControl ? "control result " : "result ", i),
            isControl ? "_ControlResult" : "_Retval");
    addEdge(value);
    addOutputs({});
    inBegin.push_back(static_cast<uint32_t>(edgeFrom.size()));
  }
}

void Nodes::addBody(Block &block, Body body, const std::set<Operation *> *needed,
                    tfg::FuncOp function) {
  body.first = static_cast<uint32_t>(operations.size());
  bodies.push_back(std::move(body));
  bool isGeneric = function && function.getGeneric();
  known = shapes && !isGeneric ? shapes->shapesOf(block) : tfg::ValueShapes();
  if (function)
    addArguments(function);
  auto first = static_cast<uint32_t>(operations.size());
  llvm::StringMap<uint32_t> named;
  for (Operation &op : block)
    if (Node::isNode(&op) && (!needed || needed->contains(&op))) {
      Node node(&op);
      uint32_t number = addNode(&op, node.name(), node.opType());
      describe(number, node);
      named[node.name()] = number;
    }
  findChains(block);
  auto end = static_cast<uint32_t>(operations.size());
  for (uint32_t number = first; number < end; ++number) {
    addEdges(operations[number], named);
    addOutputs(Node(operations[number]).results());
    inBegin.push_back(static_cast<uint32_t>(edgeFrom.size()));
  }
  if (function)
    addResults(function.getReturn());
  if (!isGeneric)
    addFrames(block, first);
  bodies.back().end = static_cast<uint32_t>(operations.size());
}

void Nodes::addFunction(tfg::FuncOp function) {
  functions[function.getName()] = static_cast<uint32_t>(bodies.size());
  addBody(function.getEntry(), {function.getName().str(), "function", 0, 0}, nullptr, function);
}

void Nodes::addCall(uint32_t node, StringRef function, StringRef role) {
  auto body = functions.find(function);
  if (body == functions.end())
    return;
  callNode.push_back(node);
  callBody.push_back(body->second);
  callRole.push_back(strings.number(role));
}

void Nodes::connectCalls() {
  forEach([&](uint32_t number, Node node) {
    addCall(number, node.opType(), "call");
    for (NamedAttribute attr : node.attrs())
      tfg::forEachFunctionName(attr.getValue(), [&](StringRef function) {
        addCall(number, function, attr.getName().getValue());
      });
  });
}

uint32_t Nodes::resource(const std::string &text) {
  auto [entry, isNew] = resourceNumbers.try_emplace(text, static_cast<uint32_t>(resources.size()));
  if (isNew)
    resources.push_back(text);
  return entry->second;
}

void Nodes::addEffects(const tfg::EffectAnalysis &analysis, ModuleOp module) {
  forEach([&](uint32_t number, Node node) {
    if (node->getParentOfType<ModuleOp>() != module)
      return;
    std::map<uint32_t, uint8_t> writes; // by resource; parts of a resource are merged here
    for (tfg::Effect effect : analysis.of(node))
      writes[resource(analysis.resource(effect.resource).text)] |= effect.writes ? 1 : 0;
    for (auto [touched, isWritten] : writes) {
      effectNode.push_back(number);
      effectResource.push_back(touched);
      effectWrites.push_back(isWritten);
    }
  });
}

int32_t Nodes::find(StringRef where, StringRef name) {
  if (byName.empty())
    for (const Body &body : bodies)
      if (body.kind != "flat")
        for (uint32_t number = body.first; number < body.end; ++number)
          byName[body.name].try_emplace(strings[nodeName[number]], number);
  auto body = byName.find(where);
  if (body == byName.end())
    return -1;
  auto node = body->second.find(name);
  return node == body->second.end() ? -1 : static_cast<int32_t>(node->second);
}

int32_t Nodes::find(Operation *op) const {
  auto number = numbers.find(op);
  return number == numbers.end() ? -1 : static_cast<int32_t>(number->second);
}

int32_t Nodes::frame(StringRef where, StringRef name) const {
  for (auto [i, frame] : llvm::enumerate(frames)) {
    const Body &body = bodies[static_cast<size_t>(frame.body)];
    if (frame.name == name && body.kind != "flat" && body.name == where)
      return static_cast<int32_t>(i);
  }
  return -1;
}

void Nodes::addColumns(ColumnFile &file) const {
  file.add("nodeName", nodeName);
  file.add("nodeOp", nodeOp);
  file.add("nodeDevice", nodeDevice);
  file.add("nodeLine", nodeLine);
  file.add("nodeAttrs", nodeAttrs);
  file.add("nodeFrame", nodeFrame);
  file.add("nodeCluster", nodeCluster);
  file.add("nodeWhy", nodeWhy);
  file.add("outBegin", outBegin);
  file.add("outType", outType);
  file.add("inBegin", inBegin);
  file.add("edgeFrom", edgeFrom);
  file.add("edgePort", edgePort);
  file.add("edgeKind", edgeKind);
  file.add("effectNode", effectNode);
  file.add("effectResource", effectResource);
  file.add("effectWrites", effectWrites);
  file.add("callNode", callNode);
  file.add("callBody", callBody);
  file.add("callRole", callRole);
  file.add(strings);
}

} // namespace treadle::view
