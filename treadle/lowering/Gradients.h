// Gradient functions, built at first use.
#pragma once

#include "treadle/gradients/SymbolicGradients.h"
#include "treadle/lowering/Lowering.h"

#include "mlir/IR/OwningOpRef.h"

namespace treadle {

/// The gradient functions of a module. They are in a separate module, since others may read that of
/// the graph concurrently. Not thread-safe.
class ModuleGradients {
public:
  explicit ModuleGradients(const ModuleIndex &module);

  /// Returns the function that computes the gradients of `function`: one built before, or a copy of
  /// the module's function with that name.
  Expected<tfg::FuncOp> of(llvm::StringRef function) { return gradients.of(function); }
  /// The functions of the module, and the built ones.
  const ModuleIndex &index() const { return functions; }

private:
  tfg::FuncOp find(llvm::StringRef name);
  tfg::FuncOp copyOf(tfg::FuncOp original);

  ModuleIndex functions;
  mlir::OwningOpRef<mlir::ModuleOp> target;
  tfg::FunctionMap known; // functions of the target module
  tfg::SymbolicGradients gradients;
};

} // namespace treadle
