#include "treadle/rewriting/FunctionalNode.h"
#include "treadle/rewriting/Outline.h"
#include "treadle/rewriting/SoftEdges.h"
#include "treadle/runtime/Plan.h"
#include "treadle/transforms/Passes.h"
#include "treadle/transforms/deps_to_chains/Gain.h"
#include "treadle/transforms/fuse_kernels/FuseKernels.h"
#include "treadle/transforms/outline_clusters/Compilable.h"
#include "treadle/transforms/outline_clusters/NativeOps.h"
#include "treadle/transforms/topological_sort/TopologicalSort.h"

#include "llvm/ADT/EquivalenceClasses.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

#include <optional>

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

/// What may keep a node from ever running, for each value: blocking ops, which others may have to
/// set free, and v1 control flow, behind which values may be dead. A call runs once all that it is
/// given is there; so nodes can become one only if the same may keep each of them.
class Gates {
public:
  explicit Gates(tfg::WaitingNodes &waiting) : waiting(waiting) {}

  /// A number for what is before an op. Equal where the same is.
  unsigned before(Operation *op) {
    unsigned all = 0;
    for (Value operand : op->getOperands())
      all = sets.join(all, behind.lookup(operand));
    return all;
  }

  void see(Operation *op) {
    Node node(op);
    unsigned common = before(op);
    bool isV1 = tfg::isV1ControlFlow(node);
    unsigned all = !isV1 && waiting.waits(node) ? sets.join(common, sets.make()) : common;
    for (Value result : op->getResults())
      behind[result] = isV1 ? sets.join(common, sets.make()) : all;
  }

private:
  /// Sets beyond this size are not compared, but taken for different.
  static constexpr size_t largest = 256;

  tfg::WaitingNodes &waiting;
  DenseMap<Value, unsigned> behind;
  tfg::NumberedSets sets{largest};
};

/// The sets of nodes of one body that can become clusters.
///
/// A node gets a level: how often the longest path to it goes from nodes that aren't candidates, or
/// are for another device, to nodes that are. A path between two candidates of one level stays
/// among those, so a set of them that edges, also of control, connect can become one node; also if
/// it keeps to nodes behind the same gates, since no path leads from more gates to fewer; and to
/// nodes between the same exchanges, since along a path these come one by one.
class Body {
public:
  Body(Block &block, tfg::WaitingNodes &waiting, tfg::WaitingNodes &exchanging)
      : block(block), waiting(waiting), exchanges(block, exchanging) {}

  SmallVector<SmallVector<Node>> sets(llvm::function_ref<bool(Node)> isCandidate) {
    llvm::EquivalenceClasses<Operation *> connected;
    DenseMap<Operation *, Place> places;
    DenseSet<Operation *> candidates;
    Gates gates(waiting);
    std::vector<Operation *> order = tfg::topologicalOrder(block);
    for (Operation *op : order) {
      if (!Node::isNode(op) || (isConstant(op) && !op->getNumOperands()))
        continue;
      Place place{0, gates.before(op), exchanges.classOf(Node(op))};
      gates.see(op);
      bool isOne = !isConstant(op) && isCandidate(Node(op));
      for (Value operand : op->getOperands())
        if (Operation *from = operand.getDefiningOp(); from && places.contains(from))
          place.level =
              std::max(place.level, places[from].level + (isOne && !(candidates.contains(from) &&
                                                                     areTogether(from, op))));
      places[op] = place;
      if (!isOne)
        continue;
      candidates.insert(op);
      connected.insert(op);
      for (Value operand : op->getOperands())
        if (Operation *from = operand.getDefiningOp();
            from && candidates.contains(from) && places[from] == place)
          connected.unionSets(from, op);
    }
    llvm::MapVector<Operation *, SmallVector<Node>> found;
    for (Operation *op : order)
      if (candidates.contains(op))
        found[connected.getLeaderValue(op)].push_back(Node(op));
    SmallVector<SmallVector<Node>> result;
    for (auto &[leader, nodes] : found)
      result.push_back(std::move(nodes));
    return result;
  }

private:
  struct Place {
    unsigned level = 0, gates = 0, exchanges = 0;
    bool operator==(const Place &) const = default;
  };

  static bool areTogether(Node a, Node b) { return a.device() == b.device(); }

  Block &block;
  tfg::WaitingNodes &waiting;
  tfg::ExchangeOrder exchanges;
};

