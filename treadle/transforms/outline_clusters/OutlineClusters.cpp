#include "treadle/runtime/Plan.h"
#include "treadle/transforms/Passes.h"
#include "treadle/transforms/outline_clusters/Compilable.h"
#include "treadle/transforms/rewriting/Outline.h"
#include "treadle/transforms/rewriting/SoftEdges.h"
#include "treadle/transforms/topological_sort/TopologicalSort.h"

#include "llvm/ADT/EquivalenceClasses.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace treadle {

#define GEN_PASS_DEF_OUTLINECLUSTERS
#include "treadle/transforms/Passes.h.inc"

namespace {

using tfg::Node;

bool isConstant(Operation *op) {
  StringRef name = Node(op).opType();
  return name == "Const" || name == "HostConst";
}

/// What others use of the results of a set of nodes; of nodes that runs ask for, all.
SmallVector<Value> resultsOf(ArrayRef<Node> nodes, const llvm::StringSet<> &fetched) {
  llvm::DenseSet<Operation *> inside;
  for (Node node : nodes)
    inside.insert(node.getOperation());
  SmallVector<Value> results;
  for (Node node : nodes)
    for (Value result : node.results())
      if (fetched.contains(node.name()) ||
          llvm::any_of(result.getUsers(), [&](Operation *user) { return !inside.contains(user); }))
        results.push_back(result);
  return results;
}

/// The clusters of one body.
///
/// A node gets a level: how often the longest path to it goes from nodes that can't be compiled to
/// nodes that can. A path between two compilable nodes of one level stays among those, so a set of
/// them that edges, also of control, connect can become one node.
class Body {
public:
  Body(Block &block, tfg::Compilable &compilable, const llvm::StringSet<> &keep,
       const llvm::StringSet<> &fetched)
      : block(block), compilable(compilable), keep(keep), fetched(fetched) {}

  SmallVector<SmallVector<Node>> clusters() {
    llvm::EquivalenceClasses<Operation *> connected;
    llvm::DenseMap<Operation *, unsigned> levels;
    llvm::DenseSet<Operation *> candidates;
    std::vector<Operation *> order = tfg::topologicalOrder(block);
    for (Operation *op : order) {
      if (!Node::isNode(op) || isConstant(op))
        continue;
      bool isCandidate = !keep.contains(Node(op).name()) && compilable.obstacle(Node(op)).empty();
      unsigned level = 0;
      for (Value operand : op->getOperands())
        if (Operation *from = operand.getDefiningOp(); from && levels.contains(from))
          level = std::max(level, levels[from] + (isCandidate && !candidates.contains(from)));
      levels[op] = level;
      if (!isCandidate)
        continue;
      candidates.insert(op);
      connected.insert(op);
      for (Value operand : op->getOperands())
        if (Operation *from = operand.getDefiningOp();
            from && candidates.contains(from) && levels[from] == level)
          connected.unionSets(from, op);
    }
    llvm::MapVector<Operation *, SmallVector<Node>> sets;
    for (Operation *op : order)
      if (candidates.contains(op))
        sets[connected.getLeaderValue(op)].push_back(Node(op));
    SmallVector<SmallVector<Node>> result;
    for (auto &[leader, nodes] : sets)
      if (llvm::any_of(nodes, [&](Node node) { return compilable.hasLoop(node); }) &&
          !resultsOf(nodes, fetched).empty())
        result.push_back(nodes);
    return result;
  }

private:
  Block &block;
  tfg::Compilable &compilable;
  const llvm::StringSet<> &keep, &fetched;
};

/// Makes a function of the nodes, and a call in their place.
class ClusterOutliner {
public:
  ClusterOutliner(ModuleOp module, tfg::FunctionNames &names, ArrayRef<Node> nodes,
                  const llvm::StringSet<> &fetched)
      : module(module), nodes(nodes), fetched(fetched),
        body(module, names.unique("cluster"), nodes[0]->getLoc()) {
    for (Node node : nodes)
      inside.insert(node.getOperation());
  }

