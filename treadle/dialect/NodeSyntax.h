// The syntax that nodes and tfg.return share: keywords and the attribute dictionary.
#pragma once

#include "mlir/IR/OpImplementation.h"

namespace treadle::tfg {

/// Parses: device("d") assigned_device("d") name("n") {attributes}
mlir::ParseResult parseKeywords(mlir::OpAsmParser &parser, mlir::NamedAttrList &attrs);

/// Prints what parseKeywords parses, except attributes in `hidden`.
void printKeywords(mlir::OpAsmPrinter &printer, mlir::Operation *op,
                   llvm::ArrayRef<mlir::NamedAttribute> attrs,
                   llvm::ArrayRef<llvm::StringRef> hidden = {});

} // namespace treadle::tfg
