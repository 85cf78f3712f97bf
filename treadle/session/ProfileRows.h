// Converts slices of a trace to a profile of each op.
#pragma once

#include "treadle/Profile.h"
#include "treadle/runtime/Trace.h"

namespace treadle {

/// The own time of an op is the time of its slice without the slices nested in it on its thread.
Profile profileOf(const Trace &trace);

} // namespace treadle
