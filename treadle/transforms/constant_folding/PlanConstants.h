// Constant folding in plans.
#pragma once

#include "treadle/lowering/PrunedSubgraph.h"
#include "treadle/runtime/Kernel.h"

namespace treadle::tfg {

/// Evaluates the nodes of a subgraph, and of the regions in it, that depend on constants alone, and
/// replaces their results with constants. Clusters then contain no arithmetic on constants, and
/// compiled code knows the values.
///
/// Small results are folded: those of at most 100 kB, and at most 16 MB in one plan. Nodes whose
/// kernels `kernels` replaces, and nodes with control inputs, stay; nodes that fail stay too, so
/// that the run reports the error.
void foldPlanConstants(PrunedSubgraph &part, const ModuleIndex &index,
                       const KernelRegistry &kernels);

} // namespace treadle::tfg
