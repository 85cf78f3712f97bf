// How a program's results are spread over devices where it doesn't say.
#pragma once

#include "treadle/import/stablehlo/Sharding.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/SymbolTable.h"

namespace treadle::pjrt {

/// Of a program with @main. A result is spread as the value that it is made of: an argument, a
/// constraint, or what a shard_map gives, through calls and operations with an operand of the
/// result's shape. Every device has the whole result where nothing tells more, or parts would
/// differ in size.
class ResultShardings {
public:
  ResultShardings(mlir::func::FuncOp main, int64_t devices);

  hlo::Sharding of(unsigned result);

private:
  mlir::Attribute search(mlir::Value from);
  mlir::Attribute stated(mlir::Value value);
  void push(mlir::Value value);
  void pushSources(mlir::Value value);
  void pushReturned(mlir::func::CallOp call, unsigned result);

  mlir::func::FuncOp main;
  int64_t devices;
  mlir::SymbolTable symbols;
  llvm::SmallVector<mlir::Value> stack, visited; // of one search
  llvm::DenseSet<mlir::Value> seen;              // in this search, or in vain in one before
  llvm::DenseMap<mlir::Operation *, mlir::func::CallOp> callers; // by which a function was come to
};

} // namespace treadle::pjrt
