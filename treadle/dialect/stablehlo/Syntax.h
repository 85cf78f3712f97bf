// Internal to the dialects: how their texts are read.
#pragma once

#include "mlir/IR/DialectImplementation.h"
#include "mlir/IR/OpImplementation.h"

namespace treadle::stablehlo {

/// The parser of the pretty form of every op; attributes get the names of the generic form.
mlir::ParseResult parseOp(mlir::OpAsmParser &parser, mlir::OperationState &state);

/// Attributes of these dialects are read as builtin ones: `#stablehlo<comparison_direction LT>` is
/// "LT", `#stablehlo.dot<lhs_contracting_dimensions = [1]>` a dictionary,
/// `#stablehlo.conv<[b, f]x[i, o]->[b, f]>` an array of three arrays.
mlir::Attribute parseAttribute(mlir::DialectAsmParser &parser);
/// A token is a `none`, a future the tuple of what it will be.
mlir::Type parseType(mlir::DialectAsmParser &parser, llvm::StringRef dialect);

/// A value as the pretty forms write them: `[0, 1]`, `[1] x [0]`, `[b, f]x[i, o]->[b, f]`,
/// `{stride = [1, 1]}`, `<offset_dims = [0]>`, a keyword, or any attribute.
mlir::FailureOr<mlir::Attribute> parseValue(mlir::AsmParser &parser);

/// `key = value, ...`, up to what the caller has to find behind it.
mlir::FailureOr<mlir::DictionaryAttr> parseFields(mlir::AsmParser &parser);

} // namespace treadle::stablehlo
