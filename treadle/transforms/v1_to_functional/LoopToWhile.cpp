// Loops of v1 control flow made While nodes: what LoopCond needs becomes the condition's function,
// what NextIteration needs the body's.
#include "treadle/ops/OpTable.h"
#include "treadle/rewriting/LoopVariables.h"
#include "treadle/runtime/Deadness.h"
#include "treadle/transforms/functional_to_v1/Lowered.h"
#include "treadle/transforms/v1_to_functional/Conversion.h"
#include "treadle/transforms/v1_to_functional/Loops.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace treadle::tfg {
namespace {

/// A value of the While node: one that changes from iteration to iteration, or one that a constant
/// Enter brings in (then `merge` and `next` are null).
struct Variable {
  Node enter, merge, next;

  Value initial() const { return enter.data()[0]; }
  Type type() const { return merge ? merge.results()[0].getType() : initial().getType(); }
  StringRef name() const { return merge ? enter.name() : nameOf(initial()); }
};

/// Which nodes of a body are dead together, before anything changes.
class BodyDeadness {
public:
  explicit BodyDeadness(Block &body) {
    for (BlockArgument argument : body.getArguments())
      values[argument] = {add("_Arg"), 0};
    for (Operation &op : body)
      if (Node::isNode(&op)) {
        int32_t number = numbers[&op] = add(Node(&op).opType());
        for (OpResult result : op.getResults())
          values[result] = {number, static_cast<int32_t>(result.getResultNumber())};
      }
    for (auto [op, number] : numbers)
      addEdges(Node(op), graph.nodes[number]);
    if (auto order = plan::executionOrder(graph); order && hasRightForm())
      deadness.emplace(graph, *order);
  }

  /// Whether `node` is dead whenever `other` is.
  bool follows(Operation *node, Operation *other) {
    return deadness && deadness->follows(numbers.lookup(node), numbers.lookup(other));
  }

private:
  int32_t add(StringRef op) {
    graph.nodes.emplace_back().op = op.str();
    return static_cast<int32_t>(graph.nodes.size()) - 1;
  }
  void addEdges(Node node, NodeSpec &spec) const {
    for (Value input : node->getOperands()) {
      Endpoint from = values.lookup(input);
      if (isControl(input))
        spec.controls.push_back(from.node);
      else
        spec.inputs.push_back(from);
    }
  }
  /// What plans make sure of before they ask.
  bool hasRightForm() const {
    return llvm::all_of(graph.nodes, [](const NodeSpec &node) {
      StringRef op = node.op;
      op.consume_front("Ref");
      size_t least = op == "Switch" || op == "_SwitchN" ? 2 : op == "Exit" ? 1 : 0;
      return node.inputs.size() >= least;
    });
  }

  llvm::DenseMap<Value, Endpoint> values;
  llvm::MapVector<Operation *, int32_t> numbers;
  GraphSpec graph;
  std::optional<plan::Deadness> deadness;
};

class LoopConverter {
public:
  LoopConverter(Conversion &conversion, Block &body, NameScope &names, BodyDeadness &deadness,
                Loop &loop)
      : conversion(conversion), body(body), names(names), deadness(deadness), loop(loop) {}

  /// False, with the reason in the loop, where it isn't what TensorFlow makes of a loop; then
  /// nothing has changed.
  bool convert() {
    if (!loop.problem.empty())
      return false;
    findMembers();
    if (!checkMembers() || !findVariables() || !checkNextIterations() || !checkExits() ||
        !checkDeadness())
      return false;
    markBody();
    if (!collect())
      return false;
    build();
    return true;
  }

private:
  bool refuse(Operation *op, std::string why) {
    loop.refuse(op, std::move(why));
    return false;
  }

  bool isMember(Operation *op) const { return op && members.contains(op); }

  void findMembers();
  bool checkMembers();
  bool findVariables();
  bool addVariable(Node merge);
  bool addInvariants();
  void orderAsBefore();
  bool checkNextIterations();
  bool checkExits();
  bool checkDeadness();
  void markBody();
  bool collect();
  bool collectBody(SmallVector<Operation *> pending);
  bool collectCondition(SmallVector<Operation *> pending);
  void build();
  tf_type::FuncAttr buildCondition(StringRef base);
  tf_type::FuncAttr buildBody(StringRef base);
  void mapLoopValues(Outline &outline);
  void replaceExits(Node loopNode);
  void eraseMembers();

