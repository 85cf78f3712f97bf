// The sandbox process from the inside: confines itself, loads the model and answers calls.
#pragma once

#include "treadle/runtime/Kernel.h"

#include <span>

namespace treadle::sandbox {

/// Implements `treadle sandbox-child FILE PARENT`, with FILE and PARENT as arguments; returns the
/// exit status. `kernels` take precedence over the built-in ones.
int serve(std::span<char *const> arguments, const KernelRegistry *kernels = nullptr);

} // namespace treadle::sandbox
