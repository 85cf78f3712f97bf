// Gathers the families into one registry.
#include "treadle/kernels/Families.h"

namespace treadle {

const KernelRegistry &builtinKernels() {
  static const KernelRegistry *registry = [] {
    auto *all = new KernelRegistry;
    // for each family: all->add(xyzKernels());
    return all;
  }();
  return *registry;
}

} // namespace treadle
