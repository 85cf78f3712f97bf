// While loops: hoists pure nodes that depend only on loop variables that the body returns
// unchanged.
#include "treadle/rewriting/LoopVariables.h"
#include "treadle/transforms/hoist_loop_invariants/HoistLoopInvariants.h"
#include "treadle/transforms/hoist_loop_invariants/TotalOps.h"
#include "treadle/transforms/topological_sort/TopologicalSort.h"

#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace treadle::tfg {
namespace {

/// The invariant nodes of a function: those that depend only on a given set of arguments, in order.
class InvariantNodes {
public:
  /// A condition runs at least once; a body may never run, so nodes that can fail stay in it.
  InvariantNodes(FuncOp function, const llvm::BitVector &arguments, bool runsAlways,
                 Effects &effects)
      : function(function), runsAlways(runsAlways), effects(effects) {
    for (unsigned i : arguments.set_bits())
      values.insert(function.getDataArgument(i));
    for (Operation *op : topologicalOrder(function.getEntry()))
      if (Node::isNode(op) && isInvariant(Node(op))) {
        nodes.insert(op);
        values.insert(op->getResult(0));
      }
  }

  const llvm::SetVector<Operation *> &all() const { return nodes; }

  /// Returns the invariant nodes that other nodes use, if they are worth a loop variable.
  SmallVector<Node> roots() const {
    SmallVector<Node> out;
    for (Operation *op : nodes)
      if (op->getNumOperands() > 0 && Node(op).opType() != "Identity" &&
          llvm::any_of(op->getResult(0).getUsers(),
                       [&](Operation *user) { return !nodes.contains(user); }))
        out.push_back(Node(op));
    return out;
  }

private:
  bool isInvariant(Node node) const {
    if (node.numResults() != 1 || !effects.isPure(node) || !(runsAlways || isTotal(node)))
      return false;
    auto type = dyn_cast<TensorType>(node->getResult(0).getType());
    // The node may create the object that a handle refers to.
    if (!type || isa<tf_type::ResourceType, tf_type::VariantType>(type.getElementType()))
      return false;
    return llvm::all_of(node.data(), [&](Value value) { return values.contains(value); }) &&
           llvm::all_of(node.control(), [](Value token) { return isa<BlockArgument>(token); }) &&
           (node.numData() > 0 || node.opType() == "Const");
  }

  FuncOp function;
  bool runsAlways;
  Effects &effects;
  llvm::SetVector<Operation *> nodes;
  llvm::DenseSet<Value> values;
};

llvm::BitVector invariantArguments(FuncOp body) {
  llvm::BitVector out(body.getNumDataArguments());
  for (auto [i, value] : llvm::enumerate(body.getReturn().getData())) {
    Node node;
    while ((node = definingNode(value)) && node.opType() == "Identity")
      value = node->getOperand(0);
    out[i] = value == body.getDataArgument(i);
  }
  return out;
}

/// Copies `root` and its dependencies before the loop, and returns its value there.
Value copyBefore(const FunctionalNode &loop, FuncOp function, Node root,
                 const InvariantNodes &invariant, IRMapping &map, NameScope &names) {
  OpBuilder builder(loop.node.getOperation());
  llvm::DenseSet<Operation *> needed;
  SmallVector<Operation *> pending{root.getOperation()};
  while (!pending.empty())
    if (Operation *op = pending.pop_back_val(); op && needed.insert(op).second)
      for (Value value : Node(op).data())
        pending.push_back(value.getDefiningOp());
  for (Operation *op : invariant.all()) {
    if (!needed.contains(op) || map.contains(op->getResult(0)))
      continue;
    Node copy(builder.clone(*op, map));
    setControl(copy, {});
    copy.setName(names.unique((loop.node.name() + "/" + Node(op).name()).str()));
  }
  return map.lookup(root->getResult(0));
}

/// Returns a name for the argument that replaces a node of the body.
std::string argumentName(Node node, FuncOp function) {
  std::string base = node.name().lower();
  for (char &c : base)
    if (!llvm::isAlnum(c))
      c = '_';
  return NameScope(function.getEntry()).unique(base);
}

} // namespace

bool hoistFromWhile(const FunctionalNode &start, Effects &effects, NameScope &names) {
  FunctionalNode loop = start;
  llvm::BitVector arguments = invariantArguments(loop.functions[1]);
  bool changed = false;
  for (unsigned which : {0U, 1U}) {
    FuncOp function = loop.functions[which];
    InvariantNodes invariant(function, arguments, /*runsAlways=*/which == 0, effects);
    IRMapping map;
    for (auto [i, value] : llvm::enumerate(SmallVector<Value>(loop.node.data())))
      if (i < arguments.size())
        map.map(function.getDataArgument(i), value);
    // Copies all values first: adding a loop variable replaces the nodes that they are copied from.
    SmallVector<std::pair<Node, Value>> copies;
    for (Node root : invariant.roots())
      copies.emplace_back(root, copyBefore(loop, function, root, invariant, map, names));
    for (auto [root, value] : copies) {
      std::string name = argumentName(root, function);
      loop.node = withVariables(loop.node, value);
      for (unsigned other : {0U, 1U}) {
        FuncOp target = loop.functions[other];
        std::string own = other == which ? name : argumentName(root, target);
        BlockArgument argument = appendArgument(target, own, value.getType());
        if (other == 1)
          appendResult(target, own + "_out", argument);
        if (other != which)
          continue;
        root->getResult(0).replaceAllUsesWith(argument);
        replaceControl(root.controlResult(), FuncOp::getControlTokenOf(argument));
      }
      changed = true;
    }
  }
  return changed;
}

} // namespace treadle::tfg
