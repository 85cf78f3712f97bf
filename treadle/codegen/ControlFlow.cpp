// Lowers structured control flow and checks to branches.
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

/// Whether the op may run although a check before it fails: it has no effect, and is cheap.
static bool mayRunUnchecked(Operation &op) {
  if (auto cast = dyn_cast<rc::CastOp>(op))
    return isa<RankedTensorType>(cast.getRef().getType().getTensor());
  if (auto dim = dyn_cast<rc::DimOp>(op)) {
    // A tensor created in this block may not exist; a check guards it.
    Value ref = dim.getRef();
    while (auto cast = ref.getDefiningOp<rc::CastOp>())
      ref = cast.getRef();
    return ref.getParentBlock() != op.getBlock() || isa<BlockArgument>(ref);
  }
  return isa<rc::LoadWordOp>(op) || (isa<arith::ArithDialect>(op.getDialect()) && isPure(&op));
}

/// Merges adjacent checks and removes those that are always true. A failing check releases all held
/// references, so code size would grow with checks times values.
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

/// Splits the block after each check; failing checks branch to a common exit.
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
  // These become part of loops first.
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
