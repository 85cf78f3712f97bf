// The function table of PJRT's C interface, through which JAX uses this library.
#pragma once

struct PJRT_Api; // NOLINT(readability-identifier-naming)

namespace treadle::pjrt {
/// Returns the table. It lives as long as the process.
const PJRT_Api *api();
} // namespace treadle::pjrt

extern "C" const PJRT_Api *treadle_pjrt_api();
