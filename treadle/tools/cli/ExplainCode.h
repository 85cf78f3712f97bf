// What compiled code does in a run, for `treadle explain --code`.
#pragma once

#include "treadle/tools/cli/Command.h"

namespace treadle::cli {

/// The exit status.
int explainCode(const Arguments &args);

} // namespace treadle::cli
