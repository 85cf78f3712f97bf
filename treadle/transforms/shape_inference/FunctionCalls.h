// The ops that call functions, and how their operands become arguments.
#pragma once

#include "treadle/rewriting/Rewriting.h"

namespace treadle::tfg {

/// What a node calls. All callees take the same operands.
struct CallInfo {
  enum Kind { None, Call, Branches, Loop } kind = None; // of a loop: the condition, then the body
  llvm::SmallVector<FuncOp, 2> callees;                 // null where there is no such function
  unsigned firstOperand = 0;
};

CallInfo callInfoOf(Node node, const FunctionMap &functions);

} // namespace treadle::tfg
