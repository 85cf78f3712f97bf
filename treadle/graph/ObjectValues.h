// Internal: which values of a SavedModel's graph stand for its objects.
#pragma once

#include "treadle/graph/ObjectFunctions.h"

#include "mlir/IR/Operation.h"
#include "llvm/ADT/MapVector.h"

namespace treadle {

class ModuleIndex;

/// The values that stand for the objects of a SavedModel. The file states them: a call of a
/// concrete function gets what the function captures, and the restore op assigns what is stored
/// under the path of an object. Several handles may stand for one variable: Keras 3 restores and
/// saves copies.
class ObjectValues {
public:
  ObjectValues(const Graph &graph, const SavedModelFiles &files, const ModelObjects &objects);

  /// `v:0`; empty if none is known.
  std::string of(int object) const;
  /// VarHandleOps of variables that another one stands for, too: that other one comes second.
  std::vector<std::pair<mlir::Operation *, mlir::Operation *>> copies() const;

private:
  class Reader;

  mlir::Operation *leaderOf(mlir::Operation *handle) const;

  std::map<int, mlir::Value> values;
  llvm::MapVector<mlir::Operation *, mlir::Operation *> sameAs;
};

/// The graph with one name for all handles of one variable; the same graph where they have it.
Expected<Graph> withOneHandleEach(Graph graph, const SavedModelFiles &files);

} // namespace treadle
