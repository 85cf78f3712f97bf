// Internal to the runtime: ops of XLA whose functions say what to do with two elements.
#pragma once

#include "treadle/runtime/Plan.h"

namespace treadle {

/// The kernel of XlaVariadicReduceV2, XlaReduceWindow, XlaScatter, XlaSelectAndScatter and
/// XlaVariadicSort; they hold their thread while the function waits. A kernel without a function
/// for other ops.
Expected<BoundKernel> bindTensorFunction(const NodeSpec &spec, FunctionLibrary *library);

Expected<BoundKernel> bindXlaScatter(const NodeSpec &spec, FunctionLibrary *library);
Expected<BoundKernel> bindSelectAndScatter(const NodeSpec &spec, FunctionLibrary *library);
Expected<BoundKernel> bindVariadicSort(const NodeSpec &spec, FunctionLibrary *library);

} // namespace treadle
