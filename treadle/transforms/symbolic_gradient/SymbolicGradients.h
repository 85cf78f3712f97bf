// Functions that compute the gradients of others.
#pragma once

#include "treadle/dialect/Tfg.h"
#include "treadle/runtime/Error.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringMap.h"

#include <functional>
#include <string>

namespace treadle::tfg {

/// What a SymbolicGradient node asks of a function: the gradients of its arguments, given the
/// arguments and the gradients of its results. The function that the library declares as its
/// gradient does it; else one is made that holds a copy of the body, and each node's gradient after
/// the nodes that use it. Calls in the body become SymbolicGradient nodes in turn. Each function is
/// made once. Not thread-safe.
class SymbolicGradients {
public:
  /// `find` gives a function of the target's context by its name, or null. What is made goes to
  /// the end of `target` and is told to `add`; `find` gives it from then on.
  SymbolicGradients(mlir::ModuleOp target, std::function<FuncOp(llvm::StringRef)> find,
                    std::function<void(FuncOp)> add)
      : target(target), find(std::move(find)), add(std::move(add)) {}

  /// NotFound where there is no such function, Unimplemented where an op on the way has no
  /// gradient.
  Expected<FuncOp> of(llvm::StringRef function);

  FuncOp lookup(llvm::StringRef name) const { return find(name); }

private:
  Expected<FuncOp> make(FuncOp function);
  Expected<FuncOp> declared(FuncOp function, llvm::StringRef gradient);
  std::string nameFor(llvm::StringRef function);

  mlir::ModuleOp target;
  std::function<FuncOp(llvm::StringRef)> find;
  std::function<void(FuncOp)> add;
  llvm::StringMap<FuncOp> made; // by what they are the gradient of; null while they are made
};

} // namespace treadle::tfg
