#include "treadle/rewriting/Frames.h"
#include "treadle/rewriting/FunctionalNode.h"
#include "treadle/rewriting/SoftEdges.h"
#include "treadle/transforms/Passes.h"

#include "llvm/ADT/EquivalenceClasses.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;

namespace treadle {

#define GEN_PASS_DEF_PRUNEARGUMENTS
#include "treadle/transforms/Passes.h.inc"

namespace tfg {
namespace {

/// Nodes that share functions, and these functions, which must change together.
struct Group {
  SmallVector<FunctionalNode, 1> nodes;
  llvm::SmallSetVector<Operation *, 2> functions;

  FunctionalKind kind() const { return nodes.front().kind; }
  unsigned numArguments() const { return nodes.front().arguments().size(); }
  unsigned numResults() {
    FunctionalNode &first = nodes.front();
    return first.node.numResults();
  }
};

/// The nodes of a body that the rest of the program needs, found backwards from results and side
/// effects.
class LiveNodes {
public:
  LiveNodes(FuncOp function, Effects &effects) : function(function) {
    arguments.resize(function.getNumDataArguments());
    for (Operation &op : function.getEntry())
      if (Node::isNode(&op) && !effects.isPure(Node(&op)))
        add(&op);
    for (Value token : function.getReturn().getControl())
      add(token);
  }

  void add(Value value) {
    if (auto argument = dyn_cast<BlockArgument>(value))
      arguments.set(argument.getArgNumber() / 2);
    else
      add(value.getDefiningOp());
  }
  void addResult(unsigned index) { add(function.getReturn().getData()[index]); }

  /// Erases all other nodes of the body, whose results have no remaining uses.
  void eraseDead(llvm::DenseSet<Operation *> &erased) {
    SmallVector<Operation *> rest;
    for (Operation &op : function.getEntry())
      if (Node::isNode(&op) && !nodes.contains(&op))
        rest.push_back(&op);
    for (Operation *op : rest)
      op->dropAllReferences();
    for (Operation *op : rest) {
      erased.insert(op);
      op->erase();
    }
  }

  llvm::BitVector arguments;

private:
  void add(Operation *root) {
    SmallVector<Operation *> open = {root};
    while (!open.empty()) {
      Operation *op = open.pop_back_val();
      if (!nodes.insert(op).second)
        continue;
      // Regions of a node may use values of the enclosing body.
      op->walk([&](Operation *inner) {
        for (Value operand : inner->getOperands())
          if (auto argument = dyn_cast<BlockArgument>(operand)) {
            if (argument.getOwner() == &function.getEntry())
              arguments.set(argument.getArgNumber() / 2);
          } else {
            open.push_back(operand.getDefiningOp());
          }
      });
    }
  }

  FuncOp function;
  llvm::DenseSet<Operation *> nodes;
};

class Pruner {
public:
  Pruner(ModuleOp module, const PruneArgumentsOptions &options)
      : module(module), symbols(module), options(options), effects(module),
        functions(functionsOf(module)) {
    kept.insert_range(options.keep);
  }

  bool runOnce() {
    collect();
    bool isSplit = options.split && split();
    if (isSplit)
      collect();
    findOrdered();
    bool isChanged = isSplit;
    for (auto &[leader, group] : groups) {
      bypass(group);
      isChanged |= prune(group);
    }
    return isChanged;
  }

private:
  void collect();
  void pin(StringRef name) { pinned.insert(functions.lookup(name)); }
  void collectNode(Node node, bool isInside);
  void findOrdered();

  // Copies functions for calls that use different results.
  bool split();
  bool mustSplit(Group &group) const;
  bool callCopies(FunctionalNode &functional);

  // Replaces a result that is an argument passed through with the node's operand.
  void bypass(Group &group);
  void bypass(Node node, Value result, Value argument);
  bool prune(Group &group);
  bool mustKeepResults(Node node) const {
    return isa<GraphOp>(node->getParentOp()) && (!options.graph || kept.contains(node.name()));
  }
  llvm::BitVector neededResults(FunctionalNode &functional) const;
  llvm::BitVector neededResults(Group &group) const;
  void keepDependencies(FunctionalNode &functional, const llvm::BitVector &dead);
  bool fits(Group &group) const;

  static constexpr size_t maxCopies = 1000;

