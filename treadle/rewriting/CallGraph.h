// The order of functions by their calls, found without recursion.
#pragma once

#include "treadle/dialect/FunctionNames.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/SmallVector.h"

namespace treadle::tfg {

/// Functions that call each other, directly or indirectly, or one function.
struct CallGroup {
  llvm::SmallVector<FuncOp, 1> functions;
  bool isRecursive = false;
};

/// Finds a function by name. Null if there is none, or to leave it out.
using FindCallee = llvm::function_ref<FuncOp(llvm::StringRef)>;

/// Returns the functions with bodies that can be reached from the function `root` by calls, and
/// itself, callees before callers.
std::vector<CallGroup> calleesFirst(llvm::StringRef root, FindCallee find);

/// Adds the functions with bodies that a node calls, directly or indirectly, to `reached`; those
/// that it contains already aren't visited again.
void addReachable(Node node, FindCallee find, llvm::SetVector<FuncOp> &reached);
/// Returns `root` and the functions with bodies that it calls, directly or indirectly.
llvm::SetVector<FuncOp> reachableFrom(FuncOp root, FindCallee find);

/// Returns whether `contains` is true for the function `root` or one that it calls, directly or
/// indirectly. `known` keeps the answers by function. `contains` may ask about callees.
bool anyReachable(llvm::StringRef root, FindCallee find, llvm::StringMap<bool> &known,
                  llvm::function_ref<bool(FuncOp)> contains);

} // namespace treadle::tfg
