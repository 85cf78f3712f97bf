#include "treadle/kernels/Families.h"

#include "treadle/kernels/arrays/Families.h"
#include "treadle/kernels/elementwise/Families.h"
#include "treadle/kernels/exchange/Families.h"
#include "treadle/kernels/files/Families.h"
#include "treadle/kernels/functions/Families.h"
#include "treadle/kernels/images/Families.h"
#include "treadle/kernels/linear_algebra/Families.h"
#include "treadle/kernels/lists/Families.h"
#include "treadle/kernels/nets/Families.h"
#include "treadle/kernels/products/Families.h"
#include "treadle/kernels/quantized/Families.h"
#include "treadle/kernels/random/Families.h"
#include "treadle/kernels/reductions/Families.h"
#include "treadle/kernels/signals/Families.h"
#include "treadle/kernels/sparse/Families.h"
#include "treadle/kernels/state/Families.h"
#include "treadle/kernels/text/Families.h"
#include "treadle/kernels/windows/Families.h"

namespace treadle {

namespace {

using Room = std::span<const KernelFamily>;
constexpr Room rooms[] = {arraysFamilies,        elementwiseFamilies, exchangeFamilies,
                          filesFamilies,         functionsFamilies,   imagesFamilies,
                          linearAlgebraFamilies, listsFamilies,       netsFamilies,
                          productsFamilies,      quantizedFamilies,   randomFamilies,
                          reductionsFamilies,    signalsFamilies,     sparseFamilies,
                          stateFamilies,         textFamilies,        windowsFamilies};

} // namespace

std::vector<std::span<const KernelEntry>> kernelFamilies() {
  std::vector<std::span<const KernelEntry>> families;
  for (Room room : rooms)
    for (KernelFamily family : room)
      families.push_back(family());
  return families;
}

const KernelRegistry &builtinKernels() {
  static const KernelRegistry *registry = [] {
    auto *all = new KernelRegistry;
    for (std::span<const KernelEntry> family : kernelFamilies())
      all->add(family);
    all->add(tensorFunctionKernels());
    all->add(rowFunctionKernels());
    return all;
  }();
  return *registry;
}

} // namespace treadle
