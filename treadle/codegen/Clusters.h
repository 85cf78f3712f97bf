// Calls of clusters: compiled for the shapes that come, interpreted where they can't be.
#pragma once

#include "treadle/codegen/CompileBudget.h"
#include "treadle/codegen/CompileThread.h"
#include "treadle/codegen/Jit.h"
#include "treadle/dialect/Tfg.h"
#include "treadle/lowering/Lowering.h"
#include "treadle/runtime/Plan.h"

#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"

#include <mutex>

namespace treadle::codegen {

/// A module whose clusters are functions, in the context of the graph. Code has a context of its
/// own: what it is made of is loaded when the first cluster is compiled, while others use the
/// graph's.
struct ClusterModule {
  std::shared_ptr<mlir::MLIRContext> context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::unique_ptr<ModuleIndex> index;
  std::mutex compiling;                    // held by who compiles
  std::unique_ptr<mlir::MLIRContext> code; // made by the first who does
};

/// The clusters of a module. Thread-safe. With a client they are compiled beside the runs, which
/// interpret them until their code is there; without one, the first call waits.
///
/// Clusters may be inside of others. `functions` has plans in which they are compiled: for clusters
/// that can't be. `plain` has none: nothing inside of a cluster is compiled while its own code is
/// still to come.
class Clusters final : public ClusterLibrary {
public:
  Clusters(std::shared_ptr<ClusterModule> module, FunctionLibrary &functions,
           FunctionLibrary &plain, const KernelRegistry &kernels,
           std::shared_ptr<CompileBudget> budget = std::make_shared<CompileBudget>(),
           std::shared_ptr<CompileCounters> counters = nullptr,
           std::shared_ptr<CompileClient> client = nullptr, bool fastMath = false)
      : module(std::move(module)), functions(functions), plain(plain), kernels(kernels),
        budget(std::move(budget)), counters(std::move(counters)), client(std::move(client)),
        fastMath(fastMath) {}

  bool contains(const NodeSpec &call) const override;
  BoundKernel bind(const NodeSpec &call) override;

private:
  friend class ClusterSite;

  const std::shared_ptr<ClusterModule> module;
  FunctionLibrary &functions, &plain;
  const KernelRegistry &kernels;
  const std::shared_ptr<CompileBudget> budget;
  const std::shared_ptr<CompileCounters> counters; // null: nobody counts
  const std::shared_ptr<CompileClient> client;     // null: calls wait
  const bool fastMath;
};

} // namespace treadle::codegen
