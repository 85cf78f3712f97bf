// Writes traces as files for trace viewers.
#pragma once

#include "treadle/collective/ExchangeLog.h"
#include "treadle/runtime/Trace.h"

#include <vector>

namespace treadle {

/// Writes a trace in the Trace Event Format, which Perfetto and chrome://tracing show: ops as
/// slices on a track per thread, with the time that each waited; for each loop with overlapping
/// iterations, iterations on as many tracks as may run at once; waits that held no thread; and
/// exchanges with other ranks, from start to result, with the time that was hidden because some
/// thread computed. `otherData` has their totals, with the share of the time that could have been
/// hidden (at most the computing time). Times are in microseconds since the first slice.
std::string traceText(const Trace &trace, const std::vector<LoggedExchange> &exchanges);

} // namespace treadle
