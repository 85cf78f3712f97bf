// Internal to the session folder: plans whose loops are compiled.
#pragma once

#include "treadle/codegen/Clusters.h"
#include "treadle/lowering/Functions.h"
#include "treadle/session/GraphImpl.h"

namespace treadle {

/// A plan of its own for one request, over a copy of the graph in which what is worth compiling are
/// calls. Lives while a run uses it.
struct CompiledPlan {
  std::unique_ptr<mlir::MLIRContext> context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::unique_ptr<ModuleIndex> index;
  std::unique_ptr<ModuleFunctions> functions;
  std::unique_ptr<codegen::Clusters> clusters;
  std::unique_ptr<Plan> plan;
};

/// What plans are made with.
struct CompilationOptions {
  const KernelRegistry &kernels;
  LoopOverlap loopOverlap;
  const OpTraitsTable *traits;
  std::shared_ptr<codegen::ClusterCounters> counters = nullptr; // null: nobody counts
};

/// Whether compiling may pay for the graph at all: it has a loop.
bool mayCompile(mlir::ModuleOp module);

/// The pass that leaves of a graph what a request needs.
std::string pruningTo(const Request &request);
/// The passes that bring a graph into the form that plans are made from: for one request, or
/// without losing what it doesn't need.
std::string compilationPipeline(const Request &request, bool prunes = true);

/// Makes the rest of a plan that has its graph and the index of it. `fuses`: chains of nodes become
/// one; `compiles`: calls of clusters run compiled code.
Expected<void> buildOver(CompiledPlan &made, const Request &request,
                         const CompilationOptions &options, bool fuses, bool compiles);

/// Null where nothing is worth compiling. `module` is a copy that becomes the plan's.
Expected<std::shared_ptr<CompiledPlan>> planCompiled(std::unique_ptr<mlir::MLIRContext> context,
                                                     mlir::OwningOpRef<mlir::ModuleOp> module,
                                                     const Request &request,
                                                     const CompilationOptions &options);

} // namespace treadle
