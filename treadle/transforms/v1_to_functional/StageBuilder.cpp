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

bool isEnd(Operation *op) {
  return isLowered(Node(op)) &&
         llvm::all_of(Node(op).results(), [](Value result) { return result.use_empty(); });
}

bool StageBuilder::isIf() const { return v1Kind(Node(conditional.switches.front())) == "Switch"; }

StageBuilder::StageBuilder(BodyConversion &body, Conditional &conditional, const Stages &stages,
                           const StagedConditional &shared, unsigned stage)
    : body(body), conversion(body.conversion), conditional(conditional), stages(stages),
      shared(shared), stage(stage), members(shared.members[stage]) {
  for (Operation *op : shared.merges[stage])
    (isEnd(op) && !conversion.isKept(Node(op)) ? ends : merges).push_back(op);
}

Node StageBuilder::build() {
  if (members.empty() && merges.empty())
    return {};
  findPassedOn();
  findTypes();
  Node raised = raise(baseName());
  node = conversion.outline(raised, inputs(), [&] { takeBack(raised); });
  body.add(node.getOperation(), conditional.parent);
  if (body.deadness)
    body.deadness->set(node.getOperation(), shared.inputs);
  replace();
  return node;
}

//===----------------------------------------------------------------------===//
// What belongs to the stage
//===----------------------------------------------------------------------===//

// Switch nodes are in the order of the values that they forward. If they were lowered from an If or
// Case, the inputs get its order, including duplicates.
SmallVector<Value> StageBuilder::inputs() {
  SmallVector<std::pair<int64_t, unsigned>> order;
  ArrayRef<Operation *> switches = shared.switches[stage];
  for (auto [position, op] : llvm::enumerate(switches)) {
    IntegerAttr input = loweredInput(Node(op));
    order.emplace_back(input ? input.getInt() : INT64_MAX, position);
  }
  llvm::sort(order);
  SmallVector<Value> values;
  llvm::DenseSet<Value> taken;
  for (auto [input, position] : order)
    if (Value value = switches[position]->getOperand(0);
        taken.insert(value).second || input != INT64_MAX)
      values.push_back(value);
  return values;
}

SmallVector<Value> StageBuilder::tokens() {
  llvm::SetVector<Value> tokens(shared.predicateTokens.begin(), shared.predicateTokens.end());
  for (ArrayRef<Operation *> list :
       {ArrayRef<Operation *>(merges), ArrayRef<Operation *>(shared.switches[stage])})
    for (Operation *op : list)
      tokens.insert_range(Node(op).control());
  return tokens.takeVector();
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

void StageBuilder::findTypes() {
  for (Operation *op : merges) {
    auto of = llvm::map_to_vector(conditional.branches, [&](const Branch *branch) {
      return resultOf(Node(op), *branch).getType();
    });
    types.push_back(llvm::all_equal(of) ? of[0]
                                        : UnrankedTensorType::get(getElementTypeOrSelf(of[0])));
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

/// The first region of an If is for true, which is the second output of a Switch.
Node StageBuilder::raise(StringRef base) {
  OpBuilder builder(!merges.empty() ? merges.front() : members.back());
  OperationState state(conditional.switches.front()->getLoc(),
                       isIf() ? IfRegionOp::getOperationName() : CaseRegionOp::getOperationName());
  state.addOperands(shared.predicate);
  state.addOperands(tokens());
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
  SmallVector<std::string> results;
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
                                  conversion.functions.unique(base.str() + suffix), {}, results));
  }
  if (!isIf())
    return raised->setAttr("region_attrs", ArrayAttr::get(raised->getContext(), attrs));
  raised->setAttr("else_region_attrs", attrs[0]);
  raised->setAttr("then_region_attrs", attrs[1]);
}

/// Creates a value of the given value's type, which is never read.
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

// Control users outside the branch wait for the conditional instead of its nodes.
void StageBuilder::moveNodes(Block &block, const Branch &branch) {
  Value over = Node(block.getParentOp()).controlResult();
  llvm::SetVector<Operation *> nodes;
  for (Operation *op : members)
    if (stages.sideOf(op) == branch.side)
      nodes.insert(op);
  auto isOutside = [&](Operation *user) { return !nodes.contains(user); };
  for (Operation *op : nodes) {
    replaceControl(Node(op).controlResult(), over, isOutside);
    op->moveBefore(&block, block.end());
    body.moved(op);
  }
}

void StageBuilder::fillBranch(Region &region, const Branch &branch) {
  Block &block = region.emplaceBlock();
  moveNodes(block, branch);
  SmallVector<Value> effects = effectTokens(conversion.effects, block);
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

/// Takes back the nodes of branches that only call a function, to be erased with the rest of the
/// conditional.
void StageBuilder::takeBack(Node raised) {
  for (Region &region : raised->getRegions())
    for (Operation &op : llvm::make_early_inc_range(region.front()))
      if (stages.isMember(&op))
        op.moveBefore(&body.block, body.block.end());
}

//===----------------------------------------------------------------------===//
// The node
//===----------------------------------------------------------------------===//

/// In a graph, results of a conditional keep their names, so that they can be fetched.
Node StageBuilder::forwardValues(Node merge, Value result, Value index) {
  OpBuilder builder(merge.getOperation());
  NodeBuilder named(builder, index ? "IdentityN" : "Identity");
  named.placedAs(merge).name(merge.name()).inputs(result);
  if (index)
    named.inputs(index).attr(
        "T", builder.getArrayAttr({dtypeAttr(result.getType()), dtypeAttr(index.getType())}));
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
    Node identity = forwardValues(merge, result, index);
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
    value.replaceUsesWithIf(node.results()[next++], [&](OpOperand &use) {
      return use.getOwner()->getBlock() == &body.block;
    });
}

} // namespace treadle::tfg
