// The ops that call functions, and the mapping of their operands to arguments.
#pragma once

#include "treadle/rewriting/Rewriting.h"

namespace treadle::tfg {

/// The callees of a node. All of them take the same operands.
struct CallInfo {
  enum Kind { None, Call, Branches, Loop } kind = None; // for loops: the condition, then the body
  llvm::SmallVector<FuncOp, 2> callees;                 // null if the function doesn't exist
  unsigned firstOperand = 0;
};

CallInfo callInfoOf(Node node, const FunctionMap &functions);

} // namespace treadle::tfg
