// Switch and Merge nodes of one predicate made If nodes, or Case nodes where the predicate has more
// outcomes than two.
#include "treadle/transforms/functional_to_v1/Lowered.h"
#include "treadle/transforms/topological_sort/TopologicalSort.h"
#include "treadle/transforms/v1_to_functional/Branches.h"
#include "treadle/transforms/v1_to_functional/Conversion.h"
#include "treadle/transforms/v1_to_functional/Loops.h"

#include "llvm/ADT/SetVector.h"

#include <algorithm>

using namespace mlir;

namespace treadle::tfg {
namespace {

/// A body while its conditionals are converted, innermost first. What they consisted of is erased
/// at the end: until then it has no uses, and is in `dead`.
class Body {
public:
  Body(Conversion &conversion, Block &block)
      : conversion(conversion), block(block), branches(block), names(block) {
    sort();
    findNeeded();
  }

  bool isLive(Operation *op) const { return needed.contains(op) && !dead.contains(op); }
  unsigned positionOf(Operation *op) const { return position.lookup(op); }

  void sort() {
    order = topologicalOrder(block);
    position.clear();
    for (auto [index, op] : llvm::enumerate(order))
      position[op] = index;
  }
  void add(Operation *op, Branch *branch, unsigned slot) {
    branches.add(op, branch);
    needed.insert(op);
    order[slot] = op;
    position[op] = slot;
  }
  void need(Operation *op) { needed.insert(op); }
  void kill(Operation *op) {
    if (!dead.insert(op).second)
      return;
    op->dropAllUses();
    op->dropAllReferences();
  }
  void eraseDead() {
    for (Operation *op : dead)
      op->erase();
  }

  Conversion &conversion;
  Block &block;
  Branches branches;
  NameScope names;
  std::vector<Operation *> order;

private:
  void findNeeded();

  llvm::DenseMap<Operation *, unsigned> position;
  llvm::DenseSet<Operation *> needed, dead;
};

/// What has to run: nodes outside of all branches, and what they need. In a branch of a graph other
/// nodes run only if someone fetches them, which `keep` would say.
void Body::findNeeded() {
  SmallVector<Operation *> pending;
  auto push = [&](Operation *op) {
    if (op && needed.insert(op).second)
      pending.push_back(op);
  };
  for (Operation &op : block) {
    bool isRoot = !Node::isNode(&op) || branches.isUnstructured(&op) ||
                  (!branches.branchOf(&op) && !branches.conditionalOf(&op)) ||
                  conversion.isKept(Node(&op)) ||
                  (runsUnneeded(block) && !isV1ControlFlow(Node(&op)) &&
                   !conversion.effects.isPure(Node(&op)));
    if (isRoot)
      push(&op);
  }
  while (!pending.empty())
    for (Value input : pending.pop_back_val()->getOperands())
      push(input.getDefiningOp());
}

//===----------------------------------------------------------------------===//
// One conditional
//===----------------------------------------------------------------------===//

/// Nodes of the branches may depend on what the conditional gives, by a way outside of it (as those
/// of a gradient do): then it is more than one If, each of a stage.
class ConditionalConverter {
public:
  ConditionalConverter(Body &body, Conditional &conditional)
      : body(body), conversion(body.conversion), conditional(conditional) {}

  /// False, with the reason in the conditional; then nothing has changed.
  bool convert() {
    findMembers();
    if (conditional.merges.empty() && members.empty())
      return refuse(nullptr, "no Merge joins its branches");
    findStages();
    if (!check() || !findPredicate())
      return false;
    for (unsigned stage = 0; stage < numStages; ++stage)
      buildStage(stage);
    finish();
    return true;
  }

private:
  bool refuse(Operation *op, std::string why) {
    conditional.refuse(op, std::move(why));
    return false;
  }
  static std::string quoted(Operation *op) { return ("node '" + Node(op).name() + "'").str(); }

