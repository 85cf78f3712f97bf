#include "treadle/dialect/Regions.h"
#include "treadle/lowering/Lowering.h"
#include "treadle/ops/OpTable.h"
#include "treadle/rewriting/Rewriting.h"
#include "treadle/rewriting/SoftEdges.h"
#include "treadle/transforms/Passes.h"

#include "mlir/IR/AttrTypeSubElements.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;

namespace treadle {

#define GEN_PASS_DEF_PRUNE
#include "treadle/transforms/Passes.h.inc"

namespace {

/// Computes the nodes of a body that given roots need.
class LiveNodes {
public:
  /// Marks a value as fed, so that its users don't need its node.
  void feed(Value value) { fed.insert(value); }
  bool isFed(Value value) const { return fed.contains(value); }

  void need(Operation *op) {
    if (needed.insert(op).second)
      pending.push_back(op);
  }
  void need(Value value) {
    Operation *op = value.getDefiningOp();
    if (op && !fed.contains(value) && !isFedPlaceholder(op))
      need(op);
  }
  void markDependencies() {
    while (!pending.empty()) {
      Operation *op = pending.pop_back_val();
      for (Value operand : op->getOperands())
        need(operand);
      if (op->getNumRegions() != 0)
        for (Value operand : tfg::capturesOf(op))
          need(operand);
    }
  }
  bool contains(Operation *op) const { return needed.contains(op); }

private:
  // A fed placeholder does nothing, so its control token needn't be waited for.
  bool isFedPlaceholder(Operation *op) const {
    return op->getNumResults() == 2 && fed.contains(op->getResult(0)) && tfg::Node::isNode(op) &&
           tfg::isPlaceholder(tfg::Node(op));
  }

  llvm::DenseSet<Value> fed;
  llvm::DenseSet<Operation *> needed;
  SmallVector<Operation *> pending;
};

/// Returns whether it is unobservable that the node doesn't run, provided that its results are
/// unused.
bool isRemovable(tfg::Node node, tfg::Effects &effects) {
  const OpDef *def = lookupOp(node.opType());
  bool onlyReads = def && (def->facts().readsVariables || def->makes() == "variable");
  return effects.isEffectFree(node) || effects.hasPureRegions(node) || onlyReads;
}

void eraseUnneeded(Block &body, llvm::function_ref<bool(Operation *)> isNeeded) {
  SmallVector<Operation *> dead;
  for (Operation &op : body)
    if (!isNeeded(&op))
      dead.push_back(&op);
  for (Operation *op : dead)
    op->dropAllReferences();
  for (Operation *op : dead) {
    op->dropAllUses();
    op->erase();
  }
}

/// The functions that nodes outside of them reach by name.
class ReachedFunctions {
public:
  explicit ReachedFunctions(ModuleOp module) : functions(tfg::functionsOf(module)) {
    // Strings may name functions too ("forward_function_name").
    walker.addWalk([this](StringAttr text) { reach(text.getValue()); });
    walker.addWalk([this](SymbolRefAttr symbol) { reach(symbol.getRootReference().getValue()); });
    walker.addWalk([this](tf_type::MessageAttr message) {
      for (auto &entry : functions)
        if (message.getValue().contains(entry.getKey()))
          reach(entry.getKey());
    });
  }

  void reachFrom(Block &body) {
    body.walk([&](Operation *op) {
      reach(op->getName().stripDialect());
      // The attributes of a region name the function that it was created from.
      for (NamedAttribute attr : op->getAttrs())
        if (!tfg::hasRegionAttrs(attr.getValue()))
          walker.walk(attr.getValue());
    });
  }

  llvm::StringSet<> findAll(tfg::GraphOp graph) {
    walker.walk(graph->getAttrDictionary());
    reachFrom(graph.getNodes().front());
    while (!pending.empty()) {
      tfg::FuncOp function = pending.pop_back_val();
      if (auto gradient = function.getGradientAttr())
        reach(gradient.getValue());
      if (!function.isExternal())
        reachFrom(function.getEntry());
    }
    return std::move(reached);
  }

private:
  void reach(StringRef name) {
    if (auto function = functions.find(name);
        function != functions.end() && reached.insert(name).second)
      pending.push_back(function->second);
  }

  tfg::FunctionMap functions;
  llvm::StringSet<> reached;
  SmallVector<tfg::FuncOp> pending;
  AttrTypeWalker walker;
};

struct Prune : impl::PruneBase<Prune> {
  using Base::Base;

