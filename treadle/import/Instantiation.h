// Functions with known types out of generic ones.
#pragma once

#include "treadle/import/NodeImporter.h"

#include "mlir/IR/BuiltinOps.h"

namespace treadle::graphdef {

/// Makes functions out of a module's generic ones, for the attributes that calls state.
class Instantiator {
public:
  /// Functions that the module gets later must be added.
  explicit Instantiator(mlir::ModuleOp module);
  void add(tfg::FuncOp function) { state.signatures.addFunction(function); }

  /// A function `name` behind `generic`, in which every placeholder is what `attrs` says, or the
  /// function's default. A list of arguments `x` becomes `x_0`, `x_1`, ...; so do results. Errors:
  /// InvalidArgument where an attribute is missing or an op or its output unknown; nothing is made
  /// then.
  Expected<tfg::FuncOp> instantiate(tfg::FuncOp generic, mlir::DictionaryAttr attrs,
                                    llvm::StringRef name);

private:
  ImportState state;
};

/// The attributes that a generic function depends on, sorted by name: those that its signature
/// defines or mentions, and those that placeholders in its body name.
llvm::SmallVector<mlir::StringAttr> parametersOf(tfg::FuncOp generic);

} // namespace treadle::graphdef
