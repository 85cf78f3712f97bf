// Calls from programs back into the host process: jax.pure_callback and similar functions.
#pragma once

#include "treadle/runtime/Kernel.h"

#include <string_view>

namespace treadle::pjrt {

/// The target of custom calls that call back. Their backend_config, `index=7;`, selects the
/// function.
inline constexpr std::string_view callbackTarget = "treadle_callback";

/// An array passed to a callback, in row-major order.
struct CallbackArray {
  void *data;
  const int64_t *dims;
  int64_t rank;
  int32_t type; // number of the DType
};

/// A callback: reads `inputs`, fills `outputs`, and returns whether it succeeded. On failure it
/// writes a zero-terminated UTF-8 message into the `size` bytes at `problem`.
using Callback = bool(int64_t index, const CallbackArray *inputs, int64_t numInputs,
                      const CallbackArray *outputs, int64_t numOutputs, char *problem,
                      int64_t size);

/// Returns the kernels of ops that behave differently here.
const KernelRegistry &kernels();

} // namespace treadle::pjrt

extern "C" {
/// Sets the callback of this process; null: programs that call back fail.
void treadle_pjrt_set_callback(treadle::pjrt::Callback *callback);
/// Whether a compiled program may call the function with this index.
bool treadle_pjrt_uses_callback(int64_t index);
}
