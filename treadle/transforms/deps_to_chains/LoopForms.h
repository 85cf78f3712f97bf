// Temporary conversion of loops in frames or regions to While nodes, to add chains to them.
#pragma once

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringSet.h"

namespace treadle::tfg {

class LoopForms {
public:
  explicit LoopForms(mlir::ModuleOp module);

  /// Returns whether a frame or region loop with side effects exists.
  static bool areNeeded(mlir::ModuleOp module);

  /// Converts frames and region loops with side effects to While nodes, as far as possible.
  void toWhile();
  /// Converts them back. Nodes in frames get their names back, except the nodes that frames consist
  /// of. Conditionals in frames stay If and Case nodes.
  void restore();

private:
  void regionsToWhile();
  void framesToWhile();
  void framesFromWhile();
  void eraseNewFunctions();

  mlir::ModuleOp module;
  llvm::StringSet<> oldFunctions;
  bool hadRegions = false, hadFrames = false;
};

} // namespace treadle::tfg
