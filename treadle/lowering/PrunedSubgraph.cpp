#include "treadle/lowering/PrunedSubgraph.h"

#include "treadle/dialect/NodeAttributes.h"
#include "treadle/ops/OpTable.h"
#include "treadle/rewriting/Rewriting.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/StringExtras.h"

#include <algorithm>

namespace treadle {

// --- needed nodes --------------------------------------------------------------------------------

void PrunedSubgraph::addArgument(mlir::Value value, std::string name) {
  args.emplace_back(value, std::move(name));
  given.insert(value);
}

void PrunedSubgraph::addResult(mlir::Value value, Result result) {
  need(value);
  values.push_back(value);
  allResults.push_back(std::move(result));
}

// A fed placeholder has no effect, so control edges from it are dropped.
bool PrunedSubgraph::isFedPlaceholder(mlir::Operation *op) const {
  return op->getNumResults() == 2 && given.contains(op->getResult(0)) && tfg::isPlaceholder(op);
}

void PrunedSubgraph::need(mlir::Value value) {
  if (given.contains(value))
    return;
  if (mlir::Operation *op = value.getDefiningOp(); op && !isFedPlaceholder(op))
    need(op);
}

void PrunedSubgraph::markDependencies() {
  for (size_t i = 0; i < needed.size(); ++i) // grows meanwhile
    for (mlir::Value operand : needed[i]->getOperands())
      need(operand);
}

void PrunedSubgraph::sortFew(const ModuleIndex &index) {
  constexpr size_t few = 16; // a search of so many nodes is faster than a step of the sort
  if (needed.size() * few > index.numNodes())
    return;
  std::vector<std::pair<size_t, mlir::Operation *>> places;
  for (mlir::Operation *op : needed)
    places.emplace_back(index.placeOf(tfg::Node(op)), op);
  llvm::sort(places);
  needed.clear();
  for (auto [place, op] : places)
    needed.insert(op);
  isSorted = true;
}

mlir::ValueRange PrunedSubgraph::resultValues() const {
  return own ? mlir::ValueRange(own->back().getOperands()) : mlir::ValueRange(values);
}

// --- copying the body ----------------------------------------------------------------------------

// Operands may be defined after their users. The copy never refers to values of the module, which
// would modify their use lists. Tokens of pruned nodes are dropped. Regions use no outside values.
mlir::Block &PrunedSubgraph::copyNodes() {
  if (own)
    return *own;
  auto block = std::make_unique<mlir::Block>();
  llvm::DenseMap<mlir::Value, mlir::Value> arguments;
  llvm::DenseMap<mlir::Operation *, mlir::Operation *> copies;
  copies.reserve(needed.size());
  for (auto &[value, name] : args)
    value = arguments[value] = block->addArgument(value.getType(), value.getLoc());
  auto copyOf = [&](mlir::Value value) -> mlir::Value {
    if (mlir::Value argument = arguments.lookup(value))
      return argument;
    mlir::Operation *copy = copies.lookup(value.getDefiningOp());
    return copy ? copy->getResult(mlir::cast<mlir::OpResult>(value).getResultNumber())
                : mlir::Value();
  };
  std::vector<std::pair<mlir::Operation *, mlir::Operation *>> incomplete; // original and copy
  llvm::SmallVector<mlir::Value> operands;
  forEachNode([&](tfg::Node node) {
    operands.clear();
    for (mlir::Value operand : node->getOperands())
      operands.push_back(copyOf(operand));
    bool isComplete = llvm::all_of(operands, [](mlir::Value copy) { return copy != nullptr; });
    mlir::Operation *copy = copies[node.getOperation()] = mlir::Operation::create(
        node->getLoc(), node->getName(), node->getResultTypes(),
        isComplete ? mlir::ValueRange(operands) : mlir::ValueRange(), node->getRawDictionaryAttrs(),
        node->getPropertiesStorage(), {}, node->getNumRegions());
    for (auto [region, into] : llvm::zip(node->getRegions(), copy->getRegions())) {
      mlir::IRMapping mapping;
      region.cloneInto(&into, mapping);
    }
    block->push_back(copy);
    if (!isComplete)
      incomplete.emplace_back(node.getOperation(), copy);
  });
  for (auto [original, copy] : incomplete) {
    operands.clear();
    for (mlir::Value operand : original->getOperands())
      if (mlir::Value copied = copyOf(operand))
        operands.push_back(copied);
    copy->setOperands(operands);
  }
  operands.clear();
  for (mlir::Value value : values)
    operands.push_back(copyOf(value));
  mlir::OpBuilder builder(body->getParentOp()->getContext());
  builder.setInsertionPointToEnd(block.get());
  tfg::ReturnOp::create(builder, builder.getUnknownLoc(), operands, mlir::ValueRange());
  own = std::move(block);
  body = own.get();
  return *own;
}

// --- requests ------------------------------------------------------------------------------------

namespace {

Error missingOutput(tfg::Node node, const ValueName &name, std::string_view what) {
  std::string op = node.opType().str();
  // An op that isn't in the op table gets the outputs that the graph uses.
  if (!lookupOp(op) && node.numResults() == 0)
    return unimplemented(what, " '", name.node, ":", name.output, "': node '", name.node, "' (", op,
                         "): op '", op, "' is unknown, and so are its outputs");
  return invalidArgument(what, " '", name.node, ":", name.output, "': '", name.node, "' (", op,
                         ") has ", node.numResults(),
                         node.numResults() == 1 ? " output" : " outputs");
}

/// Suggests how to fetch a node of a function, such as a loop body; empty if no function has a node
/// with this name.
std::string functionsWithNode(const ModuleIndex &index, llvm::StringRef name) {
  auto isIt = [&](mlir::Operation &op) {
    return tfg::Node::isNode(&op) && tfg::Node(&op).name() == name;
  };
  std::vector<std::string> functions;
  for (const auto &entry : index.allFunctions())
    if (tfg::FuncOp function = entry.second;
        !function->getRegion(0).empty() && llvm::any_of(function.getEntry(), isIt))
      functions.push_back(str("'", entry.first().str(), "'"));
  if (functions.empty())
    return "";
  std::ranges::sort(functions);
  constexpr size_t most = 3;
  bool isOne = functions.size() == 1;
  return str(isOne ? "; it is a node of function " : "; nodes of functions ",
             llvm::join(llvm::ArrayRef(functions).take_front(most), ", "),
             functions.size() > most ? " and others" : "", isOne ? "" : " have this name",
             ": the passes tfg-frames,tfg-inline-all bring ", isOne ? "it" : "them",
             " into the graph");
}

Expected<mlir::Value> resolveValue(const ModuleIndex &index, const ValueName &name,
                                   std::string_view what) {
  tfg::Node node = index.node(name.node);
  if (!node)
    return Unexpected(invalidArgument(
        what, " '", name.node, ":", name.output, "': the graph has no node '", name.node, "'",
        index.suggestions(name.node), functionsWithNode(index, name.node)));
  if (static_cast<unsigned>(name.output) >= node.numResults())
    return Unexpected(missingOutput(node, name, what));
  return node->getResult(name.output);
}

} // namespace

Expected<PrunedSubgraph> prunedSubgraph(const ModuleIndex &index, const Request &request) {
  if (!index.graph())
    return Unexpected(invalidArgument("the module has no graph, only functions"));
  PrunedSubgraph part(index.graph()->getRegion(0).front());
  for (const std::string &feed : request.feeds) {
    ValueName name = TREADLE_TRY(parseValueName(feed));
    if (!name.iterations.empty())
      return Unexpected(invalidArgument(
          "feed '", feed, "': a feed has one value for all iterations; leave out '@...'"));
    mlir::Value value = TREADLE_TRY(resolveValue(index, name, "feed"));
    part.addArgument(value, name.node);
  }
  for (const std::string &fetch : request.fetches) {
    ValueName name = TREADLE_TRY(parseValueName(fetch));
    mlir::Value value = TREADLE_TRY(resolveValue(index, name, "fetch"));
    part.addResult(value, {fetch, std::move(name.iterations), value.getType()});
  }
  for (const std::string &target : request.targets) {
    ValueName name = TREADLE_TRY(parseValueName(target));
    tfg::Node node = index.node(name.node);
    if (!node)
      return Unexpected(invalidArgument("target '", target, "': the graph has no such node",
                                        index.suggestions(name.node)));
    part.need(node.getOperation());
  }
  part.markDependencies();
  part.sortFew(index);
  return part;
}

// --- functions -----------------------------------------------------------------------------------

namespace {

// Whether dropping the node from a function would be observable.
bool hasEffects(tfg::Node node, const ModuleIndex &index) {
  llvm::StringRef op = node.opType();
  for (mlir::Region &region : node->getRegions())
    if (llvm::any_of(region.front().without_terminator(),
                     [&](mlir::Operation &inner) { return hasEffects(tfg::Node(&inner), index); }))
      return true;
  if (tfg::OpTraitsAttr stated = tfg::statedTraits(node); stated && mayDeclareEffects(op))
    return stated.getTouchesWorld().getValue() || !stated.getWrites().empty();
  if (index.function(op))
    return true;
  const OpDef *def = lookupOp(op);
  if (!def || !def->isStateful())
    return false;
  return !def->facts().readsVariables && def->makes() != "variable" &&
         def->kind() != OpKind::Placeholder && def->kind() != OpKind::Argument;
}

PrunedSubgraph withArguments(tfg::FuncOp function) {
  PrunedSubgraph part(function.getEntry());
  part.name = function.getName().str();
  for (unsigned i = 0; i < function.getNumDataArguments(); ++i)
    part.addArgument(function.getDataArgument(i), str("arg", i));
  return part;
}

} // namespace

Expected<PrunedSubgraph> prunedSubgraph(const ModuleIndex &index, tfg::FuncOp function) {
  std::string name = function.getName().str();
  if (function.getGeneric())
    return Unexpected(
        unimplemented("function '", name,
                      "' is generic (its types are attributes), and the call doesn't set them"));
  PrunedSubgraph part = withArguments(function);
  mlir::Block &body = function.getEntry();
  for (mlir::Value operand : body.getTerminator()->getOperands()) {
    if (tfg::isControl(operand)) {
      part.need(operand);
      continue;
    }
    part.addResult(operand, {str("result ", part.results().size()), {}, operand.getType()});
  }
  for (mlir::Operation &op : body.without_terminator())
    if (hasEffects(tfg::Node(&op), index))
      part.need(&op);
  part.markDependencies();
  return part;
}

PrunedSubgraph prunedSubgraph(tfg::FuncOp function, mlir::ValueRange values) {
  PrunedSubgraph part = withArguments(function);
  for (auto [i, value] : llvm::enumerate(values))
    part.addResult(value, {str("value ", i), {}, value.getType()});
  part.markDependencies();
  return part;
}

} // namespace treadle
