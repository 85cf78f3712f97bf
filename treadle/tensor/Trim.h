// Memory of tensors that are gone.
#pragma once

#include <cstdint>

namespace treadle {

/// Gives the system the memory of freed large tensors (above 1 MiB) back, which is otherwise kept
/// for the next ones; the bytes. Thread-safe.
int64_t trimTensorMemory();

} // namespace treadle
