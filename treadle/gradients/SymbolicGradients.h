// Builds functions that compute the gradients of others, and keeps track of them.
#pragma once

#include "treadle/rewriting/Rewriting.h"
#include "treadle/tensor/Error.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

#include <functional>
#include <string>

namespace treadle::tfg {

/// Builds the function for a SymbolicGradient node: it computes the gradients of a function's
/// arguments, given the arguments and the gradients of its results. If the library declares a
/// gradient for the function, it calls that; otherwise it contains a copy of the body, followed by
/// each node's gradient in reverse order. Calls in the body become SymbolicGradient nodes in turn.
/// Each gradient function is built once. Not thread-safe.
///
/// Gradients of functional nodes look up and add their functions here too.
class SymbolicGradients {
public:
  /// `find` returns a function in the target's context by its name, or null. New functions are
  /// appended to `target` and passed to `add`; from then on `find` returns them.
  SymbolicGradients(mlir::ModuleOp target, std::function<FuncOp(llvm::StringRef)> find,
                    std::function<void(FuncOp)> add)
      : target(target), find(std::move(find)), add(std::move(add)), effects(target) {}

  /// NotFound if there is no such function, Unimplemented if an op on the path has no gradient.
  Expected<FuncOp> of(llvm::StringRef function);

  FuncOp lookup(llvm::StringRef name) const { return find(name); }
  /// Returns the gradient function that the library declares for this function.
  Expected<FuncOp> declaredFor(FuncOp function);

  mlir::ModuleOp module() { return target; }
  /// Returns a function name that isn't used.
  std::string unique(llvm::StringRef base);
  /// Appends a copy to the module under a new name derived from `base`; `find` doesn't return it
  /// yet.
  FuncOp copyOf(FuncOp function, llvm::StringRef base);
  /// Sets whether the completed function has effects, and adds it.
  void complete(FuncOp function);
  /// Returns whether all nodes of a completed function of the target are pure.
  bool isPure(FuncOp function) { return effects.isPureFunction(function.getName()); }
  /// Returns false if the function's gradient is already under construction. Followed by leave() if
  /// true.
  bool enter(llvm::StringRef function) { return entered.insert(function).second; }
  void leave(llvm::StringRef function) { entered.erase(function); }

private:
  Expected<FuncOp> make(FuncOp function);

  mlir::ModuleOp target;
  std::function<FuncOp(llvm::StringRef)> find;
  std::function<void(FuncOp)> add;
  Effects effects;
  llvm::StringMap<FuncOp> made; // by the original function; null while under construction
  llvm::StringSet<> entered;
  llvm::StringSet<> given; // names of functions that may be incomplete
  llvm::StringMap<unsigned> suffixes;
};

} // namespace treadle::tfg