  ModuleOp module;
  SymbolTable symbols;
  const PruneArgumentsOptions &options;
  Effects effects;
  FunctionMap functions;
  llvm::StringSet<> kept;
  llvm::MapVector<Operation *, Group> groups;
  llvm::DenseSet<Operation *> pinned; // functions that can't change
  llvm::DenseSet<Block *> withDead;
  llvm::DenseSet<Operation *> erased;
  /// The names of copied functions, by the kind of call and the results that it uses.
  llvm::StringMap<llvm::StringMap<StringAttr>> copies;
  llvm::DenseSet<Operation *> ordered; // nodes whose control tokens carry dependencies
};

void Pruner::collect() {
  groups.clear(), pinned.clear(), withDead.clear(), erased.clear();
  llvm::EquivalenceClasses<Operation *> shared;
  SmallVector<FunctionalNode, 0> found;
  auto pinAll = [&](Operation *op) { forEachCallee(op, [&](StringRef name) { pin(name); }); };
  for (GraphOp graph : module.getOps<GraphOp>())
    pinAll(graph);
  for (FuncOp function : module.getOps<FuncOp>()) {
    pinAll(function);
    if (std::optional<StringRef> gradient = function.getGradient()) {
      pin(*gradient);
      pinned.insert(function);
    }
    if (function.getGeneric())
      function.walk(pinAll);
  }
  forEachBody(module, [&](Block &body) {
    if (mayBeDead(body))
      withDead.insert(&body);
    for (Operation &op : body) {
      std::optional<FunctionalNode> node =
          Node::isNode(&op) ? FunctionalNode::of(Node(&op), functions) : std::nullopt;
      if (!node) {
        op.walk(pinAll);
        continue;
      }
      for (FuncOp function : node->functions)
        shared.unionSets(node->functions.front(), function);
      found.push_back(*node);
    }
  });
  for (const FunctionalNode &node : found) {
    FuncOp first = node.functions.front();
    Group &group = groups[shared.getLeaderValue(first)];
    group.nodes.push_back(node);
    for (FuncOp function : node.functions)
      group.functions.insert(function);
  }
}

void Pruner::findOrdered() {
  ordered.clear();
  SmallVector<Operation *> open;
  auto add = [&](Operation *op) {
    if (Node::isNode(op) && ordered.insert(op).second)
      open.push_back(op);
  };
  // Creating a handle isn't a side effect that a node could wait for.
  auto isSource = [&](Node node) {
    return node.numControl() ||
           (!effects.isPure(node) && (node.numData() || !node.opType().ends_with("HandleOp")));
  };
  forEachBody(module, [&](Block &body) {
    for (Operation &op : body)
      if (Node::isNode(&op) && isSource(Node(&op)))
        add(&op);
  });
  while (!open.empty())
    for (Operation *user : open.pop_back_val()->getUsers())
      add(user);
}

bool Pruner::fits(Group &group) const {
  llvm::erase_if(group.nodes, [&](FunctionalNode &functional) {
    return erased.contains(functional.node.getOperation());
  });
  if (group.nodes.empty() ||
      llvm::any_of(group.functions, [&](Operation *f) { return pinned.contains(f); }))
    return false;
  llvm::DenseSet<Operation *> conditions, bodies;
  for (FunctionalNode &functional : group.nodes) {
    if (functional.kind != group.kind() || withDead.contains(functional.node->getBlock()) ||
        functional.arguments().size() != group.numArguments() ||
        functional.node.numResults() != group.numResults())
      return false;
    if (functional.kind == FunctionalKind::While) {
      conditions.insert(functional.functions[0]);
      bodies.insert(functional.functions[1]);
    }
  }
  return llvm::none_of(conditions, [&](Operation *f) { return bodies.contains(f); });
}

bool Pruner::mustSplit(Group &group) const {
  llvm::BitVector needed = neededResults(group.nodes.front());
  return llvm::any_of(group.functions, [&](Operation *f) { return pinned.contains(f); }) ||
         llvm::any_of(group.nodes, [&](FunctionalNode &functional) {
           return functional.kind != group.kind() || neededResults(functional) != needed;
         });
}

/// Calls of the same kind that use the same results share the copies.
bool Pruner::callCopies(FunctionalNode &functional) {
  std::string used(1, static_cast<char>('0' + static_cast<int>(functional.kind)));
  llvm::BitVector needed = neededResults(functional);
  for (unsigned i = 0; i < needed.size(); ++i)
    used += needed[i] ? '+' : '-';
  for (FuncOp function : functional.functions)
    used += (" " + function.getName()).str();
  auto [known, isNew] = copies.try_emplace(used);
  if (isNew && copies.size() <= maxCopies)
    for (FuncOp function : functional.functions)
      if (StringAttr &name = known->second[function.getName()]; !name) {
        auto copy = cast<FuncOp>(function->clone());
        name = symbols.insert(copy, std::next(Block::iterator(function)));
        functions[name] = copy;
        effects.add(copy);
      }
  if (known->second.empty())
    return false;
  replaceCallees(functional.node, known->second);
  return true;
}

bool Pruner::split() {
  bool isSplit = false;
  for (auto &[leader, group] : groups)
    if (mustSplit(group))
      for (FunctionalNode &functional : group.nodes)
        isSplit |= callCopies(functional);
  return isSplit;
}

void Pruner::bypass(Group &group) {
  for (FunctionalNode &functional : group.nodes) {
    Node node = functional.node;
    if (erased.contains(node.getOperation()) || withDead.contains(node->getBlock()) ||
        kept.contains(node.name()) || node.numControl() || !effects.isPure(node))
      continue;
    bool isWhile = functional.kind == FunctionalKind::While;
    for (auto [i, result] : llvm::enumerate(node.results())) {
      llvm::SmallDenseSet<int, 2> sources;
      for (FuncOp function : ArrayRef(functional.functions).drop_front(isWhile)) {
        auto argument = dyn_cast<BlockArgument>(function.getReturn().getData()[i]);
        sources.insert(argument ? argument.getArgNumber() / 2 : -1);
      }
      int source = sources.size() == 1 ? *sources.begin() : -1;
      if (source >= 0 && (!isWhile || source == static_cast<int>(i)))
        bypass(node, result, functional.arguments()[source]);
    }
  }
}

// Users of the result depended on all operands of the node; they keep these dependencies as control
// inputs.
void Pruner::bypass(Node node, Value result, Value argument) {
  llvm::SmallSetVector<Value, 4> tokens;
  for (Value input : node.data())
    if (Node from = definingNode(input);
        from && input != argument && ordered.contains(from.getOperation()))
      tokens.insert(from.controlResult());
  if (tokens.empty())
    return result.replaceAllUsesWith(argument);
  llvm::SmallSetVector<Operation *, 4> users(result.user_begin(), result.user_end());
  for (Operation *user : users) {
    // Terminators, and users in regions, have no control inputs for this.
    if (!Node::isNode(user) || user->getBlock() != node->getBlock())
      continue;
    user->replaceUsesOfWith(result, argument);
    for (Value token : tokens)
      addControl(Node(user), token);
  }
}

llvm::BitVector Pruner::neededResults(FunctionalNode &functional) const {
  llvm::BitVector needed(functional.node.numResults());
  for (auto [i, result] : llvm::enumerate(functional.node.results()))
    if (!result.use_empty() || mustKeepResults(functional.node))
      needed.set(i);
  return needed;
}

llvm::BitVector Pruner::neededResults(Group &group) const {
  llvm::BitVector needed(group.numResults());
  for (FunctionalNode &functional : group.nodes)
    needed |= neededResults(functional);
  return needed;
}

// The node depended on its operands, and so did nodes with a control input from it.
void Pruner::keepDependencies(FunctionalNode &functional, const llvm::BitVector &dead) {
  Node node = functional.node;
  bool isPure = effects.isPure(node) && node.controlResult().use_empty();
  SmallVector<Value> arguments(functional.arguments());
  for (unsigned i : dead.set_bits())
    if (Node from = definingNode(arguments[i]);
        from && (isPure ? ordered.contains(from.getOperation()) : from->getNumOperands() != 0))
      addControl(node, from.controlResult());
}

bool Pruner::prune(Group &group) {
  if (!fits(group))
    return false;
  bool isLoop = group.kind() == FunctionalKind::While;
  llvm::BitVector results = neededResults(group), arguments(group.numArguments());
  llvm::SmallDenseSet<Operation *, 2> conditions;
  if (isLoop)
    for (FunctionalNode &functional : group.nodes)
      conditions.insert(functional.functions[0]);
  llvm::MapVector<Operation *, std::unique_ptr<LiveNodes>> needed;
  for (Operation *function : group.functions)
    needed[function] = std::make_unique<LiveNodes>(cast<FuncOp>(function), effects);

  // A needed loop variable may need others for its next value.
  for (size_t before = ~size_t(0); before != results.count();) {
    before = results.count();
    for (auto &[function, body] : needed) {
      if (conditions.contains(function))
        body->addResult(0);
      else
        for (unsigned i : results.set_bits())
          body->addResult(i);
      arguments |= body->arguments;
    }
    if (isLoop)
      results |= arguments;
  }
  if (isLoop)
    arguments |= results;
  if (arguments.all() && results.all())
    return false;
  arguments.flip(), results.flip();
  for (auto &[function, body] : needed) {
    FuncOp edited = cast<FuncOp>(function);
    if (!conditions.contains(function))
      eraseResults(edited, results);
    body->eraseDead(erased);
    eraseArguments(edited, arguments);
  }
  for (FunctionalNode &functional : group.nodes) {
    if (erased.contains(functional.node.getOperation()))
      continue;
    keepDependencies(functional, arguments);
    bool wasOrdered = ordered.contains(functional.node.getOperation());
    Node made = eraseFromNode(functional, arguments, results);
    ordered.erase(made.getOperation()); // the argument of another, existing node
    if (wasOrdered)
      ordered.insert(made.getOperation());
  }
  return true;
}

} // namespace
} // namespace tfg

namespace {

struct PruneArguments : impl::PruneArgumentsBase<PruneArguments> {
  using Base::Base;

  void runOnOperation() override {
    tfg::SoftEdges soft(getOperation());
    PruneArgumentsOptions options{llvm::to_vector(keep), graph, split};
    tfg::Pruner pruner(getOperation(), options);
    // Callers need not compute arguments that were removed: a few rounds find most of them.
    const int maxRounds = split ? 64 : 8;
    for (int round = 0; round < maxRounds && pruner.runOnce(); ++round) {
    }
  }
};

} // namespace
} // namespace treadle
