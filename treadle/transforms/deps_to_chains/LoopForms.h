// Loops that are frames or regions as While nodes, as long as chains are made for them.
#pragma once

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringSet.h"

namespace treadle::tfg {

class LoopForms {
public:
  explicit LoopForms(mlir::ModuleOp module);

  /// Whether there are loops with effects that are frames or regions.
  static bool areNeeded(mlir::ModuleOp module);

  /// Makes While nodes of the frames and regions of loops that have effects. Those that can't be
  /// stay.
  void toWhile();
  /// Makes frames and regions of them again. Nodes of frames have the names that they had, but for
  /// those that frames consist of; conditionals in them became If and Case nodes.
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
