#include "treadle/transforms/v1_to_functional/LoopParts.h"

#include "treadle/rewriting/Frames.h"
#include "treadle/transforms/functional_to_v1/Lowered.h"
#include "treadle/transforms/v1_to_functional/Conversion.h"

using namespace mlir;

namespace treadle::tfg {

bool LoopParts::find() {
  if (!loop.problem.empty())
    return false;
  if (!deadness.isKnown())
    return refuse(loop.enters.empty() ? nullptr : loop.enters.front(),
                  "the graph around it has a cycle outside of loops, or control flow without its "
                  "inputs and outputs");
  findMembers();
  if (!checkMembers() || !findVariables() || !checkNextIterations() || !checkSwitches() ||
      !checkExits() || !checkDeadness())
    return false;
  markBody();
  return collect() && checkEffects();
}

std::optional<unsigned> LoopParts::indexOf(Value value) const {
  Operation *op = value.getDefiningOp();
  if (op && isLoopSwitch(op))
    return indexOf(op->getOperand(0));
  auto index = indices.find(op);
  if (index == indices.end() || isControl(value))
    return std::nullopt;
  return index->second;
}

bool LoopParts::isLoopSwitch(Operation *op) const {
  return own.contains(op) && v1Kind(Node(op)) == "Switch" &&
         op->getOperand(1).getDefiningOp() == loopCond.getOperation();
}

SmallVector<Value> LoopParts::tokens() const {
  SmallVector<Value> tokens;
  for (Operation *enter : loop.enters)
    llvm::append_range(tokens, Node(enter).control());
  return tokens;
}

// --- the parts -----------------------------------------------------------------------------------

void LoopParts::findMembers() {
  own.insert(loop.nodes.begin(), loop.nodes.end());
  members.insert(loop.enters.begin(), loop.enters.end());
  loop.forEachNode([&](Operation *op) { members.insert(op); });
}

// Edges into a frame that bypass Enter, or out of it that bypass Exit, have no defined meaning.
bool LoopParts::checkMembers() {
  llvm::DenseSet<Operation *> exits(loop.exits.begin(), loop.exits.end());
  llvm::DenseSet<Operation *> enters(loop.enters.begin(), loop.enters.end());
  for (Operation *op : members) {
    Node node(op);
    if (rules.isKept(node))
      return refuse(node, "node '", "' must be kept");
    bool isEnter = enters.contains(op);
    for (Value input : op->getOperands())
      if (!isEnter && !isMember(input.getDefiningOp()))
        return refuse(node, "node '", "' has an input from outside the loop");
    for (Operation *user : op->getUsers())
      if (!isMember(user) && !exits.contains(user))
        return refuse(node, "node '", "' is used outside the loop");
    for (Value value : op->getResults())
      if (!isControl(value) && isReference(value) && isEnter)
        return refuse(node, "node '", "' passes a reference to a variable into the loop");
  }
  return true;
}

bool LoopParts::addVariable(Node merge) {
  Node enter(merge.data()[0].getDefiningOp()), next(merge.data()[1].getDefiningOp());
  if (v1Kind(enter) != "Enter")
    std::swap(enter, next);
  if (v1Kind(enter) != "Enter" || v1Kind(next) != "NextIteration")
    return refuse(merge, "node '", "' has other inputs than Enter and NextIteration");
  if (!own.contains(next.getOperation()))
    return refuse(merge, "node '", "' has a NextIteration of another loop");
  if (!merge.results()[1].use_empty())
    return refuse(merge, "the loop uses the input index of node '", "'");
  if (merge.numControl() != 0)
    return refuse(merge, "node '", "' has control inputs");
  indices[merge.getOperation()] = variables.size();
  variables.push_back({enter, merge, next});
  return true;
}

bool LoopParts::findVariables() {
  auto isNext = [](Value value) {
    Operation *op = value.getDefiningOp();
    return op && Node::isNode(op) && v1Kind(Node(op)) == "NextIteration";
  };
  for (Operation *op : loop.nodes) {
    Node node(op);
    StringRef kind = v1Kind(node);
    if (kind == "LoopCond") {
      if (loopCond)
        return refuse(op, "it has more than one LoopCond");
      loopCond = node;
    } else if (kind == "Merge" && llvm::any_of(node.data(), isNext)) {
      if (node.numData() != 2)
        return refuse(node, "node '", "' has more than two inputs");
      if (!addVariable(node))
        return false;
    }
  }
  if (!loopCond)
    return refuse(loop.enters.empty() ? nullptr : loop.enters.front(), "it has no LoopCond");
  if (variables.empty())
    return refuse(loopCond.getOperation(), "it has no NextIteration");
  if (!mayBePredicate(loopCond.data()[0]))
    return refuse(loopCond.getOperation(), "its condition isn't a boolean scalar");
  if (!addInvariants())
    return false;
  restoreOperandOrder();
  return true;
}

// A value that enters twice is one loop variable, unless the original While had it twice.
bool LoopParts::addInvariants() {
  llvm::DenseMap<std::pair<Value, Attribute>, unsigned> known;
  for (Operation *op : loop.enters) {
    Node enter(op);
    if (!isConstantEnter(enter)) {
      auto isVariable = [&](Operation *user) { return indices.contains(user); };
      if (!llvm::all_of(op->getUsers(), isVariable))
        return refuse(enter, "the value of node '",
                      "' is only available in the first iteration, and no Merge uses it");
      continue;
    }
    auto [index, isNew] =
        known.try_emplace({enter.data()[0], loweredInput(enter)}, variables.size());
    if (isNew)
      variables.push_back({enter, {}, {}});
    indices[op] = index->second;
  }
  return true;
}

/// The variables of a loop that was lowered from a While get the order of its operands.
void LoopParts::restoreOperandOrder() {
  auto inputOf = [](const Variable &variable) { return loweredInput(variable.enter); };
  if (!llvm::all_of(variables, inputOf))
    return;
  SmallVector<std::pair<int64_t, unsigned>> order;
  for (auto [index, variable] : llvm::enumerate(variables))
    order.emplace_back(inputOf(variable).getInt(), index);
  llvm::sort(order);
  SmallVector<Variable> ordered;
  SmallVector<unsigned> indexNow(variables.size());
  for (auto [input, before] : order) {
    indexNow[before] = ordered.size();
    ordered.push_back(variables[before]);
  }
  variables = std::move(ordered);
  for (auto &[op, index] : indices)
    index = indexNow[index];
}

bool LoopParts::checkNextIterations() {
  for (Operation *op : loop.nodes)
    if (v1Kind(Node(op)) == "NextIteration" &&
        llvm::any_of(op->getUsers(), [&](Operation *user) { return !indices.contains(user); }))
      return refuse(Node(op), "node '", "' is used by other nodes than Merge");
  return true;
}

bool LoopParts::checkSwitches() {
  for (Operation *op : loop.nodes) {
    if (!isLoopSwitch(op))
      continue;
    if (Node(op).numControl() != 0)
      return refuse(Node(op), "node '", "' has control inputs");
    if (!llvm::all_of(op->getResult(0).getUsers(),
                      [](Operation *user) { return v1Kind(Node(user)) == "Exit"; }))
      return refuse(Node(op), "the loop uses the false output of node '", "'");
  }
  return true;
}

bool LoopParts::checkExits() {
  for (Operation *op : loop.exits) {
    Node exit(op);
    Operation *from = exit.data()[0].getDefiningOp();
    bool isLast = from && isLoopSwitch(from) &&
                  cast<OpResult>(exit.data()[0]).getResultNumber() == 0 && indexOf(exit.data()[0]);
    if (!isLast)
      return refuse(exit, "node '", "' doesn't take the false output of a loop variable's Switch");
    if (loop.parent && rules.isKept(exit))
      return refuse(exit, "node '", "' must be kept");
    if (exit.numControl() != 0)
      return refuse(exit, "node '", "' has control inputs");
  }
  return true;
}

// A While runs with all of its inputs or not at all, and continues with all of its values. So must
// the loop: if a single Enter, the condition or a NextIteration is dead, the rest of the frame
// stays alive.
bool LoopParts::checkDeadness() {
  Deadness::Set entered = 0;
  for (Operation *enter : loop.enters) {
    if (!deadness.includes(runCondition(), deadness.of(enter)))
      return refuse(Node(enter), "node '", "' may be dead while the rest of the loop runs");
    entered = deadness.join(entered, deadness.of(enter));
  }
  if (runCondition() != entered)
    return refuse(loopCond, "node '", "' may be dead while the rest of the loop runs");
  const Deadness::Set goesOn = continueCondition();
  for (const Variable &variable : variables)
    if (variable.next && deadness.of(variable.next.getOperation()) != goesOn)
      return refuse(variable.next, "node '",
                    "' may be dead when the loop continues, or alive when it ends");
  return true;
}

Deadness::Set LoopParts::continueCondition() {
  for (Operation *op : loop.nodes)
    if (isLoopSwitch(op))
      return deadness.join(runCondition(), deadness.of(op->getResult(1)));
  return runCondition(); // which no NextIteration should have
}

// Nodes with side effects must be dead whenever their part of the structured loop doesn't run.
bool LoopParts::checkEffects() {
  auto runsElsewhere = [&](Operation *op, Deadness::Set where) {
    return !isV1ControlFlow(Node(op)) && !rules.mayRepeat(Node(op)) &&
           !deadness.includes(deadness.of(op), where);
  };
  for (Operation *op : inCondition)
    if (runsElsewhere(op, runCondition()))
      return refuse(Node(op), "node '", "' may run while the rest of the loop is dead");
  const Deadness::Set goesOn = continueCondition();
  for (Operation *op : inBody)
    if (runsElsewhere(op, goesOn))
      return refuse(Node(op), "node '", "' may run when the loop ends");
  return true;
}

/// Marks nodes that run only in complete iterations: all that depend on a Switch that continues the
/// loop.
void LoopParts::markBody() {
  SmallVector<Operation *> pending;
  auto push = [&](Operation *op) {
    if (isMember(op) && !isFrameNode(op) && bodySide.insert(op).second)
      pending.push_back(op);
  };
  for (Operation *op : loop.nodes)
    if (isLoopSwitch(op))
      for (Operation *user : op->getResult(1).getUsers())
        push(user);
  while (!pending.empty())
    for (Operation *user : pending.pop_back_val()->getUsers())
      push(user);
}

bool LoopParts::collect() {
  SmallVector<Operation *> body, condition;
  auto add = [&](SmallVector<Operation *> &list, Node node) {
    for (Value input : node->getOperands())
      list.push_back(input.getDefiningOp());
  };
  for (Variable &variable : variables)
    if (variable.next)
      add(body, variable.next);
  for (Operation *op : loop.nodes)
    if (!isV1ControlFlow(Node(op)) && rules.alwaysRuns(Node(op)))
      (bodySide.contains(op) ? body : condition).push_back(op);
  add(condition, loopCond);
  if (!collectBody(body, condition) || !collectCondition(condition))
    return false;
  loop.forEachNode([&](Operation *op) {
    if (bodySet.contains(op))
      inBody.push_back(op);
    if (conditionSet.contains(op))
      inCondition.push_back(op);
  });
  return true;
}

// A node of the condition whose value the body needs is copied to the body, if it may run twice.
bool LoopParts::collectBody(SmallVector<Operation *> pending, SmallVector<Operation *> &condition) {
  llvm::DenseSet<Operation *> passed;
  while (!pending.empty()) {
    Operation *op = pending.pop_back_val();
    if (op == loopCond.getOperation())
      return refuse(op, "its body uses the value of LoopCond");
    if (!isMember(op) || bodySet.contains(op) || indices.contains(op))
      continue;
    if (isLoopSwitch(op)) {
      pending.push_back(op->getOperand(0).getDefiningOp());
      continue;
    }
    Node node(op);
    if (!bodySide.contains(op) && !rules.mayRepeat(node))
      return refuse(node, "node '", "' runs once more than the body that uses its value");
    bodySet.insert(op);
    for (Value input : node.data())
      pending.push_back(input.getDefiningOp());
    collectWaits(node, pending, condition, passed);
  }
  return true;
}

// Adds nodes that must run before the body to the condition, also those that are reached through
// repeatable nodes, which would be dropped.
void LoopParts::collectWaits(Node node, SmallVector<Operation *> &body,
                             SmallVector<Operation *> &condition,
                             llvm::DenseSet<Operation *> &passed) {
  SmallVector<Value> waits(node.control());
  while (!waits.empty()) {
    Operation *before = waits.pop_back_val().getDefiningOp();
    if (bodySide.contains(before))
      body.push_back(before);
    else if (!isMember(before) || isFrameNode(before) || !passed.insert(before).second)
      continue;
    else if (rules.mayRepeat(Node(before)))
      llvm::append_range(waits, before->getOperands());
    else
      condition.push_back(before);
  }
}

bool LoopParts::collectCondition(SmallVector<Operation *> pending) {
  while (!pending.empty()) {
    Operation *op = pending.pop_back_val();
    if (!isMember(op) || conditionSet.contains(op) || indices.contains(op))
      continue;
    if (isLoopSwitch(op) || bodySide.contains(op) || op == loopCond.getOperation())
      return refuse(Node(op), "its condition needs node '", "' of the body");
    conditionSet.insert(op);
    for (Value input : op->getOperands())
      pending.push_back(input.getDefiningOp());
  }
  return true;
}

// --- replacement -------------------------------------------------------------------------------

void LoopParts::replaceExits(Node structured, function_ref<bool(Node)> staysByName) {
  runs = runCondition();
  for (Operation *op : loop.exits) {
    Node exit(op);
    Value result = structured.results()[*indexOf(exit.data()[0])];
    Value token = structured.controlResult();
    if (staysByName(exit)) {
      OpBuilder builder(op);
      Node identity = NodeBuilder(builder, "Identity")
                          .placedAs(exit)
                          .attrs(exit.attrs())
                          .inputs(result)
                          .results(exit.results().getTypes())
                          .build();
      result = identity.results()[0];
      token = identity.controlResult();
    }
    exit.results()[0].replaceAllUsesWith(result);
    replaceControl(exit.controlResult(), token);
    members.insert(op);
  }
  SmallVector<Operation *> left;
  for (Operation *op : members)
    if (op->getBlock() == structured->getBlock())
      left.push_back(op);
  for (Operation *op : left)
    op->dropAllUses();
  for (Operation *op : left)
    op->dropAllReferences();
  for (Operation *op : left)
    op->erase();
}

void LoopParts::setInPlace(Node structured) {
  deadness.set(structured.getOperation(), runs);
  if (loop.parent) {
    llvm::erase(loop.parent->children, &loop);
    loop.parent->nodes.push_back(structured.getOperation());
  }
}

} // namespace treadle::tfg
