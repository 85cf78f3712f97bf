#include "treadle/library/Main.h"

int main(int argc, char **argv) { return treadle_main(argc, argv); }
