// Calls of clusters: compiled for the shapes that come, interpreted where they can't be.
#pragma once

#include "treadle/codegen/Jit.h"
#include "treadle/dialect/Tfg.h"
#include "treadle/lowering/Lowering.h"
#include "treadle/runtime/Plan.h"

#include <mutex>

namespace treadle::codegen {

/// The clusters of a module. Thread-safe. The module must not change while it lives, and nobody
/// else may make types or attributes in its context.
class Clusters final : public ClusterLibrary {
public:
  Clusters(mlir::ModuleOp module, const ModuleIndex &index, FunctionLibrary &functions,
           const KernelRegistry &kernels, std::shared_ptr<ClusterCounters> counters = nullptr)
      : module(module), index(index), functions(functions), kernels(kernels),
        counters(std::move(counters)) {}

  BoundKernel bind(const NodeSpec &call) override;

private:
  friend class ClusterSite;

  mlir::ModuleOp module;
  const ModuleIndex &index;
  FunctionLibrary &functions;
  const KernelRegistry &kernels;
  const std::shared_ptr<ClusterCounters> counters; // null: nobody counts
  std::mutex compiling;                            // one at a time: the context doesn't lock
};

} // namespace treadle::codegen
