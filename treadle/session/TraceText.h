// Traces as files that viewers read.
#pragma once

#include "treadle/collective/ExchangeLog.h"
#include "treadle/runtime/Trace.h"

#include <vector>

namespace treadle {

/// In the Trace Event Format, which Perfetto and chrome://tracing show: ops as slices on a track
/// for each thread, with how long each waited; below them, for each loop whose iterations overlap,
/// iterations on as many tracks as may run at once; waits that held no thread; and exchanges with
/// other ranks, from their start to their result, with the time of each that was hidden: while any
/// thread computed. `otherData` sums these up, with the share of what could be hidden: no more than
/// was computed. Times are in microseconds from the first slice on.
std::string traceText(const Trace &trace, const std::vector<LoggedExchange> &exchanges);

} // namespace treadle
