#include "treadle/tools/cli/CommandLine.h"

int main(int argc, char **argv) { return treadle::cli::commandLine(argc, argv); }
