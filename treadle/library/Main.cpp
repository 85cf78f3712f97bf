#include "treadle/library/Main.h"
#include "treadle/tensorflow_plugin/Rewriter.h"
#include "treadle/tools/cli/CommandLine.h"

int treadle_main(int argc, char **argv) { return treadle::cli::commandLine(argc, argv); }

int treadle_rewriter_main() {
  treadle::tensorflow::rewriteInput();
  return 0;
}
