// Derives attributes from the types of a node's inputs and outputs; TensorFlow's dialects omit
// them.
#pragma once

#include "treadle/ops/OpTable.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/OperationSupport.h"

namespace treadle::graphdef {

/// On an op with lists of inputs (or outputs) whose lengths no single attribute specifies: the
/// length of each input (output), as array<i32>.
inline constexpr llvm::StringLiteral operandSegmentsKey = "operandSegmentSizes";
inline constexpr llvm::StringLiteral resultSegmentsKey = "resultSegmentSizes";

/// Returns the attributes that the types determine. `stated` are the attributes that the node has,
/// including the segment sizes. Linear in the number of types.
mlir::NamedAttrList deriveAttributes(const OpDef &op, mlir::TypeRange inputs,
                                     mlir::TypeRange outputs, const mlir::NamedAttrList &stated,
                                     mlir::MLIRContext *context);

/// Returns the segment sizes that deriveAttributes needs to assign types to `args`; null if it
/// needs none, or if `stated` doesn't determine the lengths.
mlir::DenseI32ArrayAttr segmentSizes(std::span<const ArgDef> args,
                                     const mlir::NamedAttrList &stated, mlir::MLIRContext *context);

} // namespace treadle::graphdef
