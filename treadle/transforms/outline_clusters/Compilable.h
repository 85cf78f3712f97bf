// The analysis of which nodes can be compiled.
#pragma once

#include "treadle/transforms/deps_to_chains/Gain.h"

#include "llvm/ADT/StringMap.h"

namespace treadle::tfg {

/// Maximum call depth in compiled code, counting the cluster's function.
inline constexpr int maxClusterDepth = 32;

/// Determines whether nodes can be compiled. Functions must not change during its lifetime.
class Compilable {
public:
  /// With `raises`, v1 control flow in functions and regions are raised to functional control flow
  /// before compilation; without it they can't be compiled. `callsPython`: whether compiled code
  /// may run Python code.
  explicit Compilable(FunctionLookup functionOf, bool raises = false, bool callsPython = true)
      : functionOf(std::move(functionOf)), raises(raises), callsPython(callsPython) {}

  struct Properties {
    std::string obstacle;       // why the node can't be compiled; empty if it can
    bool namesFunction = false; // the obstacle's text does
    bool reads = false;         // reads variables
    bool hasEffects = false;    // must run even if its results are unused, because it writes
                                // variables, checks values, or runs Python code with side effects
    bool runsPython = false;
    int callDepth = 0; // of nested calls
    void include(const Properties &inner, llvm::function_ref<std::string()> place);
    void includeCallee(const Properties &callee);
  };
  /// Returns the properties of a node and, if it calls functions, of all their nodes.
  Properties of(Node node);
  /// Returns whether the node is a loop or calls a function with one.
  bool hasLoop(Node node);

private:
  using PlaceText = llvm::function_ref<std::string(Node, const Properties &)>;
  Properties of(mlir::Block &body, PlaceText place);
  Properties ofBody(FuncOp function);
  const Properties &of(llvm::StringRef function);
  bool hasLoop(llvm::StringRef function);
  /// Returns the function of this name if it has a body and isn't generic.
  FuncOp bodyOf(llvm::StringRef function) const;

  const FunctionLookup functionOf;
  const bool raises, callsPython;
  llvm::StringMap<Properties> known;
  llvm::StringMap<bool> loops; // by function
};

} // namespace treadle::tfg
