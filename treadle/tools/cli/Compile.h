// `treadle compile`.
#pragma once

#include "treadle/tools/cli/Command.h"

namespace treadle::cli {

extern const Command compileCommand;

} // namespace treadle::cli
