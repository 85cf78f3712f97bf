// Inlining of one call.
#pragma once

#include "treadle/transforms/inline_calls/Callee.h"

namespace treadle::tfg {

/// The properties that all calls in one body share.
struct CallerBody {
  NameScope &names;
  /// Whether the body has v1 control flow. Then a call with a dead input doesn't run, and no node
  /// of the inlined body may run.
  bool mayBeDead;
  /// Whether a node with the name of the call remains, so that its results can be fetched.
  bool keepsNames;
  /// The nodes that have side effects or depend on a node with side effects, including those of
  /// inlined bodies.
  llvm::DenseSet<mlir::Operation *> &afterEffects;
};

/// Replaces the call with a copy of the callee's body.
void expandCall(Node call, const Callee &callee, CallerBody caller);

/// Returns why the call can't be inlined; empty if it can.
std::string obstacleOfCall(Node call, const Callee &callee);

} // namespace treadle::tfg
