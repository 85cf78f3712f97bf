// Region control flow ops: verification and control flow interfaces.
#include "treadle/dialect/RegionSyntax.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace treadle;
using namespace treadle::tfg;

#define GET_OP_CLASSES
#include "treadle/dialect/RegionOps.cpp.inc"

std::optional<RegionForm> tfg::regionFormOf(Operation *op) {
  if (isa<IfRegionOp, StatelessIfRegionOp, StatefulIfRegionOp>(op))
    return RegionForm::If;
  if (isa<CaseRegionOp, StatelessCaseRegionOp, StatefulCaseRegionOp>(op))
    return RegionForm::Case;
  if (isa<WhileRegionOp, StatelessWhileRegionOp, StatefulWhileRegionOp>(op))
    return RegionForm::While;
  return isa<ForRegionOp>(op) ? std::optional(RegionForm::For) : std::nullopt;
}

SmallVector<Value> tfg::capturesOf(Operation *op) {
  llvm::SetVector<Value> captures;
  for (Region &region : op->getRegions())
    region.walk([&](Operation *inner) {
      for (Value operand : inner->getOperands())
        if (!op->isAncestor(operand.getParentRegion()->getParentOp()))
          captures.insert(operand);
    });
  return captures.takeVector();
}

void regions::nameResults(Operation *op, OpAsmSetValueNameFn setName) {
  if (op->getNumResults() == 0 || !isControl(op->getResults().back()))
    return;
  if (!isControl(op->getResult(0)))
    setName(op->getResult(0), op->getName().stripDialect());
  setName(op->getResults().back(), "ctl");
}

// --- verification -------------------------------------------------------------------------------

LogicalResult regions::verifyBodies(Operation *op) {
  for (Region &region : op->getRegions())
    if (failed(verifyNodes(region.front(), /*generic=*/false)))
      return failure();
  return success();
}

static bool isTensorOf(Type type, unsigned bits) {
  auto tensor = dyn_cast<TensorType>(type);
  return tensor && tensor.getElementType().isSignlessInteger(bits);
}

namespace {

/// Verifies one op with regions.
class RegionVerifier {
public:
  explicit RegionVerifier(Operation *op) : op(op), node(op) {}

  InFlightDiagnostic emit() { return emitNodeError(node); }

  /// Checks that values precede tokens and that one result is a token. verifyNodes checks this too,
  /// but later.
  bool isNode() const {
    return node.controlResult() && node.numResults() + 1 == op->getNumResults() &&
           llvm::none_of(node.data(), isControl);
  }

  LogicalResult verifyOperand(unsigned index, unsigned bits, StringRef what) {
    Type type = op->getOperand(index).getType();
    if (isTensorOf(type, bits))
      return success();
    return emit() << what << " has type " << type << ", expected a tensor of i" << bits;
  }

  /// Checks for a terminator of this kind whose values match `expected`.
  template <typename Terminator> LogicalResult verifyEnd(Region &region, TypeRange expected) {
    auto end = dyn_cast<Terminator>(region.front().back());
    if (!end)
      return emit() << nameOf(region) << " ends in " << region.front().back().getName()
                    << ", expected " << Terminator::getOperationName();
    OperandRange values = end.getForwarded();
    if (llvm::any_of(values, isControl))
      return success(); // the terminator's verifier reports this
    if (values.size() != expected.size())
      return emit() << nameOf(region) << " yields " << values.size() << " values, expected "
                    << expected.size();
    return verifyTypes(values.getTypes(), expected, region, "value");
  }

  LogicalResult verifyTypes(TypeRange types, TypeRange expected, Region &region, StringRef what) {
    for (auto [index, found, wanted] : llvm::enumerate(types, expected))
      if (!tf_type::areCompatible(found, wanted))
        return emit() << nameOf(region) << ": " << what << " " << index << " has type " << found
                      << ", expected " << wanted;
    return success();
  }

  LogicalResult verifyBranch(Region &region) {
    if (region.getNumArguments() != 0)
      return emit() << nameOf(region) << " has " << region.getNumArguments()
                    << " arguments, expected none: a branch uses values from outside directly";
    return verifyEnd<YieldOp>(region, node.results().getTypes());
  }

  /// Checks for values of the types `expected`, followed by a token for each.
  LogicalResult verifyArguments(Region &region, ArrayRef<Type> expected) {
    if (region.getNumArguments() != 2 * expected.size())
      return emit() << nameOf(region) << " has " << region.getNumArguments()
                    << " arguments, expected " << expected.size()
                    << " values and a control token for each";
    unsigned i = 0;
    for (BlockArgument argument : region.getArguments())
      if (isControl(argument) != (i++ >= expected.size()))
        return emit() << nameOf(region) << ": argument " << argument.getArgNumber() << " has type "
                      << argument.getType() << ", expected " << expected.size()
                      << " values, then one control token for each";
    auto types = llvm::map_to_vector(dataArguments(region),
                                     [](BlockArgument value) { return value.getType(); });
    return verifyTypes(types, expected, region, "argument");
  }

