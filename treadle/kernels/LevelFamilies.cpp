// Compiled for each level, with its hot files: the rooms as they are there. It is data: to look at
// it runs no code of the level.
#include "treadle/kernels/KernelLevels.h"

extern "C" const std::span<const treadle::KernelFamily> *const TREADLE_LEVEL_FUNCTION =
    treadle::kernelRooms;
