// The `treadle` command.
#pragma once

namespace treadle::cli {

/// Runs the command line, whose first argument is the program's name; returns the exit status.
/// Prints to standard output and error, and handles SIGINT.
int commandLine(int argc, char **argv);

} // namespace treadle::cli
