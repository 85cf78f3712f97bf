// Internal to the session folder: the plans of a session, by request.
#pragma once

#include "treadle/codegen/Clusters.h"
#include "treadle/graph/GraphImpl.h"
#include "treadle/lowering/Functions.h"
#include "treadle/session/LruCache.h"
#include "treadle/tensor/ThreadSlots.h"
#include "treadle/transforms/outline_clusters/ClusterFinder.h"

#include <mutex>

namespace treadle {

/// A request in the form of a key of the plan cache.
struct PlanKey {
  std::vector<std::string> feeds, fetches, targets;

  Request request() const { return {.feeds = feeds, .fetches = fetches, .targets = targets}; }
  auto operator<=>(const PlanKey &) const = default;
};

/// A request as passed to a run.
struct RunRequest {
  const std::vector<std::string> &fetches;
  const Session::Feeds &feeds;
  const std::vector<std::string> &targets;

  PlanKey key() const;
  bool is(const PlanKey &key) const;
};

struct CollectiveAgenda;

/// Whether calls of a plan take long, as measured by samples.
struct CallLength {
  std::atomic<bool> isLong{false};
};

struct SessionPlan {
  std::shared_ptr<const void> source; // keeps the graph and the functions of the plan alive
  std::shared_ptr<const Plan> plan;
  std::vector<PartialShape> feedShapes;     // shapes that the graph requires, by feed
  bool hasReferences = false;               // has references to v1 variables
  std::shared_ptr<CollectiveAgenda> agenda; // null: no exchanges on which ranks could agree
  std::shared_ptr<CallLength> length;       // null: a run may wait for another one
};

/// Builds a plan for each request at its first use, and keeps those used last. State that outlives
/// a run is the session's, so callers don't notice whether a plan is built again. Thread-safe; a
/// thread that repeats a recent request takes no lock.
///
/// Clusters whose compilation pays off are nodes of the plan. The tier decides when such a node
/// uses compiled code: `jit` before its first call returns, `auto` once the compile thread has
/// finished, `interpret` never.
class SessionPlans {
public:
  /// `graph` and `options`, and the objects that they refer to, must outlive it.
  SessionPlans(const Graph &graph, const SessionOptions &options);
  /// Cancels its pending compilations.
  ~SessionPlans();

  Expected<std::shared_ptr<const SessionPlan>> of(const RunRequest &request);

  /// Null if nothing is counted.
  const std::shared_ptr<codegen::CompileCounters> counters;
  /// Number of unfinished jobs of the compile thread.
  size_t numPending() const { return client ? client->pending() : 0; }

private:
  /// A graph from which plans are built, with the plans of its functions. `functions` and
  /// `clusters` refer to each other.
  struct Source {
    Source(const SessionPlans &plans, Graph graph);
    Graph graph;
    tfg::SubgraphClusters finder;
    ModuleFunctions functions;
    codegen::Clusters clusters;
  };
  using SourcePtr = std::shared_ptr<Source>;
  /// Properties of the whole graph that decide how plans are made.
  struct Properties {
    bool hasDissolvedNodes = false, hasFrames = false;
    bool hasForeignKernels = false; // some ops have kernels that are the session's own
  };
  struct KnownPlan {
    PlanKey key;
    std::shared_ptr<const SessionPlan> plan;
  };
  /// The latest requests of a thread, the most recent first.
  using Recent = std::vector<KnownPlan>;
  static constexpr size_t maxRecent = 8;
  static constexpr size_t maxPlanBytes = size_t(64) << 20;

  bool mayWait(const Plan &plan) const;
  /// Whether nodes may be fused; the interpreter tier runs them one by one.
  bool fuses() const { return options.tier != Tier::Interpret; }

  Expected<std::shared_ptr<const SessionPlan>> find(const PlanKey &key);
  const Properties &properties() const;
  SourcePtr sourceOf(const PlanKey &key) const;
  Expected<SessionPlan> make(const PlanKey &key, Source &source) const;

  const SessionOptions &options;
  const KernelRegistry &kernels;
  const LoopOverlap loopOverlap;
  const std::shared_ptr<codegen::CompileBudget> compileBudget =
      std::make_shared<codegen::CompileBudget>();
  const std::shared_ptr<codegen::CompileClient> client; // null: no background compilation
  const SourcePtr whole;

  mutable std::once_flag propertiesFound;
  mutable Properties found;
  ThreadSlots<Recent> recent;
  LruCache<PlanKey, SessionPlan> plans{maxPlanBytes};
};

} // namespace treadle
