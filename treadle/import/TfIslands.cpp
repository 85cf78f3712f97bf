#include "treadle/import/TfIslands.h"

#include "treadle/ops/OpTable.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using namespace treadle;
using namespace treadle::graphdef;
namespace tfe = treadle::tf_executor;

TfBodyReader::TfBodyReader(Block &target, const llvm::StringSet<> &functions)
    : builder(OpBuilder::atBlockEnd(&target)), functions(functions),
      dialect(*builder.getContext()->getOrLoadDialect<tfg::TfgDialect>()) {}

static std::string statedName(Operation *op) {
  if (auto name = op->getAttrOfType<StringAttr>(tfg::TfgDialect::nameKeyword))
    return name.str();
  return nameInLocation(op->getLoc());
}

void TfBodyReader::reserveNames(Block &body) {
  body.walk([&](Operation *op) {
    if (std::string name = statedName(op); !name.empty())
      names.reserve(name);
  });
}

SmallVector<Value> TfBodyReader::dataOf(ValueRange operands) const {
  SmallVector<Value> result;
  for (Value value : operands)
    if (!tfe::isControl(value) && !isa<tfe::TokenType>(value.getType()))
      result.push_back(values.lookup(value));
  return result;
}

/// A duplicated token is duplicated in the result; an operand that maps to several tokens adds them
/// once.
SmallVector<Value> TfBodyReader::tokensOf(ValueRange operands) const {
  SmallVector<Value> result;
  for (Value value : operands) {
    auto it = tokens.find(value);
    if (it == tokens.end())
      continue;
    for (Value token : it->second)
      if (it->second.size() == 1 || !llvm::is_contained(result, token))
        result.push_back(token);
  }
  return result;
}

tfg::Node TfBodyReader::addNode(NodeParts parts, Location location, ValueRange data,
                                ValueRange control, TypeRange results) {
  std::string name = parts.name.empty() ? names.made("tf." + parts.op) : names.stated(parts.name);
  OperationState state(location, (dialect.getNamespace() + "." + parts.op).str());
  state.addOperands(data);
  state.addOperands(control);
  state.addTypes(results);
  state.addTypes(dialect.controlType);
  parts.attrs.set(dialect.nameKey, builder.getStringAttr(name));
  state.addAttributes(parts.attrs);
  return tfg::Node(builder.create(state));
}

LogicalResult TfBodyReader::readGraph(tfe::GraphOp graph) {
  for (Operation &op : graph.getEntry().without_terminator()) {
    if (auto island = dyn_cast<tfe::IslandOp>(op)) {
      if (failed(readIsland(island)))
        return failure();
    } else if (auto sink = dyn_cast<tfe::NextIterationSinkOp>(op)) {
      readSink(sink);
    } else {
      readControlFlow(&op);
    }
  }
  return success();
}

// --- v1 control flow ----------------------------------------------------------------------------

static SmallVector<Type> dataTypes(TypeRange types) {
  return llvm::filter_to_vector(
      types, [](Type type) { return !isa<tfe::ControlType, tfe::TokenType>(type); });
}

void TfBodyReader::readControlFlow(Operation *op) {
  SmallVector<Type> inputs = dataTypes(op->getOperandTypes());
  SmallVector<Type> outputs = dataTypes(op->getResultTypes());
  NodeParts parts = nodePartsOf(op, inputs, outputs, functions);
  tfg::Node node = addNode(std::move(parts), op->getLoc(), dataOf(op->getOperands()),
                           tokensOf(op->getOperands()), outputs);
  auto result = node.results().begin();
  for (Value value : op->getResults()) {
    if (tfe::isControl(value))
      tokens[value] = {node.controlResult()};
    else if (!isa<tfe::TokenType>(value.getType()))
      values[value] = *result++;
  }
  if (isa<tfe::NextIterationSourceOp>(op))
    nextIterations[op] = node.getOperation();
}

/// The node is placed at the sink, which is where most loops originally had it.
void TfBodyReader::readSink(tfe::NextIterationSinkOp sink) {
  Operation *node = nextIterations.lookup(sink.getSource());
  SmallVector<Value> operands = dataOf(sink->getOperands());
  llvm::append_range(operands, tokensOf(sink->getOperands()));
  node->setOperands(operands);
  node->moveBefore(builder.getInsertionBlock(), builder.getInsertionPoint());
}

// --- operations in order ------------------------------------------------------------------------

/// Whether the order of such nodes matters: those with effects, and those of unknown ops.
static bool hasEffects(tfg::Node node) {
  const OpDef *def = lookupOp(node.opType());
  return !def || def->isStateful() || llvm::any_of(node.data().getTypes(), [](Type type) {
    return tf_type::isReference(getElementTypeOrSelf(type));
  });
}

static bool isDefinedIn(Block &block, Value value) {
  return value.getDefiningOp() && value.getDefiningOp()->getBlock() == &block;
}

/// Whether no operation in the block has to run before `op`.
static bool isFirst(Operation &op) {
  return llvm::none_of(op.getOperands(),
                       [&](Value value) { return isDefinedIn(*op.getBlock(), value); });
}

/// Returns the outside values of a block that might be dead; arguments never are.
static llvm::SetVector<Value> captures(Block &block) {
  llvm::SetVector<Value> result;
  for (Operation &op : block)
    for (Value value : op.getOperands())
      if (!isDefinedIn(block, value) && !isa<BlockArgument>(value))
        result.insert(value);
  return result;
}

