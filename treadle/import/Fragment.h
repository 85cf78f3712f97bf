// Texts of MLIR that are a function's body without the function, as documents print them.
#pragma once

#include "mlir/IR/BuiltinOps.h"

#include <string>
#include <string_view>

namespace treadle {

/// Whether a text begins with a value, which no module does.
bool isFragment(std::string_view text);

/// The fragment as the body of @main, whose arguments are the values that nothing defines, in the
/// order of their first uses. The dialects of its operations must be loaded.
std::string asMain(mlir::MLIRContext &context, std::string_view fragment);

/// Returns from @main what nothing uses.
void returnUnused(mlir::ModuleOp module);

} // namespace treadle