  /// Which of the While node's values this is: what a Merge or a constant Enter of the loop gives,
  /// or a Switch that lets it through.
  std::optional<unsigned> indexOf(Value value) const {
    Operation *op = value.getDefiningOp();
    if (op && isLoopSwitch(op))
      return indexOf(op->getOperand(0));
    auto index = indices.find(op);
    if (index == indices.end() || isControl(value))
      return std::nullopt;
    return index->second;
  }

  bool isLoopSwitch(Operation *op) const {
    return own.contains(op) && v1Kind(Node(op)) == "Switch" &&
           op->getOperand(1).getDefiningOp() == loopCond.getOperation();
  }
  /// Nodes that vanish: their values are those that come from outside or from another iteration.
  bool isFrameNode(Operation *op) const {
    return indices.contains(op) || op == loopCond.getOperation() || isLoopSwitch(op);
  }

  Conversion &conversion;
  Block &body;
  NameScope &names;
  BodyDeadness &deadness;
  Loop &loop;
  llvm::DenseSet<Operation *> members; // Exit nodes of the loop left out
  llvm::DenseSet<Operation *> own;     // nodes of the frame itself
  SmallVector<Variable> variables;
  llvm::DenseMap<Operation *, unsigned> indices;
  Node loopCond;
  llvm::DenseSet<Operation *> bodySide;
  llvm::SetVector<Operation *> bodyNodes, condNodes;
};

} // namespace

void LoopConverter::findMembers() {
  own.insert(loop.nodes.begin(), loop.nodes.end());
  members.insert(loop.enters.begin(), loop.enters.end());
  loop.forEachNode([&](Operation *op) { members.insert(op); });
}

// What goes into a frame but through Enter, and out but through Exit, has no meaning there.
bool LoopConverter::checkMembers() {
  llvm::DenseSet<Operation *> exits(loop.exits.begin(), loop.exits.end());
  llvm::DenseSet<Operation *> enters(loop.enters.begin(), loop.enters.end());
  for (Operation *op : members) {
    Node node(op);
    if (conversion.isKept(node))
      return refuse(op, ("node '" + node.name() + "' is to be kept").str());
    bool isEnter = enters.contains(op);
    for (Value input : op->getOperands())
      if (!isEnter && !isMember(input.getDefiningOp()))
        return refuse(op, ("node '" + node.name() + "' has an input from outside the loop").str());
    for (Operation *user : op->getUsers())
      if (!isMember(user) && !exits.contains(user))
        return refuse(op, ("node '" + node.name() + "' is used outside the loop").str());
    for (Value value : op->getResults())
      if (!isControl(value) && isReference(value) && isEnter)
        return refuse(op, ("node '" + node.name() + "' brings in a reference to a variable").str());
  }
  return true;
}

bool LoopConverter::addVariable(Node merge) {
  Node enter(merge.data()[0].getDefiningOp()), next(merge.data()[1].getDefiningOp());
  if (v1Kind(enter) != "Enter")
    std::swap(enter, next);
  if (v1Kind(enter) != "Enter" || v1Kind(next) != "NextIteration")
    return refuse(
        merge.getOperation(),
        ("node '" + merge.name() + "' merges other things than Enter and NextIteration").str());
  if (!merge.results()[1].use_empty())
    return refuse(merge.getOperation(),
                  ("the loop asks which input node '" + merge.name() + "' took").str());
  if (merge.numControl() != 0)
    return refuse(merge.getOperation(), ("node '" + merge.name() + "' has control inputs").str());
  indices[merge.getOperation()] = variables.size();
  variables.push_back({enter, merge, next});
  return true;
}

bool LoopConverter::findVariables() {
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
        return refuse(op, ("node '" + node.name() + "' has more than two inputs").str());
      if (!addVariable(node))
        return false;
    }
  }
  if (!loopCond)
    return refuse(loop.enters.empty() ? nullptr : loop.enters.front(), "it has no LoopCond");
  if (!mayBePredicate(loopCond.data()[0]))
    return refuse(loopCond.getOperation(), "its condition is no bool scalar");
  if (!addInvariants())
    return false;
  orderAsBefore();
  return true;
}

