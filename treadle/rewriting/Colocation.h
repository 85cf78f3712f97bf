// Colocation constraints: `_class = ["loc:@x"]` places a node on the device of node x.
#pragma once

#include "treadle/dialect/NodeAttributes.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

namespace treadle::tfg {

/// Returns the name of the node in an element of `_class`; empty if there is none.
llvm::StringRef colocatedWith(mlir::Attribute element);
/// Updates the names of nodes that were renamed.
void renameColocations(Node node, const llvm::StringMap<std::string> &renamed);

/// Colocation constraints of a module that refer to missing nodes. TensorFlow rejects such graphs,
/// and passes that erase, merge or outline nodes leave them behind.
class StaleColocations {
public:
  /// Records the ones that exist before passes change the module; they stay.
  explicit StaleColocations(mlir::ModuleOp module);

  /// Removes all others.
  void drop(mlir::ModuleOp module) const;

private:
  llvm::StringSet<> before;
};

} // namespace treadle::tfg
