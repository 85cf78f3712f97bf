// Internal to the runtime: runs dataflow plans.
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

/// One run of a plan, with what it calls. It has a list of nodes that are ready, each in an
/// iteration of a frame, dead or alive:
///
///   while nodes are ready, or something is waited for:
///     take in what arrived; if nothing is ready, wait for more
///     fire(node): a dead one gives dead outputs, a live one what its kernel gives
///     for each place that an output goes to: (in the same iteration, or across the frame's border)
///       store the value, count down what the node there still waits for
///       if that is nothing: the node is ready, dead where one of its inputs is
///     of an iteration that has nothing left: end it, its frame with its last one, and with the
///     frame
///       make Exits dead that got no value
///   return the values of the results
///
/// A Merge is ready with its first live input. An iteration begins with the first value for it,
/// unless parallelIterations are under way. docs/spec.md says it formally.
///
/// The thread of execute() owns all of it, so no counter is locked. Kernels that are worth another
/// thread go to the run's pool, and ops that wait (for a queue, a lock, a message) hold no thread:
/// both come back by arrive(), the only function for other threads. After an error, or when the run
/// is stopped, it cancels what waits and waits for what runs elsewhere. Of errors that nodes give
/// before, the one of the first node in the graph's order is reported.
class Runner {
public:
  explicit Runner(RunState &run) : run(run) {}
  ~Runner();
  Expected<std::vector<Tensor>> execute(const Plan &plan, std::vector<Tensor> args);

  // For suspended ops and pool threads only.
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
    const Trace::Clock::time_point begin; // where the run is traced
  };
  struct Offloaded;
  struct Ready {
    uint32_t node;
    bool isDead;
    Iteration *iteration;
  };

  // The loop.
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
  /// False where nothing runs it.
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
  bool endsWithoutExit = false; // a frame got a value and ended, but none left it

  std::mutex mutex;
  std::condition_variable wake;
  std::vector<Arrival> inbox;            // guarded by `mutex`
  std::atomic<bool> inboxHasMail{false}; // written with it
  size_t outstanding = 0;                // suspended or offloaded
  std::vector<Ref<Waiting>> waiting;
};

} // namespace treadle::dataflow
