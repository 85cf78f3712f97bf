// Entry points of the programs, exported by libtreadle.
#pragma once

extern "C" [[gnu::visibility("default")]] int treadle_main(int argc, char **argv);
extern "C" [[gnu::visibility("default")]] int treadle_rewriter_main();
