// Attributes that follow from the types of a node's inputs and outputs: TensorFlow's dialects leave
// them out.
#pragma once

#include "treadle/ops/OpTable.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/OperationSupport.h"

namespace treadle::graphdef {

/// Where an op has lists of inputs (or outputs) whose lengths no single attribute gives, these
/// state the length of each input (output): an array<i32>.
inline constexpr llvm::StringLiteral operandSegmentsKey = "operandSegmentSizes";
inline constexpr llvm::StringLiteral resultSegmentsKey = "resultSegmentSizes";

/// The attributes that the types tell, as far as they do; `stated` are those that the node has,
/// with the segment sizes among them. Linear in the number of types.
mlir::NamedAttrList deriveAttributes(const OpDef &op, mlir::TypeRange inputs,
                                     mlir::TypeRange outputs, const mlir::NamedAttrList &stated,
                                     mlir::MLIRContext *context);

/// The segment sizes that `args` need so that deriveAttributes can tell which type belongs to
/// which; null where they need none, or where `stated` doesn't give the lengths.
mlir::DenseI32ArrayAttr segmentSizes(std::span<const ArgDef> args,
                                     const mlir::NamedAttrList &stated, mlir::MLIRContext *context);

} // namespace treadle::graphdef
