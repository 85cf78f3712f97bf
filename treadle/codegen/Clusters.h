// Calls of clusters: compiled for the shapes that come, interpreted where they can't be.
#pragma once

#include "treadle/codegen/CompileBudget.h"
#include "treadle/codegen/CompileThread.h"
#include "treadle/codegen/Jit.h"
#include "treadle/lowering/Functions.h"
#include "treadle/runtime/Plan.h"

#include "mlir/IR/MLIRContext.h"

#include <mutex>

namespace treadle::codegen {

/// What the clusters of a graph are compiled with. Code has a context of its own: what it is made
/// of is loaded when the first cluster is compiled, while others use the graph's.
struct ClusterSource {
  /// `graph` keeps the module of the index.
  ClusterSource(std::shared_ptr<const void> graph, const ModuleIndex &index)
      : graph(std::move(graph)), index(index) {}

  const std::shared_ptr<const void> graph;
  const ModuleIndex &index;
  std::mutex compiling;                    // held by who compiles
  std::unique_ptr<mlir::MLIRContext> code; // made by the first who does
};

/// The clusters of a graph's plans. Thread-safe. With a client they are compiled beside the runs,
/// which interpret them until their code is there: from their second call on, so that nothing is
/// compiled for what runs once. Without one, the first call waits.
///
/// Clusters may be inside of others. While code of a cluster may still come, nothing inside of it
/// is compiled.
class Clusters final : public ClusterLibrary {
public:
  struct Options {
    const KernelRegistry &kernels;
    std::shared_ptr<CompileBudget> budget = std::make_shared<CompileBudget>();
    std::shared_ptr<CompileCounters> counters = nullptr; // null: nobody counts
    std::shared_ptr<CompileClient> client = nullptr;     // null: calls wait
    bool fastMath = false;
    Rewrite rewrite = nullptr; // of what is interpreted
  };

  /// Clusters are functions that an OutlinedCluster holds; `functions` has those that they call.
  Clusters(std::shared_ptr<ClusterSource> source, ModuleFunctions &functions, Options options)
      : source(std::move(source)), functions(functions), options(std::move(options)) {}

  BoundKernel bind(const NodeSpec &node) override;

private:
  friend class ClusterSite;

  const std::shared_ptr<ClusterSource> source;
  ModuleFunctions &functions;
  const Options options;
};

} // namespace treadle::codegen
