// Traces in Perfetto's own format, and Perfetto opened on them.
#pragma once

#include "treadle/tensor/Error.h"

#include <string>
#include <string_view>

namespace treadle::cli {

/// The packets of a trace in the Trace Event Format that Session::trace wrote: tracks for its
/// threads, iterations and exchanges, with what it says of each slice as annotations. The field
/// numbers are those of perfetto/protos/perfetto/trace/trace_packet.proto and track_event/.
/// InvalidArgument for text that is no such trace.
Expected<std::string> perfettoTrace(std::string_view json);

/// Whether the name is that of a trace in Perfetto's own format: `.pftrace`, `.perfetto-trace`.
bool isPerfettoName(std::string_view path);

/// Whether the bytes begin as those of a trace do, in either format.
bool looksLikeTrace(std::string_view bytes);

/// Opens a trace in Perfetto in the browser: it is fetched from this machine, and goes nowhere
/// else. Returns when that fails; else serves it until the process ends.
int openInPerfetto(const std::string &bytes, bool opensBrowser);

} // namespace treadle::cli