/// Makes a function of the nodes, and a call in their place.
class ClusterOutliner {
public:
  ClusterOutliner(ModuleOp module, tfg::FunctionNames &names, ArrayRef<Node> nodes,
                  const llvm::StringSet<> &kept, const llvm::StringSet<> &fetched)
      : module(module), nodes(nodes), kept(kept), fetched(fetched),
        body(module, names.unique("cluster"), nodes[0]->getLoc()) {
    for (Node node : nodes)
      inside.insert(node.getOperation());
  }

  void run(tfg::NameScope &scope, bool isStateful) {
    SmallVector<Value> inputs = takeInputs();
    llvm::SetVector<Value> tokens;
    auto addTokens = [&](Node node) {
      for (Value token : node.control())
        if (!isInside(token))
          tokens.insert(token);
    };
    llvm::for_each(nodes, addTokens);
    llvm::for_each(constants, addTokens);
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
    Node call = tfg::NodeBuilder(b, isStateful ? "StatefulPartitionedCall" : "PartitionedCall")
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

  /// Values from outside become arguments; constants are copied, but for those that runs may feed.
  SmallVector<Value> takeInputs() {
    SmallVector<Value> inputs;
    for (Node node : nodes)
      for (Value operand : node.data()) {
        if (isInside(operand) || body.contains(operand))
          continue;
        if (Operation *op = operand.getDefiningOp();
            op && isConstant(op) && !kept.contains(Node(op).name())) {
          body.clone(Node(op));
          constants.push_back(Node(op));
          continue;
        }
        body.map(operand, body.addArgument(operand.getType(), tfg::nameOf(operand)));
        inputs.push_back(operand);
      }
    return inputs;
  }

  ModuleOp module;
  ArrayRef<Node> nodes;
  const llvm::StringSet<> &kept, &fetched;
  tfg::Outline body;
  SmallVector<Node> constants; // copied
  llvm::DenseSet<Operation *> inside;
};

/// Functions that the nodes of clusters call, directly or not: they are compiled as they are.
class CompiledFunctions {
public:
  explicit CompiledFunctions(ModuleOp module) {
    for (tfg::FuncOp function : module.getOps<tfg::FuncOp>())
      functions[function.getName()] = function;
  }

  void addCalledBy(Node node) {
    add(node.opType());
    for (NamedAttribute attr : node.attrs())
      tfg::forEachFunctionName(attr.getValue(), [&](StringRef name) { add(name); });
  }
  bool contains(Operation *function) const { return compiled.contains(function); }
  /// Whether it was there before there were clusters.
  bool isOfGraph(tfg::FuncOp function) const {
    return functions.lookup(function.getName()) == function;
  }

private:
  void add(StringRef name) {
    tfg::FuncOp function = functions.lookup(name);
    if (!function || function.isExternal() || !compiled.insert(function).second)
      return;
    for (Operation &op : function.getEntry())
      if (Node::isNode(&op))
        addCalledBy(Node(&op));
  }

  llvm::StringMap<tfg::FuncOp> functions;
  DenseSet<Operation *> compiled;
};

class OutlineClustersPass : public impl::OutlineClustersBase<OutlineClustersPass> {
public:
  using OutlineClustersBase::OutlineClustersBase;

  void runOnOperation() override {
    module = getOperation();
    tfg::SoftEdges soft(module);
    kept.clear();
    fetched.clear();
    for (const std::string &name : keep)
      kept.insert(StringRef(name).split(':').first);
    for (const std::string &name : fetches)
      fetched.insert(StringRef(name).split(':').first);
    tfg::FunctionNames functionNames(module);
    names = &functionNames;
    // What can be compiled is asked of the module as it was: found first, changed afterwards.
    CompiledFunctions compiled(module);
    std::vector<Found> loops = findLoops();
    for (const Found &cluster : loops)
      for (Node node : cluster.nodes)
        compiled.addCalledBy(node);
    outline(loops);
    fuseForms(compiled);
    outline(findStraight(compiled));
  }

private:
  struct Found {
    Block *block;
    SmallVector<Node> nodes;
    bool isStateful = false;
  };

