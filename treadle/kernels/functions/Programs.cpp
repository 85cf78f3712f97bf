// XlaCallModule nodes whose program couldn't be converted to a function.
#include "treadle/kernels/functions/Families.h"

namespace treadle {
namespace {

/// The session converts all valid programs to functions, and records the errors of the others
/// (NodeSpec::problem).
Expected<BoundKernel> bindProgram(const BindContext &) {
  return Unexpected(invalidArgument("the program could not be converted to a function"));
}

constexpr KernelEntry kernels[] = {
    {"XlaCallModule", bindProgram},
};

} // namespace

std::span<const KernelEntry> programKernels() { return kernels; }

} // namespace treadle
