#include "treadle/transforms/tfg_to_tf_executor/BodyWriter.h"

#include "treadle/dialect/SourceLocation.h"
#include "treadle/import/LoopInvariants.h"
#include "treadle/import/TfOps.h"
#include "treadle/rewriting/Frames.h"
#include "treadle/transforms/tfg_to_tf_executor/Attributes.h"
#include "treadle/transforms/topological_sort/TopologicalSort.h"

using namespace mlir;
using namespace treadle;
using namespace treadle::graphdef;
namespace tfe = treadle::tf_executor;

BodyWriter::BodyWriter(tfe::GraphOp graph, StringRef function, const llvm::StringSet<> &functions)
    : graph(graph), suffix(function.empty() ? "" : ("@" + function).str()), functions(functions),
      builder(OpBuilder::atBlockEnd(&graph.getEntry())) {}

void BodyWriter::mapPlaceholder(tfg::Node node, Value argument) {
  values[node.results().front()] = argument;
  placeholders.insert(node.getOperation());
  written.push_back(node.getOperation());
}

// --- values -------------------------------------------------------------------------------------

/// Returns the token of an island that forwards the argument, since arguments have no token.
Value BodyWriter::tokenOfArgument(Value argument) {
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(&graph.getEntry());
  SmallVector<Type> types = {argument.getType(), tfe::ControlType::get(builder.getContext())};
  auto island = tfe::IslandOp::create(builder, graph.getLoc(), types, ValueRange());
  builder.setInsertionPointToEnd(&island.getBody().emplaceBlock());
  tfe::YieldOp::create(builder, graph.getLoc(), ValueRange(argument));
  return island.getControl();
}

Value BodyWriter::lookup(Value source) {
  if (Value value = values.lookup(source); value || !tfg::isControl(source))
    return value;
  Value data;
  if (auto token = dyn_cast<BlockArgument>(source))
    data = tfg::FuncOp::getDataOf(token);
  else if (placeholders.contains(source.getDefiningOp()))
    data = source.getDefiningOp()->getResult(0);
  return data ? values[source] = tokenOfArgument(values.lookup(data)) : Value();
}

SmallVector<Value> BodyWriter::lookupAll(ValueRange sources) {
  return llvm::map_to_vector(sources, [&](Value value) { return lookup(value); });
}

LogicalResult BodyWriter::checkInputs(tfg::Node node) {
  if (node->getNumRegions() != 0)
    return node->emitError("unimplemented: node '")
           << node.name() << "' (" << node.opType()
           << ") has regions, which tf_executor can't represent; convert them to functions first";
  for (auto [index, operand] : llvm::enumerate(node->getOperands()))
    if (!lookup(operand))
      return node->emitError("node '")
             << node.name() << "' (" << node.opType() << "): input " << index
             << " closes a cycle, but tf_executor only allows cycles through NextIteration";
  return success();
}

// --- nodes --------------------------------------------------------------------------------------

/// Returns a location with the op and the name, as TensorFlow prints them; a name that a location
/// can't represent becomes an attribute.
Location BodyWriter::locationOf(tfg::Node node, NamedAttrList &attrs) {
  if (node.name().empty())
    return builder.getUnknownLoc();
  auto named = [&](const Twine &name) -> Location {
    return NameLoc::get(builder.getStringAttr(name));
  };
  Location location =
      builder.getFusedLoc({named(node.opType() + ":"), named(node.name() + suffix)});
  if (nameInLocation(location) != node.name())
    attrs.set(node.dialect().nameKey, node.nameAttr());
  if (std::optional<Location> stack = stackOf(node->getLoc()))
    return CallSiteLoc::get(location, *stack);
  return location;
}

void BodyWriter::mapResults(tfg::Node node, Operation *op) {
  for (auto [from, to] : llvm::zip(node.results(), op->getResults()))
    values[from] = to;
  values[node.controlResult()] = op->getResults().back();
}

static SmallVector<Type> withControl(TypeRange types, MLIRContext *context) {
  SmallVector<Type> result(types);
  result.push_back(tfe::ControlType::get(context));
  return result;
}

void BodyWriter::writeIsland(tfg::Node node) {
  TfForm form = tfFormOf(node, functions);
  Location location = locationOf(node, form.attrs);
  auto island = tfe::IslandOp::create(builder, location,
                                      withControl(node.results().getTypes(), builder.getContext()),
                                      lookupAll(node.control()));
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToEnd(&island.getBody().emplaceBlock());
  OperationState state(location, "tf." + form.op);
  state.addOperands(lookupAll(node.data()));
  state.addTypes(node.results().getTypes());
  state.addAttributes(form.attrs);
  Operation *op = builder.create(state);
  tfe::YieldOp::create(builder, location, op->getResults());
  mapResults(node, island);
}

/// Writes the first half of a NextIteration. The second half has attributes and a name as well.
void BodyWriter::writeSource(tfg::Node node) {
  NamedAttrList attrs = executorAttrsOf(node);
  Location location = locationOf(node, attrs);
  auto source = tfe::NextIterationSourceOp::create(
      builder, location, node.results().front().getType(),
      tfe::TokenType::get(builder.getContext()), tfe::ControlType::get(builder.getContext()));
  source->setAttrs(attrs);
  sources[node.getOperation()] = source;
  mapResults(node, source);
}

void BodyWriter::writeControlFlow(tfg::Node node, StringRef op) {
  bool isSink = sources.contains(node.getOperation());
  NamedAttrList attrs = executorAttrsOf(node);
  Location location = locationOf(node, attrs);
  OperationState state(location, ("tf_executor." + op + (isSink ? ".Sink" : "")).str());
  if (isSink)
    state.addOperands(sources[node.getOperation()].getToken());
  state.addOperands(lookupAll(node->getOperands()));
  if (!isSink)
    state.addTypes(withControl(node.results().getTypes(), builder.getContext()));
  state.addAttributes(attrs);
  Operation *result = builder.create(state);
  if (!isSink)
    mapResults(node, result);
}

LogicalResult BodyWriter::writeNode(tfg::Node node) {
  if (failed(checkInputs(node)))
    return failure();
  if (StringRef op = executorFormOf(node); !op.empty())
    writeControlFlow(node, op);
  else
    writeIsland(node);
  written.push_back(node.getOperation());
  return success();
}

LogicalResult BodyWriter::writeNodes(Block &source) {
  std::vector<Operation *> order = tfg::topologicalOrder(source);
  for (Operation *op : order)
    if (tfg::feedsNextIteration(op))
      writeSource(op);
  for (Operation *op : order)
    if (!placeholders.contains(op) && failed(writeNode(op)))
      return failure();
  writeOrder(source);
  return success();
}

/// Records the order of the nodes if it had to change.
void BodyWriter::writeOrder(Block &source) {
  llvm::DenseMap<Operation *, int64_t> places;
  for (Operation &op : source)
    places.try_emplace(&op, places.size());
  SmallVector<int64_t> order =
      llvm::map_to_vector(written, [&](Operation *op) { return places.lookup(op); });
  if (!llvm::is_sorted(order))
    graph->setAttr(orderKey, builder.getDenseI64ArrayAttr(order));
}

void BodyWriter::writeFetch(ValueRange data, ValueRange control) {
  SmallVector<Value> fetches(data);
  llvm::append_range(fetches, control);
  tfe::FetchOp::create(builder, graph.getLoc(), fetches);
  for (tfe::EnterOp enter : findNonconstantInvariants(graph))
    enter->setAttr(notConstantKey, builder.getUnitAttr());
}
