#include "treadle/lowering/Lowering.h"

#include "treadle/runtime/Plan.h"
#include "treadle/tensor/Suggestions.h"

#include "treadle/lowering/Attributes.h"
#include "treadle/ops/OpTable.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/StringSet.h"

#include <algorithm>
#include <charconv>

namespace treadle {

// --- names -------------------------------------------------------------------------------------

ModuleIndex::ModuleIndex(mlir::ModuleOp module) {
  for (mlir::Operation &op : module.getBody()->getOperations()) {
    if (auto graph = mlir::dyn_cast<tfg::GraphOp>(op))
      graphOp = graph;
    else if (auto function = mlir::dyn_cast<tfg::FuncOp>(op))
      functions[function.getName()] = function;
  }
  if (graphOp)
    for (mlir::Operation &op : graphOp->getRegion(0).front())
      nodes[tfg::Node(&op).name()] = tfg::Node(&op);
}

std::string ModuleIndex::suggestions(llvm::StringRef name) const {
  std::vector<std::string_view> names(nodes.keys().begin(), nodes.keys().end());
  return didYouMean(name, names);
}

// --- nodes -------------------------------------------------------------------------------------

namespace {

// Converts a set of nodes of one block, in the block's order.
class Lowering {
public:
  // Conditionals dissolve in a session's graph and in what dissolves into it.
  Lowering(const ModuleIndex &index, bool dissolves) : index(index), dissolves(dissolves) {}

  void replace(mlir::Value value, std::string name);
  void need(mlir::Operation *op) {
    if (needed.insert(op).second)
      pending.push_back(op);
  }
  void need(mlir::Value value);
  void needEverythingBehind();
  void want(mlir::Value value) { wanted.insert(value); }
  Expected<void> convert(mlir::Block &block);
  Endpoint endpoint(mlir::Value value) const;
  Endpoint emptyTensor(mlir::Type type);

  GraphSpec spec;

private:
  Expected<NodeSpec> convertNode(tfg::Node node);
  Expected<void> addAttributes(tfg::Node node, NodeSpec &spec);
  void addWantedResults(tfg::Node node, NodeSpec &spec);

  void markGradient(NodeSpec &spec);
  bool isDissolved(tfg::Node node) const;

  const ModuleIndex &index;
  bool dissolves;
  llvm::DenseMap<mlir::Value, int32_t> replaced; // values that are arguments
  llvm::DenseSet<mlir::Operation *> needed;
  llvm::DenseSet<mlir::Value> wanted; // fetched, or a result of the function
  std::vector<mlir::Operation *> pending;
  llvm::DenseMap<mlir::Operation *, int32_t> numbers;
  llvm::DenseMap<mlir::Type, ValueType> types;

