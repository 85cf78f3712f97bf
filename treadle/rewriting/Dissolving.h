// Nodes that TensorFlow replaces by the nodes of their functions before it prunes a graph to what a
// request needs. Of their functions, only that runs which a used result, or the token, needs.
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
