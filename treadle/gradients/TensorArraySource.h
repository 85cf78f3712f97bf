// What tells the TensorArrays of gradients of one request from those of others.
#pragma once

#include "llvm/ADT/StringRef.h"

namespace treadle::tfg {

/// The attribute `source` of arrays that a gradient made; addGradients gives those of each request
/// a name of their own instead.
inline constexpr llvm::StringLiteral newArraySource = "new_gradients";

} // namespace treadle::tfg
