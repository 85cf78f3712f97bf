// The bodies of functions in tf_executor as nodes of tfg.
#pragma once

#include "treadle/import/TfOps.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SetVector.h"

namespace treadle::graphdef {

/// Reads one body. Values of the source map to values of the target; a control token to the tokens
/// that stand for it.
class TfBodyReader {
public:
  /// Nodes go to the end of `target`; `functions` are the names of the module's functions.
  TfBodyReader(mlir::Block &target, const llvm::StringSet<> &functions);

  void map(mlir::Value source, mlir::Value target) { values[source] = target; }
  LocationNames &nodeNames() { return names; }

  /// Reserves the names that the nodes of `body` state, so that nameless ones don't take them.
  void reserveNames(mlir::Block &body);
  /// Everything in a graph but its fetch.
  llvm::LogicalResult readGraph(tf_executor::GraphOp graph);
  /// Everything in a block but its terminator, in order, once `tokens` are there. `last` are the
  /// tokens to wait on for all of it.
  llvm::LogicalResult readInOrder(mlir::Block &block, mlir::ValueRange tokens,
                                  llvm::SmallVectorImpl<mlir::Value> &last);

  /// The data operands among `operands`, and the tokens for the control operands.
  llvm::SmallVector<mlir::Value> dataOf(mlir::ValueRange operands) const;
  llvm::SmallVector<mlir::Value> tokensOf(mlir::ValueRange operands) const;

  /// A node at the end of the target.
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
  /// The nodes of NextIterations, whose inputs come with the sink.
  llvm::DenseMap<mlir::Operation *, mlir::Operation *> nextIterations;
};

} // namespace treadle::graphdef
