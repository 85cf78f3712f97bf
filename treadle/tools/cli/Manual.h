// What is made from the table of commands besides --help.
#pragma once

#include "treadle/tools/cli/Command.h"

namespace treadle::cli {

/// What may stand for MODEL.
inline constexpr std::string_view modelKinds =
    "A model is a GraphDef (.pb, .pbtxt, .cpb), the folder of a SavedModel, a SavedModel in one\n"
    "file (.tfg), a program of StableHLO (.mlir, .mlirbc) or of jax.export, a graph in MLIR text\n"
    "(.mlir), or a folder with a graph.pb. '-' reads standard input.\n";

/// A page for man(1), in the macros of man(7).
std::string manualPage(std::span<const Command *const> commands);
/// A script that completes commands and options in bash, and in zsh by its bashcompinit.
std::string bashCompletion(std::span<const Command *const> commands);

} // namespace treadle::cli
