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
    NodeInstance instance;
    std::vector<Tensor> outputs;
    std::unique_ptr<Error> error;
  };
  void arrive(Arrival arrival);

private:
  class Waiting final : public Suspension {
  public:
    Waiting(Runner *runner, NodeInstance instance)
        : runner(runner), instance(instance), begin(Trace::now(runner->run.trace)) {}
    void complete(std::vector<Tensor> outputs) override;
    void fail(Error e) override;
    Runner *const runner;
    const NodeInstance instance;
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
  void failAt(NodeInstance instance, Error error);
  bool isDone() const { return topIsDone; }

  // Nodes.
  void fire(Ready ready);
  void runKernel(NodeInstance instance);
  void runHere(NodeInstance instance);
  /// Schedules the function on a thread; returns false if none is available.
  using Schedule = std::function<bool(std::function<void()>)>;
  void offload(NodeInstance instance, const Schedule &schedule);
  void finishKernel(NodeInstance instance, std::span<Tensor> outputs);
  void runSwitch(NodeInstance instance);
  void runMerge(NodeInstance instance);
  void startCall(NodeInstance instance);
  void startWhile(NodeInstance instance);
  void startFor(NodeInstance instance);
  struct NextCall {
    const Plan *plan;
    std::vector<Tensor> args;
  };
  void callPlan(const Plan &plan, std::vector<Tensor> args, Continuation then, int depth);
  void begin(const DataflowPlan &plan, std::vector<Tensor> args, Continuation then, int depth);
  void resume(Continuation then, std::vector<Tensor> results, int depth);
  std::optional<NextCall> advance(Continuation &then, std::vector<Tensor> results);
  void failCall(const Continuation &then, Error e);
  void prepare(Execution &ctx, NodeInstance instance, Tensor *outputs);
  void trace(NodeInstance instance, Trace::Clock::time_point begin, Trace::Work work) const;

  // Propagation.
  void propagate(NodeInstance instance, std::span<Tensor> outputs, bool isDead);
  void propagateSame(NodeInstance instance, std::span<Tensor> outputs, bool isDead);
  void propagateEnter(NodeInstance instance, Tensor value);
  void propagateExit(NodeInstance instance, Tensor value);
  void propagateNext(NodeInstance instance, Tensor value);
  void deliver(Iteration *to, const DataflowPlan &plan, uint32_t output, Tensor value, bool isDead,
               bool fromEnter = false);
  void deliverAll(Iteration *to, uint32_t node, Tensor value, bool fromEnter = false);
  void activate(Iteration *to, const DataflowPlan &plan, PlanEdge edge, Tensor *value, bool isDead,
                bool fromEnter);
  void activateMerge(Iteration *to, const DataflowPlan &plan, PlanEdge edge, Tensor *value,
                     bool isDead, bool fromEnter);
  void record(NodeInstance instance, std::span<const Tensor> outputs);
  Expected<std::vector<Tensor>> takeResults(Activation &activation);
  Error missingValueError(const Activation &activation, size_t r) const;

  // Frames.
  FrameExecution *childFrame(NodeInstance enter);
  FrameExecution *newFrame(Activation *activation, uint32_t id);
  Iteration *newIteration(FrameExecution *frame);
  void startDeferred(FrameExecution *frame);
  void finished(Iteration *iteration);
  void finishFrame(FrameExecution *frame);
  bool endStuckFrame();
  void finishActivation(FrameExecution *root);

  const DataflowPlan &planOf(NodeInstance instance) const {
    return instance.iteration->frame->plan();
  }
  const PlanNode &nodeAt(NodeInstance instance) const {
    return planOf(instance).nodes[instance.node];
  }
  Tensor *inputsOf(NodeInstance instance) const {
    return instance.iteration->inputs + nodeAt(instance).inputBegin;
  }
  void clearInputs(NodeInstance instance);

  RunState &run;
  std::vector<Ready> ready;
  size_t readyHead = 0;
  std::unordered_map<FrameExecution *, std::unique_ptr<FrameExecution>> frames;
  std::unordered_map<Activation *, std::unique_ptr<Activation>> activations;
  std::vector<Tensor> scratch; // outputs of the kernel that is running
  std::unique_ptr<Error> error;
  uint64_t errorOrder = ~uint64_t{0};
  Activation *top = nullptr;
  bool topIsDone = false;
  bool endsWithoutExit = false; // a frame was entered and ended, but no value left it

  std::mutex mutex;
  std::condition_variable wake;
  std::vector<Arrival> inbox;           // guarded by `mutex`
  std::atomic<bool> hasArrivals{false}; // written under `mutex`
  size_t outstanding = 0;               // ops that are suspended or offloaded
  std::vector<Ref<Waiting>> waiting;
};

} // namespace treadle::dataflow
