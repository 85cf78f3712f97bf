// The work of compiled code in a run, for `treadle explain --code`.
#pragma once

#include "treadle/tools/cli/Command.h"

namespace treadle::cli {

/// Runs the command; returns the exit status.
int explainCode(const Arguments &args);

} // namespace treadle::cli
