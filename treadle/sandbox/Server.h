// The process of a sandbox from the inside: confines itself, loads the model, answers calls.
#pragma once

#include "treadle/runtime/Kernel.h"

#include <span>

namespace treadle::sandbox {

/// What `treadle sandbox-child FILE PARENT` does, with FILE and PARENT as arguments; the exit
/// status. `kernels` are looked in before the built-in ones.
int serve(std::span<char *const> arguments, const KernelRegistry *kernels = nullptr);

} // namespace treadle::sandbox
