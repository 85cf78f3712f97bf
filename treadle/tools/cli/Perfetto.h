// Traces in Perfetto's own format, and opening them in Perfetto.
#pragma once

#include "treadle/tensor/Error.h"

#include <string>
#include <string_view>

namespace treadle::cli {

/// Converts a trace in the Trace Event Format, as written by Session::trace, to Perfetto's packets:
/// tracks for its threads, iterations and exchanges, with the arguments of slices as annotations.
/// The field numbers are those of perfetto/protos/perfetto/trace/trace_packet.proto and
/// track_event/. InvalidArgument if the text is not such a trace.
Expected<std::string> perfettoTrace(std::string_view json);

/// Whether the extension is that of a trace in Perfetto's own format: `.pftrace`,
/// `.perfetto-trace`.
bool isPerfettoName(std::string_view path);

/// Whether the bytes begin like a trace in either format.
bool looksLikeTrace(std::string_view bytes);

/// Opens a trace in Perfetto in the browser, which reads it from this machine only. Serves it until
/// the process ends; returns the exit status if that fails.
int openInPerfetto(const std::string &bytes, bool opensBrowser);

} // namespace treadle::cli
