// Infers the shardings of a program's results if it doesn't state them.
#pragma once

#include "treadle/import/stablehlo/Sharding.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/SymbolTable.h"

namespace treadle::pjrt {

/// The shardings of the results of @main. A result is sharded like the value that it derives from:
/// an argument, a constraint, or the result of a shard_map, through calls and operations with an
/// operand of the result's shape. A result is replicated if no sharding is found, or its shards
/// would differ in size.
class ResultShardings {
public:
  ResultShardings(mlir::func::FuncOp main, int64_t devices);

  hlo::Sharding of(unsigned result);

private:
  mlir::Attribute search(mlir::Value from);
  mlir::Attribute declaredSharding(mlir::Value value);
  void push(mlir::Value value);
  void pushSources(mlir::Value value);
  void pushReturned(mlir::func::CallOp call, unsigned result);

  mlir::func::FuncOp main;
  int64_t devices;
  mlir::SymbolTable symbols;
  llvm::SmallVector<mlir::Value> stack, visited; // of one search
  llvm::DenseSet<mlir::Value> seen;              // visited in this search, or in a previous one
                                                 // without success
  llvm::DenseMap<mlir::Operation *, mlir::func::CallOp> callers; // the call through which a
                                                                 // function was reached
};

} // namespace treadle::pjrt
