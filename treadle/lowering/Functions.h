// Plans of a module's functions, built at first use.
#pragma once

#include "treadle/lowering/Gradients.h"
#include "treadle/lowering/PrunedSubgraph.h"
#include "treadle/runtime/Plan.h"

#include <map>
#include <mutex>
#include <optional>

namespace treadle {

/// Builds and keeps plans of functions. Thread-safe; plans live as long as this object.
class ModuleFunctions final : public FunctionLibrary {
public:
  /// `rewrite`: applied to a body before its plan is built; null: none.
  ModuleFunctions(const ModuleIndex &index, const KernelRegistry &kernels, Rewrite rewrite,
                  LoopOverlap loopOverlap = LoopOverlap::Auto,
                  const OpTraitsTable *traits = nullptr)
      : index(index), kernels(kernels), rewrite(std::move(rewrite)), loopOverlap(loopOverlap),
        traits(traits) {}

  /// Sets the library of cluster kernels, if `rewrite` outlines clusters. Must be called before the
  /// first plan is built.
  void setClusters(ClusterLibrary *library) { clusters = library; }
  /// Builds the plan of a function outside the module that calls functions of it. The caller owns
  /// the plan.
  Expected<std::unique_ptr<Plan>> planOf(tfg::FuncOp function, const Rewrite &rewriteOwn);

  Expected<const Plan *> plan(const FunctionRef &function, ArgMode mode) override;
  Expected<std::string> gradientOf(const std::string &function) override;
  bool mayBlock(const std::string &function) override;
  bool waits(const std::string &function) override;
  bool isElementwise(const std::string &function) override;
  Combination combination(const std::string &function, DType dtype) override;
  Expected<SortOrder> sortOrder(const std::string &comparator) override;

private:
  using Known = llvm::StringMap<bool>; // by function
  bool containsOp(llvm::StringRef function, Known &known, llvm::function_ref<bool(tfg::Node)> test);
  /// Returns a function of the module or of the gradients; null if there is none.
  tfg::FuncOp find(llvm::StringRef function);
  /// Returns `find` as a callable.
  auto finder() {
    return [this](llvm::StringRef function) { return find(function); };
  }
  using MakeSubgraph =
      llvm::function_ref<Expected<PrunedSubgraph>(const ModuleIndex &, tfg::FuncOp function)>;
  Expected<std::unique_ptr<Plan>> build(const std::string &function, ArgMode mode,
                                        MakeSubgraph makePart);
  Expected<GraphSpec> lowered(const ModuleIndex &index, Expected<PrunedSubgraph> part,
                              const Rewrite &how);
  Expected<std::unique_ptr<Plan>> planned(const std::string &function, ArgMode mode,
                                          Expected<GraphSpec> spec);

  const ModuleIndex &index;
  const KernelRegistry &kernels;
  const Rewrite rewrite;
  const LoopOverlap loopOverlap;
  const OpTraitsTable *const traits;        // may be null
  ClusterLibrary *clusters = nullptr;       // may be null
  std::mutex gradientsMutex;                // guards the gradients; locked before `mutex`
  std::optional<ModuleGradients> gradients; // created at first use
  std::mutex mutex;                         // guards the following members
  std::map<std::pair<std::string, ArgMode>, std::unique_ptr<Plan>> plans;
  Known blocking, waiting;
};

} // namespace treadle