  /// Checks that the initial values match the results of a loop.
  LogicalResult verifyLoop(TypeRange init) {
    if (init.size() != node.numResults())
      return emit() << "a loop of " << init.size() << " values has " << node.numResults()
                    << " results, expected one for each";
    for (auto [index, from, to] : llvm::enumerate(init, node.results().getTypes()))
      if (!tf_type::areCompatible(from, to))
        return emit() << "result " << index << " has type " << to
                      << ", but its initial value has type " << from;
    return success();
  }

  /// `attrs` may be null. A condition region has one result; the values that it forwards don't
  /// count.
  LogicalResult verifyAttrs(Region &region, RegionAttrsAttr attrs) {
    if (!attrs)
      return success();
    size_t numArguments = region.getNumArguments() / 2;
    if (attrs.getArgAttrs().size() != numArguments)
      return emit() << "the attributes of " << nameOf(region) << " list "
                    << attrs.getArgAttrs().size() << " arguments, expected " << numArguments;
    Operation &end = region.front().back();
    size_t numResults = isa<ConditionOp>(end) ? 1 : Node(&end).numData();
    if (attrs.getResAttrs().size() != numResults)
      return emit() << "the attributes of " << nameOf(region) << " list "
                    << attrs.getResAttrs().size() << " results, expected " << numResults;
    return success();
  }

private:
  std::string nameOf(Region &region) {
    unsigned index = region.getRegionNumber();
    switch (*regionFormOf(op)) {
    case RegionForm::If:
      return index == 0 ? "the then region" : "the else region";
    case RegionForm::Case:
      return "branch " + std::to_string(index);
    case RegionForm::While:
      return index == 0 ? "the condition" : "the body";
    case RegionForm::For:
      return "the body";
    }
    return {};
  }

  Operation *op;
  Node node;
};

} // namespace

LogicalResult regions::verifyIf(Operation *op) {
  RegionVerifier verifier(op);
  if (!verifier.isNode())
    return success(); // the verifier of the parent graph reports this
  if (Node(op).numData() != 1)
    return verifier.emit() << "has " << Node(op).numData()
                           << " data operands, expected only the predicate"
                              ": branches use values from outside directly";
  auto attrsOf = [&](StringRef key) { return op->getAttrOfType<RegionAttrsAttr>(key); };
  Region &thenRegion = op->getRegion(0), &elseRegion = op->getRegion(1);
  return success(succeeded(verifier.verifyOperand(0, 1, "the predicate")) &&
                 succeeded(verifier.verifyBranch(thenRegion)) &&
                 succeeded(verifier.verifyBranch(elseRegion)) &&
                 succeeded(verifier.verifyAttrs(thenRegion, attrsOf("then_region_attrs"))) &&
                 succeeded(verifier.verifyAttrs(elseRegion, attrsOf("else_region_attrs"))));
}

LogicalResult regions::verifyCase(Operation *op) {
  RegionVerifier verifier(op);
  if (!verifier.isNode())
    return success();
  if (Node(op).numData() != 1)
    return verifier.emit() << "has " << Node(op).numData()
                           << " data operands, expected only the branch index: branches "
                              "use values from outside directly";
  if (op->getNumRegions() == 0)
    return verifier.emit() << "has no branches, expected at least one";
  if (failed(verifier.verifyOperand(0, 32, "the branch index")))
    return failure();
  for (StringRef key : {"branch_attrs", "region_attrs"})
    if (auto list = op->getAttrOfType<ArrayAttr>(key); list && list.size() != op->getNumRegions())
      return verifier.emit() << "'" << key << "' has " << list.size() << " entries for "
                             << op->getNumRegions() << " branches";
  auto attrs = op->getAttrOfType<ArrayAttr>("region_attrs");
  for (auto [index, region] : llvm::enumerate(op->getRegions()))
    if (failed(verifier.verifyBranch(region)) ||
        failed(verifier.verifyAttrs(region, attrs ? cast<RegionAttrsAttr>(attrs[index])
                                                  : RegionAttrsAttr())))
      return failure();
  return success();
}

