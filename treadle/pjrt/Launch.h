// Launches runs of programs.
#pragma once

#include "treadle/pjrt/Executable.h"

namespace treadle::pjrt {

/// Launches a program on all its devices, or on the given one, and returns its result buffers,
/// whose elements may come later. Returns InvalidArgument for arguments that don't match.
Expected<void> execute(PJRT_LoadedExecutable_Execute_Args &args);

} // namespace treadle::pjrt
