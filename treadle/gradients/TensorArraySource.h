// Distinguishes the gradient TensorArrays of one request from those of others.
#pragma once

#include "llvm/ADT/StringRef.h"

namespace treadle::tfg {

/// The attribute `source` of gradient TensorArrays; addGradients replaces it by a name that is
/// unique to each request.
inline constexpr llvm::StringLiteral newArraySource = "new_gradients";

} // namespace treadle::tfg
