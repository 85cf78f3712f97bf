// One call replaced by the body of its function.
#pragma once

#include "treadle/transforms/inline_calls/Callee.h"

namespace treadle::tfg {

/// What holds for all calls in one body.
struct CallerBody {
  NameScope &names;
  /// A call with an input that is dead doesn't run, and neither may anything of its body: control
  /// flow of v1 stands beside it.
  bool mayBeDead;
  /// A node of the call's name keeps its results.
  bool keepsNames;
  /// What has effects, or comes after one that does; with what the call becomes.
  llvm::DenseSet<mlir::Operation *> &afterEffects;
};

/// Puts a copy of the callee's body in the place of the call, which is removed.
void expandCall(Node call, const Callee &callee, CallerBody caller);

/// Why the call itself stands in the way, empty if it doesn't.
std::string obstacleOfCall(Node call, const Callee &callee);

} // namespace treadle::tfg
