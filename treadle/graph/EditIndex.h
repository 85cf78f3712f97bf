// Internal: the index that edits of a graph maintain.
#pragma once

#include "treadle/graph/GraphImpl.h"
#include "treadle/import/Types.h"
#include "treadle/rewriting/TopologicalOrder.h"

#include "llvm/ADT/StringMap.h"

namespace treadle {

struct EditIndex {
  explicit EditIndex(const Graph::Impl &impl);

  mlir::Attribute attribute(const AttrValue &value) const;
  /// Returns a tensor type of unknown rank; null for an Invalid dtype.
  mlir::Type tensor(ValueType type);

  Expected<tfg::Node> node(llvm::StringRef name) const;
  /// Returns the value that `x:1`, `x` or `^x` names.
  Expected<mlir::Value> value(llvm::StringRef name) const;

  /// Returns the graph's nodes that have soft edges to other nodes.
  llvm::SmallVector<tfg::Node> nodesWithSoftEdges();

  /// Returns the order of the graph's nodes, which is built on first use.
  tfg::TopologicalOrder &order();

  mlir::MLIRContext *context;
  tfg::GraphOp graph; // null if there is none
  graphdef::TypeTable types;
  llvm::StringMap<tfg::Node> nodes;
  llvm::StringMap<tfg::FuncOp> functions;
  llvm::StringMap<unsigned> suffixes; // next suffix to try for generated names
  bool mayHaveSoftEdges = false;      // false if no node of the graph has any
  std::optional<tfg::TopologicalOrder> topologicalOrder;
};

/// Returns the index of a graph and builds it on first use. Not thread-safe.
EditIndex &indexOf(const Graph::Impl &impl);

/// Unshares the graph from its copies before an edit (copy-on-write).
void unshareGraph(Graph &graph);

/// Returns `x:0`, or `^x` for a token.
std::string nameOf(mlir::Value value);

} // namespace treadle
