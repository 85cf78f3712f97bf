// Kernels that are made of others run these by name, without the registry of all.
#pragma once

#include "treadle/runtime/Kernel.h"

#include <initializer_list>

namespace treadle {

class FileAccess;

/// The kernel of an op in one of these families; null if none has it.
const KernelEntry *findKernel(std::initializer_list<KernelTable> families, std::string_view op);

/// As runOp of a registry, with the kernels of these families.
Expected<std::vector<Tensor>> runOp(std::initializer_list<KernelTable> families,
                                    std::string_view op, const AttrMap &attrs,
                                    std::vector<Tensor> inputs, std::vector<DType> outputTypes);

/// As runOp of a registry, where ops may open these files.
Expected<std::vector<Tensor>> runOpWith(const FileAccess &files, const KernelRegistry &registry,
                                        std::string_view op, const AttrMap &attrs,
                                        std::vector<Tensor> inputs, std::vector<DType> outputTypes);

} // namespace treadle
