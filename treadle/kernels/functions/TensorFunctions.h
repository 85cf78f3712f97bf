// Internal to the folder: XLA ops whose functions combine two elements.
#pragma once

#include "treadle/runtime/Plan.h"

namespace treadle {

Expected<BoundKernel> bindXlaScatter(const NodeSpec &spec, FunctionLibrary *library);
Expected<BoundKernel> bindSelectAndScatter(const NodeSpec &spec, FunctionLibrary *library);
Expected<BoundKernel> bindVariadicSort(const NodeSpec &spec, FunctionLibrary *library);

} // namespace treadle