  void runOnOperation() override {
    tfg::SoftEdges soft(getOperation());
    tfg::Effects effects(getOperation());
    tfg::GraphOp graph;
    for (auto op : getOperation().getOps<tfg::GraphOp>())
      graph = op;
    // Regions first, because only they may use values of the enclosing body.
    tfg::forEachBody(getOperation(), [&](Block &body) { pruneRegions(body, effects); });
    if (graph && !(fetches.empty() && targets.empty()) && failed(pruneGraph(graph, effects)))
      return signalPassFailure();
    for (auto function : getOperation().getOps<tfg::FuncOp>())
      if (!function.getGeneric() && !function.isExternal())
        pruneBody(function.getEntry(), effects);
    if (graph && functions)
      eraseUnusedFunctions(graph);
  }

private:
  FailureOr<Value> findValue(const ModuleIndex &index, StringRef text, StringRef what) {
    Expected<ValueName> name = parseValueName(std::string_view(text));
    if (!name)
      return emitError(UnknownLoc::get(&getContext())) << name.error().message;
    tfg::Node node = index.node(name->node);
    if (!node)
      return emitError(UnknownLoc::get(&getContext()))
             << what << " '" << text << "': the graph has no node '" << name->node << "'"
             << index.suggestions(name->node);
    if (static_cast<unsigned>(name->output) >= node->getNumResults())
      return emitError(UnknownLoc::get(&getContext()))
             << what << " '" << text << "': '" << name->node << "' (" << node.opType() << ") has "
             << node.numResults() << " outputs";
    return node->getResult(name->output);
  }

  LogicalResult pruneGraph(tfg::GraphOp graph, tfg::Effects &effects) {
    ModuleIndex index(getOperation());
    LiveNodes needed;
    SmallVector<Value> fed;
    for (const std::string &feed : feeds) {
      FailureOr<Value> value = findValue(index, feed, "feed");
      if (failed(value))
        return failure();
      needed.feed(*value);
      fed.push_back(*value);
    }
    for (const std::string &fetch : fetches) {
      FailureOr<Value> value = findValue(index, fetch, "fetch");
      if (failed(value))
        return failure();
      needed.need(*value);
      // A fetched value must keep its name.
      fed.push_back(*value);
    }
    for (const std::string &target : targets) {
      FailureOr<Value> value = findValue(index, target, "target");
      if (failed(value))
        return failure();
      needed.need(value->getDefiningOp());
    }
    Block &body = graph.getNodes().front();
    if (keepEffects)
      for (Operation &op : body)
        if (!isRemovable(tfg::Node(&op), effects))
          needed.need(&op);
    needed.markDependencies();
    for (Value value : fed)
      keepName(value.getDefiningOp(), needed);
    eraseUnneeded(body, [&](Operation *op) { return needed.contains(op); });
    return success();
  }

  // A node that is only needed as a feed needs none of its inputs.
  void keepName(Operation *op, LiveNodes &needed) {
    tfg::Node node(op);
    if (needed.contains(op))
      return;
    needed.need(op);
    if (node.numResults() != 1 || node->getNumOperands() == 0 || tfg::isPlaceholder(node))
      return needed.markDependencies();
    OpBuilder builder(op);
    auto type = cast<TensorType>(op->getResult(0).getType());
    tfg::Node placeholder =
        tfg::NodeBuilder(builder, "Placeholder")
            .name(node.name())
            .placedAs(node)
            .attr("dtype", mlir::TypeAttr::get(tf_type::dereference(type.getElementType())))
            .attr("shape", tf_type::ShapeAttr::get(cast<ShapedType>(type)))
            .results(type)
            .build();
    op->replaceAllUsesWith(placeholder.getOperation());
    op->setOperands({});
    op->erase();
    needed.need(placeholder.getOperation());
  }

  // Removes the nodes of a region that are dead in a function too.
  static void pruneBody(Block &body, tfg::Effects &effects) {
    LiveNodes needed;
    for (Operation &op : body)
      if (!tfg::Node::isNode(&op) || !isRemovable(tfg::Node(&op), effects))
        needed.need(&op);
    needed.markDependencies();
    eraseUnneeded(body, [&](Operation *op) { return needed.contains(op); });
  }

  static void pruneRegions(Block &body, tfg::Effects &effects) {
    tfg::forEachRegionBody(body, [&](Block &inner) { pruneBody(inner, effects); });
  }

  void eraseUnusedFunctions(tfg::GraphOp graph) {
    llvm::StringSet<> reached = ReachedFunctions(getOperation()).findAll(graph);
    for (auto function : llvm::make_early_inc_range(getOperation().getOps<tfg::FuncOp>()))
      if (!reached.contains(function.getName()))
        function.erase();
  }
};

} // namespace
} // namespace treadle
