// What is made from the table of commands besides --help.
#pragma once

#include "treadle/tools/cli/Command.h"

namespace treadle::cli {

/// A page for man(1), in the macros of man(7).
std::string manualPage(std::span<const Command *const> commands);
/// A script that completes commands and options in bash, and in zsh by its bashcompinit.
std::string bashCompletion(std::span<const Command *const> commands);

} // namespace treadle::cli
