// Compiled for the architecture's baseline, unlike the rest. It must not use inline functions of
// headers: the linker may keep the copy of another file.
#include "treadle/runtime/BaselineCheck.h"

const char *treadle::baselineProblem() {
#ifdef TREADLE_LOWEST_LEVEL
  __builtin_cpu_init();
  if (!__builtin_cpu_supports(TREADLE_LOWEST_LEVEL))
    return "this processor lacks instructions of " TREADLE_LOWEST_LEVEL
           ", which Treadle is compiled for; run it on one that has them (x86-64-v2: Intel's from "
           "2008 on, AMD's from 2011 on)";
#endif
  return nullptr;
}
