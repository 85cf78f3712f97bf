#include "treadle/transforms/v1_to_functional/StageBuilder.h"

#include "treadle/dialect/NodeAttributes.h"
#include "treadle/import/Keywords.h"
#include "treadle/ops/OpTable.h"
#include "treadle/runtime/FunctionOps.h"
#include "treadle/transforms/functional_to_v1/Lowered.h"
#include "treadle/transforms/v1_to_functional/Loops.h"

using namespace mlir;

namespace treadle::tfg {

bool StageBuilder::isIf() const { return v1Kind(Node(conditional.switches.front())) == "Switch"; }

/// `Identity(Switch(p, p))`, which TensorFlow makes for others to wait on.
bool StageBuilder::isPivot(Operation *op) const {
  Operation *from = op->getNumOperands() ? op->getOperand(0).getDefiningOp() : nullptr;
  return v1Kind(Node(op)) == "Identity" && stages.isOwnSwitch(from) &&
         Branches::rootOf(from->getOperand(0)) == conditional.predicate;
}

/// The value that a branch sees, as it is outside.
StageBuilder::Input StageBuilder::outside(Value value) const {
  Attribute input;
  while (stages.isOwnSwitch(value.getDefiningOp()) && !isControl(value)) {
    input = loweredInput(Node(value.getDefiningOp()));
    value = value.getDefiningOp()->getOperand(0);
  }
  auto crossed = shared.crossing.find(value);
  return {crossed == shared.crossing.end() ? value : crossed->second, input};
}

Node StageBuilder::build() {
  findNodes();
  if (members.empty() && merges.empty())
    return {};
  findInputs();
  findTokens();
  findPassedOn();
  SmallVector<tf_type::FuncAttr> functions;
  std::string base = baseName();
  for (Branch *branch : conditional.branches)
    functions.push_back(buildBranch(base, *branch));
  buildNode(base, functions);
  replace();
  return node;
}

//===----------------------------------------------------------------------===//
// What belongs to the stage
//===----------------------------------------------------------------------===//

/// The Merge that says that an If or a Case without results is over.
static bool isEnd(Operation *op) {
  return isLowered(Node(op)) &&
         llvm::all_of(Node(op).results(), [](Value result) { return result.use_empty(); });
}

// Pivots whose value nobody uses go: what waits for them waits for what they wait for. So do the
// ends, which branches without results have.
void StageBuilder::findNodes() {
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
    if (isOfStage(op) && !isForEnd(op) && (!isPivot(op) || isUsed(op)))
      members.insert(op);
  for (Operation *op : conditional.merges)
    if (isOfStage(op))
      (isEnd(op) && !conversion.isKept(Node(op)) ? ends : merges).push_back(op);
}

void StageBuilder::capture(Value value) {
  Operation *op = value.getDefiningOp();
  if (op && stages.isMember(op) && stages.stageOf(op) == stage)
    return;
  inner.insert(value);
  captured.insert(outside(value));
}

// Switch nodes stand in the order of the values that they let through, which may be an order that
// someone chose; those of an If or a Case have its order.
void StageBuilder::findInputs() {
  llvm::DenseSet<Value> used;
  auto forEachInput = [&](llvm::function_ref<void(Value)> visit) {
    for (ArrayRef<Operation *> list : {members.getArrayRef(), ArrayRef<Operation *>(merges)})
      for (Operation *op : list)
        llvm::for_each(Node(op).data(), visit);
  };
  forEachInput([&](Value value) { used.insert(value); });
  for (Operation *op : conditional.switches)
    for (Value value : Node(op).results())
      if (used.contains(value))
        capture(value);
  forEachInput([&](Value value) { capture(value); });
  auto found = captured.takeVector();
  SmallVector<std::pair<int64_t, unsigned>> order;
  for (auto [position, input] : llvm::enumerate(found)) {
    auto index = dyn_cast_or_null<IntegerAttr>(input.second);
    order.emplace_back(index ? index.getInt() : INT64_MAX, position);
  }
  llvm::sort(order);
  for (auto [index, position] : order)
    captured.insert(found[position]);
  for (const Input &input : captured) {
    inputs.push_back(input.first);
    inputSet.insert(input.first);
  }
}

void StageBuilder::findTokens() {
  for (ArrayRef<Operation *> list : {members.getArrayRef(), ArrayRef<Operation *>(merges)})
    for (Operation *op : list)
      for (Value token : Node(op).control())
        waitFor(token);
  for (Value value : inner)
    if (Operation *op = value.getDefiningOp(); stages.isOwnSwitch(op))
      for (Value token : Node(op).control())
        waitFor(token);
  tokens.insert(shared.predicateTokens.begin(), shared.predicateTokens.end());
}

void StageBuilder::waitFor(Value token) {
  Operation *op = token.getDefiningOp();
  if (op && isOfStage(op) && (members.contains(op) || stages.isMerge(op)))
    return;
  if (auto earlier = shared.nodes.find(op); earlier != shared.nodes.end()) {
    tokens.insert(earlier->second.controlResult());
    return;
  }
  if (op && stages.isMember(op)) { // a pivot that went
    for (Value input : op->getOperands())
      waitFor(controlTokenOf(input));
    return;
  }
  if (!stages.isOwnSwitch(op)) {
    tokens.insert(token);
    return;
  }
  for (Value before : Node(op).control())
    waitFor(before);
  Value data = outside(op->getResult(0)).first;
  if (!inputSet.contains(data) && data != shared.predicate &&
      Branches::rootOf(data) != conditional.predicate)
    tokens.insert(controlTokenOf(data));
}

void StageBuilder::findPassedOn() {
  for (Operation *op : members)
    for (Value value : Node(op).results())
      if (llvm::any_of(value.getUsers(), [&](Operation *user) {
            return body.isLive(user) && stages.isInside(user) && stages.stageOf(user) > stage;
          }))
        passedOn.push_back(value);
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

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
      .attr("dtype", mlir::TypeAttr::get(builder.getI32Type()))
      .attr("value", DenseElementsAttr::get(type, builder.getI32IntegerAttr(index).getValue()))
      .results(merge.results()[1].getType())
      .build()
      .results()[0];
}

unsigned StageBuilder::inputOf(Node merge, const Branch &branch) const {
  auto isOfBranch = [&](Value value) { return body.branches.branchOf(value) == &branch; };
  return llvm::find_if(merge.data(), isOfBranch) - merge.data().begin();
}

tf_type::FuncAttr StageBuilder::buildBranch(StringRef base, Branch &branch) {
  std::string suffix =
      isIf() ? (branch.side ? "_true" : "_false") : ("_branch" + Twine(branch.side)).str();
  Outline outline(conversion.module, conversion.functions.unique(base.str() + suffix),
                  conditional.switches.front()->getLoc());
  llvm::DenseMap<Input, Value> arguments;
  for (const Input &input : captured)
    arguments[input] = outline.addArgument(input.first.getType(), nameOf(input.first));
  for (Value value : inner)
    outline.map(value, arguments[outside(value)]);

  llvm::SetVector<Operation *> nodes;
  for (Operation *op : members)
    if (stages.sideOf(op) == branch.side) {
      outline.clone(Node(op));
      nodes.insert(op);
    }
  SmallVector<Value> results;
  SmallVector<std::string> names;
  auto addResult = [&](Value value, StringRef name) {
    results.push_back(value);
    names.push_back(name.str());
  };
  for (Operation *op : merges)
    addResult(outline.lookup(Node(op).data()[inputOf(Node(op), branch)]), Node(op).name());
  for (Operation *op : merges)
    if (hasIndex(Node(op)))
      addResult(indexConst(outline, Node(op), inputOf(Node(op), branch)),
                (Node(op).name() + "_index").str());
  for (Value value : passedOn) {
    bool isHere = stages.sideOf(value.getDefiningOp()) == branch.side;
    addResult(isHere ? outline.lookup(value) : placeholder(outline, value),
              Node(value.getDefiningOp()).name());
  }
  SmallVector<Value> effects = effectTokens(conversion.effects, nodes.getArrayRef(),
                                            [&](Operation *op) { return nodes.contains(op); });
  for (auto [index, result] : llvm::enumerate(results)) {
    if (types.size() <= index)
      types.push_back(result.getType());
    types[index] = commonType(types[index], result.getType());
  }
  FuncOp function = outline.finish(results, names, effects);
  restoreLowered(function.getEntry());
  return calleeFor(conversion, function);
}

//===----------------------------------------------------------------------===//
// The node
//===----------------------------------------------------------------------===//

void StageBuilder::buildNode(StringRef base, ArrayRef<tf_type::FuncAttr> functions) {
  Operation *place = !merges.empty() ? merges.front() : members.back();
  OpBuilder builder(place);
  MLIRContext *context = builder.getContext();
  bool isPure = true;
  SmallVector<Attribute> callees;
  for (tf_type::FuncAttr callee : functions) {
    isPure = isPure && conversion.effects.isPureFunction(callee.getName().getRootReference());
    callees.push_back(callee);
  }
  StringRef opType = functionalOp(isIf() ? OpKind::If : OpKind::Case, !isPure);
  NodeBuilder built(builder, opType);
  built.name(base)
      .attr("Tin", elementTypes(context, data().getTypes()))
      .attr("Tout", elementTypes(context, types))
      .attr("output_shapes", builder.getArrayAttr({}))
      .inputs(shared.predicate)
      .inputs(inputs)
      .control(tokens.getArrayRef())
      .results(types);
  if (isIf())
    built.attr("Tcond", elementTypes(context, shared.predicate.getType())[0])
        .attr("then_branch", callees[1])
        .attr("else_branch", callees[0]);
  else
    built.attr("branches", builder.getArrayAttr(callees));
  if (isIf() && !isa<RankedTensorType>(shared.predicate.getType()))
    built.attr(switchKey, builder.getUnitAttr());
  node = built.build();
  body.add(node.getOperation(), conditional.parent);
  if (body.deadness)
    body.deadness->set(node.getOperation(), shared.inputs);
}

/// In a graph the results of a conditional can be fetched: their names stay.
Node StageBuilder::handOn(Node merge, Value result, Value index) {
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
  body.addHandingOn(identity.getOperation(), node.getOperation());
  return identity;
}

void StageBuilder::replaceMerge(Node merge, Value result, Value index) {
  Value token = node.controlResult();
  if (isa<GraphOp>(merge->getParentOp()) && !conditional.parent && !isLowered(merge)) {
    Node identity = handOn(merge, result, index);
    result = identity.results()[0];
    index = index ? identity.results()[1] : index;
    token = identity.controlResult();
  }
  merge.results()[0].replaceAllUsesWith(result);
  if (index)
    merge.results()[1].replaceAllUsesWith(index);
  replaceControl(merge.controlResult(), token);
}

void StageBuilder::replace() {
  for (Operation *op : members)
    shared.nodes[op] = node;
  unsigned next = merges.size();
  for (auto [position, op] : llvm::enumerate(merges)) {
    shared.nodes[op] = node;
    replaceMerge(Node(op), node.results()[position],
                 hasIndex(Node(op)) ? Value(node.results()[next++]) : Value());
  }
  for (Operation *op : ends) {
    shared.nodes[op] = node;
    replaceControl(Node(op).controlResult(), node.controlResult());
  }
  for (Value value : passedOn)
    shared.crossing[value] = node.results()[next++];
}

} // namespace treadle::tfg
