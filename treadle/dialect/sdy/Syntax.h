// Internal to the dialect: how its text is read.
#pragma once

#include "mlir/IR/DialectImplementation.h"
#include "mlir/IR/OpImplementation.h"

namespace treadle::sdy {

mlir::ParseResult parseOp(mlir::OpAsmParser &parser, mlir::OperationState &state);

/// `#sdy.mesh<...>`, `#sdy.sharding<...>`, `#sdy.sharding_per_value<...>` and
/// `#sdy<manual_axes{...}>` as SdyOps.td describes them; others as text.
mlir::Attribute parseAttribute(mlir::DialectAsmParser &parser);

} // namespace treadle::sdy
