// Gradient functions, made when they are first called.
#pragma once

#include "treadle/gradients/SymbolicGradients.h"
#include "treadle/lowering/Lowering.h"

#include "mlir/IR/OwningOpRef.h"

namespace treadle {

/// The gradient functions of a module, in a module of their own: others may read the graph's at the
/// same time. Not thread-safe.
class ModuleGradients {
public:
  explicit ModuleGradients(const ModuleIndex &module);

  /// The function that computes the gradients of `function`: one that was made, or a copy of one of
  /// the module, by the same name.
  Expected<tfg::FuncOp> of(llvm::StringRef function) { return gradients.of(function); }
  /// The functions of the module and those that were made.
  const ModuleIndex &index() const { return functions; }

private:
  tfg::FuncOp find(llvm::StringRef name);
  tfg::FuncOp copyOf(tfg::FuncOp original);

  ModuleIndex functions;
  mlir::OwningOpRef<mlir::ModuleOp> target;
  tfg::FunctionMap known; // functions of the target
  tfg::SymbolicGradients gradients;
};

} // namespace treadle