  ValueType typeOf(mlir::Type type) {
    auto [it, isNew] = types.try_emplace(type);
    if (isNew)
      it->second = valueTypeOf(type);
    return it->second;
  }
};

void Lowering::replace(mlir::Value value, std::string name) {
  NodeSpec arg;
  arg.name = std::move(name);
  arg.op = "_Arg";
  arg.outputTypes.push_back(typeOf(value.getType()));
  int32_t number = static_cast<int32_t>(spec.nodes.size());
  spec.nodes.push_back(std::move(arg));
  spec.args.push_back({number, 0});
  replaced[value] = number;
}

// A fed placeholder has nothing else to do: who waits for it waits for nothing.
bool isFedPlaceholder(mlir::Operation *op, const llvm::DenseMap<mlir::Value, int32_t> &replaced) {
  return op->getNumResults() == 2 && replaced.contains(op->getResult(0)) &&
         op->getName().stripDialect().starts_with("Placeholder");
}

void Lowering::need(mlir::Value value) {
  if (replaced.contains(value))
    return;
  if (mlir::Operation *op = value.getDefiningOp(); op && !isFedPlaceholder(op, replaced))
    need(op);
}

void Lowering::needEverythingBehind() {
  while (!pending.empty()) {
    mlir::Operation *op = pending.back();
    pending.pop_back();
    for (mlir::Value operand : op->getOperands())
      need(operand);
  }
}

Endpoint Lowering::endpoint(mlir::Value value) const {
  if (auto it = replaced.find(value); it != replaced.end())
    return {it->second, 0};
  auto result = mlir::cast<mlir::OpResult>(value);
  return {numbers.lookup(result.getOwner()), static_cast<int32_t>(result.getResultNumber())};
}

// What stands for a value that nobody wants.
Endpoint Lowering::emptyTensor(mlir::Type type) {
  NodeSpec node;
  node.name = "unwanted";
  node.op = "Const";
  ValueType value = typeOf(type);
  node.outputTypes.push_back(value);
  node.attrs.set("dtype", TypeAttr{value.dtype, value.isRef});
  node.attrs.set("value", *Tensor::make(value.dtype, {0}));
  spec.nodes.push_back(std::move(node));
  return {static_cast<int32_t>(spec.nodes.size()) - 1, 0};
}

// What isn't a list of names is no wish; `treadle check` says so.
static void addSoftInputs(mlir::Attribute attribute, NodeSpec &out) {
  auto list = mlir::dyn_cast<mlir::ArrayAttr>(attribute);
  if (!list)
    return;
  auto soft = std::make_shared<SoftInputs>();
  for (mlir::Attribute name : list)
    if (auto text = mlir::dyn_cast<mlir::StringAttr>(name))
      soft->after.push_back(text.str());
  out.soft = std::move(soft);
}

// Attributes with an underscore in front are notes, of TensorFlow mostly; few tell how to run.
static bool isForTheRuntime(llvm::StringRef key) {
  static const llvm::StringSet<> names = {
      llvm::StringRef(overlapAttr),
      llvm::StringRef(clusterAttr),
      "_elementwise",
      "_combiner",
      "_keys",
      "_descending",
      "_total_order",
  };
  return names.contains(key) || key.starts_with("_key");
}

Expected<void> Lowering::addAttributes(tfg::Node node, NodeSpec &out) {
  for (mlir::NamedAttribute named : node.attrs()) {
    llvm::StringRef key = named.getName().getValue();
    if (key == llvm::StringRef(softInputsAttr))
      addSoftInputs(named.getValue(), out);
    if (key.starts_with("_") && !isForTheRuntime(key))
      continue;
    Expected<AttrValue> value = convertAttribute(named.getValue());
    if (!value)
      return Unexpected(
          Error{value.error().code, str("attribute '", key.str(), "': ", value.error().message)}
              .atNode(out.name, out.op));
    out.attrs.set(key, std::move(*value));
  }
  if (!out.isFunctionCall)
    addDefaults(out.op, out.attrs);
  return {};
}

bool Lowering::isDissolved(tfg::Node node) const {
  auto flag = node->getAttrOfType<mlir::BoolAttr>("_lower_using_switch_merge");
  return dissolves && flag && flag.getValue() && isConditional(opKind(node.opType()));
}

// Says in the references to the branches which of the conditional's results are used.
void Lowering::addWantedResults(tfg::Node node, NodeSpec &spec) {
  auto isUsed = [&](mlir::Value result) {
    return wanted.contains(result) || llvm::any_of(result.getUsers(), [&](mlir::Operation *user) {
             return needed.contains(user);
           });
  };
  std::vector<int64_t> used;
  for (auto [i, result] : llvm::enumerate(node.results()))
    if (isUsed(result))
      used.push_back(static_cast<int64_t>(i));
  AttrMap attrs;
  attrs.set(wantedResultsAttr, used);
  auto shared = std::make_shared<const AttrMap>(std::move(attrs));
  auto mark = [&](const char *name, auto kind) {
    Expected<decltype(kind)> value = spec.attrs.get<decltype(kind)>(name);
    if (!value)
      return;
    if constexpr (std::is_same_v<decltype(kind), FunctionRef>)
      value->attrs = shared;
    else
      for (FunctionRef &branch : *value)
        branch.attrs = shared;
    spec.attrs.set(name, std::move(*value));
  };
  mark("then_branch", FunctionRef());
  mark("else_branch", FunctionRef());
  mark("branches", std::vector<FunctionRef>());
}

// Says in the reference to the function that its gradient is to be called.
void Lowering::markGradient(NodeSpec &spec) {
  Expected<FunctionRef> function = spec.attrs.get<FunctionRef>("f");
  if (!function)
    return;
  AttrMap attrs;
  attrs.set(gradientAttr, true);
  spec.attrs.set("f", FunctionRef{function->name, std::make_shared<const AttrMap>(attrs)});
}

Expected<NodeSpec> Lowering::convertNode(tfg::Node node) {
  NodeSpec out;
  out.name = node.name().str();
  out.op = node.opType().str();
  out.device = node.device().str();
  out.isFunctionCall = static_cast<bool>(index.function(out.op));
  for (mlir::Value value : node->getOperands()) {
    if (tfg::isControl(value)) {
      if (mlir::Operation *op = value.getDefiningOp(); op && numbers.contains(op))
        out.controls.push_back(numbers.lookup(op));
      continue;
    }
    out.inputs.push_back(endpoint(value));
    out.inputTypes.push_back(typeOf(value.getType()));
  }
  // A node that waits for another twice waits for it once.
  std::sort(out.controls.begin(), out.controls.end());
  out.controls.erase(std::unique(out.controls.begin(), out.controls.end()), out.controls.end());
  for (mlir::Value result : node.results())
    out.outputTypes.push_back(typeOf(result.getType()));
  if (Expected<void> ok = addAttributes(node, out); !ok)
    return Unexpected(std::move(ok.error()));
  if (Expected<void> ok = checkSignature(out); !ok)
    return Unexpected(std::move(ok.error()));
  // Its first input says on which machine to run: here there is one.
  if (out.op == "RemoteCall" && !out.inputs.empty()) {
    out.inputs.erase(out.inputs.begin());
    out.inputTypes.erase(out.inputTypes.begin());
  }
  if (out.op == "SymbolicGradient")
    markGradient(out);
  if (isDissolved(node))
    addWantedResults(node, out);
  return out;
}

Expected<void> Lowering::convert(mlir::Block &block) {
  int32_t next = static_cast<int32_t>(spec.nodes.size());
  for (mlir::Operation &op : block)
    if (needed.contains(&op))
      numbers[&op] = next++;
  spec.nodes.reserve(next);
  for (mlir::Operation &op : block) {
    if (!needed.contains(&op))
      continue;
    Expected<NodeSpec> node = convertNode(tfg::Node(&op));
    if (!node)
      return Unexpected(std::move(node.error()));
    spec.nodes.push_back(std::move(*node));
  }
  return {};
}

Error missingOutput(tfg::Node node, const ValueName &name, std::string_view what) {
  std::string op = node.opType().str();
  // An op that is in no table is given the outputs that the graph uses.
  if (!lookupOp(op) && node.numResults() == 0)
    return unimplemented(what, " '", name.node, ":", name.output, "': node '", name.node, "' (", op,
                         "): op '", op, "' is not known here, nor what outputs it has");
  return invalidArgument(what, " '", name.node, ":", name.output, "': '", name.node, "' (", op,
                         ") has ", node.numResults(),
                         node.numResults() == 1 ? " output" : " outputs");
}

Expected<mlir::Value> findValue(const ModuleIndex &index, const ValueName &name,
                                std::string_view what) {
  tfg::Node node = index.node(name.node);
  if (!node)
    return Unexpected(invalidArgument(what, " '", name.node, ":", name.output,
                                      "': the graph has no node '", name.node, "'",
                                      index.suggestions(name.node)));
  if (static_cast<unsigned>(name.output) >= node.numResults())
    return Unexpected(missingOutput(node, name, what));
  return node->getResult(name.output);
}

} // namespace

Expected<GraphSpec> lowerGraph(const ModuleIndex &index, const Request &request) {
  Lowering lowering(index, /*dissolves=*/true);
  if (!index.graph())
    return Unexpected(invalidArgument("there is no graph, only functions"));
  for (const std::string &feed : request.feeds) {
    Expected<ValueName> name = parseValueName(feed);
    if (!name)
      return Unexpected(std::move(name.error()));
    if (!name->iterations.empty())
      return Unexpected(invalidArgument(
          "feed '", feed, "': a feed has one value, whatever the iteration; leave out '@...'"));
    Expected<mlir::Value> value = findValue(index, *name, "feed");
    if (!value)
      return Unexpected(std::move(value.error()));
    lowering.replace(*value, name->node);
  }
  std::vector<mlir::Value> fetched;
  for (const std::string &fetch : request.fetches) {
    Expected<ValueName> name = parseValueName(fetch);
    if (!name)
      return Unexpected(std::move(name.error()));
    Expected<mlir::Value> value = findValue(index, *name, "fetch");
    if (!value)
      return Unexpected(std::move(value.error()));
    lowering.need(*value);
    lowering.want(*value);
    fetched.push_back(*value);
    lowering.spec.results.push_back({{}, fetch, std::move(name->iterations)});
  }
  for (const std::string &target : request.targets) {
    Expected<ValueName> name = parseValueName(target);
    if (!name)
      return Unexpected(std::move(name.error()));
    tfg::Node node = index.node(name->node);
    if (!node)
      return Unexpected(invalidArgument("target '", target, "': the graph has no such node",
                                        index.suggestions(name->node)));
    lowering.need(node.getOperation());
  }
  lowering.needEverythingBehind();
  if (Expected<void> ok = lowering.convert(index.graph()->getRegion(0).front()); !ok)
    return Unexpected(std::move(ok.error()));
  for (size_t i = 0; i < fetched.size(); ++i)
    lowering.spec.results[i].from = lowering.endpoint(fetched[i]);
  return std::move(lowering.spec);
}

// --- functions ---------------------------------------------------------------------------------

namespace {

// Whether leaving the node out of a function could be noticed.
bool hasEffects(tfg::Node node, const ModuleIndex &index) {
  llvm::StringRef op = node.opType();
  if (auto stated = node.attr<mlir::ArrayAttr>("_effects"))
    return llvm::any_of(stated.getAsRange<mlir::StringAttr>(), [](mlir::StringAttr effect) {
      return !effect.getValue().starts_with("read ");
    });
  if (index.function(op))
    return true;
  const OpDef *def = lookupOp(op);
  if (!def || !def->isStateful())
    return false;
  return op != "ReadVariableOp" && op != "VarHandleOp" && op != "Placeholder" &&
         op != "PlaceholderWithDefault" && op != "_Arg";
}

} // namespace

Expected<GraphSpec> lowerFunction(const ModuleIndex &index, tfg::FuncOp function,
                                  const std::vector<int64_t> *wanted) {
  Lowering lowering(index, /*dissolves=*/wanted != nullptr);
  std::string name = function.getName().str();
  lowering.spec.name = name;
  if (function.getGeneric())
    return Unexpected(unimplemented("function '", name,
                                    "' is generic (its types are attributes), and the call doesn't "
                                    "state what they are"));
  mlir::Block &body = function->getRegion(0).front();
  for (unsigned i = 0; i < body.getNumArguments(); i += 2)
    lowering.replace(body.getArgument(i), str("arg", i / 2));
  std::vector<std::pair<mlir::Value, bool>> results; // and whether it is wanted
  for (mlir::Value operand : body.getTerminator()->getOperands()) {
    bool isWanted = tfg::isControl(operand) || !wanted ||
                    std::ranges::binary_search(*wanted, static_cast<int64_t>(results.size()));
    if (isWanted) {
      lowering.need(operand);
      lowering.want(operand);
    }
    if (!tfg::isControl(operand))
      results.emplace_back(operand, isWanted);
  }
  if (!wanted)
    for (mlir::Operation &op : body.without_terminator())
      if (hasEffects(tfg::Node(&op), index))
        lowering.need(&op);
  lowering.needEverythingBehind();
  if (Expected<void> ok = lowering.convert(body); !ok)
    return Unexpected(std::move(ok.error()));
  for (auto [value, isWanted] : results)
    lowering.spec.results.push_back(
        {isWanted ? lowering.endpoint(value) : lowering.emptyTensor(value.getType()),
         str("result ", lowering.spec.results.size()),
         {}});
  return std::move(lowering.spec);
}

} // namespace treadle
