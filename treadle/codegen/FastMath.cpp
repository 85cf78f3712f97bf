#include "treadle/codegen/FastMath.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace treadle::codegen {

static arith::FastMathFlags flagsFor(Operation *op) {
  using Flags = arith::FastMathFlags;
  return llvm::TypeSwitch<Operation *, Flags>(op)
      .Case<arith::AddFOp, arith::SubFOp, arith::MulFOp>([](auto) { return Flags::contract; })
      .Case<arith::DivFOp>([](auto) { return Flags::arcp; })
      .Case<math::ExpOp, math::LogOp, math::Log1pOp, math::PowFOp>([](auto) { return Flags::afn; })
      .Default([](Operation *) { return Flags::none; });
}

void FastMathScope::notifyOperationInserted(Operation *op, OpBuilder::InsertPoint from) {
  if (outer)
    outer->notifyOperationInserted(op, from);
  arith::FastMathFlags flags = flagsFor(op);
  if (flags == arith::FastMathFlags::none)
    return;
  auto marked = cast<arith::ArithFastMathInterface>(op);
  flags = flags | marked.getFastMathFlagsAttr().getValue();
  op->setAttr(marked.getFastMathAttrName(), arith::FastMathFlagsAttr::get(op->getContext(), flags));
}

} // namespace treadle::codegen
