// Converts the bodies of tf_executor functions to tfg nodes.
#pragma once

#include "treadle/import/TfOps.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SetVector.h"

namespace treadle::graphdef {

/// Converts one body. Maps values of the source to values of the target, and a control token to the
/// corresponding tokens.
class TfBodyReader {
public:
  /// Appends nodes to `target`; `functions` are the names of the module's functions.
  TfBodyReader(mlir::Block &target, const llvm::StringSet<> &functions);

  void map(mlir::Value source, mlir::Value target) { values[source] = target; }
  LocationNames &nodeNames() { return names; }

  /// Reserves the names that the nodes of `body` state, so that generated names don't collide with
  /// them.
  void reserveNames(mlir::Block &body);
  /// Converts a graph except for its fetch.
  llvm::LogicalResult readGraph(tf_executor::GraphOp graph);
  /// Converts a block except for its terminator, in order, after `tokens`. `last` receives the
  /// tokens to wait on for the whole block.
  llvm::LogicalResult readInOrder(mlir::Block &block, mlir::ValueRange tokens,
                                  llvm::SmallVectorImpl<mlir::Value> &last);

  /// Returns the data operands among `operands`, and the tokens for the control operands.
  llvm::SmallVector<mlir::Value> dataOf(mlir::ValueRange operands) const;
  llvm::SmallVector<mlir::Value> tokensOf(mlir::ValueRange operands) const;

  /// Appends a node to the target.
  tfg::Node addNode(NodeParts parts, mlir::Location location, mlir::ValueRange data,
                    mlir::ValueRange tokens, mlir::TypeRange results);

private:
  llvm::LogicalResult readIsland(tf_executor::IslandOp island);
  void readEmptyIsland(tf_executor::IslandOp island);
  void readControlFlow(mlir::Operation *op);
  void readSink(tf_executor::NextIterationSinkOp sink);
  llvm::LogicalResult readOp(mlir::Operation *op, mlir::ValueRange tokens, tfg::Node &node);
  llvm::SmallVector<mlir::Value> gate(mlir::Block &block, mlir::ValueRange tokens);

  mlir::OpBuilder builder;
  const llvm::StringSet<> &functions;
  tfg::TfgDialect &dialect;
  LocationNames names;
  llvm::DenseMap<mlir::Value, mlir::Value> values;
  llvm::DenseMap<mlir::Value, llvm::SmallVector<mlir::Value, 1>> tokens;
  /// The nodes of NextIterations, which get their inputs at the sink.
  llvm::DenseMap<mlir::Operation *, mlir::Operation *> nextIterations;
};

} // namespace treadle::graphdef
