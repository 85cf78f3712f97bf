// Programs that call functions of the process which runs them: in Python, jax.pure_callback and its
// kin.
#pragma once

#include "treadle/runtime/Kernel.h"

#include <string_view>

namespace treadle::pjrt {

/// The target of the custom calls that call back. Their backend_config, `index=7;`, says what.
inline constexpr std::string_view callbackTarget = "treadle_callback";

/// An array for a callback. The elements are in C's order.
struct CallbackArray {
  void *data;
  const int64_t *dims;
  int64_t rank;
  int32_t type; // the number of the DType
};

/// What is called: it reads `inputs`, fills `outputs`, and says whether it could. If it couldn't,
/// it writes why as UTF-8 into the `size` bytes at `problem`, with a zero behind.
using Callback = bool(int64_t index, const CallbackArray *inputs, int64_t numInputs,
                      const CallbackArray *outputs, int64_t numOutputs, char *problem,
                      int64_t size);

/// Kernels of the ops that mean something else here than elsewhere.
const KernelRegistry &kernels();

} // namespace treadle::pjrt

extern "C" {
/// Sets what programs of this process call back; null: nothing, which is an error for those that
/// do.
void treadle_pjrt_set_callback(treadle::pjrt::Callback *callback);
/// Whether a program that is compiled may call back the function of this number.
bool treadle_pjrt_uses_callback(int64_t index);
}