  static bool isGraph(Block &block) { return isa<tfg::GraphOp>(block.getParentOp()); }
  /// Names of a graph's nodes; a function's nodes are neither kept nor fetched by name.
  const llvm::StringSet<> &keptOf(Block &block) const { return isGraph(block) ? kept : none; }
  const llvm::StringSet<> &fetchedOf(Block &block) const { return isGraph(block) ? fetched : none; }
  bool isKept(Block &block, Node node) const { return keptOf(block).contains(node.name()); }

  std::vector<Found> findLoops() {
    tfg::Compilable compilable(module);
    tfg::WaitingNodes waiting(module), exchanging(module, tfg::WaitingNodes::ForOthers);
    std::vector<Found> found;
    tfg::forEachBody(module, [&](Block &block) {
      // What acts outside of loops is as fast by itself.
      auto isCandidate = [&](Node node) {
        return !isKept(block, node) && compilable.obstacle(node).empty() &&
               (!compilable.acts(node) || compilable.hasLoop(node));
      };
      for (SmallVector<Node> &nodes : Body(block, waiting, exchanging).sets(isCandidate)) {
        auto acts = [&](Node node) { return compilable.acts(node); };
        auto reads = [&](Node node) { return compilable.readsVariables(node); };
        if (llvm::none_of(nodes, [&](Node node) { return compilable.hasLoop(node); }) ||
            (resultsOf(nodes, fetchedOf(block)).empty() && llvm::none_of(nodes, acts)))
          continue;
        bool isStateful = llvm::any_of(nodes, acts) || llvm::any_of(nodes, reads);
        found.push_back({&block, std::move(nodes), isStateful});
      }
    });
    return found;
  }

  /// What one kernel computes in one pass isn't compiled.
  void fuseForms(const CompiledFunctions &compiled) {
    SmallVector<std::string> asked;
    for (const llvm::StringSet<> *names : {&kept, &fetched})
      for (StringRef name : names->keys())
        asked.push_back(name.str());
    tfg::forEachFusionScope(module, asked, [&](const tfg::FusionScope &scope) {
      auto function = dyn_cast<tfg::FuncOp>(scope.body.getParentOp());
      if (!function || (compiled.isOfGraph(function) && !compiled.contains(function)))
        tfg::fuseForms(scope);
    });
  }

  /// Straight code that computes elements, many operations of it one after the other.
  std::vector<Found> findStraight(const CompiledFunctions &compiled) {
    tfg::WaitingNodes waiting(module), exchanging(module, tfg::WaitingNodes::ForOthers);
    std::vector<Found> found;
    size_t free = tfg::mostOfGraph;
    tfg::forEachBody(module, [&](Block &block) {
      if (compiled.contains(block.getParentOp()))
        return;
      auto isCandidate = [&](Node node) {
        return tfg::nativeForm(node) != NativeForm::None && !isKept(block, node) &&
               !tfg::followsContraction(node);
      };
      for (const SmallVector<Node> &nodes : Body(block, waiting, exchanging).sets(isCandidate))
        for (ArrayRef<Node> left = nodes; !left.empty();) {
          // Parts of a set in topological order: no path leads back to an earlier one.
          ArrayRef<Node> part = left.take_front(tfg::mostCompiled);
          left = left.drop_front(part.size());
          if (!isWorthCompiling(part) || resultsOf(part, fetchedOf(block)).empty())
            continue;
          if (part.size() > free) {
            module->setAttr(tfg::hasMoreKey, UnitAttr::get(module.getContext()));
            return;
          }
          free -= part.size();
          found.push_back({&block, SmallVector<Node>(part)});
        }
    });
    return found;
  }

  static bool isWorthCompiling(ArrayRef<Node> nodes) {
    return llvm::count_if(nodes, [](Node node) {
             return tfg::nativeForm(node) == NativeForm::Computes;
           }) >= tfg::worthCompiling;
  }

  /// Clusters of one body follow each other.
  void outline(const std::vector<Found> &found) {
    Block *block = nullptr;
    std::optional<tfg::NameScope> scope;
    for (const Found &cluster : found) {
      if (block != cluster.block)
        scope.emplace(*(block = cluster.block));
      ClusterOutliner(module, *names, cluster.nodes, keptOf(*block), fetchedOf(*block))
          .run(*scope, cluster.isStateful);
    }
    numClusters += found.size();
  }

  ModuleOp module;
  tfg::FunctionNames *names = nullptr;
  llvm::StringSet<> kept, fetched;
  const llvm::StringSet<> none{};
};

} // namespace
} // namespace treadle
