// Shared by the ops with regions: syntax, verification, control flow interfaces.
#pragma once

#include "treadle/dialect/Regions.h"

#include "mlir/IR/OpImplementation.h"

namespace treadle::tfg {

/// Emits an error that begins with the node's name, because most graphs weren't parsed from text.
mlir::InFlightDiagnostic emitNodeError(Node node);

/// Verifies the nodes of one body as for a graph: tokens, keywords, names, types.
llvm::LogicalResult verifyNodes(mlir::Block &block, bool generic);

namespace regions {

void nameResults(mlir::Operation *op, mlir::OpAsmSetValueNameFn setName);
llvm::LogicalResult verifyBodies(mlir::Operation *op);

llvm::LogicalResult verifyIf(mlir::Operation *op);
llvm::LogicalResult verifyCase(mlir::Operation *op);
llvm::LogicalResult verifyWhile(mlir::Operation *op);
llvm::LogicalResult verifyFor(mlir::Operation *op);

mlir::ParseResult parseIf(mlir::OpAsmParser &parser, mlir::OperationState &state);
mlir::ParseResult parseCase(mlir::OpAsmParser &parser, mlir::OperationState &state);
mlir::ParseResult parseWhile(mlir::OpAsmParser &parser, mlir::OperationState &state);
mlir::ParseResult parseFor(mlir::OpAsmParser &parser, mlir::OperationState &state);

void printIf(mlir::Operation *op, mlir::OpAsmPrinter &printer);
void printCase(mlir::Operation *op, mlir::OpAsmPrinter &printer);
void printWhile(mlir::Operation *op, mlir::OpAsmPrinter &printer);
void printFor(mlir::Operation *op, mlir::OpAsmPrinter &printer);

using Successors = llvm::SmallVectorImpl<mlir::RegionSuccessor>;
void branchSuccessors(mlir::Operation *op, mlir::RegionBranchPoint point, Successors &out);
void successorsOfWhile(mlir::Operation *op, mlir::RegionBranchPoint point, Successors &out);
void successorsOfFor(mlir::Operation *op, mlir::RegionBranchPoint point, Successors &out);

} // namespace regions
} // namespace treadle::tfg
