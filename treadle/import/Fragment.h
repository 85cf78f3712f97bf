// Reads MLIR fragments, as documentation prints them: the body of a function without the function.
#pragma once

#include "mlir/IR/BuiltinOps.h"

#include <string>
#include <string_view>

namespace treadle {

/// Whether a text begins with a value, which no module does.
bool isFragment(std::string_view text);

/// Wraps the fragment into @main, whose arguments are the undefined values in the order of their
/// first uses. The dialects of its operations must be loaded.
std::string wrapInMain(mlir::MLIRContext &context, std::string_view fragment);

/// Makes @main return all unused values.
void returnUnused(mlir::ModuleOp module);

} // namespace treadle
