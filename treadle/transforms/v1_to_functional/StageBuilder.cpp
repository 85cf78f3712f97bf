#include "treadle/transforms/v1_to_functional/StageBuilder.h"

#include "treadle/dialect/NodeAttributes.h"
#include "treadle/dialect/Regions.h"
#include "treadle/import/Keywords.h"
#include "treadle/ops/OpTable.h"
#include "treadle/rewriting/Outline.h"
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
  findTypes();
  Node raised = raise(baseName());
  node = conversion.outline(raised, {inputs, {}}, [&] { takeBack(raised); });
  body.add(node.getOperation(), conditional.parent);
  if (body.deadness)
    body.deadness->set(node.getOperation(), shared.inputs);
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
// Regions
//===----------------------------------------------------------------------===//

/// What a value is in a branch.
Value StageBuilder::inside(Value value) const {
  Operation *op = value.getDefiningOp();
  return op && isOfStage(op) ? value : outside(value).first;
}

unsigned StageBuilder::inputOf(Node merge, const Branch &branch) const {
  auto isOfBranch = [&](Value value) { return body.branches.branchOf(value) == &branch; };
  return llvm::find_if(merge.data(), isOfBranch) - merge.data().begin();
}

void StageBuilder::findTypes() {
  for (Operation *op : merges) {
    Type type = resultOf(Node(op), *conditional.branches.front()).getType();
    for (const Branch *branch : conditional.branches)
      type = commonType(type, resultOf(Node(op), *branch).getType());
    types.push_back(type);
  }
  for (Operation *op : merges)
    if (hasIndex(Node(op)))
      types.push_back(op->getResult(1).getType());
  for (Value value : passedOn)
    types.push_back(value.getType());
}

std::string StageBuilder::baseName() const {
  Operation *named = !merges.empty() ? merges.front() : members.front();
  auto [scope, last] = Node(named).name().rsplit('/');
  return body.names.unique(last.empty() ? (scope + "/If").str() : scope.str());
}

/// An If's first region is the one for true, which is the second output of a Switch.
Node StageBuilder::raise(StringRef base) {
  OpBuilder builder(!merges.empty() ? merges.front() : members.back());
  OperationState state(conditional.switches.front()->getLoc(),
                       isIf() ? IfRegionOp::getOperationName() : CaseRegionOp::getOperationName());
  state.addOperands(shared.predicate);
  state.addOperands(tokens.getArrayRef());
  state.addTypes(types);
  state.addTypes(tf_type::ControlType::get(builder.getContext()));
  state.addAttribute("output_shapes", builder.getArrayAttr({}));
  if (isIf() && !isa<RankedTensorType>(shared.predicate.getType()))
    state.addAttribute(switchKey, builder.getUnitAttr());
  for (size_t i = 0; i < conditional.branches.size(); ++i)
    state.addRegion();
  Node raised(builder.create(state));
  raised.setName(base);
  SmallVector<Branch *> branches(conditional.branches.begin(), conditional.branches.end());
  if (isIf())
    std::reverse(branches.begin(), branches.end());
  nameFunctions(raised, base);
  for (auto [region, branch] : llvm::zip_equal(raised->getRegions(), branches))
    fillBranch(region, *branch);
  return raised;
}

void StageBuilder::nameFunctions(Node raised, StringRef base) {
  SmallVector<std::string> arguments, results;
  for (Value input : inputs)
    arguments.push_back(nameOf(input).str());
  for (Operation *op : merges)
    results.push_back(Node(op).name().str());
  for (Operation *op : merges)
    if (hasIndex(Node(op)))
      results.push_back((Node(op).name() + "_index").str());
  for (Value value : passedOn)
    results.push_back(definingNode(value).name().str());
  SmallVector<Attribute> attrs;
  for (const Branch *branch : conditional.branches) {
    std::string suffix =
        isIf() ? (branch->side ? "_true" : "_false") : ("_branch" + Twine(branch->side)).str();
    attrs.push_back(regionAttrsOf(raised->getContext(),
                                  conversion.functions.unique(base.str() + suffix), arguments,
                                  results));
  }
  if (!isIf())
    return raised->setAttr("region_attrs", ArrayAttr::get(raised->getContext(), attrs));
  raised->setAttr("else_region_attrs", attrs[0]);
  raised->setAttr("then_region_attrs", attrs[1]);
}

