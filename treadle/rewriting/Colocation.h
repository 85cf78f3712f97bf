// Names of nodes in `_class = ["loc:@x"]`: a node that is to be on the device of node x.
#pragma once

#include "treadle/dialect/NodeAttributes.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

namespace treadle::tfg {

/// The node that an element of `_class` names; empty if it names none.
llvm::StringRef colocatedWith(mlir::Attribute element);
/// Follows new names of nodes.
void renameColocations(Node node, const llvm::StringMap<std::string> &renamed);

/// What a module's nodes say of nodes that aren't there. TensorFlow refuses such graphs, and passes
/// that erase, merge or outline nodes leave them behind.
class StaleColocations {
public:
  /// Those of a module before passes change it: they stay.
  explicit StaleColocations(mlir::ModuleOp module);

  /// Drops the others.
  void drop(mlir::ModuleOp module) const;

private:
  llvm::StringSet<> before;
};

} // namespace treadle::tfg
