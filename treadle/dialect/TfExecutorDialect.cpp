// The tf and tf_executor dialects: registration and verifiers.
#include "treadle/dialect/TfExecutor.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

#include <algorithm>

using namespace mlir;
using namespace treadle;
using namespace treadle::tf_executor;
using tf_type::TfTypeDialect;

#include "treadle/dialect/TfDialect.cpp.inc"

#include "treadle/dialect/TfExecutorDialect.cpp.inc"

#define GET_TYPEDEF_CLASSES
#include "treadle/dialect/TfExecutorTypes.cpp.inc"

// --- dialects -----------------------------------------------------------------------------------

void tf::TfDialect::initialize() { allowUnknownOperations(); }

Type tf::TfDialect::parseType(DialectAsmParser &parser) const {
  return getContext()->getOrLoadDialect<TfTypeDialect>()->parseType(parser);
}

Attribute tf::TfDialect::parseAttribute(DialectAsmParser &parser, Type type) const {
  return getContext()->getOrLoadDialect<TfTypeDialect>()->parseAttribute(parser, type);
}

void TfExecutorDialect::initialize() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "treadle/dialect/TfExecutorTypes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "treadle/dialect/TfExecutorOps.cpp.inc"
      >();
}

bool tf_executor::isControlAfterData(OperandRange operands) {
  return std::is_partitioned(operands.begin(), operands.end(),
                             [](Value value) { return !isControl(value); });
}

// --- graph, island ------------------------------------------------------------------------------

FetchOp GraphOp::getFetch() { return cast<FetchOp>(getEntry().getTerminator()); }
YieldOp IslandOp::getYield() { return cast<YieldOp>(getEntry().getTerminator()); }

/// Checks that a terminator's data operands match the results of its parent op.
static LogicalResult verifyResults(Operation *terminator, ValueRange data, TypeRange results) {
  InFlightDiagnostic error = terminator->emitOpError();
  if (data.size() != results.size())
    return error << "has " << data.size() << " data operands, but "
                 << terminator->getParentOp()->getName() << " has " << results.size() << " results";
  for (auto [index, value, type] : llvm::enumerate(data, results))
    if (value.getType() != type)
      return error << "yields " << value.getType() << " as operand " << index << ", but result "
                   << index << " of " << terminator->getParentOp()->getName() << " is " << type;
  error.abandon();
  return success();
}

LogicalResult GraphOp::verifyRegions() {
  for (Operation &op : getEntry()) {
    if (op.getName().getDialectNamespace() != TfExecutorDialect::getDialectNamespace())
      return op.emitOpError("is directly in a tf_executor.graph, expected only operations of "
                            "tf_executor; wrap it in a tf_executor.island");
    if (isa<GraphOp>(op))
      return op.emitOpError("is directly in another tf_executor.graph; wrap it in a "
                            "tf_executor.island");
  }
  FetchOp fetch = getFetch();
  auto data = llvm::make_filter_range(fetch.getFetches(), [](Value v) { return !isControl(v); });
  return verifyResults(fetch, SmallVector<Value>(data), getResultTypes());
}

LogicalResult IslandOp::verifyRegions() {
  return verifyResults(getYield(), getYield().getFetches(), getOutputs().getTypes());
}

bool IslandOp::wrapsSingleOp() {
  auto body = getEntry().without_terminator();
  return llvm::hasSingleElement(body) &&
         llvm::equal(body.begin()->getResults(), getYield().getFetches());
}

// --- v1 control flow ----------------------------------------------------------------------------

static bool isReference(TensorType type) { return tf_type::isReference(type.getElementType()); }

/// Checks that `op` may forward `input` as `output`: compatible tensors, and the output is a
/// reference only if the input is.
static LogicalResult verifyForwarding(Operation *op, Type input, Type output) {
  auto from = dyn_cast<TensorType>(input), to = dyn_cast<TensorType>(output);
  if (!from || !to)
    return op->emitOpError("forwards ") << input << " as " << output << ", expected tensors";
  if (!tf_type::areCompatible(from, to))
    return op->emitOpError("forwards ")
           << from << " as " << to << ", expected equal element types and compatible shapes";
  if (isReference(to) && !isReference(from))
    return op->emitOpError("forwards ")
           << from << " as " << to << ", but only a reference can be forwarded as a reference";
  return success();
}

LogicalResult SwitchOp::verify() {
  for (Value output : {getFalseOutput(), getTrueOutput()})
    if (failed(verifyForwarding(*this, getData().getType(), output.getType())))
      return failure();
  return success();
}

LogicalResult SwitchNOp::verify() {
  if (getOutputs().size() != static_cast<uint64_t>(getNumOuts()))
    return emitOpError("has ") << getOutputs().size() << " outputs, but 'num_outs' is "
                               << getNumOuts();
  if (getOutputs().empty())
    return emitOpError("has no outputs, expected at least one");
  for (Type output : getOutputs().getTypes())
    if (failed(verifyForwarding(*this, getData().getType(), output)))
      return failure();
  return success();
}

OperandRange MergeOp::getDataInputs() {
  OperandRange all = getDataAndControlInputs();
  return all.take_front(llvm::count_if(all, [](Value value) { return !isControl(value); }));
}

LogicalResult MergeOp::verify() {
  if (getDataInputs().empty())
    return emitOpError("has no data inputs, expected at least one");
  for (Type input : getDataInputs().getTypes())
    if (failed(verifyForwarding(*this, input, getOutput().getType())))
      return failure();
  return success();
}

LogicalResult EnterOp::verify() {
  return verifyForwarding(*this, getData().getType(), getOutput().getType());
}

LogicalResult ExitOp::verify() {
  return verifyForwarding(*this, getData().getType(), getOutput().getType());
}

NextIterationSinkOp NextIterationSourceOp::getSink() {
  return cast<NextIterationSinkOp>(*getToken().user_begin());
}

NextIterationSourceOp NextIterationSinkOp::getSource() {
  return getToken().getDefiningOp<NextIterationSourceOp>();
}

LogicalResult NextIterationSourceOp::verify() {
  if (!getToken().hasOneUse())
    return emitOpError("has a token with ")
           << llvm::range_size(getToken().getUses())
           << " uses, expected one tf_executor.NextIteration.Sink to use it";
  if (Operation *user = *getToken().user_begin(); !isa<NextIterationSinkOp>(user))
    return emitOpError("has a token that '")
           << user->getName() << "' uses, expected a tf_executor.NextIteration.Sink";
  return success();
}

LogicalResult NextIterationSinkOp::verify() {
  NextIterationSourceOp source = getSource();
  if (!source)
    return emitOpError("has a token that isn't the result of a tf_executor.NextIteration.Source");
  if (!tf_type::areCompatible(source.getOutput().getType(), getInput().getType()))
    return emitOpError("takes ") << getInput().getType()
                                 << ", but its tf_executor.NextIteration.Source yields "
                                 << source.getOutput().getType();
  return success();
}