LogicalResult regions::verifyWhile(Operation *op) {
  RegionVerifier verifier(op);
  if (!verifier.isNode())
    return success();
  SmallVector<Type> types(Node(op).data().getTypes());
  if (failed(verifier.verifyLoop(types)))
    return failure();
  Region &condition = op->getRegion(0), &body = op->getRegion(1);
  auto attrsOf = [&](StringRef key) { return op->getAttrOfType<RegionAttrsAttr>(key); };
  return success(succeeded(verifier.verifyArguments(condition, types)) &&
                 succeeded(verifier.verifyEnd<ConditionOp>(condition, types)) &&
                 succeeded(verifier.verifyArguments(body, types)) &&
                 succeeded(verifier.verifyEnd<YieldOp>(body, types)) &&
                 succeeded(verifier.verifyAttrs(condition, attrsOf("cond_region_attrs"))) &&
                 succeeded(verifier.verifyAttrs(body, attrsOf("body_region_attrs"))));
}

LogicalResult regions::verifyFor(Operation *op) {
  RegionVerifier verifier(op);
  if (!verifier.isNode())
    return success();
  if (Node(op).numData() < 3)
    return verifier.emit() << "has " << Node(op).numData()
                           << " data operands, expected start, limit and delta first";
  static constexpr StringLiteral range[] = {"start", "limit", "delta"};
  for (auto [index, what] : llvm::enumerate(range))
    if (failed(verifier.verifyOperand(index, 32, what)))
      return failure();
  SmallVector<Type> types(Node(op).data().drop_front(3).getTypes());
  if (failed(verifier.verifyLoop(types)))
    return failure();
  SmallVector<Type> arguments = {UnrankedTensorType::get(IntegerType::get(op->getContext(), 32))};
  llvm::append_range(arguments, types);
  Region &body = op->getRegion(0);
  return success(
      succeeded(verifier.verifyArguments(body, arguments)) &&
      succeeded(verifier.verifyEnd<YieldOp>(body, types)) &&
      succeeded(verifier.verifyAttrs(body, op->getAttrOfType<RegionAttrsAttr>("region_attrs"))));
}

// --- terminators --------------------------------------------------------------------------------

static LogicalResult verifyTerminator(Operation *op) {
  if (!regionFormOf(op->getParentOp()))
    return op->emitOpError() << "is in " << op->getParentOp()->getName()
                             << ", expected a region of a conditional or a loop";
  for (auto [index, value] : llvm::enumerate(Node(op).data()))
    if (isControl(value))
      return op->emitOpError() << "operand " << index
                               << " is a control token, but a value follows it; control operands "
                                  "come last";
  return success();
}

void YieldOp::build(OpBuilder &, OperationState &state, ValueRange data, ValueRange control) {
  state.addOperands(data);
  state.addOperands(control);
}

OperandRange YieldOp::getForwarded() { return Node(*this).data(); }
LogicalResult YieldOp::verify() { return verifyTerminator(*this); }

MutableOperandRange YieldOp::getMutableSuccessorOperands(RegionSuccessor) {
  return MutableOperandRange(*this, 0, Node(*this).numData());
}

void ConditionOp::build(OpBuilder &, OperationState &state, Value predicate, ValueRange data,
                        ValueRange control) {
  state.addOperands(predicate);
  state.addOperands(data);
  state.addOperands(control);
}

OperandRange ConditionOp::getForwarded() {
  OperandRange data = Node(*this).data();
  return data.empty() ? data : data.drop_front();
}

LogicalResult ConditionOp::verify() {
  if (failed(verifyTerminator(*this)))
    return failure();
  if (Node(*this).numData() == 0 || !isTensorOf(getPredicate().getType(), 1)) {
    InFlightDiagnostic diag = emitOpError() << "expected a tensor of i1 as the predicate";
    return getNumOperands() == 0 ? diag : diag << ", found " << getPredicate().getType();
  }
  return success();
}

MutableOperandRange ConditionOp::getMutableSuccessorOperands(RegionSuccessor) {
  return MutableOperandRange(*this, 1, Node(*this).numData() - 1);
}

// --- control flow interfaces --------------------------------------------------------------------

static Region *sourceOf(RegionBranchPoint point) {
  return point.isParent() ? nullptr : point.getTerminatorPredecessorOrNull()->getParentRegion();
}

void regions::branchSuccessors(Operation *op, RegionBranchPoint point, Successors &out) {
  if (!point.isParent())
    return void(out.emplace_back(op, Node(op).results()));
  for (Region &region : op->getRegions())
    out.emplace_back(&region, dataArguments(region));
}

void regions::successorsOfWhile(Operation *op, RegionBranchPoint point, Successors &out) {
  Region &condition = op->getRegion(0), &body = op->getRegion(1);
  if (sourceOf(point) != &condition)
    return void(out.emplace_back(&condition, dataArguments(condition)));
  out.emplace_back(&body, dataArguments(body));
  out.emplace_back(op, Node(op).results());
}

// The loop may have no iterations.
void regions::successorsOfFor(Operation *op, RegionBranchPoint, Successors &out) {
  Region &body = op->getRegion(0);
  out.emplace_back(&body, dataArguments(body).drop_front());
  out.emplace_back(op, Node(op).results());
}
