// Release of cached memory of freed tensors.
#pragma once

#include <cstdint>

namespace treadle {

/// Returns the cached memory of freed large tensors (above 1 MiB) to the system; the result is the
/// number of bytes. Thread-safe.
int64_t trimTensorMemory();

} // namespace treadle
