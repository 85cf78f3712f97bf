// XlaCallModule: what is left of these nodes where no function could be made of their program.
#include "treadle/kernels/functions/Families.h"

namespace treadle {
namespace {

/// A session has made functions of all programs that can be read, and noted what is wrong with
/// others (NodeSpec::problem).
Expected<BoundKernel> bindProgram(const BindContext &) {
  return Unexpected(invalidArgument("its program: no function was made of it"));
}

constexpr KernelEntry kernels[] = {
    {"XlaCallModule", bindProgram},
};

} // namespace

std::span<const KernelEntry> programKernels() { return kernels; }

} // namespace treadle
