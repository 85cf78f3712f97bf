// XlaCallModule: what is left of these nodes where no function could be made of their program.
#include "treadle/kernels/functions/Families.h"

namespace treadle {
namespace {

/// A session has made functions of all programs that can be read, and noted what is wrong with
/// others.
Expected<BoundKernel> bindProgram(const BindContext &node) {
  std::string problem = node.attrs.getOr<std::string>("_problem", "");
  constexpr std::string_view missing = "unimplemented: ";
  if (problem.starts_with(missing))
    return Unexpected(unimplemented("its program: ", problem.substr(missing.size())));
  return Unexpected(
      invalidArgument("its program: ", problem.empty() ? "no function was made of it" : problem));
}

constexpr KernelEntry kernels[] = {
    {"XlaCallModule", bindProgram},
};

} // namespace

std::span<const KernelEntry> programKernels() { return kernels; }

} // namespace treadle
