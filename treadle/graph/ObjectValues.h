// Internal: maps a SavedModel's objects to values of its graph.
#pragma once

#include "treadle/graph/ObjectFunctions.h"

#include "mlir/IR/Operation.h"
#include "llvm/ADT/MapVector.h"

namespace treadle {

class ModuleIndex;

/// The graph values of a SavedModel's objects. They follow from the file: a call of a concrete
/// function passes the objects that the function captures, and the restore op assigns what is
/// stored under an object's path. Several handles may refer to one variable: Keras 3 restores and
/// saves copies.
class ObjectValues {
public:
  ObjectValues(const Graph &graph, const SavedModelFiles &files, const ModelObjects &objects);

  /// Returns the object's value (`v:0`); empty if none is known.
  std::string of(int object) const;
  /// Returns VarHandleOps that duplicate another one's variable, each followed by that other one.
  std::vector<std::pair<mlir::Operation *, mlir::Operation *>> copies() const;

private:
  class Reader;

  mlir::Operation *canonicalHandle(mlir::Operation *handle) const;

  std::map<int, mlir::Value> values;
  llvm::MapVector<mlir::Operation *, mlir::Operation *> canonicalHandles;
};

/// Returns the graph with one name for all handles of a variable; the same graph if that already
/// holds.
Expected<Graph> withUnifiedHandles(Graph graph, const SavedModelFiles &files);

} // namespace treadle
