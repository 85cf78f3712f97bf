// Calls of clusters: compiled for the shapes that come, interpreted where they can't be.
#pragma once

#include "treadle/codegen/Jit.h"
#include "treadle/dialect/Tfg.h"
#include "treadle/lowering/Lowering.h"
#include "treadle/runtime/Plan.h"

#include <mutex>

namespace treadle::codegen {

/// What became of a cluster, for explanations.
struct ClusterState {
  std::string function;
  unsigned variants = 0;    // classes of shapes that it was compiled for
  uint64_t runs = 0;        // compiled
  uint64_t interpreted = 0; // runs of the interpreter, bails included
  uint64_t bails = 0;
  std::string obstacle; // why it isn't compiled; empty if it is
};

class ClusterSite;

/// The clusters of a module. Thread-safe. The module must not change while it lives, and nobody
/// else may make types or attributes in its context.
class Clusters final : public ClusterLibrary {
public:
  Clusters(mlir::ModuleOp module, const ModuleIndex &index, FunctionLibrary &functions,
           const KernelRegistry &kernels)
      : module(module), index(index), functions(functions), kernels(kernels) {}

  BoundKernel bind(const NodeSpec &call) override;
  std::vector<ClusterState> states();

private:
  friend class ClusterSite;

  mlir::ModuleOp module;
  const ModuleIndex &index;
  FunctionLibrary &functions;
  const KernelRegistry &kernels;
  std::mutex compiling; // one at a time: the context doesn't lock
  std::mutex mutex;     // guards what follows
  std::vector<std::shared_ptr<ClusterSite>> sites;
};

} // namespace treadle::codegen