/// Something of a value's type, which nobody reads.
static Value placeholder(OpBuilder &builder, Value like) {
  return NodeBuilder(builder, "FakeParam")
      .name(NameScope(*builder.getBlock()).unique("not_taken"))
      .attr("dtype", dtypeAttr(like.getType()))
      .attr("shape", tf_type::ShapeAttr::get(builder.getContext(), ArrayRef<int64_t>()))
      .results(like.getType())
      .build()
      .results()[0];
}

static Value indexConst(OpBuilder &builder, Node merge, unsigned index) {
  auto type = RankedTensorType::get({}, builder.getI32Type());
  return NodeBuilder(builder, "Const")
      .name(NameScope(*builder.getBlock()).unique((merge.name() + "/index").str()))
      .attr("dtype", mlir::TypeAttr::get(builder.getI32Type()))
      .attr("value", DenseElementsAttr::get(type, builder.getI32IntegerAttr(index).getValue()))
      .results(merge.results()[1].getType())
      .build()
      .results()[0];
}

// Others than the branch itself wait for the conditional instead of its nodes.
void StageBuilder::moveNodes(Block &block, const Branch &branch) {
  Value over = Node(block.getParentOp()).controlResult();
  llvm::SetVector<Operation *> nodes;
  for (Operation *op : members)
    if (stages.sideOf(op) == branch.side)
      nodes.insert(op);
  auto isOutside = [&](Operation *user) { return !nodes.contains(user); };
  for (Operation *op : nodes) {
    Node node(op);
    replaceControl(node.controlResult(), over, isOutside);
    for (OpOperand &operand : op->getOpOperands().take_front(node.numData()))
      operand.set(inside(operand.get()));
    SmallVector<Value> own;
    for (Value token : node.control())
      if (nodes.contains(token.getDefiningOp()))
        own.push_back(token);
    setControl(node, own);
    op->moveBefore(&block, block.end());
    body.moved(op);
  }
}

void StageBuilder::fillBranch(Region &region, const Branch &branch) {
  Block &block = region.emplaceBlock();
  moveNodes(block, branch);
  SmallVector<Operation *> nodes = llvm::map_to_vector(block, [](Operation &op) { return &op; });
  SmallVector<Value> effects = effectTokens(
      conversion.effects, nodes, [&](Operation *op) { return op->getBlock() == &block; });
  OpBuilder end = OpBuilder::atBlockEnd(&block);
  SmallVector<Value> results;
  for (Operation *op : merges)
    results.push_back(resultOf(Node(op), branch));
  for (Operation *op : merges)
    if (hasIndex(Node(op)))
      results.push_back(indexConst(end, Node(op), inputOf(Node(op), branch)));
  for (Value value : passedOn) {
    bool isHere = stages.sideOf(value.getDefiningOp()) == branch.side;
    results.push_back(isHere ? value : placeholder(end, value));
  }
  YieldOp::create(end, region.getLoc(), results, effects);
}

/// The nodes of branches that only call a function, to be erased with the rest of the conditional.
void StageBuilder::takeBack(Node raised) {
  for (Region &region : raised->getRegions())
    for (Operation &op : llvm::make_early_inc_range(region.front()))
      if (stages.isMember(&op))
        op.moveBefore(&body.block, body.block.end());
}

//===----------------------------------------------------------------------===//
// The node
//===----------------------------------------------------------------------===//

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
  unsigned next = merges.size();
  for (auto [position, op] : llvm::enumerate(merges)) {
    replaceMerge(Node(op), node.results()[position],
                 hasIndex(Node(op)) ? Value(node.results()[next++]) : Value());
  }
  for (Operation *op : ends)
    replaceControl(Node(op).controlResult(), node.controlResult());
  for (Value value : passedOn)
    shared.crossing[value] = node.results()[next++];
}

} // namespace treadle::tfg
