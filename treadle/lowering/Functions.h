// The functions of a module as plans, built when they are first called.
#pragma once

#include "treadle/lowering/Gradients.h"
#include "treadle/lowering/NeededPart.h"
#include "treadle/runtime/Plan.h"

#include <map>
#include <mutex>
#include <optional>
#include <unordered_map>

namespace treadle {

/// Builds and keeps plans of functions. Thread-safe; plans live as long as it does.
class ModuleFunctions final : public FunctionLibrary {
public:
  /// `rewrite`: what happens to a body before it becomes a plan; null: nothing.
  ModuleFunctions(const ModuleIndex &index, const KernelRegistry &kernels, Rewrite rewrite,
                  LoopOverlap loopOverlap = LoopOverlap::Auto,
                  const OpTraitsTable *traits = nullptr)
      : index(index), kernels(kernels), rewrite(std::move(rewrite)), loopOverlap(loopOverlap),
        traits(traits) {}

  /// Before the first plan: where the kernels of clusters come from, if `rewrite` makes some.
  void setClusters(ClusterLibrary *library) { clusters = library; }
  /// A plan of a function that isn't the module's, but calls functions of it; it stays the
  /// caller's.
  Expected<std::unique_ptr<Plan>> planOf(tfg::FuncOp function, const Rewrite &rewriteOwn);

  Expected<const Plan *> plan(const FunctionRef &function, ArgMode mode) override;
  Expected<std::string> gradientOf(const std::string &function) override;
  bool mayBlock(const std::string &function) override;
  bool waits(const std::string &function) override;
  bool isElementwise(const std::string &function) override;
  Combination combination(const std::string &function, DType dtype) override;
  Expected<SortOrder> sortOrder(const std::string &comparator) override;

private:
  using Known = std::unordered_map<std::string, bool>; // (false) being looked into, or known
  template <typename Test> bool reaches(tfg::FuncOp function, Known &known, Test test);
  /// One of the module or, if there is none, of the gradients; null if there is none either.
  tfg::FuncOp find(llvm::StringRef function);
  /// The same as a callable.
  auto finder() {
    return [this](llvm::StringRef function) { return find(function); };
  }
  using MakePart =
      llvm::function_ref<Expected<NeededPart>(const ModuleIndex &, tfg::FuncOp function)>;
  Expected<std::unique_ptr<Plan>> build(const std::string &function, ArgMode mode,
                                        MakePart makePart);
  Expected<GraphSpec> lowered(const ModuleIndex &index, Expected<NeededPart> part,
                              const Rewrite &how);
  Expected<std::unique_ptr<Plan>> planned(const std::string &function, ArgMode mode,
                                          Expected<GraphSpec> spec);

  const ModuleIndex &index;
  const KernelRegistry &kernels;
  const Rewrite rewrite;
  const LoopOverlap loopOverlap;
  const OpTraitsTable *const traits;  // may be null
  ClusterLibrary *clusters = nullptr; // may be null
  std::mutex gradientsMutex;          // guards the gradients; locked before the other, if at all
  std::optional<ModuleGradients> gradients; // made when the first is asked for
  std::mutex mutex;                         // guards what follows
  std::map<std::pair<std::string, ArgMode>, std::unique_ptr<Plan>> plans;
  Known blocking, waiting;
};

} // namespace treadle
