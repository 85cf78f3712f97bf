// From slices of time to what each op took.
#pragma once

#include "treadle/Profile.h"
#include "treadle/runtime/Trace.h"

namespace treadle {

/// What an op's slice doesn't share with slices inside it, on its thread, is the op's own.
Profile profileOf(const Trace &trace);

} // namespace treadle
