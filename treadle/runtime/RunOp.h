// Runs kernels by op name for kernels that are composed of others, without the full registry.
#pragma once

#include "treadle/runtime/Kernel.h"

#include <initializer_list>

namespace treadle {

class FileAccess;

/// Returns the kernel of an op in one of these families; null if none has it.
const KernelEntry *findKernel(std::initializer_list<KernelTable> families, std::string_view op);

/// Like runOp with a registry, using the kernels of these families.
Expected<std::vector<Tensor>> runOp(std::initializer_list<KernelTable> families,
                                    std::string_view op, const AttrMap &attrs,
                                    std::vector<Tensor> inputs, std::vector<DType> outputTypes);

/// Like runOp with a registry; ops may open these files.
Expected<std::vector<Tensor>> runOpWith(const FileAccess &files, const KernelRegistry &registry,
                                        std::string_view op, const AttrMap &attrs,
                                        std::vector<Tensor> inputs, std::vector<DType> outputTypes);

} // namespace treadle
