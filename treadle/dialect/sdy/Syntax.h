// Internal to the dialect: its parser.
#pragma once

#include "mlir/IR/DialectImplementation.h"
#include "mlir/IR/OpImplementation.h"

namespace treadle::sdy {

mlir::ParseResult parseOp(mlir::OpAsmParser &parser, mlir::OperationState &state);

/// Parses `#sdy.mesh<...>`, `#sdy.sharding<...>`, `#sdy.sharding_per_value<...>` and
/// `#sdy<manual_axes{...}>` as described in SdyOps.td; others become strings.
mlir::Attribute parseAttribute(mlir::DialectAsmParser &parser);

} // namespace treadle::sdy
