// Internal: runs of one request by the reference machine, each from the same state.
#pragma once

#include "treadle/Explore.h"
#include "treadle/analysis/effects/Effects.h"
#include "treadle/graph/GraphImpl.h"
#include "treadle/lowering/Functions.h"
#include "treadle/reference/Explorer.h"
#include "treadle/reference/KernelOps.h"
#include "treadle/session/Deadline.h"
#include "treadle/session/SessionFiles.h"

namespace treadle {

/// Which pairs of a graph's nodes conflict.
class Conflicts {
public:
  Conflicts(const ModuleIndex &index, mlir::ModuleOp module, const GraphSpec &graph);

  bool of(int32_t a, int32_t b) const;
  /// By node: whether its order to some other matters.
  const std::vector<bool> &ordered() const { return isOrdered; }
  bool writes(size_t node) const;

private:
  tfg::EffectAnalysis analysis;
  std::vector<llvm::ArrayRef<tfg::Effect>> effects; // by node
  std::vector<bool> isOrdered;
};

/// Runs of one request, each from the same state. Calls, conditionals and loops are taken apart
/// first, so that what could take place at once is there to see.
class RunExperiment final : public reference::Experiment {
public:
  /// Errors: InvalidArgument where nothing is asked for; those of a run's request.
  static Expected<std::unique_ptr<RunExperiment>> of(const Graph &graph,
                                                     const ExploreRequest &request);

  reference::Machine &begin() override;
  bool conflict(int32_t a, int32_t b) const override { return conflicts.of(a, b); }
  bool goesOn(size_t firings) override;
  std::string outcome() override;
  /// The first that came.
  std::string failure() override;

  /// By result: its name, and its values.
  std::vector<std::pair<std::string, std::string>> results() const;
  const GraphSpec &spec() const { return graph; }
  const Graph &flatGraph() const { return flat; }

  /// What to know of the request: that the run does the setup's work again.
  std::vector<std::string> notes;
  /// Looks on at the runs that begin from now on; may be null.
  reference::Observer *observer = nullptr;
  /// Of the setup, where it failed, or of a run that takes too long.
  std::optional<Error> error;
  /// Of a run that failed.
  std::optional<Error> lastFailure;

private:
  RunExperiment(Graph flat, GraphSpec graph, GraphSpec setup, std::vector<Tensor> args,
                std::optional<Graph> model, FileAccess files, double timeout);
  /// `model`: the graph, if it is a model's, whose state each run begins with.
  static Expected<std::unique_ptr<RunExperiment>>
  of(const Graph &whole, const ExploreRequest &request, std::optional<Graph> model);
  void makeResources();
  void runSetup();
  void noteRepeatedSetup();

  static constexpr int64_t mostSteps = 1000000;
  static constexpr size_t mostFirings = 5000;

  const Graph flat;
  const GraphSpec graph, setup;
  const reference::Wiring wiring{graph};
  const Conflicts conflicts;
  const std::vector<Tensor> args;
  const std::optional<Graph> model;
  const FileAccess files;
  ModuleFunctions functions;
  reference::KernelOps ops;
  std::unique_ptr<ResourceManager> own;
  std::optional<Session> session; // of the model
  ResourceManager *resources = nullptr;
  const double timeout; // s, of one run
  std::unique_ptr<RunState> run;
  std::optional<Deadline> deadline; // of `run`
  int64_t stepsLeft = 0;
  std::unique_ptr<reference::Machine> machine;
  std::string printed;
};

/// `int32[2] = [1 2]`; of values with very many elements their hash.
std::string shownValue(const Tensor &value);

} // namespace treadle
