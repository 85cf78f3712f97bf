#include "treadle/library/Main.h"
#include "treadle/tools/cli/CommandLine.h"

int treadle_main(int argc, char **argv) { return treadle::cli::commandLine(argc, argv); }
