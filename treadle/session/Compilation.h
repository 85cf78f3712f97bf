// Internal to the session folder: plans whose loops are compiled.
#pragma once

#include "treadle/codegen/Clusters.h"
#include "treadle/graph/GraphImpl.h"
#include "treadle/lowering/Functions.h"

#include "llvm/ADT/StringMap.h"

namespace treadle {

/// A plan of its own for one request, over a copy of the graph in which what is worth compiling are
/// calls. Lives while a run uses it.
struct CompiledPlan {
  std::shared_ptr<codegen::ClusterModule> source;
  std::unique_ptr<ModuleFunctions> functions, plain; // with clusters, and without
  std::unique_ptr<codegen::Clusters> clusters;
  std::unique_ptr<Plan> plan;
};

/// What plans are made with.
struct CompilationOptions {
  const KernelRegistry &kernels;
  LoopOverlap loopOverlap;
  const OpTraitsTable *traits;
  std::shared_ptr<codegen::CompileBudget> budget = std::make_shared<codegen::CompileBudget>();
  std::shared_ptr<codegen::CompileCounters> counters = nullptr; // null: nobody counts
  std::shared_ptr<codegen::CompileClient> client = nullptr;     // null: calls wait for their code
  bool fastMath = false;
};

/// Tells whether requests get to what compiling may pay for: loops, and bodies with many operations
/// on elements. Not thread-safe.
class WorkFinder {
public:
  explicit WorkFinder(const ModuleIndex &index) : index(index) {}
  /// Whether there is such work among the nodes, or in a function that they call.
  bool isIn(const NeededPart &part);

private:
  bool isIn(llvm::StringRef function);
  bool isReachedBy(tfg::Node node);

  const ModuleIndex &index;
  llvm::StringMap<bool> known; // by function; false while it is looked into
};

/// The pass that leaves of a graph what a request needs; of its functions too, with `functions`.
std::string pruningTo(const Request &request, bool functions = false);
/// The passes that bring a graph into the form that plans are made from: for one request, or
/// without losing what it doesn't need.
std::string compilationPipeline(const Request &request, bool prunes = true);

/// Makes the rest of a plan that has its graph and the index of it. `fuses`: chains of nodes become
/// one; `compiles`: calls of clusters run compiled code.
Expected<void> buildOver(CompiledPlan &made, const Request &request,
                         const CompilationOptions &options, bool fuses, bool compiles);

/// A copy of the graph in the form that plans are made from. Null where nothing is worth compiling.
Expected<std::shared_ptr<codegen::ClusterModule>> outlineClusters(const Graph &graph,
                                                                  const Request &request);

/// The plan of what was outlined.
Expected<std::shared_ptr<CompiledPlan>>
planCompiled(std::shared_ptr<codegen::ClusterModule> outlined, const Request &request,
             const CompilationOptions &options);

} // namespace treadle
