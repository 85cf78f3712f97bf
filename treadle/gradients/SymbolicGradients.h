// Functions that compute the gradients of others, and the library that they are made in.
#pragma once

#include "treadle/dialect/Tfg.h"
#include "treadle/tensor/Error.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

#include <functional>
#include <string>

namespace treadle::tfg {

/// What a SymbolicGradient node asks of a function: the gradients of its arguments, given the
/// arguments and the gradients of its results. The function that the library declares as its
/// gradient does it; else one is made that holds a copy of the body, and each node's gradient after
/// the nodes that use it. Calls in the body become SymbolicGradient nodes in turn. Each function is
/// made once. Not thread-safe.
///
/// Gradients of other kinds find the functions that they need here, too, and add those they make.
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
  /// The function that is to compute the gradient of this one, by what the library declares.
  Expected<FuncOp> declaredFor(FuncOp function);

  mlir::ModuleOp module() { return target; }
  /// A name that no function has.
  std::string unique(llvm::StringRef base);
  /// A copy at the end of the module, which isn't found yet, by a new name made from `base`.
  FuncOp copyOf(FuncOp function, llvm::StringRef base);
  /// The function is complete.
  void complete(FuncOp function) { add(function); }
  /// False if the function's gradient is being made already. Followed by leave() if true.
  bool enter(llvm::StringRef function) { return entered.insert(function).second; }
  void leave(llvm::StringRef function) { entered.erase(function); }

private:
  Expected<FuncOp> make(FuncOp function);

  mlir::ModuleOp target;
  std::function<FuncOp(llvm::StringRef)> find;
  std::function<void(FuncOp)> add;
  llvm::StringMap<FuncOp> made; // by what they are the gradient of; null while they are made
  llvm::StringSet<> entered;
  llvm::StringSet<> given; // names of functions that may not be complete yet
  llvm::StringMap<unsigned> suffixes;
};

} // namespace treadle::tfg
