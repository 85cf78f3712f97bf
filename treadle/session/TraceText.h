// Traces as files that viewers read.
#pragma once

#include "treadle/runtime/Trace.h"

namespace treadle {

/// In the Trace Event Format, which Perfetto and chrome://tracing show: ops as slices on a track
/// for each thread; below them, for each loop whose iterations overlap, iterations on as many
/// tracks as may run at once. Times are in microseconds from the first slice on.
std::string traceText(const Trace &trace);

} // namespace treadle
