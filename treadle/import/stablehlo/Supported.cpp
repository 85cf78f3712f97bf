// Reports valid but unsupported parts of programs, with their locations.
#include "treadle/dialect/stablehlo/Ops.h"
#include "treadle/dialect/stablehlo/StableHlo.h"
#include "treadle/import/stablehlo/Tables.h"

using namespace mlir;
using namespace treadle;
using namespace treadle::hlo;

namespace {

bool isKnownElement(Type element) {
  if (auto integer = dyn_cast<IntegerType>(element))
    return llvm::is_contained({1U, 2U, 4U, 8U, 16U, 32U, 64U}, integer.getWidth());
  if (auto complex = dyn_cast<ComplexType>(element))
    return complex.getElementType().isF32() || complex.getElementType().isF64();
  return isa<Float16Type, BFloat16Type, Float32Type, Float64Type, Float8E4M3FNType, Float8E5M2Type,
             Float8E4M3FNUZType, Float8E4M3B11FNUZType, Float8E5M2FNUZType, IndexType, NoneType>(
      element);
}

/// Whether the type is supported: a tensor with a numeric element type, or a token.
bool isKnown(Type type) {
  bool isTensor = isa<RankedTensorType, UnrankedTensorType>(type);
  return isKnownElement(isTensor ? elementOf(type) : type);
}

} // namespace

LogicalResult hlo::expectDeclared(func::FuncOp function) {
  WalkResult result = function.walk([](Operation *op) {
    if (op->isRegistered())
      return WalkResult::advance();
    unimplementedOp(op) << " is not supported";
    return WalkResult::interrupt();
  });
  if (result.wasInterrupted())
    return failure();
  for (Block &block : function.getBody())
    if (Operation &end = block.back();
        end.getNumSuccessors() == 0 && end.getOperandTypes() != function.getResultTypes())
      return end.emitError("it returns (") << end.getOperandTypes() << "), but its function ("
                                           << function.getResultTypes() << ")";
  return success();
}

LogicalResult hlo::verifyTypes(Operation *op, TypeRange types) {
  for (Type type : types)
    if (!isKnown(type))
      return unimplementedOp(op) << " with values of type " << type;
  return success();
}

static LogicalResult expectRanks(Operation *op) {
  auto isUnranked = llvm::IsaPred<UnrankedTensorType>;
  bool hasUnranked = llvm::any_of(op->getOperandTypes(), isUnranked) ||
                     llvm::any_of(op->getResultTypes(), isUnranked);
  if (!hasUnranked || op->hasTrait<stablehlo::AnyRank>() ||
      !isa<stablehlo::StableHloDialect>(op->getDialect()))
    return success();
  return unimplementedOp(op) << " of values of unknown rank";
}

LogicalResult hlo::expectSupported(Operation *op) {
  if (failed(verifyTypes(op, op->getResultTypes())))
    return failure();
  for (Region &region : op->getRegions())
    if (!region.empty() && failed(verifyTypes(op, region.front().getArgumentTypes())))
      return failure();
  return stablehlo::isHlo(op) ? expectRanks(op) : success();
}
