// Verifiers of elementwise ops, beyond their traits.
#include "treadle/dialect/stablehlo/TypeChecks.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace treadle;
using namespace treadle::stablehlo;

/// Returns the part type of a complex element; other types unchanged.
static Type partOf(Type element) {
  auto complex = dyn_cast<ComplexType>(element);
  return complex ? complex.getElementType() : element;
}

LogicalResult AbsOp::verify() {
  return expectElement(*this, getResult(), partOf(elementOf(getOperand())));
}

LogicalResult RealOp::verify() {
  return expectElement(*this, getResult(), partOf(elementOf(getOperand())));
}

LogicalResult ImagOp::verify() {
  return expectElement(*this, getResult(), partOf(elementOf(getOperand())));
}

LogicalResult ComplexOp::verify() {
  if (failed(expectElement(*this, getRhs(), elementOf(getLhs()))))
    return failure();
  return expectElement(*this, getResult(), ComplexType::get(elementOf(getLhs())));
}

LogicalResult CompareOp::verify() { return expectElement(*this, getRhs(), elementOf(getLhs())); }

LogicalResult ConstantOp::verify() {
  return expectTypes(*this, "its value is", getValue().getType(), getOutput().getType());
}

LogicalResult chlo::BroadcastCompareOp::verify() {
  return expectElement(*this, getRhs(), elementOf(getLhs()));
}

/// Checks that the operand is a scalar or has the result's shape.
static LogicalResult expectScalarOrShape(Operation *op, Value value, StringRef what) {
  RankedTensorType type = ranked(value);
  Type result = op->getResult(0).getType();
  if (!type || type.getRank() == 0 || haveSameShape(type, result))
    return success();
  return op->emitOpError(what) << " is " << type << ", expected a scalar or the shape of "
                               << result;
}

LogicalResult SelectOp::verify() {
  for (Value value : {getOnFalse(), getResult()})
    if (!typesMatch(value.getType(), getOnTrue().getType()))
      return emitOpError("one choice is ")
             << getOnTrue().getType() << ", but the other or the result " << value.getType();
  return expectScalarOrShape(*this, getPred(), "the predicate");
}

LogicalResult ClampOp::verify() {
  for (Value value : {getMin(), getMax(), getResult()})
    if (failed(expectElement(*this, value, elementOf(getOperand()))))
      return failure();
  if (!haveSameShape(getOperand().getType(), getResult().getType()))
    return emitOpError("its result is ")
           << getResult().getType() << ", but its operand is " << getOperand().getType();
  return failure(failed(expectScalarOrShape(*this, getMin(), "the lower bound")) ||
                 failed(expectScalarOrShape(*this, getMax(), "the upper bound")));
}

LogicalResult chlo::ConstantLikeOp::verify() {
  return expectElement(*this, getResult(), elementOf(getValue().getType()));
}

LogicalResult MapOp::verifyRegions() {
  RankedTensorType type = ranked(getResult());
  SmallVector<int64_t> dims = getDimensions();
  if (type && !llvm::equal(dims, llvm::seq<int64_t>(type.getRank())))
    return emitOpError("dimensions aren't all ")
           << type.getRank() << " dimensions of " << Type(type) << ", in order";
  Block &block = getComputation().front();
  if (block.getNumArguments() != getInputs().size())
    return emitOpError("its function takes ")
           << block.getNumArguments() << " values, expected " << getInputs().size();
  for (auto [argument, input] : llvm::zip(block.getArguments(), getInputs()))
    if (failed(expectRank(*this, argument, "an argument of its function", 0)) ||
        failed(expectElement(*this, argument, elementOf(input))))
      return failure();
  return expectTypes(*this, "its function returns", block.back().getOperandTypes(),
                     TypeRange(Type(RankedTensorType::get({}, elementOf(getResult())))));
}

// --- constants and generators -------------------------------------------------------------------

LogicalResult IotaOp::verify() {
  RankedTensorType type = ranked(getOutput());
  return type ? expectDim(*this, getIotaDimension(), type.getRank(), "iota_dimension") : success();
}

/// Checks for a shape vector with one size for each dimension of the result.
static LogicalResult expectShapeVector(Operation *op, Value shape, Value result) {
  if (failed(expectRank(op, shape, "the shape", 1)))
    return failure();
  RankedTensorType vector = ranked(shape), type = ranked(result);
  if (vector && type && !fits(vector.getDimSize(0), type.getRank()))
    return op->emitOpError("the shape has ")
           << vector.getDimSize(0) << " sizes, but its result is " << Type(type);
  std::optional<SmallVector<int64_t>> sizes = constantNumbers(shape);
  return sizes ? expectShape(op, result, *sizes) : success();
}

LogicalResult DynamicIotaOp::verify() {
  RankedTensorType type = ranked(getResult());
  if (type && failed(expectDim(*this, getIotaDimension(), type.getRank(), "iota_dimension")))
    return failure();
  return expectShapeVector(*this, getOutputShape(), getResult());
}

LogicalResult DynamicReshapeOp::verify() {
  RankedTensorType from = ranked(getOperand());
  if (failed(expectElement(*this, getResult(), elementOf(getOperand()))))
    return failure();
  if (std::optional<SmallVector<int64_t>> sizes = constantNumbers(getOutputShape());
      sizes && from && from.hasStaticShape()) {
    int64_t count = 1;
    for (int64_t size : *sizes)
      if (llvm::MulOverflow(count, size, count))
        return emitOpError("the shape has more elements than can be counted");
    if (count != from.getNumElements())
      return emitOpError("its operand ")
             << from << " has " << from.getNumElements() << " elements, but the shape " << count;
  }
  return expectShapeVector(*this, getOutputShape(), getResult());
}

LogicalResult RngOp::verify() {
  for (Value value : {getA(), getB()})
    if (failed(expectRank(*this, value, "a parameter", 0)) ||
        failed(expectElement(*this, value, elementOf(getResult()))))
      return failure();
  return expectShapeVector(*this, getShape(), getResult());
}

LogicalResult RngBitGeneratorOp::verify() {
  return expectTypes(*this, "its new state is", getOutputState().getType(),
                     getInitialState().getType());
}
