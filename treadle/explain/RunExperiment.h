// Internal: runs of one request on the reference machine, each from the same state.
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

/// The pairs of a graph's nodes that conflict.
class Conflicts {
public:
  Conflicts(const ModuleIndex &index, mlir::ModuleOp module, const GraphSpec &graph);

  bool of(int32_t a, int32_t b) const;
  /// Returns for each node whether its order relative to another one matters.
  const std::vector<bool> &ordered() const { return isOrdered; }
  bool writes(size_t node) const;

private:
  tfg::EffectAnalysis analysis;
  std::vector<llvm::ArrayRef<tfg::Effect>> effects; // by node
  std::vector<bool> isOrdered;
};

/// Runs of one request, each from the same state. Calls, conditionals and loops are expanded first,
/// to expose all possible parallelism.
class RunExperiment final : public reference::Experiment {
public:
  /// Returns InvalidArgument if the request is empty, and the errors of a run's request.
  static Expected<std::unique_ptr<RunExperiment>> of(const Graph &graph,
                                                     const ExploreRequest &request);

  reference::Interpreter &begin() override;
  bool conflict(int32_t a, int32_t b) const override { return conflicts.of(a, b); }
  bool shouldContinue(size_t firings) override;
  std::string outcome() override;
  /// Returns the first failure.
  std::string failure() override;

  /// Returns the name and values of each result.
  std::vector<std::pair<std::string, std::string>> results() const;
  const GraphSpec &spec() const { return graph; }
  const Graph &flatGraph() const { return flat; }

  /// Notes about the request, for instance that the run repeats the setup.
  std::vector<std::string> notes;
  /// Observes runs that start from now on; may be null.
  reference::Observer *observer = nullptr;
  /// The error of the setup, or of a run that exceeds its time limit.
  std::optional<Error> error;
  /// The error of the last run that failed.
  std::optional<Error> lastFailure;

private:
  RunExperiment(Graph flat, GraphSpec graph, GraphSpec setup, std::vector<Tensor> args,
                std::optional<Graph> model, FileAccess files, double timeout);
  /// `model` is the graph if it is a model's, whose state each run starts with.
  static Expected<std::unique_ptr<RunExperiment>>
  of(const Graph &whole, const ExploreRequest &request, std::optional<Graph> model);
  void makeResources();
  void runSetup();
  void noteRepeatedSetup();

  static constexpr int64_t maxSteps = 1000000;
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
  const double timeout; // seconds, for one run
  std::unique_ptr<RunState> run;
  std::optional<Deadline> deadline; // of `run`
  int64_t stepsLeft = 0;
  std::unique_ptr<reference::Interpreter> machine;
  std::string printed;
};

/// Returns `int32[2] = [1 2]`; for very large values, a hash.
std::string shownValue(const Tensor &value);

} // namespace treadle
