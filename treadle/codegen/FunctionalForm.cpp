#include "treadle/codegen/FunctionalForm.h"

#include "treadle/dialect/Diagnostics.h"
#include "treadle/rewriting/CallGraph.h"
#include "treadle/rewriting/Rewriting.h"
#include "treadle/transforms/Passes.h"
#include "treadle/transforms/fuse_kernels/FuseKernels.h"

#include "mlir/Pass/PassManager.h"

using namespace mlir;

namespace treadle::codegen {

Expected<OwningOpRef<ModuleOp>> functionalForm(tfg::FuncOp function, const ModuleIndex &index) {
  MLIRContext *context = function.getContext();
  OwningOpRef<ModuleOp> module(ModuleOp::create(function.getLoc()));
  bool hasRegions = false, hasFrames = false;
  auto lookup = [&](StringRef name) { return index.function(name); };
  for (tfg::FuncOp each : tfg::reachableFrom(function, lookup)) {
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
