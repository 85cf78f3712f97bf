// Runs clusters: compiled for the argument shapes that occur, interpreted otherwise.
#pragma once

#include "treadle/codegen/CompileBudget.h"
#include "treadle/codegen/CompileThread.h"
#include "treadle/codegen/Jit.h"
#include "treadle/lowering/Functions.h"
#include "treadle/runtime/Plan.h"

#include "mlir/IR/MLIRContext.h"

#include <mutex>

namespace treadle::codegen {

/// The inputs for compiling the clusters of a graph. Compilation uses an MLIR context of its own,
/// whose dialects are loaded when the first cluster is compiled, while other threads use the
/// context of the graph.
struct ClusterSource {
  /// `graph` keeps the module of the index alive.
  ClusterSource(std::shared_ptr<const void> graph, const ModuleIndex &index)
      : graph(std::move(graph)), index(index) {}

  const std::shared_ptr<const void> graph;
  const ModuleIndex &index;
  std::mutex compiling;                    // held by the thread that compiles
  std::unique_ptr<mlir::MLIRContext> code; // created by the first compilation
};

/// The clusters of a graph's plans. Thread-safe.
///
/// With a compile client, clusters are compiled in the background and interpreted until their code
/// is ready. Compilation is requested at the second call, so that graphs that run once compile
/// nothing. Without a client, the first call waits for the code.
///
/// Clusters may be nested. While an outer cluster may still get code, nothing inside it is
/// compiled.
class Clusters final : public ClusterLibrary {
public:
  struct Options {
    const KernelRegistry &kernels;
    std::shared_ptr<CompileBudget> budget = std::make_shared<CompileBudget>();
    std::shared_ptr<CompileCounters> counters = nullptr; // null: nothing is counted
    std::shared_ptr<CompileClient> client = nullptr;     // null: calls wait for compilation
    bool fastMath = false;
    Rewrite rewrite = nullptr; // applied to interpreted clusters
  };

  /// Clusters are functions held by an OutlinedCluster; `functions` contains the functions that
  /// they call.
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
