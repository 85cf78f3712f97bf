// Internal to the session folder: the plans of a session, by what is asked of its graph.
#pragma once

#include "treadle/session/Compilation.h"

#include "treadle/lowering/Functions.h"
#include "treadle/tensor/ThreadSlots.h"

#include <map>
#include <mutex>

namespace treadle {

/// What a run was asked for, in the form that plans are kept by.
struct PlanKey {
  std::vector<std::string> feeds, fetches, targets;

  Request request() const { return {feeds, fetches, targets}; }
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

/// Makes plans when they are first asked for, and keeps them. Thread-safe: a thread that asks for
/// what it asked for before takes no lock, once nothing more comes of the plan.
///
/// Tier jit compiles before the first run. Tier auto makes the first run with a plan of the graph
/// as it is: nothing is done for compiled code before there is an answer. When the same is asked
/// again, the compile thread outlines the clusters of a copy of the graph, and the first run after
/// that makes a plan of the copy, which is used from then on. What a run leaves behind is the
/// session's, not the plan's, so that plans may change between runs.
class SessionPlans {
public:
  /// `graph` and `options` outlive it, as do what these refer to.
  SessionPlans(const Graph &graph, const SessionOptions &options);
  /// What is being compiled for it ends as soon as it can.
  ~SessionPlans();

  Expected<std::shared_ptr<const SessionPlan>> of(const RunRequest &request);

  /// Null where nobody counts.
  const std::shared_ptr<codegen::CompileCounters> counters;
  /// Jobs of the compile thread that aren't done, and plans that the next run will make of what
  /// came of one.
  size_t numPending() const;

private:
  struct Preparation;
  /// A graph that plans are made of, with the plans of its functions.
  struct Source {
    Source(const SessionPlans &plans, Graph graph);
    Graph graph;
    ModuleFunctions functions;
    WorkFinder loops; // the lock guards it
  };
  using SourcePtr = std::shared_ptr<Source>;
  /// A plan, and what of its way to compiled code is still to come.
  struct Entry {
    std::shared_ptr<const SessionPlan> plan;
    SourcePtr source;
    bool mayCompile = false;                  // if it is asked for again
    bool isFinal = !mayCompile;               // `plan` stays
    std::shared_ptr<Preparation> preparation; // under way; null: it isn't
  };
  /// A plan that stays.
  struct FinalPlan {
    PlanKey key;
    std::shared_ptr<const SessionPlan> plan;
  };
  /// What a thread asked for of late, the last first.
  using Recent = std::vector<FinalPlan>;
  static constexpr size_t mostRecent = 8;

  CompilationOptions compilationOptions() const;
  bool mayWait(const Plan &plan) const;
  /// The interpreter takes nodes one by one.
  bool fuses() const { return options.tier != Tier::Interpret; }
  bool waits() const { return options.tier == Tier::Jit; }

  Expected<Entry> find(const PlanKey &key);
  Expected<Entry> make(const PlanKey &key);
  SourcePtr sourceOf(const PlanKey &key) const;
  Expected<SessionPlan> interpreted(const PlanKey &key, const SourcePtr &source, bool &hasLoop);
  Expected<std::shared_ptr<CompiledPlan>> chained(const PlanKey &key, const Graph &graph);
  Expected<std::shared_ptr<CompiledPlan>> compiled(const PlanKey &key, const Graph &graph);
  std::shared_ptr<Preparation> prepare(const PlanKey &key, const Graph &graph);
  std::shared_ptr<Preparation> advance(const PlanKey &key, Entry &entry);
  Entry finish(const PlanKey &key, Preparation &prepared);

  const SessionOptions &options;
  const KernelRegistry &kernels;
  const LoopOverlap loopOverlap;
  const std::shared_ptr<codegen::CompileBudget> compileBudget =
      std::make_shared<codegen::CompileBudget>();
  const std::shared_ptr<codegen::CompileClient> client; // null: nothing is compiled beside runs
  const Rewrite rewrite;
  const SourcePtr whole;

  ThreadSlots<Recent> recent;
  mutable std::mutex mutex; // guards what follows
  std::map<PlanKey, Entry> plans;
};

} // namespace treadle