  void run(tfg::NameScope &scope, bool reads) {
    SmallVector<Value> inputs = takeInputs();
    llvm::SetVector<Value> tokens;
    for (Node node : nodes)
      for (Value token : node.control())
        if (!isInside(token))
          tokens.insert(token);
    SmallVector<Value> outputs = resultsOf(nodes, fetched);
    SmallVector<std::string> names;
    for (Value output : outputs)
      names.push_back(tfg::nameOf(output).str());
    for (Node node : nodes)
      body.clone(node);
    tfg::FuncOp function = body.finish(outputs, names, {});

    OpBuilder b(nodes[0].getOperation());
    auto types = [&](ValueRange values) {
      SmallVector<Attribute> attrs;
      for (Value value : values)
        attrs.push_back(tfg::dtypeAttr(value.getType()));
      return b.getArrayAttr(attrs);
    };
    Node call = tfg::NodeBuilder(b, reads ? "StatefulPartitionedCall" : "PartitionedCall")
                    .name(scope.unique("cluster"))
                    .placedAs(nodes[0])
                    .attr("Tin", types(inputs))
                    .attr("Tout", types(outputs))
                    .attr("f", tf_type::FuncAttr::get(b.getContext(), function.getName(),
                                                      b.getDictionaryAttr({})))
                    .attr(StringRef(clusterAttr), b.getBoolAttr(true))
                    .inputs(inputs)
                    .control(tokens.getArrayRef())
                    .results(ValueRange(outputs).getTypes())
                    .build();
    for (auto [output, result] : llvm::zip(outputs, call.results()))
      output.replaceUsesWithIf(result,
                               [&](OpOperand &use) { return !inside.contains(use.getOwner()); });
    // What the call's own nodes should follow inside, the function says; names from outside are the
    // call's.
    for (Node node : nodes)
      tfg::SoftEdges::merge(node, call);
    for (Node node : nodes)
      if (fetched.contains(node.name()))
        standIn(node, call, outputs);
    for (Node node : nodes)
      if (Value token = node.controlResult(); !token.use_empty())
        tfg::replaceControl(token, call.controlResult());
    for (Node node : nodes)
      node->dropAllReferences();
    for (Node node : nodes)
      node->erase();
  }

private:
  /// A node that runs ask for by its name: it hands on what the call gives.
  void standIn(Node node, Node call, ArrayRef<Value> outputs) {
    OpBuilder b(node.getOperation());
    SmallVector<Value> values;
    SmallVector<Attribute> types;
    for (Value result : node.results()) {
      values.push_back(call->getResult(llvm::find(outputs, result) - outputs.begin()));
      types.push_back(tfg::dtypeAttr(result.getType()));
    }
    bool isOne = values.size() == 1, isNone = values.empty();
    tfg::NodeBuilder builder(b, isNone ? "NoOp" : isOne ? "Identity" : "IdentityN");
    builder.name(node.name()).placedAs(node).inputs(values);
    if (!isNone)
      builder.attr("T", isOne ? types.front() : b.getArrayAttr(types));
    builder.control(call.controlResult()).results(ValueRange(values).getTypes()).build();
  }

  bool isInside(Value value) const {
    Operation *op = value.getDefiningOp();
    return op && inside.contains(op);
  }

  /// Values from outside become arguments; constants are copied.
  SmallVector<Value> takeInputs() {
    SmallVector<Value> inputs;
    for (Node node : nodes)
      for (Value operand : node.data()) {
        if (isInside(operand) || body.contains(operand))
          continue;
        if (Operation *op = operand.getDefiningOp(); op && isConstant(op)) {
          body.clone(Node(op));
          continue;
        }
        body.map(operand, body.addArgument(operand.getType(), tfg::nameOf(operand)));
        inputs.push_back(operand);
      }
    return inputs;
  }

  ModuleOp module;
  ArrayRef<Node> nodes;
  const llvm::StringSet<> &fetched;
  tfg::Outline body;
  llvm::DenseSet<Operation *> inside;
};

class OutlineClustersPass : public impl::OutlineClustersBase<OutlineClustersPass> {
public:
  using OutlineClustersBase::OutlineClustersBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    tfg::SoftEdges soft(module);
    llvm::StringSet<> kept, fetched;
    for (const std::string &name : keep)
      kept.insert(StringRef(name).split(':').first);
    for (const std::string &name : fetches)
      fetched.insert(StringRef(name).split(':').first);
    tfg::FunctionNames names(module);
    // What can be compiled is asked of the module as it was: found first, changed afterwards.
    tfg::Compilable compilable(module);
    struct Found {
      Block *block;
      SmallVector<Node> nodes;
      bool reads;
    };
    std::vector<Found> found;
    static const llvm::StringSet<> none;
    tfg::forEachBody(module, [&](Block &block) {
      bool isGraph = isa<tfg::GraphOp>(block.getParentOp());
      for (SmallVector<Node> &nodes :
           Body(block, compilable, isGraph ? kept : none, isGraph ? fetched : none).clusters()) {
        bool reads =
            llvm::any_of(nodes, [&](Node node) { return compilable.readsVariables(node); });
        found.push_back({&block, std::move(nodes), reads});
      }
    });
    for (Found &cluster : found) {
      tfg::NameScope scope(*cluster.block);
      bool isGraph = isa<tfg::GraphOp>(cluster.block->getParentOp());
      ClusterOutliner(module, names, cluster.nodes, isGraph ? fetched : none)
          .run(scope, cluster.reads);
    }
    numClusters += found.size();
  }
};

} // namespace
} // namespace treadle
