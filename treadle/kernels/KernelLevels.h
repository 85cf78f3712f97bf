// Hot kernels are compiled for every processor that the program runs on, and again for some levels
// of instructions that processors may have. The objects of a level are joined into one whose only
// name is the table below (join_level.py): the linker can't take its copy of an inline function
// or a template, which has the name of other objects' copies too, for anybody else. What a level
// doesn't define is everybody's; variables of inline functions are, too.
//
// So a hot file must have no variables of its own that others see, which would be there once for
// each level, and nothing that runs while the program starts; the build says if it has.
#pragma once

#include "treadle/kernels/Rooms.h"

// TREADLE_KERNEL_LEVEL(LEVEL) for each level, the lowest first.
#define TREADLE_KERNEL_LEVEL(level)                                                                \
  extern "C" const treadle::KernelFamily *const treadleKernels_##level;
#include "treadle/kernels/Levels.inc"
#undef TREADLE_KERNEL_LEVEL
