// Extra dependencies that a person or a pass asks for, as edges.
#pragma once

#include "treadle/dialect/Tfg.h"
#include "treadle/tensor/Error.h"

#include "llvm/ADT/ArrayRef.h"

#include <string>
#include <vector>

namespace treadle::tfg {

/// A node, and one that it must follow, by name.
struct Following {
  std::string node, after;
};

/// Makes an edge of each: a control input, or with `soft` a soft edge. Edges that are there stay,
/// and none is made twice. NotFound for a name that no node of the body has; InvalidArgument where
/// a node would follow itself, or would wait in a circle: nothing has changed then. Soft edges that
/// contradict the others aren't made, but given back.
Expected<std::vector<Following>> preserveOrder(mlir::Block &body, llvm::ArrayRef<Following> order,
                                               bool soft);

} // namespace treadle::tfg
