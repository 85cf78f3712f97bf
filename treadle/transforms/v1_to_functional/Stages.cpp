#include "treadle/transforms/v1_to_functional/Stages.h"

#include "treadle/transforms/v1_to_functional/Loops.h"

using namespace mlir;

namespace treadle::tfg {

Stages::Stages(BodyConversion &body, Conditional &conditional)
    : body(body), conditional(conditional) {
  for (Branch *branch : conditional.branches)
    collect(branch, branch->side);
  llvm::sort(members,
             [&](Operation *a, Operation *b) { return body.positionOf(a) < body.positionOf(b); });
  mergeSet.insert(conditional.merges.begin(), conditional.merges.end());
}

void Stages::collect(Branch *branch, unsigned side) {
  for (Operation *op : branch->nodes) {
    doomed.push_back(op);
    if (!body.isLive(op))
      continue;
    members.push_back(op);
    sides[op] = side;
  }
  for (Conditional *inner : branch->conditionals)
    if (!inner->isConverted)
      for (Branch *innerBranch : inner->branches)
        collect(innerBranch, side);
}

// Cutting by position is cheap and correct. But nodes that follow a result in the order need not
// depend on it, so it may cut too often.
void Stages::find() {
  findByPosition();
  if (numStages > 1 && body.mayVisit(high - low + 1)) {
    llvm::DenseMap<Operation *, unsigned> stagesByPosition = std::move(stages);
    unsigned count = numStages;
    findByPaths();
    isByPaths = numStages < count;
    if (!isByPaths) {
      stages = std::move(stagesByPosition);
      numStages = count;
    }
  }
  if (numStages > 1)
    sinkPureNodes();
}

bool Stages::mayDependOnIt(Value value) const {
  Operation *op = body.sourceOf(value);
  if (!op)
    return false;
  return stages.contains(op) || (!isByPaths && body.positionOf(op) > places.front());
}

//===----------------------------------------------------------------------===//
// By positions
//===----------------------------------------------------------------------===//

bool Stages::givesOutside(Operation *op) const {
  return isMerge(op) || llvm::any_of(op->getUsers(), [&](Operation *user) {
           return body.isLive(user) && !isInside(user);
         });
}

/// Returns one more than the last stage with a result before an input from outside.
unsigned Stages::stageByPosition(Operation *op) {
  unsigned stage = 0;
  for (Value input : op->getOperands()) {
    Operation *from = body.sourceOf(input);
    if (!from || body.positionOf(from) > body.positionOf(op))
      continue; // an argument, or a back edge
    if (isInside(from) || isOwnSwitch(from))
      stage = std::max(stage, stageOf(from) + (isMerge(from) || (isInside(from) && !isInside(op))));
    else
      stage = std::max<unsigned>(stage,
                                 llvm::lower_bound(places, body.positionOf(from)) - places.begin());
  }
  return stage;
}

void Stages::findByPosition() {
  SmallVector<Operation *> nodes(members);
  llvm::append_range(nodes, conditional.merges);
  for (Operation *op : conditional.switches)
    if (body.isLive(op))
      nodes.push_back(op);
  llvm::sort(nodes,
             [&](Operation *a, Operation *b) { return body.positionOf(a) < body.positionOf(b); });
  unsigned last = 0;
  for (Operation *op : nodes) {
    unsigned stage = stageByPosition(op);
    if (!isOwnSwitch(op))
      numStages = std::max(numStages, stage + 1);
    stages[op] = stage;
    last = body.positionOf(op);
    if (isInside(op) && stage == places.size() && givesOutside(op))
      places.push_back(last);
  }
  low = body.positionOf(nodes.front());
  high = last;
  if (places.size() < numStages)
    places.push_back(last);
}

//===----------------------------------------------------------------------===//
// By paths
//===----------------------------------------------------------------------===//

void Stages::findByPaths() {
  stages.clear();
  numStages = 1;
  for (unsigned slot = low; slot <= high; ++slot) {
    Operation *op = body.at(slot);
    if (!op || !body.isLive(op))
      continue;
    bool isAfter = isInside(op);
    unsigned stage = 0;
    for (Value input : op->getOperands()) {
      auto before = stages.find(body.sourceOf(input));
      if (before == stages.end())
        continue;
      isAfter = true;
      bool leaves = isMerge(before->first) || (isInside(before->first) && !isInside(op));
      stage = std::max(stage, before->second + leaves);
    }
    if (!isAfter)
      continue;
    stages[op] = stage;
    if (isInside(op))
      numStages = std::max(numStages, stage + 1);
  }
}

// Moves pure nodes to the first stage that needs them, so that fewer values pass between stages.
void Stages::sinkPureNodes() {
  for (Operation *op : llvm::reverse(members)) {
    if (!body.conversion.effects.isPure(Node(op)))
      continue;
    unsigned first = numStages;
    for (Operation *user : op->getUsers())
      if (body.isLive(user))
        first = std::min(first, isInside(user) ? stageOf(user) : stageOf(op));
    if (first < numStages)
      stages[op] = std::max(stageOf(op), first);
  }
}

//===----------------------------------------------------------------------===//
// Positions of new nodes
//===----------------------------------------------------------------------===//

// Nodes outside keep their order, but nodes that depend on a stage move after it.
void Stages::placeByPaths(ArrayRef<Operation *> replacements) {
  std::vector<std::vector<Operation *>> outside(numStages + 1);
  for (unsigned slot = low; slot <= high; ++slot) {
    Operation *op = body.at(slot);
    if (op && body.isLive(op) && !isInside(op) && !isOwnSwitch(op))
      outside[std::min(stageOf(op), numStages)].push_back(op);
    body.clear(slot);
  }
  unsigned next = low;
  for (unsigned stage = 0; stage <= numStages; ++stage) {
    for (Operation *op : outside[stage])
      body.place(op, next++);
    if (stage < numStages && replacements[stage])
      body.place(replacements[stage], next++);
  }
}

void Stages::place(ArrayRef<Operation *> replacements) {
  if (isByPaths)
    return placeByPaths(replacements);
  for (auto [replacement, slot] : llvm::zip(replacements, places))
    if (replacement)
      body.place(replacement, slot);
}

} // namespace treadle::tfg
