// The command line, as a function of libtreadle.
#pragma once

extern "C" [[gnu::visibility("default")]] int treadle_main(int argc, char **argv);
