// What the text forms of nodes and of tfg.return share: keywords and the attribute dictionary.
#pragma once

#include "mlir/IR/OpImplementation.h"

namespace treadle::tfg {

/// device("d") assigned_device("d") name("n") {attributes}
mlir::ParseResult parseKeywords(mlir::OpAsmParser &parser, mlir::NamedAttrList &attrs);

/// Prints what parseKeywords reads; attributes called in `hidden` are left out.
void printKeywords(mlir::OpAsmPrinter &printer, mlir::Operation *op,
                   llvm::ArrayRef<mlir::NamedAttribute> attrs,
                   llvm::ArrayRef<llvm::StringRef> hidden = {});

} // namespace treadle::tfg
