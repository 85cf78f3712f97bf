// Internal: what edits of a graph keep beside it.
#pragma once

#include "treadle/graph/GraphImpl.h"
#include "treadle/import/Types.h"

#include "llvm/ADT/StringMap.h"

namespace treadle {

struct EditIndex {
  explicit EditIndex(const Graph::Impl &impl);

  mlir::Attribute attribute(const AttrValue &value) const;
  /// A tensor type of unknown rank; null for an Invalid dtype.
  mlir::Type tensor(ValueType type);

  Expected<tfg::Node> node(llvm::StringRef name) const;
  /// What `x:1`, `x` or `^x` names.
  Expected<mlir::Value> value(llvm::StringRef name) const;

  /// The graph's nodes that have soft edges to others.
  llvm::SmallVector<tfg::Node> softFollowers();

  mlir::MLIRContext *context;
  tfg::GraphOp graph; // null if there is none
  graphdef::TypeTable types;
  llvm::StringMap<tfg::Node> nodes;
  llvm::StringMap<tfg::FuncOp> functions;
  llvm::StringMap<unsigned> suffixes; // of made names, to try next
  bool mayHaveSoftEdges = false;      // false: no node of the graph has any
};

/// The index of a graph, made when it is first asked for. Not thread-safe.
EditIndex &indexOf(const Graph::Impl &impl);

/// Makes the graph one that no copy shares, before it is edited.
void makeOwn(Graph &graph);

/// `x:0`, or `^x` for a token.
std::string nameOf(mlir::Value value);

} // namespace treadle
