// All rooms of kernels, as the file that includes this is compiled: see KernelLevels.h.
#pragma once

#include "treadle/kernels/arrays/Families.h"
#include "treadle/kernels/datasets/Families.h"
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

#include <vector>

namespace treadle {

using KernelFamilies = std::vector<std::span<const KernelEntry>>;

inline constexpr std::span<const KernelFamily> kernelRooms[] = {
    arraysFamilies, datasetsFamilies,   elementwiseFamilies, exchangeFamilies,
    filesFamilies,  functionsFamilies,  imagesFamilies,      linearAlgebraFamilies,
    listsFamilies,  netsFamilies,       productsFamilies,    quantizedFamilies,
    randomFamilies, reductionsFamilies, signalsFamilies,     sparseFamilies,
    stateFamilies,  textFamilies,       windowsFamilies};

/// The tables of all families.
inline KernelFamilies familiesOfRooms() {
  KernelFamilies families;
  for (std::span<const KernelFamily> room : kernelRooms)
    for (const KernelFamily &family : room)
      families.push_back(family.table());
  return families;
}

} // namespace treadle
