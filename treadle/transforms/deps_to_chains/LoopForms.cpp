#include "treadle/transforms/deps_to_chains/LoopForms.h"

#include "treadle/dialect/Diagnostics.h"
#include "treadle/dialect/NodeAttributes.h"
#include "treadle/ops/OpTable.h"
#include "treadle/rewriting/RegionForms.h"
#include "treadle/transforms/Passes.h"
#include "treadle/transforms/deps_to_chains/LoopOrder.h"
#include "treadle/transforms/overlap_loops/FrameLowering.h"
#include "treadle/transforms/topological_sort/TopologicalSort.h"
#include "treadle/transforms/v1_to_functional/Conversion.h"
#include "treadle/transforms/v1_to_functional/Loops.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/Pass/PassManager.h"

using namespace mlir;

namespace treadle::tfg {
namespace {

template <typename Visit> void forEachNode(ModuleOp module, Visit visit) {
  module.walk([&](Operation *op) {
    if (Node::isNode(op))
      visit(Node(op));
  });
}

bool isWhile(Node node) { return carriesArguments(opKind(node.opType())); }

/// Runs a pass; if it fails, discards its diagnostics and returns false.
bool runPass(ModuleOp module, std::unique_ptr<Pass> pass) {
  OwningOpRef<ModuleOp> copy(module.clone());
  ThreadDiagnostics silent(module.getContext(), [](Diagnostic &) {});
  PassManager passes(module.getContext(), ModuleOp::getOperationName());
  passes.addPass(std::move(pass));
  if (failed(passes.run(*copy)))
    return false;
  module.getBodyRegion().takeBody(copy->getBodyRegion());
  return true;
}

StringRef calledBy(Node loop, StringRef key) {
  auto callee = loop.attr<tf_type::FuncAttr>(key);
  return callee ? callee.getName().getRootReference().getValue() : StringRef();
}

/// Functions that existed before the conversion may contain v1 conditionals too.
void convertBranches(Node loop, Conversion &conversion) {
  for (StringRef key : {"cond", "body"})
    if (FuncOp function = conversion.function(calledBy(loop, key));
        function && !function.isExternal() && firstV1Node(function.getEntry()))
      convertConditionals(conversion, function.getEntry());
}

/// Returns whether an iteration of the frame has side effects.
bool hasEffects(const Loop &loop, Effects &effects) {
  return llvm::any_of(loop.nodes, [&](Operation *op) { return !effects.isEffectFree(Node(op)); });
}

bool hasRegionLoops(ModuleOp module) {
  Effects effects(module);
  bool found = false;
  module.walk([&](Operation *op) {
    found |= regionFormOf(op) == RegionForm::While && !effects.hasPureRegions(Node(op));
  });
  return found;
}

/// Returns the bodies with frames whose iterations have side effects.
SmallVector<Block *> bodiesWithFrames(ModuleOp module) {
  SmallVector<Block *> bodies;
  Effects effects(module);
  forEachBody(module, [&](Block &body) {
    if (llvm::any_of(findLoops(topologicalOrder(body)),
                     [&](const auto &loop) { return hasEffects(*loop, effects); }))
      bodies.push_back(&body);
  });
  return bodies;
}

} // namespace

bool LoopForms::areNeeded(ModuleOp module) {
  return hasRegionLoops(module) || !bodiesWithFrames(module).empty();
}

LoopForms::LoopForms(ModuleOp module) : module(module) {
  for (FuncOp function : module.getOps<FuncOp>())
    oldFunctions.insert(function.getName());
}

void LoopForms::toWhile() {
  regionsToWhile();
  framesToWhile();
}

void LoopForms::restore() {
  if (hadFrames)
    framesFromWhile();
  if (hadRegions) {
    runPass(module, createFunctionalToRegion());
    forEachNode(module, [](Node node) { node->removeDiscardableAttr(staysFunctionalKey); });
  }
  if (hadFrames || hadRegions)
    eraseNewFunctions();
}

void LoopForms::regionsToWhile() {
  if (!hasRegionLoops(module))
    return;
  forEachNode(module, [&](Node node) {
    if (hasRegionForm(node.opType()))
      node->setDiscardableAttr(staysFunctionalKey, UnitAttr::get(module.getContext()));
  });
  hadRegions = runPass(module, createRegionToFunctional());
  if (!hadRegions)
    forEachNode(module, [](Node node) { node->removeDiscardableAttr(staysFunctionalKey); });
}

void LoopForms::framesToWhile() {
  SmallVector<Block *> bodies = bodiesWithFrames(module);
  if (bodies.empty())
    return;
  hadFrames = true;
  Builder builder(module.getContext());
  forEachNode(module, [&](Node node) {
    node->removeDiscardableAttr(fromFrameKey); // left over from a file
    if (isWhile(node))
      node->setDiscardableAttr(fromFrameKey, builder.getBoolAttr(false));
  });
  llvm::StringSet<> kept;
  Conversion conversion(module, kept);
  for (Block *body : bodies)
    convertLoops(conversion, *body);
  conversion.restoreFunctions();
  SmallVector<Node> nodes;
  forEachNode(module, [&](Node node) {
    if (isWhile(node))
      nodes.push_back(node);
  });
  for (Node node : nodes) {
    auto isOld = node.attr<BoolAttr>(fromFrameKey);
    if (!isOld) {
      node->setDiscardableAttr(fromFrameKey, builder.getBoolAttr(true));
      convertBranches(node, conversion);
    } else {
      node->removeDiscardableAttr(fromFrameKey);
    }
  }
  conversion.restoreFunctions(); // for the functions of the branches
}

void LoopForms::framesFromWhile() {
  FrameLowering lowering(module);
  forEachNode(module, [&](Node node) {
    if (!node->removeDiscardableAttr(fromFrameKey))
      return;
    // If the frame only called functions, the loop calls them directly.
    bool hadNodes = !oldFunctions.contains(calledBy(node, "body"));
    lowering.choose(node, hadNodes ? FrameLowering::Names::Own : FrameLowering::Names::Prefixed,
                    /*overlaps=*/false);
  });
  lowering.run();
}

/// Erases functions that were created for While nodes and are no longer used.
void LoopForms::eraseNewFunctions() {
  for (bool isDone = false; !isDone;) {
    llvm::StringSet<> used;
    module.walk(
        [&](Operation *op) { forEachCallee(op, [&](StringRef name) { used.insert(name); }); });
    isDone = true;
    for (FuncOp function : llvm::make_early_inc_range(module.getOps<FuncOp>()))
      if (!oldFunctions.contains(function.getName()) && !used.contains(function.getName())) {
        function.erase();
        isDone = false;
      }
  }
}

} // namespace treadle::tfg
