// Instantiates generic functions with concrete types.
#pragma once

#include "treadle/import/NodeImporter.h"

#include "mlir/IR/BuiltinOps.h"

namespace treadle::graphdef {

/// Instantiates a module's generic functions for the attributes that calls state.
class Instantiator {
public:
  /// Functions that are added to the module later must be added here too.
  explicit Instantiator(mlir::ModuleOp module);
  void add(tfg::FuncOp function) { state.signatures.addFunction(function); }

  /// Adds a function `name` after `generic` in which every placeholder has the value in `attrs`, or
  /// the function's default. A list of arguments `x` becomes `x_0`, `x_1`, ...; the same holds for
  /// results. InvalidArgument if an attribute is missing, or an op or its output is unknown;
  /// nothing is added then.
  Expected<tfg::FuncOp> instantiate(tfg::FuncOp generic, mlir::DictionaryAttr attrs,
                                    llvm::StringRef name);

private:
  ImportState state;
};

/// Returns the attributes that a generic function depends on, sorted by name: those in its
/// signature, and those of placeholders in its body.
llvm::SmallVector<mlir::StringAttr> parametersOf(tfg::FuncOp generic);

} // namespace treadle::graphdef
