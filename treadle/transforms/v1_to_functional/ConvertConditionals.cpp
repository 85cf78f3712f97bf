// Converts the Switch and Merge nodes of one predicate to If nodes, or to Case nodes if there are
// more than two outcomes.
#include "treadle/transforms/functional_to_v1/Lowered.h"
#include "treadle/transforms/v1_to_functional/Loops.h"
#include "treadle/transforms/v1_to_functional/StageBuilder.h"

using namespace mlir;

namespace treadle::tfg {
namespace {

class ConditionalConverter {
public:
  ConditionalConverter(BodyConversion &body, Conditional &conditional)
      : body(body), conversion(body.conversion), conditional(conditional),
        stages(body, conditional) {}

  /// Returns whether any node of the conditional must run. If not, it is removed or kept together
  /// with the branch that contains it.
  bool isNeeded() const {
    return !conditional.parent || !stages.members.empty() ||
           llvm::any_of(conditional.merges, [&](Operation *op) { return body.isLive(op); });
  }

  /// Returns false, with the reason in the conditional, if nothing was changed.
  bool convert() {
    if (conditional.merges.empty() && stages.members.empty())
      return refuse(nullptr, "its branches are not joined by a Merge");
    stages.find();
    if (!check() || !checkDeadness() || !findPredicate())
      return false;
    findPivots();
    noteNodes();
    noteInputs();
    dissolve();
    SmallVector<Operation *> nodes;
    for (unsigned stage = 0; stage < stages.count(); ++stage)
      nodes.push_back(
          StageBuilder(body, conditional, stages, shared, stage).build().getOperation());
    stages.place(nodes);
    finish();
    return true;
  }

private:
  bool refuse(Operation *op, std::string why) {
    conditional.refuse(op, std::move(why));
    return false;
  }
  static std::string quoted(Operation *op) { return ("node '" + Node(op).name() + "'").str(); }

  bool check();
  bool checkUse(Operation *op, OpOperand &use);
  bool checkDeadness();
  bool findPredicate();
  bool isPivot(Operation *op) const;
  void findPivots();
  void noteNodes();
  void noteInputs();
  void dissolve();
  void finish();

