// The programs, as functions of libtreadle.
#pragma once

extern "C" [[gnu::visibility("default")]] int treadle_main(int argc, char **argv);
extern "C" [[gnu::visibility("default")]] int treadle_rewriter_main();
