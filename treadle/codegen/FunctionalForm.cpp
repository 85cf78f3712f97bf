#include "treadle/codegen/FunctionalForm.h"

#include "treadle/dialect/Diagnostics.h"
#include "treadle/dialect/FunctionNames.h"
#include "treadle/rewriting/Rewriting.h"
#include "treadle/transforms/Passes.h"
#include "treadle/transforms/fuse_kernels/FuseKernels.h"

#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace treadle::codegen {
namespace {

/// Returns the function and all functions that it calls, directly or indirectly.
llvm::SetVector<tfg::FuncOp> calledFrom(tfg::FuncOp function, const ModuleIndex &index) {
  llvm::SetVector<tfg::FuncOp> all;
  all.insert(function);
  auto add = [&](StringRef name) {
    if (tfg::FuncOp callee = index.function(name))
      all.insert(callee);
  };
  for (size_t i = 0; i < all.size(); ++i) // grows meanwhile
    tfg::FuncOp(all[i]).walk([&](Operation *op) {
      if (tfg::Node::isNode(op))
        tfg::forEachCallee(tfg::Node(op), add);
    });
  return all;
}

} // namespace

Expected<OwningOpRef<ModuleOp>> functionalForm(tfg::FuncOp function, const ModuleIndex &index) {
  MLIRContext *context = function.getContext();
  OwningOpRef<ModuleOp> module(ModuleOp::create(function.getLoc()));
  bool hasRegions = false, hasFrames = false;
  for (tfg::FuncOp each : calledFrom(function, index)) {
    tfg::FuncOp copy = each.clone();
    module->push_back(copy);
    copy.walk([&](Operation *op) {
      hasRegions |= tfg::Node::isNode(op) && op->getNumRegions() != 0;
      hasFrames |= tfg::Node::isNode(op) && tfg::isV1ControlFlow(tfg::Node(op));
    });
  }
  PassManager passes(context, ModuleOp::getOperationName());
  if (hasRegions)
    passes.addPass(createRegionToFunctional());
  if (hasRegions || hasFrames)
    passes.addPass(createV1ToFunctional());
  FirstError first(context);
  if (failed(passes.run(*module)))
    return Unexpected(unimplemented("its control flow can't be compiled: ", first.message));
  tfg::forEachFusionScope(*module, {}, tfg::fuseForms);
  return module;
}

} // namespace treadle::codegen
