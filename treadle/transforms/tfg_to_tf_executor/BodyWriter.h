// Conversion of the nodes of one graph or function to operations of a tf_executor.graph.
#pragma once

#include "treadle/dialect/TfExecutor.h"
#include "treadle/dialect/Tfg.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringSet.h"

#include <vector>

namespace treadle {

/// Writes the nodes of a block in topological order, so that values are defined before they are
/// used.
class BodyWriter {
public:
  /// `function` is empty for the graph. `functions` are the names of the module's functions.
  BodyWriter(tf_executor::GraphOp graph, llvm::StringRef function,
             const llvm::StringSet<> &functions);

  /// Maps an argument; call this for all arguments before writing nodes.
  void mapArgument(mlir::Value source, mlir::Value argument) { values[source] = argument; }
  /// Maps a placeholder that becomes an argument of @main.
  void mapPlaceholder(tfg::Node node, mlir::Value argument);

  llvm::LogicalResult writeNodes(mlir::Block &source);
  /// Writes the terminator of the graph.
  void writeFetch(mlir::ValueRange data, mlir::ValueRange control);
  mlir::Value lookup(mlir::Value source);

private:
  llvm::LogicalResult writeNode(tfg::Node node);
  void writeSource(tfg::Node node);
  void writeControlFlow(tfg::Node node, llvm::StringRef op);
  void writeIsland(tfg::Node node);
  void mapResults(tfg::Node node, mlir::Operation *op);
  void writeOrder(mlir::Block &source);
  llvm::LogicalResult checkInputs(tfg::Node node);
  llvm::SmallVector<mlir::Value> lookupAll(mlir::ValueRange sources);
  mlir::Value tokenOfArgument(mlir::Value argument);
  mlir::Location locationOf(tfg::Node node, mlir::NamedAttrList &attrs);

  tf_executor::GraphOp graph;
  std::string suffix; // "@function"
  const llvm::StringSet<> &functions;
  mlir::OpBuilder builder;
  llvm::DenseMap<mlir::Value, mlir::Value> values;
  llvm::DenseMap<mlir::Operation *, tf_executor::NextIterationSourceOp> sources;
  llvm::SmallPtrSet<mlir::Operation *, 8> placeholders;
  std::vector<mlir::Operation *> written; // in the order in which the importer visits them
};

} // namespace treadle
