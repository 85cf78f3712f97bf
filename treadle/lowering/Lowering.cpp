#include "treadle/lowering/PrunedSubgraph.h"

#include "treadle/dialect/Regions.h"
#include "treadle/import/Keywords.h"
#include "treadle/ops/OpTable.h"
#include "treadle/rewriting/SoftEdges.h"
#include "treadle/runtime/Plan.h"
#include "treadle/tensor/Suggestions.h"

#include "treadle/lowering/Attributes.h"

#include <algorithm>
#include <charconv>

namespace treadle {

// --- names -------------------------------------------------------------------------------------

ModuleIndex::ModuleIndex(mlir::ModuleOp module) : ownContext(module.getContext()) {
  for (mlir::Operation &op : module.getBody()->getOperations()) {
    if (auto graph = mlir::dyn_cast<tfg::GraphOp>(op))
      graphOp = graph;
    else if (auto function = mlir::dyn_cast<tfg::FuncOp>(op))
      functions[function.getName()] = function;
  }
  if (graphOp)
    for (mlir::Operation &op : graphOp->getRegion(0).front())
      nodes[tfg::Node(&op).name()] = {tfg::Node(&op), nodes.size()};
}

std::string ModuleIndex::suggestions(llvm::StringRef name) const {
  std::vector<std::string_view> names(nodes.keys().begin(), nodes.keys().end());
  return didYouMean(name, names);
}

// --- nodes -------------------------------------------------------------------------------------

namespace {

// Converts the nodes of a subgraph in the order of its body, arguments first.
class Lowering {
public:
  Lowering(const ModuleIndex &index, const PrunedSubgraph &part) : index(index), part(part) {}
  Expected<GraphSpec> run();

private:
  void addArguments();
  Expected<void> addNodes();
  void addResults();
  Endpoint endpoint(mlir::Value value) const;
  Expected<NodeSpec> convertNode(tfg::Node node);
  Expected<GraphSpec> convertRegion(tfg::Node loop, unsigned number, mlir::ValueRange results);
  Expected<std::shared_ptr<const LoopSpec>> convertLoop(tfg::Node loop);
  Expected<void> addAttributes(tfg::Node node, NodeSpec &spec);
  void readReferencesForValues();

  const ModuleIndex &index;
  const PrunedSubgraph &part;
  GraphSpec spec;
  llvm::DenseMap<mlir::Value, int32_t> arguments;
  llvm::DenseMap<mlir::Operation *, int32_t> numbers;
  llvm::DenseMap<mlir::Type, ValueType> types;