  void findMembers();
  void collect(Branch *branch, unsigned side);
  void findStages();
  void sinkPureNodes();
  bool check();
  bool checkUse(Operation *op, OpOperand &use);
  bool findPredicate();
  void buildStage(unsigned stage);
  void finish();

  bool isMerge(Operation *op) const { return mergeSet.contains(op); }
  bool isInside(Operation *op) const { return sides.contains(op) || isMerge(op); }
  bool isOwnSwitch(Operation *op) const {
    return op && body.branches.conditionalOf(op) == &conditional;
  }
  /// The value that a branch sees, as it is outside.
  Value outside(Value value) const {
    while (isOwnSwitch(value.getDefiningOp()) && !isControl(value))
      value = value.getDefiningOp()->getOperand(0);
    auto crossed = crossing.find(value);
    return crossed == crossing.end() ? value : crossed->second;
  }
  /// `Identity(Switch(p, p))`, which TensorFlow makes for others to wait on.
  bool isPivot(Operation *op) const {
    Operation *from = op->getNumOperands() ? op->getOperand(0).getDefiningOp() : nullptr;
    return v1Kind(Node(op)) == "Identity" && isOwnSwitch(from) &&
           Branches::rootOf(from->getOperand(0)) == conditional.predicate;
  }

  friend class StageBuilder;

