// What an op of VHLO is in StableHLO.
#pragma once

#include "treadle/tensor/Error.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/OperationSupport.h"

namespace treadle::bytecode {

/// An op as the file has it: operands, results, attributes and regions of `state` are read.
struct SourceOp {
  mlir::OperationState state;
  llvm::StringRef dialect, name; // `vhlo`, `add_v1`
  /// The op is right in a function, and in no region of another op.
  bool isInFunction = false;
  /// Newer files have an op's own attributes as fields without names, apart from others.
  bool hasFields = false;
  llvm::SmallVector<mlir::Attribute> fields = {};
};

/// Makes the op of StableHLO (or func) that a VHLO op stands for, of any version of the op that is
/// known. Unimplemented names one that isn't.
Expected<mlir::Operation *> createFromVhlo(mlir::OpBuilder &builder, SourceOp &&source);

/// How many operands, results and regions an op of StableHLO has, in this order: `2 1 0`, or `1+ 0+
/// 1` for one or more operands. Empty for what isn't one.
llvm::StringRef countsOf(llvm::StringRef op);
/// Whether one of these counts is that of `count` things.
bool fitsCount(llvm::StringRef expected, size_t count);

/// The newest version of VHLO that all is known of.
constexpr llvm::StringLiteral newestVhlo = "1.20.0";

} // namespace treadle::bytecode
