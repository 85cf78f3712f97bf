// The analysis of which nodes can be compiled.
#pragma once

#include "treadle/transforms/deps_to_chains/Gain.h"

#include "llvm/ADT/StringMap.h"

namespace treadle::tfg {

/// Determines whether nodes can be compiled. Functions must not change during its lifetime.
class Compilable {
public:
  /// With `raises`, v1 control flow in functions and regions are raised to functional control flow
  /// before compilation; without it they can't be compiled. `callsPython`: whether compiled code
  /// may run Python code.
  explicit Compilable(FunctionLookup functionOf, bool raises = false, bool callsPython = true)
      : functionOf(std::move(functionOf)), raises(raises), callsPython(callsPython) {}

  /// Returns why the node can't be compiled; empty if it can. For nodes that call functions,
  /// includes all nodes of these functions.
  std::string obstacle(Node node);
  /// Returns whether the node is a loop or calls a function with one.
  bool hasLoop(Node node);
  /// Returns whether the node, or a node of a function that it calls, reads variables.
  bool readsVariables(Node node);
  /// Returns whether the node, or a node of a function that it calls, must run even if its results
  /// are unused, because it writes variables, checks values, or runs Python code with side effects.
  bool hasEffects(Node node);
  /// Returns whether the node, or a node of a function that it calls, runs Python code.
  bool runsPython(Node node);

private:
  struct Known {
    std::string obstacle;
    bool reads = false, hasEffects = false, runsPython = false;
    void include(const Known &inner, llvm::function_ref<std::string()> place);
  };
  Known of(Node node);
  Known of(mlir::Block &body, llvm::function_ref<std::string(Node)> place);
  const Known &of(llvm::StringRef function);
  bool hasLoop(llvm::StringRef function);
  /// Returns the function of this name if it has a body and isn't generic.
  FuncOp bodyOf(llvm::StringRef function) const;

  const FunctionLookup functionOf;
  const bool raises, callsPython;
  llvm::StringMap<Known> known;
  llvm::StringMap<bool> loops; // by function; false during its analysis
};

} // namespace treadle::tfg