  Body &body;
  Conversion &conversion;
  Conditional &conditional;
  SmallVector<Operation *> members; // live nodes of the branches, in order
  SmallVector<Operation *> doomed;  // all nodes of the branches
  llvm::DenseMap<Operation *, unsigned> sides;
  llvm::DenseSet<Operation *> mergeSet;
  llvm::DenseMap<Operation *, unsigned> stages;
  unsigned numStages = 1;
  Value predicate;
  SmallVector<Value> predicateTokens;
  llvm::DenseMap<Value, Value> crossing;       // values of earlier stages: results of their nodes
  llvm::DenseMap<Operation *, Node> stageNode; // members and merges: what they became
};

void ConditionalConverter::collect(Branch *branch, unsigned side) {
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

void ConditionalConverter::findMembers() {
  for (Branch *branch : conditional.branches)
    collect(branch, branch->side);
  llvm::sort(members,
             [&](Operation *a, Operation *b) { return body.positionOf(a) < body.positionOf(b); });
  mergeSet.insert(conditional.merges.begin(), conditional.merges.end());
}

void ConditionalConverter::findStages() {
  unsigned low = UINT_MAX, high = 0;
  auto extend = [&](Operation *op) {
    low = std::min(low, body.positionOf(op));
    high = std::max(high, body.positionOf(op));
  };
  llvm::for_each(members, extend);
  llvm::for_each(conditional.merges, extend);
  for (unsigned slot = low; slot <= high; ++slot) {
    Operation *op = body.order[slot];
    if (!body.isLive(op))
      continue;
    bool isAfter = isInside(op);
    unsigned stage = 0;
    for (Value input : op->getOperands()) {
      auto before = stages.find(input.getDefiningOp());
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
  if (numStages > 1)
    sinkPureNodes();
}

// To the first stage that needs them, so that fewer values go from stage to stage.
void ConditionalConverter::sinkPureNodes() {
  for (Operation *op : llvm::reverse(members)) {
    if (!conversion.effects.isPure(Node(op)))
      continue;
    unsigned first = numStages;
    for (Operation *user : op->getUsers())
      if (body.isLive(user))
        first = std::min(first, isInside(user) ? stages[user] : stages[op]);
    if (first < numStages)
      stages[op] = std::max(stages[op], first);
  }
}

bool ConditionalConverter::checkUse(Operation *op, OpOperand &use) {
  Operation *user = use.getOwner();
  if (!body.isLive(user) || sides.contains(user))
    return true;
  if (isControl(use.get()))
    return isa<ReturnOp>(user) || v1Kind(Node(user)) == "ControlTrigger" ||
           refuse(op,
                  quoted(op) + " is in a branch, but " + quoted(user) + " outside waits for it");
  return isMerge(user) || refuse(op, quoted(op) + " is in a branch, but is used outside of it");
}

bool ConditionalConverter::check() {
  for (Operation *op : members) {
    if (conversion.isKept(Node(op)))
      return refuse(op, quoted(op) + " is to be kept");
    if (v1Kind(Node(op)) == "NextIteration" || v1Kind(Node(op)) == "LoopCond")
      return refuse(op, "it stands across a loop that stays");
    for (OpOperand &use : op->getUses())
      if (!checkUse(op, use))
        return false;
    for (Value value : op->getResults())
      if (!isControl(value) && isReference(value))
        return refuse(op, quoted(op) + " gives a reference to a variable");
  }
  for (Operation *op : conditional.merges)
    if (conditional.parent && conversion.isKept(Node(op)))
      return refuse(op, quoted(op) + " is to be kept");
  for (Operation *op : conditional.switches) {
    Node node(op);
    if (conversion.isKept(node))
      return refuse(op, quoted(op) + " is to be kept");
    if (isReference(node.data()[0]))
      return refuse(op, quoted(op) + " takes a reference to a variable");
    for (Value value : node.results())
      for (OpOperand &use : value.getUses())
        if (!checkUse(op, use))
          return false;
  }
  return true;
}

/// The predicate where the conditional stands, or one that is known before and what says that the
/// conditional is reached.
bool ConditionalConverter::findPredicate() {
  for (Operation *op : conditional.switches) {
    Value value = Node(op).data()[1];
    if (!stages.contains(value.getDefiningOp()) &&
        body.branches.branchOf(value) == conditional.parent) {
      predicate = value;
      return true;
    }
  }
  predicate = conditional.predicate;
  if (stages.contains(predicate.getDefiningOp()))
    return refuse(predicate.getDefiningOp(), "its predicate depends on it");
  for (Operation *op : conditional.switches)
    for (Value token : tokensBefore(Node(op)))
      if (conditional.parent && body.branches.branchOf(token) == conditional.parent &&
          !stages.contains(token.getDefiningOp())) {
        predicateTokens = {token};
        return true;
      }
  return !conditional.parent ||
         refuse(conditional.switches.front(), "its predicate comes from outside of its branch");
}

/// One stage: an If or a Case, and a function for each branch.
class StageBuilder {
public:
  StageBuilder(ConditionalConverter &of, unsigned stage)
      : of(of), body(of.body), conversion(of.conversion), conditional(of.conditional),
        stage(stage) {}

  Node build() {
    collect();
    SmallVector<tf_type::FuncAttr> functions;
    std::string base = baseName();
    for (Branch *branch : conditional.branches)
      functions.push_back(buildBranch(base, *branch));
    node = buildNode(base, functions);
    replace();
    return node;
  }

private:
  bool isOfStage(Operation *op) const { return of.isInside(op) && of.stages.lookup(op) == stage; }
  bool isIf() const { return v1Kind(Node(conditional.switches.front())) == "Switch"; }
  void collect();
  void capture(Value value);
  void waitFor(Value token);
  void findCrossing();
  std::string baseName() const;
  tf_type::FuncAttr buildBranch(StringRef base, Branch &branch);
  Value placeholder(Outline &outline, Value like);
  Value indexConst(Outline &outline, Node merge, unsigned index);
  Node buildNode(StringRef base, ArrayRef<tf_type::FuncAttr> functions);
  void replace();
  void replaceMerge(Node merge, Value result, Value index);

  ConditionalConverter &of;
  Body &body;
  Conversion &conversion;
  Conditional &conditional;
  unsigned stage;
  SmallVector<Operation *> members, merges;
  llvm::SetVector<Value> inner;  // what branches see of outside, as they see it
  llvm::SetVector<Value> inputs; // the same as it is outside, each once
  llvm::SetVector<Value> tokens;
  SmallVector<Value> passedOn; // values that later stages need
  llvm::DenseMap<Operation *, unsigned> indexResults;
  SmallVector<Type> types;
  Node node;
};

void StageBuilder::waitFor(Value token) {
  Operation *op = token.getDefiningOp();
  if (op && isOfStage(op))
    return;
  if (of.isOwnSwitch(op)) {
    for (Value before : Node(op).control())
      waitFor(before);
    Value data = of.outside(op->getOperand(0));
    if (!inputs.contains(data) && data != of.predicate &&
        Branches::rootOf(data) != conditional.predicate)
      tokens.insert(controlTokenOf(data));
    return;
  }
  auto earlier = of.stageNode.find(op);
  tokens.insert(earlier == of.stageNode.end() ? token : earlier->second.controlResult());
}

void StageBuilder::capture(Value value) {
  Operation *op = value.getDefiningOp();
  if (op && of.sides.contains(op) && of.stages.lookup(op) == stage)
    return;
  inner.insert(value);
  inputs.insert(of.outside(value));
}

// Switch nodes stand in the order of the values that they let through, which may be an order that
// someone chose.
void StageBuilder::collect() {
  auto isUsed = [&](Operation *op) {
    return llvm::any_of(op->getUses(), [&](OpOperand &use) {
      return !isControl(use.get()) && body.isLive(use.getOwner());
    });
  };
  for (Operation *op : of.members)
    if (isOfStage(op) && (!of.isPivot(op) || isUsed(op)))
      members.push_back(op);
  for (Operation *op : conditional.merges)
    if (isOfStage(op))
      merges.push_back(op);
  llvm::DenseSet<Value> used;
  for (SmallVector<Operation *> *list : {&members, &merges})
    for (Operation *op : *list)
      for (Value value : Node(op).data())
        used.insert(value);
  for (Operation *op : conditional.switches)
    for (Value value : Node(op).results())
      if (used.contains(value))
        capture(value);
  for (SmallVector<Operation *> *list : {&members, &merges})
    for (Operation *op : *list)
      for (Value value : Node(op).data())
        capture(value);
  for (SmallVector<Operation *> *list : {&members, &merges})
    for (Operation *op : *list)
      for (Value token : Node(op).control())
        waitFor(token);
  for (Value value : inner)
    if (Operation *op = value.getDefiningOp(); of.isOwnSwitch(op))
      for (Value token : Node(op).control())
        waitFor(token);
  tokens.insert(of.predicateTokens.begin(), of.predicateTokens.end());
  findCrossing();
}

void StageBuilder::findCrossing() {
  for (Operation *op : members)
    for (Value value : Node(op).results())
      if (llvm::any_of(value.getUsers(), [&](Operation *user) {
            return body.isLive(user) && of.isInside(user) && of.stages.lookup(user) > stage;
          }))
        passedOn.push_back(value);
}

std::string StageBuilder::baseName() const {
  Operation *named = !merges.empty() ? merges.front() : members.front();
  auto [scope, last] = Node(named).name().rsplit('/');
  return body.names.unique(last.empty() ? (scope + "/If").str() : scope.str());
}

/// Something of a value's type, which nobody reads.
Value StageBuilder::placeholder(Outline &outline, Value like) {
  MLIRContext *context = like.getContext();
  return NodeBuilder(outline.atEnd(), "FakeParam")
      .name(outline.uniqueName("not_taken"))
      .attr("dtype", elementTypes(context, like.getType())[0])
      .attr("shape", tf_type::ShapeAttr::get(context, ArrayRef<int64_t>()))
      .results(like.getType())
      .build()
      .results()[0];
}

Value StageBuilder::indexConst(Outline &outline, Node merge, unsigned index) {
  OpBuilder &builder = outline.atEnd();
  auto type = RankedTensorType::get({}, builder.getI32Type());
  return NodeBuilder(builder, "Const")
      .name(outline.uniqueName((merge.name() + "/index").str()))
      .attr("dtype", TypeAttr::get(builder.getI32Type()))
      .attr("value", DenseElementsAttr::get(type, builder.getI32IntegerAttr(index).getValue()))
      .results(merge.results()[1].getType())
      .build()
      .results()[0];
}

tf_type::FuncAttr StageBuilder::buildBranch(StringRef base, Branch &branch) {
  std::string suffix =
      isIf() ? (branch.side ? "_true" : "_false") : ("_branch" + Twine(branch.side)).str();
  Outline outline(conversion.module, conversion.functions.unique(base.str() + suffix),
                  conditional.switches.front()->getLoc());
  llvm::DenseMap<Value, Value> arguments;
  for (Value input : inputs)
    arguments[input] = outline.addArgument(input.getType(), nameOf(input));
  for (Value value : inner)
    outline.map(value, arguments[of.outside(value)]);

  SmallVector<Operation *> nodes;
  for (Operation *op : members)
    if (of.sides.lookup(op) == branch.side) {
      outline.clone(Node(op));
      nodes.push_back(op);
    }
  SmallVector<Value> results;
  SmallVector<std::string> names;
  auto addResult = [&](Value value, StringRef name) {
    results.push_back(value);
    names.push_back(name.str());
  };
  auto inputOf = [&](Node merge) {
    for (unsigned i = 0, e = merge.numData(); i < e; ++i)
      if (body.branches.branchOf(merge.data()[i]) == &branch)
        return i;
    return 0u;
  };
  for (Operation *op : merges)
    addResult(outline.lookup(Node(op).data()[inputOf(Node(op))]), Node(op).name());
  for (Operation *op : merges)
    if (!Node(op).results()[1].use_empty() || conversion.isKept(Node(op)))
      addResult(indexConst(outline, Node(op), inputOf(Node(op))),
                (Node(op).name() + "_index").str());
  for (Value value : passedOn) {
    bool isHere = of.sides.lookup(value.getDefiningOp()) == branch.side;
    addResult(isHere ? outline.lookup(value) : placeholder(outline, value),
              Node(value.getDefiningOp()).name());
  }
  SmallVector<Value> effects = effectTokens(
      conversion.effects, nodes, [&](Operation *op) { return llvm::is_contained(nodes, op); });
  for (auto [index, result] : llvm::enumerate(results)) {
    if (types.size() <= index)
      types.push_back(result.getType());
    types[index] = commonType(types[index], result.getType());
  }
  FuncOp function = outline.finish(results, names, effects);
  restoreLowered(function.getEntry());
  return calleeFor(conversion, function);
}

Node StageBuilder::buildNode(StringRef base, ArrayRef<tf_type::FuncAttr> functions) {
  Operation *place = !merges.empty() ? merges.front() : members.back();
  OpBuilder builder(place);
  MLIRContext *context = builder.getContext();
  bool isPure = true;
  SmallVector<Attribute> callees;
  for (tf_type::FuncAttr callee : functions) {
    isPure = isPure && conversion.effects.isPureFunction(callee.getName().getRootReference());
    callees.push_back(callee);
  }
  NodeBuilder built(builder, (isPure ? Twine("Stateless") + (isIf() ? "If" : "Case")
                                     : Twine(isIf() ? "If" : "Case"))
                                 .str());
  built.name(base)
      .attr("Tin", elementTypes(context, ValueRange(inputs.getArrayRef()).getTypes()))
      .attr("Tout", elementTypes(context, types))
      .attr("output_shapes", builder.getArrayAttr({}))
      .inputs(of.predicate)
      .inputs(inputs.getArrayRef())
      .control(tokens.getArrayRef())
      .results(types);
  if (isIf())
    built.attr("Tcond", elementTypes(context, of.predicate.getType())[0])
        .attr("then_branch", callees[1])
        .attr("else_branch", callees[0]);
  else
    built.attr("branches", builder.getArrayAttr(callees));
  return built.build();
}

// In a graph the results of a conditional can be fetched: their names stay.
void StageBuilder::replaceMerge(Node merge, Value result, Value index) {
  Value token = node.controlResult();
  if (isa<GraphOp>(merge->getParentOp()) && !conditional.parent && !isLowered(merge)) {
    OpBuilder builder(merge.getOperation());
    NodeBuilder named(builder, index ? "IdentityN" : "Identity");
    named.placedAs(merge).name(merge.name()).inputs(result);
    if (index)
      named.inputs(index).attr(
          "T", elementTypes(builder.getContext(), {result.getType(), index.getType()}));
    else
      named.attr("T", merge.attr<Attribute>("T"));
    named.results(result.getType());
    if (index)
      named.results(index.getType());
    Node identity = named.build();
    result = identity.results()[0];
    index = index ? identity.results()[1] : index;
    token = identity.controlResult();
    body.add(identity.getOperation(), nullptr, body.positionOf(merge.getOperation()));
  }
  merge.results()[0].replaceAllUsesWith(result);
  if (index)
    merge.results()[1].replaceAllUsesWith(index);
  replaceControl(merge.controlResult(), token);
}

void StageBuilder::replace() {
  for (Operation *op : members)
    of.stageNode[op] = node;
  unsigned next = merges.size();
  for (auto [position, op] : llvm::enumerate(merges)) {
    of.stageNode[op] = node;
    bool hasIndex = !Node(op).results()[1].use_empty() || conversion.isKept(Node(op));
    replaceMerge(Node(op), node.results()[position],
                 hasIndex ? Value(node.results()[next++]) : Value());
  }
  for (Value value : passedOn)
    of.crossing[value] = node.results()[next++];
}

void ConditionalConverter::buildStage(unsigned stage) {
  auto isOfStage = [&](Operation *op) { return stages.lookup(op) == stage; };
  if (!llvm::any_of(members, isOfStage) && !llvm::any_of(conditional.merges, isOfStage))
    return;
  Node node = StageBuilder(*this, stage).build();
  body.branches.add(node.getOperation(), conditional.parent);
  body.need(node.getOperation());
}

// ControlTrigger nodes and the function's return wait for the If; what waited for a Switch waits
// for what that waited for.
void ConditionalConverter::finish() {
  conditional.isConverted = true;
  for (Operation *op : members)
    if (Value token = Node(op).controlResult(); stageNode.contains(op))
      replaceControl(token, stageNode[op].controlResult());
  for (Operation *op : conditional.switches)
    if (Value token = Node(op).controlResult(); token && !token.use_empty())
      replaceControl(token, tokensBefore(Node(op)));
  for (ArrayRef<Operation *> list :
       {ArrayRef<Operation *>(doomed), ArrayRef<Operation *>(conditional.merges),
        ArrayRef<Operation *>(conditional.switches)})
    for (Operation *op : list)
      body.kill(op);
  body.sort();
}

} // namespace

void convertConditionals(Conversion &conversion, Block &block) {
  bool hasSwitch = llvm::any_of(block, [](Operation &op) {
    return Node::isNode(&op) && v1Kind(Node(&op)).contains("Switch");
  });
  if (!hasSwitch)
    return;
  Body body(conversion, block);
  for (Conditional *conditional : body.branches.innermostFirst()) {
    ++conversion.counts.conditionals;
    if (ConditionalConverter(body, *conditional).convert()) {
      ++conversion.counts.convertedConditionals;
      continue;
    }
    Operation *op = conditional->culprit ? conditional->culprit : conditional->switches.front();
    op->emitRemark() << "conditional of node '" << Node(conditional->switches.front()).name()
                     << "' stays as it is: " << conditional->problem;
  }
  body.eraseDead();
}

} // namespace treadle::tfg
