// What can be part of compiled code.
#pragma once

#include "treadle/transforms/deps_to_chains/Gain.h"

#include "llvm/ADT/StringMap.h"

namespace treadle::tfg {

/// Tells whether nodes can be compiled. Functions must not change meanwhile.
class Compilable {
public:
  /// `raises`: control flow of v1 in functions, and regions, become functional before code is made
  /// of them; without it they can't be compiled.
  explicit Compilable(FunctionLookup functionOf, bool raises = false)
      : functionOf(std::move(functionOf)), raises(raises) {}

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
    bool reads = false, acts = false;
    void include(const Known &inner, llvm::function_ref<std::string()> place);
  };
  Known of(Node node);
  Known of(mlir::Block &body, llvm::function_ref<std::string(Node)> place);
  const Known &of(llvm::StringRef function);
  bool hasLoop(llvm::StringRef function);
  /// The function of this name, if it has a body that can be looked into.
  FuncOp bodyOf(llvm::StringRef function) const;

  const FunctionLookup functionOf;
  const bool raises;
  llvm::StringMap<Known> known;
  llvm::StringMap<bool> loops; // by function; false while it is looked into
};

} // namespace treadle::tfg
