// Hot kernels are compiled for every processor that the program supports, and again for some
// instruction set levels. The objects of a level are joined into one whose only global symbol is
// the table below (join_level.py). So the linker can't use a level's copy of an inline function or
// a template, which has the same name in all objects, for code that runs on any processor. Symbols
// that a level doesn't define, and variables of inline functions, are shared with the baseline.
//
// Therefore a hot file must not define global variables, which would exist once per level, nor
// anything that runs at program start; the build fails if it does.
#pragma once

#include "treadle/kernels/AllFamilies.h"

// TREADLE_KERNEL_LEVEL(LEVEL) for each level, lowest first.
#define TREADLE_KERNEL_LEVEL(level)                                                                \
  extern "C" const treadle::KernelFamily *const treadleKernels_##level;
#include "treadle/kernels/Levels.inc"
#undef TREADLE_KERNEL_LEVEL
