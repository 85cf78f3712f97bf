#include "treadle/library/Main.h"

int main() { return treadle_rewriter_main(); }
