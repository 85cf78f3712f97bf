// Internal to the runtime: the dataflow executor.
#pragma once

#include "treadle/runtime/DataflowState.h"
#include "treadle/runtime/Execution.h"
#include "treadle/runtime/Run.h"
#include "treadle/runtime/Trace.h"

#include <condition_variable>
#include <mutex>
#include <optional>
#include <unordered_map>

namespace treadle::dataflow {

/// Executes one run of a dataflow plan and the functions that it calls.
///
/// A list holds the ready nodes, each in an iteration of a frame, live or dead:
///
///   while nodes are ready or ops are outstanding:
///     take arrived completions; if nothing is ready, wait for one
///     fire the node: dead ones produce dead outputs, live ones the outputs of their kernel
///     for each edge of each output (within the iteration, or across the border of the frame):
///       store the value and decrement the pending count of the consumer
///       at zero the consumer is ready; it is dead if one of its inputs is
///     for an iteration with nothing outstanding: end it, and the frame with its last iteration;
///       Exits of the frame that got no value produce dead outputs
///   return the values of the results
///
/// A Merge is ready with its first live input. An iteration starts with its first value, unless
/// parallelIterations iterations are in flight. docs/spec.md has the formal semantics.
///
/// The thread that calls execute() owns all state, so counters need no lock. Expensive kernels run
/// on the pool of the run. Ops that wait (for a queue, a lock, a message) suspend and hold no
/// thread. Both report back through arrive(), the only function that other threads may call. After
/// an error, or when the run is stopped, suspended ops are cancelled and offloaded ones are waited
/// for. If several nodes have failed by then, the error of the first one in graph order is
/// reported.
class Runner {
public:
  explicit Runner(RunState &run) : run(run) {}
  ~Runner();
  Expected<std::vector<Tensor>> execute(const Plan &plan, std::vector<Tensor> args);

  // Called from suspended ops and pool threads only.
  struct Arrival {
    Site site;
    std::vector<Tensor> outputs;
    std::unique_ptr<Error> error;
  };
  void arrive(Arrival arrival);

private:
  class Waiting final : public Suspension {
  public:
    Waiting(Runner *runner, Site site)
        : runner(runner), site(site), begin(Trace::now(runner->run.trace)) {}
    void complete(std::vector<Tensor> outputs) override;
    void fail(Error e) override;
    Runner *const runner;
    const Site site;
    const Trace::Clock::time_point begin; // start time, if the run is traced
  };
  struct Offloaded;
  struct Ready {
    uint32_t node;
    bool isDead;
    Iteration *iteration;
  };

  // The main loop.
  void loop();
  bool takeArrivals();
  void waitForArrival();
  void abandon();
  void failAt(Site site, Error error);
  bool isDone() const { return topIsDone; }

  // Nodes.
  void fire(Ready ready);
  void runKernel(Site site);
  void runHere(Site site);
  /// Schedules the function on a thread; returns false if none is available.
  using Schedule = std::function<bool(std::function<void()>)>;
  void offload(Site site, const Schedule &schedule);
  void finishKernel(Site site, std::span<Tensor> outputs);
  void runSwitch(Site site);
  void runMerge(Site site);
  void startCall(Site site);
  void startWhile(Site site);
  void startFor(Site site);
  struct NextCall {
    const Plan *plan;
    std::vector<Tensor> args;
  };
  void callPlan(const Plan &plan, std::vector<Tensor> args, Continuation then, int depth);
  void begin(const DataflowPlan &plan, std::vector<Tensor> args, Continuation then, int depth);
  void resume(Continuation then, std::vector<Tensor> results, int depth);
  std::optional<NextCall> advance(Continuation &then, std::vector<Tensor> results);
  void failCall(const Continuation &then, Error e);
  void prepare(Execution &ctx, Site site, Tensor *outputs);
  void trace(Site site, Trace::Clock::time_point begin, Trace::Work work) const;

  // Propagation.
  void propagate(Site site, std::span<Tensor> outputs, bool isDead);
  void propagateSame(Site site, std::span<Tensor> outputs, bool isDead);
  void propagateEnter(Site site, Tensor value);
  void propagateExit(Site site, Tensor value);
  void propagateNext(Site site, Tensor value);
  void deliver(Iteration *to, const DataflowPlan &plan, uint32_t output, Tensor value, bool isDead,
               bool fromEnter = false);
  void deliverAll(Iteration *to, uint32_t node, Tensor value, bool fromEnter = false);
  void activate(Iteration *to, const DataflowPlan &plan, PlanEdge edge, Tensor *value, bool isDead,
                bool fromEnter);
  void activateMerge(Iteration *to, const DataflowPlan &plan, PlanEdge edge, Tensor *value,
                     bool isDead, bool fromEnter);
  void record(Site site, std::span<const Tensor> outputs);
  Expected<std::vector<Tensor>> takeResults(Activation &activation);
  Error noValue(const Activation &activation, size_t r) const;

  // Frames.
  Frame *childFrame(Site enter);
  Frame *newFrame(Activation *activation, uint32_t id);
  Iteration *newIteration(Frame *frame);
  void startCarried(Frame *frame);
  void finished(Iteration *iteration);
  void finishFrame(Frame *frame);
  bool endStuckFrame();
  void finishActivation(Frame *root);

  const DataflowPlan &planOf(Site site) const { return site.iteration->frame->plan(); }
  const PlanNode &nodeAt(Site site) const { return planOf(site).nodes[site.node]; }
  Tensor *inputsOf(Site site) const { return site.iteration->inputs + nodeAt(site).inputBegin; }
  void clearInputs(Site site);

  RunState &run;
  std::vector<Ready> ready;
  size_t readyHead = 0;
  std::unordered_map<Frame *, std::unique_ptr<Frame>> frames;
  std::unordered_map<Activation *, std::unique_ptr<Activation>> activations;
  std::vector<Tensor> scratch; // outputs of the kernel that is running
  std::unique_ptr<Error> error;
  uint64_t errorOrder = ~uint64_t{0};
  Activation *top = nullptr;
  bool topIsDone = false;
  bool endsWithoutExit = false; // a frame was entered and ended, but no value left it

  std::mutex mutex;
  std::condition_variable wake;
  std::vector<Arrival> inbox;            // guarded by `mutex`
  std::atomic<bool> inboxHasMail{false}; // written under `mutex`
  size_t outstanding = 0;                // ops that are suspended or offloaded
  std::vector<Ref<Waiting>> waiting;
};

} // namespace treadle::dataflow