  ValueType typeOf(mlir::Type type) {
    auto [it, isNew] = types.try_emplace(type);
    if (isNew)
      it->second = valueTypeOf(type);
    return it->second;
  }
};

void Lowering::addArguments() {
  for (const auto &[value, name] : part.arguments()) {
    NodeSpec arg;
    arg.name = name;
    arg.op = "_Arg";
    arg.outputTypes.push_back(typeOf(value.getType()));
    int32_t number = static_cast<int32_t>(spec.nodes.size());
    spec.nodes.push_back(std::move(arg));
    spec.args.push_back({number, 0});
    arguments[value] = number;
  }
}

Endpoint Lowering::endpoint(mlir::Value value) const {
  if (auto it = arguments.find(value); it != arguments.end())
    return {it->second, 0};
  auto result = mlir::cast<mlir::OpResult>(value);
  return {numbers.lookup(result.getOwner()), static_cast<int32_t>(result.getResultNumber())};
}

// If the op's definition is in the file, all outputs exist, in their order.
static void addOutputNames(tfg::Node node, NodeSpec &out) {
  auto list = node.attr<mlir::ArrayAttr>(graphdef::outputsKey);
  if (!list || node->hasAttr(graphdef::allOutputsKey))
    return;
  for (mlir::Attribute name : list)
    if (auto text = mlir::dyn_cast<mlir::StringAttr>(name))
      out.outputNames.push_back(text.str());
}

// Attributes that aren't lists of names are ignored; `treadle check` reports them.
static void addSoftInputs(tfg::Node node, NodeSpec &out) {
  if (!node.attr<mlir::ArrayAttr>(tfg::softInputsKey))
    return;
  auto soft = std::make_shared<SoftInputs>();
  for (llvm::StringRef name : tfg::softInputs(node))
    soft->after.push_back(name.str());
  out.soft = std::move(soft);
}

// Adds properties of the node that aren't attributes of its op.
static void addNotes(tfg::Node node, NodeSpec &out) {
  out.isSwitch = tfg::takesPredicate(node);
  if (tfg::ProblemAttr problem = tfg::programProblem(node))
    out.problem = std::make_shared<const Error>(
        Error{problem.getIsUnimplemented() ? Code::Unimplemented : Code::InvalidArgument,
              problem.getMessage().str()});
  addSoftInputs(node, out);
  addOutputNames(node, out);
}

Expected<void> Lowering::addAttributes(tfg::Node node, NodeSpec &out) {
  for (mlir::NamedAttribute named : node.attrs()) {
    llvm::StringRef key = named.getName().getValue();
    if (tfg::isAboutNode(key))
      continue;
    Expected<AttrValue> value = convertAttribute(named.getValue());
    if (!value)
      return Unexpected(
          Error{value.error().code, str("attribute '", key.str(), "': ", value.error().message)}
              .atNode(out.name, out.op));
    out.attrs.set(key, std::move(*value));
  }
  addNotes(node, out);
  if (!out.isFunctionCall)
    addDefaults(out.op, out.attrs);
  return {};
}

// Converts a region to a graph of its own.
Expected<GraphSpec> Lowering::convertRegion(tfg::Node loop, unsigned number,
                                            mlir::ValueRange results) {
  mlir::Region &region = loop->getRegion(number);
  PrunedSubgraph inner = part.inside(region.front());
  inner.name = loop.name().str();
  for (auto [i, value] : llvm::enumerate(tfg::dataArguments(region)))
    inner.addArgument(value, str("value ", i));
  for (mlir::Operation &op : region.front().without_terminator())
    inner.need(&op);
  tfg::Node end(&region.front().back());
  for (auto [i, value] : llvm::enumerate(results)) {
    tfg::Node named = end.nameAttr() ? end : tfg::definingNode(value);
    inner.addResult(value, {named ? named.name().str() : str("value ", i), {}, value.getType()});
  }
  return lower(index, inner);
}

Expected<std::shared_ptr<const LoopSpec>> Lowering::convertLoop(tfg::Node loop) {
  auto end = mlir::cast<tfg::ConditionOp>(loop->getRegion(0).front().back());
  auto next = mlir::cast<tfg::YieldOp>(loop->getRegion(1).front().back());
  auto made = std::make_shared<LoopSpec>();
  GraphSpec cond = TREADLE_TRY(convertRegion(loop, 0, end.getPredicate()));
  GraphSpec body = TREADLE_TRY(convertRegion(loop, 1, next.getForwarded()));
  made->cond = std::move(cond);
  made->body = std::move(body);
  return made;
}

Expected<NodeSpec> Lowering::convertNode(tfg::Node node) {
  NodeSpec out;
  out.name = node.name().str();
  out.op = tfg::isLoopCondition(node) ? "LoopCond" : node.opType().str();
  out.device = node.device().str();
  out.isFunctionCall = static_cast<bool>(index.function(out.op));
  // Values of `replace` are provided by the caller; no one provides a value for a node of the file.
  if (out.op == "_Arg")
    return Unexpected(
        invalidArgument("this argument has no value; use a Placeholder").atNode(out.name, out.op));
  for (mlir::Value value : node->getOperands()) {
    if (tfg::isControl(value)) {
      if (mlir::Operation *op = value.getDefiningOp(); op && numbers.contains(op))
        out.controls.push_back(numbers.lookup(op));
      continue;
    }
    out.inputs.push_back(endpoint(value));
    out.inputTypes.push_back(typeOf(value.getType()));
  }
  // Duplicate control inputs are removed.
  std::sort(out.controls.begin(), out.controls.end());
  out.controls.erase(std::unique(out.controls.begin(), out.controls.end()), out.controls.end());
  for (mlir::Value result : node.results())
    out.outputTypes.push_back(typeOf(result.getType()));
  if (tfg::regionFormOf(node.getOperation()) == tfg::RegionForm::While) {
    out.op = "While";
    out.loop = TREADLE_TRY(convertLoop(node));
    return out;
  }
  TREADLE_TRY(addAttributes(node, out));
  TREADLE_TRY(checkSignature(out));
  if (out.cluster = part.clusterOf(node.getOperation()); out.cluster)
    out.op = clusterOp;
  // The first input names the target machine; there is only one.
  if (out.op == "RemoteCall" && !out.inputs.empty()) {
    out.inputs.erase(out.inputs.begin());
    out.inputTypes.erase(out.inputTypes.begin());
  }
  out.isGradient = out.op == "SymbolicGradient";
  return out;
}

Expected<void> Lowering::addNodes() {
  int32_t next = static_cast<int32_t>(spec.nodes.size());
  part.forEachNode([&](tfg::Node node) { numbers[node.getOperation()] = next++; });
  spec.nodes.reserve(next);
  Expected<void> ok = {};
  part.forEachNode([&](tfg::Node node) {
    if (!ok)
      return;
    Expected<NodeSpec> converted = convertNode(node);
    if (converted)
      spec.nodes.push_back(std::move(*converted));
    else
      ok = Unexpected(std::move(converted.error()));
  });
  return ok;
}

void Lowering::addResults() {
  for (auto [result, value] : llvm::zip(part.results(), part.resultValues()))
    spec.results.push_back({endpoint(value), result.name, result.iterations});
}

// Ops that take a reference get all inputs unchanged.
void Lowering::readReferencesForValues() {
  for (size_t i = 0, n = spec.nodes.size(); i < n; ++i)
    for (size_t k : referencesForValues(spec.nodes[i])) {
      NodeSpec &node = spec.nodes[i];
      NodeSpec read;
      read.name = node.name;
      read.op = "_Read";
      read.inputs = {node.inputs[k]};
      read.controls = node.controls;
      read.inputTypes = {node.inputTypes[k]};
      node.inputTypes[k].isRef = false;
      read.outputTypes = {node.inputTypes[k]};
      node.inputs[k] = {static_cast<int32_t>(spec.nodes.size()), 0};
      spec.nodes.push_back(std::move(read)); // invalidates `node`
    }
}

Expected<GraphSpec> Lowering::run() {
  spec.name = part.name;
  addArguments();
  TREADLE_TRY(addNodes());
  readReferencesForValues();
  addResults();
  return std::move(spec);
}

} // namespace

Expected<GraphSpec> lower(const ModuleIndex &index, const PrunedSubgraph &part) {
  return Lowering(index, part).run();
}

} // namespace treadle
