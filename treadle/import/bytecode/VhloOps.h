// Converts VHLO ops to StableHLO ops.
#pragma once

#include "treadle/tensor/Error.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/OperationSupport.h"
#include "llvm/Support/VersionTuple.h"

namespace treadle::bytecode {

/// An op as stored in the file: operands, results, attributes and regions of `state` are set.
struct SourceOp {
  mlir::OperationState state;
  llvm::StringRef dialect, name; // `vhlo`, `add_v1`
  /// Whether the op is directly in a function, not in a region of another op.
  bool isInFunction = false;
  /// Newer files store an op's own attributes as properties, separate from other attributes.
  bool hasFields = false;
  llvm::SmallVector<mlir::Attribute> fields = {};
};

/// Creates the StableHLO (or func) op for a VHLO op, in any known version. Unimplemented, with the
/// op's name, for an unknown op.
Expected<mlir::Operation *> createFromVhlo(mlir::OpBuilder &builder, SourceOp &&source);

/// An op in one version of VHLO.
struct VhloOp {
  std::string name;                       // `add_v1`
  llvm::StringRef fields;                 // names of its attributes, in file order
  bool (*expresses)(mlir::Operation *op); // null if it can express all ops
};
/// Returns the newest version of an op of StableHLO (or `func`, `call`, `return`) that is in
/// `target`. Unimplemented for an op that isn't known, or was introduced later; the message states
/// the version.
Expected<VhloOp> vhloOpIn(llvm::StringRef op, llvm::VersionTuple target);
/// Returns the VHLO version in which the op got this attribute; empty if it never had it.
llvm::StringRef firstWithField(llvm::StringRef op, llvm::StringRef field);

/// The oldest supported VHLO version.
constexpr llvm::StringLiteral oldestVhlo = "0.9.0";
/// The newest supported VHLO version.
constexpr llvm::StringLiteral newestVhlo = "1.20.0";

} // namespace treadle::bytecode
