// Internal to the session folder: the plans of a session, by what is asked of its graph.
#pragma once

#include "treadle/codegen/Clusters.h"
#include "treadle/graph/GraphImpl.h"
#include "treadle/lowering/Functions.h"
#include "treadle/tensor/ThreadSlots.h"
#include "treadle/transforms/outline_clusters/ClusterFinder.h"

#include <map>
#include <mutex>

namespace treadle {

/// What a run was asked for, in the form that plans are kept by.
struct PlanKey {
  std::vector<std::string> feeds, fetches, targets;

  Request request() const { return {.feeds = feeds, .fetches = fetches, .targets = targets}; }
  auto operator<=>(const PlanKey &) const = default;
};

/// The same, as a run is asked.
struct RunRequest {
  const std::vector<std::string> &fetches;
  const Session::Feeds &feeds;
  const std::vector<std::string> &targets;

  PlanKey key() const;
  bool is(const PlanKey &key) const;
};

struct CollectiveAgenda;

/// Whether calls of a plan take long, as some of them have shown.
struct CallLength {
  std::atomic<bool> isLong{false};
};

struct SessionPlan {
  std::shared_ptr<const Plan> plan;
  std::vector<PartialShape> feedShapes;     // that the graph wants, by feed
  bool hasReferences = false;               // to v1 variables
  std::shared_ptr<CollectiveAgenda> agenda; // null: no exchanges that ranks could agree on
  std::shared_ptr<CallLength> length;       // null: a run may wait for another one
};

/// Makes a plan for each request when it is first asked for, and keeps it. Thread-safe: a thread
/// that asks for what it asked for before takes no lock.
///
/// What is worth compiling are clusters in the plan, a node each. A tier says when such a node may
/// run machine code: `jit` before its first call is over, `auto` once the compile thread has made
/// it, `interpret` never.
class SessionPlans {
public:
  /// `graph` and `options` outlive it, as do what these refer to.
  SessionPlans(const Graph &graph, const SessionOptions &options);
  /// What is being compiled for it ends as soon as it can.
  ~SessionPlans();

  Expected<std::shared_ptr<const SessionPlan>> of(const RunRequest &request);

  /// Null where nobody counts.
  const std::shared_ptr<codegen::CompileCounters> counters;
  /// Jobs of the compile thread that aren't done.
  size_t numPending() const { return client ? client->pending() : 0; }

private:
  /// A graph that plans are made of, with the plans of its functions. `functions` and `clusters`
  /// refer to each other.
  struct Source {
    Source(const SessionPlans &plans, Graph graph);
    Graph graph;
    tfg::PartClusters finder;
    ModuleFunctions functions;
    codegen::Clusters clusters;
  };
  using SourcePtr = std::shared_ptr<Source>;
  struct Entry {
    SourcePtr source;
    std::shared_ptr<const SessionPlan> plan;
  };
  struct KnownPlan {
    PlanKey key;
    std::shared_ptr<const SessionPlan> plan;
  };
  /// What a thread asked for of late, the last first.
  using Recent = std::vector<KnownPlan>;
  static constexpr size_t mostRecent = 8;

  bool mayWait(const Plan &plan) const;
  /// The interpreter takes nodes one by one.
  bool fuses() const { return options.tier != Tier::Interpret; }

  Expected<std::shared_ptr<const SessionPlan>> find(const PlanKey &key);
  SourcePtr sourceOf(const PlanKey &key) const;
  Expected<SessionPlan> make(const PlanKey &key, Source &source) const;

  const SessionOptions &options;
  const KernelRegistry &kernels;
  const LoopOverlap loopOverlap;
  const std::shared_ptr<codegen::CompileBudget> compileBudget =
      std::make_shared<codegen::CompileBudget>();
  const std::shared_ptr<codegen::CompileClient> client; // null: nothing is compiled beside runs
  const SourcePtr whole;

  ThreadSlots<Recent> recent;
  mutable std::mutex mutex; // guards what follows
  std::map<PlanKey, Entry> plans;
};

} // namespace treadle
