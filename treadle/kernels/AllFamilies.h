// The kernel tables of all folders, compiled for the level of the including file (see
// KernelLevels.h).
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

namespace treadle {

#pragma push_macro("TREADLE_FAMILY")
#undef TREADLE_FAMILY
#define TREADLE_FAMILY(function) KernelFamily{function, #function},
inline constexpr KernelFamily compiledFamilies[] = {
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
};
#pragma pop_macro("TREADLE_FAMILY")

} // namespace treadle