  BodyConversion &body;
  Conversion &conversion;
  Conditional &conditional;
  Stages stages;
  StagedConditional shared;
};

bool ConditionalConverter::checkUse(Operation *op, OpOperand &use) {
  Operation *user = use.getOwner();
  if (!body.isLive(user) || stages.isMember(user))
    return true;
  if (isControl(use.get()))
    return isa<ReturnOp>(user) || v1Kind(Node(user)) == "ControlTrigger" ||
           refuse(op,
                  quoted(op) + " is in a branch, but " + quoted(user) + " outside waits for it");
  return stages.isMerge(user) ||
         refuse(op, quoted(op) + " is in a branch, but is used outside of it");
}

bool ConditionalConverter::check() {
  for (Operation *op : stages.members) {
    if (conversion.isKept(Node(op)))
      return refuse(op, quoted(op) + " must be kept");
    if (v1Kind(Node(op)) == "NextIteration" || v1Kind(Node(op)) == "LoopCond")
      return refuse(op, "it crosses the boundary of a loop that isn't converted");
    for (OpOperand &use : op->getUses())
      if (!checkUse(op, use))
        return false;
    for (Value value : op->getResults())
      if (!isControl(value) && isReference(value))
        return refuse(op, quoted(op) + " returns a reference to a variable");
  }
  for (Operation *op : conditional.merges)
    if (conditional.parent && conversion.isKept(Node(op)))
      return refuse(op, quoted(op) + " must be kept");
  for (Operation *op : conditional.switches) {
    Node node(op);
    if (body.isInFeedback(op))
      return refuse(op, "it is in a loop whose inputs depend on its own results");
    if (conversion.isKept(node))
      return refuse(op, quoted(op) + " must be kept");
    if (v1Kind(node) == "Switch" && !mayBePredicate(node.data()[1]))
      return refuse(op, quoted(op) + " has a predicate that isn't a boolean scalar");
    if (isReference(node.data()[0]))
      return refuse(op, quoted(op) + " takes a reference to a variable");
    for (Value value : node.results())
      for (OpOperand &use : value.getUses())
        if (!checkUse(op, use))
          return false;
  }
  return true;
}

// An If runs with all of its inputs or not at all. In a loop that isn't converted, some inputs may
// be dead when the loop ends; users of the others would be lost.
bool ConditionalConverter::checkDeadness() {
  if (!body.deadness)
    return true;
  Deadness &deadness = *body.deadness;
  auto takeInputsOf = [&](Operation *op) {
    for (Value input : op->getOperands())
      if (Operation *from = input.getDefiningOp();
          !stages.isInside(from) && !stages.isOwnSwitch(from))
        shared.inputs = deadness.join(shared.inputs, deadness.of(input));
  };
  llvm::for_each(stages.members, takeInputsOf);
  for (Operation *op : conditional.switches)
    if (body.isLive(op))
      takeInputsOf(op);
  auto isLost = [&](Operation *op) { return !deadness.includes(deadness.of(op), shared.inputs); };
  for (Operation *op : stages.members)
    if (!conversion.effects.isPure(Node(op)) && isLost(op))
      return refuse(op, quoted(op) + " may run while other inputs of the conditional are dead");
  for (Operation *op : conditional.merges)
    if (body.isLive(op) && isLost(op))
      return refuse(op, quoted(op) + " may be alive while other inputs of the conditional "
                                     "are dead");
  return true;
}

/// Finds the predicate as a value outside the conditional, or an equal value that is available
/// earlier together with a token that the conditional is reached.
bool ConditionalConverter::findPredicate() {
  for (Operation *op : conditional.switches) {
    Value value = Node(op).data()[1];
    if (!stages.mayDependOnIt(value) && body.branches.branchOf(value) == conditional.parent) {
      shared.predicate = value;
      return true;
    }
  }
  shared.predicate = conditional.predicate;
  if (stages.mayDependOnIt(shared.predicate))
    return refuse(shared.predicate.getDefiningOp(), "its predicate depends on it");
  for (Operation *op : conditional.switches)
    for (Value token : tokensBefore(Node(op)))
      if (conditional.parent && body.branches.branchOf(token) == conditional.parent &&
          !stages.mayDependOnIt(token)) {
        shared.predicateTokens = {token};
        return true;
      }
  return !conditional.parent ||
         refuse(conditional.switches.front(), "its predicate comes from outside of its branch");
}

/// Returns whether the node is `Identity(Switch(p, p))`, which TensorFlow creates as a source of
/// control edges.
bool ConditionalConverter::isPivot(Operation *op) const {
  Operation *from = op->getNumOperands() ? op->getOperand(0).getDefiningOp() : nullptr;
  return v1Kind(Node(op)) == "Identity" && stages.isOwnSwitch(from) &&
         Branches::rootOf(from->getOperand(0)) == conditional.predicate;
}

// Finds pivots without uses of their values, which are removed: their control users wait for the
// pivots' control inputs instead. The same holds for the Merges that end branches without results.
void ConditionalConverter::findPivots() {
  auto isForEnd = [&](Operation *op) {
    return isLowered(Node(op)) && v1Kind(Node(op)) == "Identity" &&
           llvm::all_of(op->getUsers(),
                        [&](Operation *user) { return stages.isMerge(user) && isEnd(user); });
  };
  auto isUsed = [&](Operation *op) {
    return llvm::any_of(op->getUses(), [&](OpOperand &use) {
      return !isControl(use.get()) && body.isLive(use.getOwner()) && !isForEnd(use.getOwner());
    });
  };
  for (Operation *op : stages.members)
    if (isForEnd(op) || (isPivot(op) && !isUsed(op)))
      shared.pivots.insert(op);
}

void ConditionalConverter::noteNodes() {
  shared.members.resize(stages.count());
  shared.merges.resize(stages.count());
  for (Operation *op : stages.members)
    if (!shared.pivots.contains(op))
      shared.members[stages.stageOf(op)].push_back(op);
  for (Operation *op : conditional.merges)
    shared.merges[stages.stageOf(op)].push_back(op);
}

void ConditionalConverter::noteInputs() {
  for (Operation *op : conditional.merges)
    for (const Branch *branch : conditional.branches) {
      auto isOfBranch = [&](Value value) { return body.branches.branchOf(value) == branch; };
      ValueRange inputs = Node(op).data();
      shared.mergeInputs[op].push_back(llvm::find_if(inputs, isOfBranch) - inputs.begin());
    }
  shared.switches.resize(stages.count());
  for (Operation *op : conditional.switches) {
    llvm::SmallSetVector<unsigned, 2> users;
    for (OpOperand &use : op->getUses())
      if (stages.isInside(use.getOwner()) && !isControl(use.get()) &&
          !shared.pivots.contains(use.getOwner()))
        users.insert(stages.stageOf(use.getOwner()));
    for (unsigned stage : users)
      shared.switches[stage].push_back(op);
  }
}

/// Replaces uses of Switches in branches with the Switches' inputs, and moves control inputs of
/// Switches and pivots to their users.
void ConditionalConverter::dissolve() {
  auto isOurs = [&](Operation *user) { return stages.isInside(user) || stages.isOwnSwitch(user); };
  for (Operation *op : llvm::reverse(stages.members))
    if (shared.pivots.contains(op))
      replaceControl(Node(op).controlResult(), tokensBefore(Node(op)));
  for (Operation *op : llvm::reverse(conditional.switches)) {
    Value data = op->getOperand(0);
    SmallVector<Value> before(Node(op).control());
    if (data != shared.predicate && Branches::rootOf(data) != conditional.predicate)
      before.push_back(controlTokenOf(data));
    replaceControl(Node(op).controlResult(), before, isOurs);
  }
  for (Operation *op : conditional.switches)
    for (Value value : Node(op).results())
      value.replaceAllUsesWith(op->getOperand(0));
}

// ControlTrigger nodes and the function's return wait for the If. Control users of a Switch, or of
// a removed pivot, wait for its control inputs.
void ConditionalConverter::finish() {
  conditional.isConverted = true;
  for (ArrayRef<Operation *> list :
       {ArrayRef<Operation *>(stages.members), ArrayRef<Operation *>(conditional.switches)})
    for (Operation *op : list)
      if (Value token = Node(op).controlResult();
          op->getBlock() == &body.block && token && !token.use_empty())
        replaceControl(token, tokensBefore(Node(op)));
  for (ArrayRef<Operation *> list :
       {ArrayRef<Operation *>(stages.doomed), ArrayRef<Operation *>(conditional.merges),
        ArrayRef<Operation *>(conditional.switches)})
    for (Operation *op : list)
      body.kill(op);
}

} // namespace

void convertConditionals(Conversion &conversion, Block &block) {
  bool hasSwitch = llvm::any_of(block, [](Operation &op) {
    return Node::isNode(&op) && v1Kind(Node(&op)).contains("Switch");
  });
  if (!hasSwitch)
    return;
  BodyConversion body(conversion, block);
  for (Conditional *conditional : body.branches.innermostFirst()) {
    ConditionalConverter converter(body, *conditional);
    if (!converter.isNeeded())
      continue;
    ++conversion.counts.conditionals;
    if (converter.convert()) {
      ++conversion.counts.convertedConditionals;
      continue;
    }
    Operation *op = conditional->culprit ? conditional->culprit : conditional->switches.front();
    op->emitRemark() << "conditional of node '" << Node(conditional->switches.front()).name()
                     << "' isn't converted: " << conditional->problem;
  }
  body.eraseDead();
}

} // namespace treadle::tfg