/// Gates an island, which runs as a whole or not at all. If some of its operations use only a
/// subset of the values that might be dead, all use an IdentityN of these values instead, which is
/// dead if any is. Returns the tokens that the island's first operations wait for.
SmallVector<Value> TfBodyReader::gate(Block &block, ValueRange control) {
  llvm::SetVector<Value> all = captures(block);
  auto usesAll = [&](Operation &op) {
    return llvm::all_of(all, [&](Value v) { return llvm::is_contained(op.getOperands(), v); });
  };
  bool forwards = llvm::any_of(block.getTerminator()->getOperands(),
                               [&](Value value) { return all.contains(value); });
  auto first = llvm::make_filter_range(block.without_terminator(), isFirst);
  // An IdentityN can't forward a reference.
  all.remove_if(
      [](Value value) { return tf_type::isReference(getElementTypeOrSelf(value.getType())); });
  if (all.empty() || (!forwards && llvm::all_of(first, usesAll)))
    return SmallVector<Value>(control);
  SmallVector<Value> inputs = dataOf(all.getArrayRef());
  NodeParts parts;
  parts.op = "IdentityN";
  SmallVector<Type> types = llvm::map_to_vector(inputs, [](Value v) { return v.getType(); });
  parts.attrs.set("T", builder.getTypeArrayAttr(llvm::map_to_vector(
                           types, [](Type type) { return getElementTypeOrSelf(type); })));
  tfg::Node node = addNode(std::move(parts), block.getParentOp()->getLoc(), inputs, control, types);
  for (auto [from, to] : llvm::zip(all, node.results()))
    values[from] = to;
  return {node.controlResult()};
}

LogicalResult TfBodyReader::readOp(Operation *op, ValueRange control, tfg::Node &node) {
  if (!isa_and_nonnull<tf::TfDialect>(op->getDialect()) && !isa<func::CallOp>(op))
    return op->emitError("op '") << op->getName() << "' is in a function or island, expected "
                                 << "operations of the tf dialect";
  if (op->getNumRegions() != 0)
    return op->emitError("unimplemented: op '")
           << op->getName() << "' has regions; the tf operations with supported regions are "
           << "tf.IfRegion, tf.CaseRegion, tf.WhileRegion";
  NodeParts parts = nodePartsOf(op, op->getOperandTypes(), op->getResultTypes(), functions);
  node = addNode(std::move(parts), op->getLoc(), dataOf(op->getOperands()), control,
                 op->getResultTypes());
  for (auto [from, to] : llvm::zip(op->getResults(), node.results()))
    values[from] = to;
  return success();
}

LogicalResult TfBodyReader::readInOrder(Block &block, ValueRange begin,
                                        SmallVectorImpl<Value> &last) {
  llvm::SetVector<Value> open;
  Value effect;
  for (Operation &op : block.without_terminator()) {
    tfg::Node node;
    if (failed(readOp(&op, isFirst(op) ? begin : ValueRange(), node)))
      return failure();
    if (hasEffects(node)) {
      if (effect)
        node->insertOperands(node->getNumOperands(), effect);
      effect = node.controlResult();
    }
    for (Value value : node->getOperands())
      open.remove(tfg::controlTokenOf(value));
    open.insert(node.controlResult());
  }
  last = open.takeVector();
  return success();
}

// --- islands ------------------------------------------------------------------------------------

LogicalResult TfBodyReader::readIsland(tfe::IslandOp island) {
  auto body = island.getEntry().without_terminator();
  if (body.empty()) {
    readEmptyIsland(island);
    return success();
  }
  // A gate replaces the outside values, for this island only.
  SmallVector<std::pair<Value, Value>> outside;
  for (Value value : captures(island.getEntry()))
    outside.emplace_back(value, values.lookup(value));
  SmallVector<Value> last;
  SmallVector<Value> begin = gate(island.getEntry(), tokensOf(island.getControlInputs()));
  if (failed(readInOrder(island.getEntry(), begin, last)))
    return failure();
  for (auto [from, to] : llvm::zip(island.getOutputs(), island.getYield().getFetches()))
    values[from] = values.lookup(to);
  for (auto [from, to] : outside)
    values[from] = to;
  tokens[island.getControl()].assign(last.begin(), last.end());
  return success();
}

/// Waits and forwards; needs a node only if it waits for values or has a name.
void TfBodyReader::readEmptyIsland(tfe::IslandOp island) {
  SmallVector<Value> data = dataOf(island.getYield().getFetches());
  SmallVector<Value> control = tokensOf(island.getControlInputs());
  std::string name = statedName(island);
  Value only = data.size() == 1 ? data.front() : Value();
  // A forwarded argument needs no waiting.
  bool isOnlyArgument = only && isa<BlockArgument>(island.getYield().getFetches().front());
  if (only && control.empty() && (isOnlyArgument || island.getControl().use_empty())) {
    values[island.getResult(0)] = only;
    tokens[island.getControl()] = {tfg::controlTokenOf(only)};
    return;
  }
  if (data.empty() && name.empty()) {
    tokens[island.getControl()].assign(control.begin(), control.end());
    return;
  }
  TypeRange types = island.getOutputs().getTypes();
  NodeParts parts = nodePartsOf(island, types, types, functions);
  parts.op = data.empty() ? "NoOp" : "IdentityN";
  parts.name = name;
  if (!data.empty())
    parts.attrs.set("T", builder.getTypeArrayAttr(llvm::map_to_vector(
                             types, [](Type type) { return getElementTypeOrSelf(type); })));
  tfg::Node node = addNode(std::move(parts), island.getLoc(), data, control, types);
  for (auto [from, to] : llvm::zip(island.getOutputs(), node.results()))
    values[from] = to;
  tokens[island.getControl()] = {node.controlResult()};
}
