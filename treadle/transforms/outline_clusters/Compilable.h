// What can be part of compiled code.
#pragma once

#include "treadle/dialect/Tfg.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringMap.h"

namespace treadle::tfg {

/// Asked about the nodes of a module, which must not change meanwhile.
class Compilable {
public:
  explicit Compilable(mlir::ModuleOp module);

  /// Why the node can't be part of compiled code; empty if it can. Of nodes that call functions all
  /// of the functions' nodes count.
  std::string obstacle(Node node);
  /// Whether the node is a loop, or calls a function with one.
  bool hasLoop(Node node);
  /// Whether the node, or one in a function that it calls, reads variables.
  bool readsVariables(Node node);
  /// Whether the node, or one in a function that it calls, must run though nothing needs a result
  /// of it: it writes variables, or checks something.
  bool acts(Node node);

private:
  struct Known {
    std::string obstacle;
    bool hasLoop = false, reads = false, acts = false;
  };
  Known of(Node node);
  const Known &of(llvm::StringRef function);

  llvm::StringMap<FuncOp> functions;
  llvm::StringMap<Known> known;
};

} // namespace treadle::tfg
