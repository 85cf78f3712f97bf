// Documents generated from the table of commands, besides --help.
#pragma once

#include "treadle/tools/cli/Command.h"

namespace treadle::cli {

/// The kinds of MODEL.
inline constexpr std::string_view modelKinds =
    "A model is a GraphDef (.pb, .pbtxt, .cpb), the folder of a SavedModel, a SavedModel in one\n"
    "file (.tfg), a StableHLO program (.mlir, .mlirbc), a program of jax.export, a graph as MLIR\n"
    "text (.mlir), or a folder with a graph.pb. '-' reads standard input.\n";

/// Returns a page for man(1), in the macros of man(7).
std::string manualPage(std::span<const Command *const> commands);
/// Returns a script that completes commands and options in bash, and in zsh by its bashcompinit.
std::string bashCompletion(std::span<const Command *const> commands);

} // namespace treadle::cli
