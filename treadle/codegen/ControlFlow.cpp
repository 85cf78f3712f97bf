// Structured control flow and checks as branches.
#include "treadle/codegen/Passes.h"
#include "treadle/codegen/Rc.h"

#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Transforms/DialectConversion.h"

using namespace mlir;

namespace treadle::codegen {

/// A check goes on in a block of its own, or leaves: there is one exit for all.
static void lowerChecks(func::FuncOp function) {
  SmallVector<rc::CheckOp> checks;
  function.walk([&](rc::CheckOp check) { checks.push_back(check); });
  if (checks.empty())
    return;
  OpBuilder b(function.getContext());
  Block *exit = b.createBlock(&function.getBody(), function.getBody().end());
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
