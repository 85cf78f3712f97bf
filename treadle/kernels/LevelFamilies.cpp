// Compiled for each level together with its hot files: the level's kernel tables. It is data, so
// that reading it runs no code of the level.
#include "treadle/kernels/KernelLevels.h"

extern "C" const treadle::KernelFamily *const TREADLE_LEVEL_FUNCTION = treadle::compiledFamilies;