// What comes in twice is one value, unless a While had it twice.
bool LoopConverter::addInvariants() {
  llvm::DenseMap<std::pair<Value, Attribute>, unsigned> known;
  for (Operation *op : loop.enters) {
    Node enter(op);
    auto isConstant = enter.attr<BoolAttr>("is_constant");
    if (!isConstant || !isConstant.getValue()) {
      auto isVariable = [&](Operation *user) { return indices.contains(user); };
      if (!llvm::all_of(op->getUsers(), isVariable))
        return refuse(op, ("what node '" + enter.name() +
                           "' gives is there in the first iteration "
                           "alone, and no Merge takes it")
                              .str());
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

/// A loop that was a While has its values in the order of that.
void LoopConverter::orderAsBefore() {
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

bool LoopConverter::checkNextIterations() {
  for (Operation *op : loop.nodes)
    if (v1Kind(Node(op)) == "NextIteration" &&
        llvm::any_of(op->getUsers(), [&](Operation *user) { return !indices.contains(user); }))
      return refuse(op, ("node '" + Node(op).name() + "' is used by other nodes than Merge").str());
  return true;
}

bool LoopConverter::checkExits() {
  for (Operation *op : loop.exits) {
    Node exit(op);
    Operation *from = exit.data()[0].getDefiningOp();
    bool isLast = from && isLoopSwitch(from) &&
                  cast<OpResult>(exit.data()[0]).getResultNumber() == 0 && indexOf(exit.data()[0]);
    if (!isLast)
      return refuse(
          op, ("node '" + exit.name() + "' takes out what is no loop variable where the loop ends")
                  .str());
    if (loop.parent && conversion.isKept(exit))
      return refuse(op, ("node '" + exit.name() + "' is to be kept").str());
    if (exit.numControl() != 0)
      return refuse(op, ("node '" + exit.name() + "' has control inputs").str());
  }
  return true;
}

// A While runs with all its inputs or not at all. So must the loop: an Enter that is dead alone
// would kill some of its values only.
bool LoopConverter::checkDeadness() {
  for (Operation *enter : loop.enters)
    if (!deadness.follows(loopCond.getOperation(), enter))
      return refuse(enter, ("node '" + Node(enter).name() +
                            "' may have no value where the rest of the loop runs")
                               .str());
  return true;
}

/// What runs in whole iterations alone: all that comes from a Switch where the loop goes on.
void LoopConverter::markBody() {
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

bool LoopConverter::collect() {
  SmallVector<Operation *> body, condition;
  auto add = [&](SmallVector<Operation *> &list, Node node) {
    for (Value input : node->getOperands())
      list.push_back(input.getDefiningOp());
  };
  for (Variable &variable : variables)
    if (variable.next)
      add(body, variable.next);
  bool unneededRun = runsUnneeded(this->body);
  for (Operation *op : loop.nodes) {
    if (!unneededRun || isV1ControlFlow(Node(op)) || conversion.effects.isPure(Node(op)))
      continue;
    (bodySide.contains(op) ? body : condition).push_back(op);
  }
  add(condition, loopCond);
  return collectBody(body) && collectCondition(condition);
}

// A node of the condition that the body needs the value of is computed in both, if it may be.
bool LoopConverter::collectBody(SmallVector<Operation *> pending) {
  while (!pending.empty()) {
    Operation *op = pending.pop_back_val();
    if (op == loopCond.getOperation())
      return refuse(op, "its body uses the value of LoopCond");
    if (!isMember(op) || bodyNodes.contains(op) || indices.contains(op))
      continue;
    if (isLoopSwitch(op)) {
      pending.push_back(op->getOperand(0).getDefiningOp());
      continue;
    }
    Node node(op);
    if (!bodySide.contains(op) && !conversion.effects.isPure(node))
      return refuse(
          op,
          ("node '" + node.name() + "' runs once more than the body, which uses its value").str());
    bodyNodes.insert(op);
    for (Value input : node.data())
      pending.push_back(input.getDefiningOp());
    for (Value token : node.control()) {
      Operation *before = token.getDefiningOp();
      if (bodySide.contains(before))
        pending.push_back(before);
      else if (isMember(before) && !isFrameNode(before) && !conversion.effects.isPure(Node(before)))
        condNodes.insert(before); // it is done before the body begins
    }
  }
  return true;
}

bool LoopConverter::collectCondition(SmallVector<Operation *> pending) {
  pending.append(condNodes.begin(), condNodes.end());
  condNodes.clear();
  while (!pending.empty()) {
    Operation *op = pending.pop_back_val();
    if (!isMember(op) || condNodes.contains(op) || indices.contains(op))
      continue;
    if (isLoopSwitch(op) || bodySide.contains(op) || op == loopCond.getOperation())
      return refuse(op, ("its condition needs node '" + Node(op).name() + "' of the body").str());
    condNodes.insert(op);
    for (Value input : op->getOperands())
      pending.push_back(input.getDefiningOp());
  }
  return true;
}

//===----------------------------------------------------------------------===//
// The While node
//===----------------------------------------------------------------------===//

void LoopConverter::mapLoopValues(Outline &outline) {
  SmallVector<Value> arguments;
  for (Variable &variable : variables)
    arguments.push_back(outline.addArgument(variable.type(), variable.name()));
  for (auto [op, index] : indices)
    outline.map(op->getResult(0), arguments[index]);
}

// In the order of the body, whatever way led to them.
static SmallVector<Operation *> inOrder(llvm::SetVector<Operation *> &set, Loop &loop) {
  SmallVector<Operation *> result;
  loop.forEachNode([&](Operation *op) {
    if (set.contains(op))
      result.push_back(op);
  });
  return result;
}

/// What LoopCond hands on: bool scalars alone, where a While takes anything that isn't empty.
static Value checkedPredicate(Outline &outline, Value predicate, Node loopCond) {
  if (isa<RankedTensorType>(predicate.getType()))
    return predicate;
  OpBuilder &builder = outline.atEnd();
  Type type = RankedTensorType::get({}, builder.getI1Type());
  return NodeBuilder(builder, "EnsureShape")
      .placedAs(loopCond)
      .name(outline.uniqueName(loopCond.name()))
      .attr("T", mlir::TypeAttr::get(builder.getI1Type()))
      .attr("shape", tf_type::ShapeAttr::get(builder.getContext(), ArrayRef<int64_t>()))
      .attr(loopConditionKey, builder.getBoolAttr(true))
      .inputs(outline.lookup(predicate))
      .results(type)
      .build()
      .results()[0];
}

tf_type::FuncAttr LoopConverter::buildCondition(StringRef base) {
  Outline outline(conversion.module, conversion.functions.unique((base + "_cond").str()),
                  loopCond->getLoc());
  mapLoopValues(outline);
  SmallVector<Operation *> nodes = inOrder(condNodes, loop);
  for (Operation *op : nodes)
    outline.clone(Node(op));
  SmallVector<Value> tokens = effectTokens(conversion.effects, nodes,
                                           [&](Operation *op) { return condNodes.contains(op); });
  for (Value token : loopCond.control())
    if (outline.contains(token))
      tokens.push_back(token);
  FuncOp function =
      outline.finish(checkedPredicate(outline, loopCond.data()[0], loopCond), {"goes_on"}, tokens);
  convertConditionals(conversion, function.getEntry());
  restoreLowered(function.getEntry());
  return calleeFor(conversion, function);
}

/// What a NextIteration hands on, once what it waits for is over.
static Value nextValue(Outline &outline, Node next) {
  SmallVector<Value> waits;
  for (Value token : next.control())
    if (outline.contains(token))
      waits.push_back(outline.lookup(token));
  Value value = outline.lookup(next.data()[0]);
  if (waits.empty())
    return value;
  return NodeBuilder(outline.atEnd(), "Identity")
      .name(outline.uniqueName(next.name()))
      .placedAs(next)
      .attr("T", next.attr<Attribute>("T"))
      .inputs(value)
      .control(waits)
      .results(value.getType())
      .build()
      .results()[0];
}

tf_type::FuncAttr LoopConverter::buildBody(StringRef base) {
  Outline outline(conversion.module, conversion.functions.unique((base + "_body").str()),
                  loopCond->getLoc());
  mapLoopValues(outline);
  SmallVector<Operation *> nodes = inOrder(bodyNodes, loop);
  for (Operation *op : nodes)
    outline.clone(Node(op));
  for (Operation *op : loop.nodes)
    if (isLoopSwitch(op))
      outline.map(op->getResult(1), outline.lookup(op->getOperand(0)));

  SmallVector<Value> results;
  SmallVector<std::string> resultNames;
  for (auto [index, variable] : llvm::enumerate(variables)) {
    auto function = cast<FuncOp>(outline.atEnd().getBlock()->getParentOp());
    results.push_back(variable.next ? nextValue(outline, variable.next)
                                    : function.getDataArgument(index));
    resultNames.push_back((variable.next ? variable.next.name() : variable.name()).str());
  }
  SmallVector<Value> tokens = effectTokens(conversion.effects, nodes,
                                           [&](Operation *op) { return bodyNodes.contains(op); });
  FuncOp function = outline.finish(results, resultNames, tokens);
  convertConditionals(conversion, function.getEntry());
  restoreLowered(function.getEntry());
  return calleeFor(conversion, function);
}

static std::string loopName(StringRef frameName) {
  auto [scope, last] = frameName.rsplit('/');
  return last.empty() ? frameName.str() : scope.str();
}

void LoopConverter::build() {
  std::string base = loopName(loop.frameName.getValue());
  tf_type::FuncAttr condition = buildCondition(base), bodyFunction = buildBody(base);
  SmallVector<Value> inputs, tokens;
  SmallVector<Type> types;
  for (Variable &variable : variables) {
    inputs.push_back(variable.initial());
    types.push_back(variable.type());
  }
  for (Operation *enter : loop.enters)
    llvm::append_range(tokens, Node(enter).control());

  OpBuilder builder(loopCond.getOperation());
  MLIRContext *context = builder.getContext();
  auto isPure = [&](tf_type::FuncAttr callee) {
    return conversion.effects.isPureFunction(callee.getName().getRootReference());
  };
  bool isStateful = !isPure(condition) || !isPure(bodyFunction);
  NodeBuilder node(builder, functionalOp(OpKind::While, isStateful));
  node.name(names.unique(base))
      .attr("T", elementTypes(context, types))
      .attr("cond", condition)
      .attr("body", bodyFunction)
      .attr("output_shapes", builder.getArrayAttr({}))
      .attr("_frame_name", loop.frameName)
      .inputs(inputs)
      .control(tokens)
      .results(types);
  if (Attribute parallel = Node(loop.enters.front()).attr("parallel_iterations"))
    node.attr("parallel_iterations", parallel);
  Node built = node.build();
  replaceExits(built);
  eraseMembers();
  if (loop.parent)
    loop.parent->nodes.push_back(built.getOperation());
}

// The results of a loop can be fetched by their names: in a graph these stay.
void LoopConverter::replaceExits(Node loopNode) {
  bool isGraph = isa<GraphOp>(body.getParentOp()) && !loop.parent;
  for (Operation *op : loop.exits) {
    Node exit(op);
    Value result = loopNode.results()[*indexOf(exit.data()[0])];
    Value token = loopNode.controlResult();
    if (isGraph && !isLowered(exit)) {
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
  }
}

void LoopConverter::eraseMembers() {
  for (Operation *op : loop.exits)
    members.insert(op);
  for (Operation *op : members)
    op->dropAllUses();
  for (Operation *op : members)
    op->dropAllReferences();
  for (Operation *op : members)
    op->erase();
  if (loop.parent)
    llvm::erase(loop.parent->children, &loop);
}

void convertLoops(Conversion &conversion, Block &body) {
  std::vector<std::unique_ptr<Loop>> loops = findLoops(body);
  if (loops.empty())
    return;
  NameScope names(body);
  BodyDeadness deadness(body);
  for (std::unique_ptr<Loop> &loop : loops) {
    ++conversion.counts.loops;
    if (LoopConverter(conversion, body, names, deadness, *loop).convert()) {
      ++conversion.counts.convertedLoops;
      continue;
    }
    Operation *op = loop->culprit ? loop->culprit : body.getParentOp();
    op->emitRemark() << "loop '" << loop->frameName.getValue()
                     << "' stays as it is: " << loop->problem;
  }
}

} // namespace treadle::tfg
