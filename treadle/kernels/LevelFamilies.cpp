// Compiled for each level, with its hot files: the families as they are there. It is data: to look
// at it runs no code of the level.
#include "treadle/kernels/KernelLevels.h"

extern "C" const treadle::KernelFamily *const TREADLE_LEVEL_FUNCTION = treadle::compiledFamilies;
