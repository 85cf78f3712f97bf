// Functional nodes that TensorFlow inlines before it prunes a graph for a request. A node in their
// functions runs only if a used result or the control token depends on it.
#pragma once

#include "treadle/dialect/NodeAttributes.h"
#include "treadle/ops/OpTable.h"
#include "treadle/rewriting/Rewriting.h"

namespace treadle::tfg {

inline bool dissolves(Node node) {
  OpKind kind = opKind(node.opType());
  bool isCall = kind == OpKind::Call;
  auto flag = node.attr<mlir::BoolAttr>(isCall ? dissolvedCallKey : dissolvedKey);
  return flag && flag.getValue() && isFunctional(kind);
}

} // namespace treadle::tfg
