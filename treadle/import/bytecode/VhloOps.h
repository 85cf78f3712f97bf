// What an op of VHLO is in StableHLO.
#pragma once

#include "treadle/tensor/Error.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/OperationSupport.h"
#include "llvm/Support/VersionTuple.h"

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

/// An op as a version of VHLO has it.
struct VhloOp {
  std::string name;       // `add_v1`
  llvm::StringRef fields; // names of its attributes, in the order in which files have them
  bool (*expresses)(mlir::Operation *op); // null if it can express all
};
/// The newest version of an op of StableHLO (or `func`, `call`, `return`) that is in `target`.
/// Unimplemented for an op that isn't known, or came later; the message says when.
Expected<VhloOp> vhloOpIn(llvm::StringRef op, llvm::VersionTuple target);
/// The version of VHLO in which the op got this attribute; empty if it never had it.
llvm::StringRef firstWithField(llvm::StringRef op, llvm::StringRef field);

/// The first version of VHLO that files are of.
constexpr llvm::StringLiteral oldestVhlo = "0.9.0";
/// The newest version of VHLO that all is known of.
constexpr llvm::StringLiteral newestVhlo = "1.20.0";

} // namespace treadle::bytecode
