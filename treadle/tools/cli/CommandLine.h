// The `treadle` command.
#pragma once

namespace treadle::cli {

/// Does what the arguments say, the name of the program first; gives its exit status. Prints, and
/// handles SIGINT.
int commandLine(int argc, char **argv);

} // namespace treadle::cli
