// The dialects stablehlo, mhlo and chlo as far as reading their text goes: operations aren't
// registered, so every op of any version is read, in the generic and in the pretty form. Of sdy
// meshes and constraints are read.
#pragma once

#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/Operation.h"

namespace treadle::stablehlo {

/// Attributes of these dialects are read as builtin ones: `#stablehlo<comparison_direction LT>` is
/// "LT", `#stablehlo.dot<lhs_contracting_dimensions = [1]>` a dictionary,
/// `#stablehlo.conv<[b, f]x[i, o]->[b, f]>` an array of three arrays. A token is a `none`.
void loadDialects(mlir::MLIRContext &context);
/// For contexts that load dialects as they meet them. Ops still have to be allowed unregistered.
void insertDialects(mlir::DialectRegistry &registry);

/// Whether the operation is of one of the three.
bool isHlo(mlir::Operation *op);

/// The parser of the pretty form of every op; attributes get the names of the generic form.
mlir::ParseResult parseOp(mlir::OpAsmParser &parser, mlir::OperationState &state);

/// A value as the pretty forms write them: `[0, 1]`, `[1] x [0]`, `[b, f]x[i, o]->[b, f]`,
/// `{stride = [1, 1]}`, `<offset_dims = [0]>`, a keyword, or any attribute.
mlir::FailureOr<mlir::Attribute> parseValue(mlir::AsmParser &parser);

/// `key = value, ...`, up to what the caller has to find behind it.
mlir::FailureOr<mlir::DictionaryAttr> parseFields(mlir::AsmParser &parser);

} // namespace treadle::stablehlo
