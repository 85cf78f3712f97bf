// Compiled for each level, with its hot files: the families of all rooms as they are there.
#include "treadle/kernels/KernelLevels.h"

extern "C" void TREADLE_LEVEL_FUNCTION(treadle::KernelFamilies &families) {
  families = treadle::familiesOfRooms();
}
