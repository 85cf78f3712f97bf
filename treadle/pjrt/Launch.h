// Runs of programs.
#pragma once

#include "treadle/pjrt/Executable.h"

namespace treadle::pjrt {

/// Runs a program on all of its devices, or on the one that is named, and gives their results,
/// which may come later. InvalidArgument for arguments that don't fit.
Expected<void> execute(PJRT_LoadedExecutable_Execute_Args &args);

} // namespace treadle::pjrt
