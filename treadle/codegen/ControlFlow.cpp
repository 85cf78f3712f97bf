// Structured control flow and checks as branches.
#include "treadle/codegen/Passes.h"
#include "treadle/codegen/Rc.h"

#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/DialectConversion.h"

using namespace mlir;

namespace treadle::codegen {

/// Whether an op may run where a check would have left: that changes nothing but a little time.
static bool mayRunUnchecked(Operation &op) {
  if (auto cast = dyn_cast<rc::CastOp>(op))
    return isa<RankedTensorType>(cast.getRef().getType().getTensor());
  if (auto dim = dyn_cast<rc::DimOp>(op)) {
    // A tensor that is made in this block may not be there: a check says that it is.
    Value ref = dim.getRef();
    while (auto cast = ref.getDefiningOp<rc::CastOp>())
      ref = cast.getRef();
    return ref.getParentBlock() != op.getBlock() || isa<BlockArgument>(ref);
  }
  return isa<rc::LoadWordOp>(op) || (isa<arith::ArithDialect>(op.getDialect()) && isPure(&op));
}

/// One check for those that nothing stands between, and none for what is always true: where a check
/// leaves, it releases all that is held, and code would grow with checks times values.
static void joinChecks(Block &block) {
  rc::CheckOp before;
  for (Operation &op : llvm::make_early_inc_range(block)) {
    auto check = dyn_cast<rc::CheckOp>(op);
    if (!check) {
      if (!mayRunUnchecked(op))
        before = {};
      continue;
    }
    if (matchPattern(check.getCondition(), m_One())) {
      check.erase();
      continue;
    }
    if (before) {
      OpBuilder b(check);
      check.setOperand(
          arith::AndIOp::create(b, check.getLoc(), before.getCondition(), check.getCondition()));
      before.erase();
    }
    before = check;
  }
}

/// A check goes on in a block of its own, or leaves: there is one exit for all.
static void lowerChecks(func::FuncOp function) {
  for (Block &block : function.getBody())
    joinChecks(block);
  SmallVector<rc::CheckOp> checks;
  function.walk([&](rc::CheckOp check) { checks.push_back(check); });
  if (checks.empty())
    return;
  OpBuilder b(function.getContext());
  Block *exit = b.createBlock(&function.getBody(), function.getBody().end());
  for (rc::ClearWordsOp clear : function.getBody().front().getOps<rc::ClearWordsOp>())
    rc::ReleaseWordsOp::create(b, function.getLoc(), clear.getWords(), clear.getCount());
  rc::BailOp::create(b, function.getLoc());
  for (rc::CheckOp check : checks) {
    Block *block = check->getBlock();
    Block *rest = block->splitBlock(check->getNextNode());
    b.setInsertionPoint(check);
    cf::CondBranchOp::create(b, check.getLoc(), check.getCondition(), rest, exit);
    check.erase();
  }
}

LogicalResult lowerControlFlow(ModuleOp module) {
  RewritePatternSet patterns(module.getContext());
  populateSCFToControlFlowConversionPatterns(patterns);
  ConversionTarget target(*module.getContext());
  target.addIllegalDialect<scf::SCFDialect>();
  target.markUnknownOpDynamicallyLegal([](Operation *) { return true; });
  // What is inside becomes part of loops first.
  target.addLegalOp<linalg::GenericOp, rc::WriteOp>();
  target.markOpRecursivelyLegal<linalg::GenericOp, rc::WriteOp>();
  ConversionConfig config;
  config.foldingMode = DialectConversionFoldingMode::Never;
  if (failed(applyPartialConversion(module, target, std::move(patterns), config)))
    return failure();
  for (func::FuncOp function : module.getOps<func::FuncOp>())
    if (!function.isDeclaration())
      lowerChecks(function);
  return success();
}

} // namespace treadle::codegen
