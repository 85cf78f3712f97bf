// Internal to the dialects: their parser.
#pragma once

#include "mlir/IR/DialectImplementation.h"
#include "mlir/IR/OpImplementation.h"

namespace treadle::stablehlo {

/// Parses the pretty form of every op; attributes get the names of the generic form.
mlir::ParseResult parseOp(mlir::OpAsmParser &parser, mlir::OperationState &state);

/// Parses attributes of these dialects into builtin ones: `#stablehlo<comparison_direction LT>` is
/// "LT", `#stablehlo.dot<lhs_contracting_dimensions = [1]>` a dictionary, `#stablehlo.conv<[b,
/// f]x[i, o]->[b, f]>` an array of three arrays.
mlir::Attribute parseAttribute(mlir::DialectAsmParser &parser);
/// Parses a token as `none`, and a future as the tuple of its results.
mlir::Type parseType(mlir::DialectAsmParser &parser, llvm::StringRef dialect);

/// Parses a value in the pretty-printed syntax: `[0, 1]`, `[1] x [0]`, `[b, f]x[i, o]->[b, f]`,
/// `{stride = [1, 1]}`, `<offset_dims = [0]>`, a keyword, or any attribute.
mlir::FailureOr<mlir::Attribute> parseValue(mlir::AsmParser &parser);

/// Parses `key = value, ...`; the caller parses the closing delimiter.
mlir::FailureOr<mlir::DictionaryAttr> parseFields(mlir::AsmParser &parser);

} // namespace treadle::stablehlo
