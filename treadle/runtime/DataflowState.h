// Internal to the runtime: the state of a dataflow run. It is owned by one thread.
#pragma once

#include "treadle/runtime/DataflowPlan.h"
#include "treadle/runtime/FunctionOps.h"

#include <cstdlib>
#include <deque>
#include <map>
#include <memory>
#include <vector>

namespace treadle::dataflow {

struct FrameExecution;
struct Iteration;

/// A node of a plan in an iteration.
struct NodeInstance {
  uint32_t node;
  Iteration *iteration;
};

/// The rest of an op that continues when the plan that it called has returned.
struct Continuation {
  enum Phase : uint8_t { Return, LoopCondition, LoopBody, ForBody } phase = Return;
  NodeInstance caller{};
  std::vector<Tensor> variables; // of a While: its loop variables
  const Plan *cond = nullptr, *body = nullptr;
  ForRange range; // of a For: its remaining range
};

/// Values of one result, keyed by the iterations (outermost frame first) that produced them.
struct CollectedValues {
  std::map<std::vector<int64_t>, Tensor> byIteration;
};

/// A plan in execution: the graph itself, or a called function that may suspend.
struct Activation {
  const DataflowPlan &plan;
  std::vector<Tensor> args;
  std::vector<Tensor> results;
  std::vector<CollectedValues> collected; // for results inside frames
  Continuation then;
  int depth = 0;
  explicit Activation(const DataflowPlan &plan)
      : plan(plan), results(plan.results.size()), collected(plan.results.size()) {}
};

/// One iteration of a frame: counters and arrived inputs of all its nodes, in one block of memory.
struct Iteration {
  FrameExecution *frame;
  int64_t number;
  uint32_t outstanding = 0; // nodes ready or running here, and child frames that are still active
  std::vector<FrameExecution *> children;
  NodeCounter *counters;
  Tensor *inputs;

  static Iteration *make(FrameExecution *frame, int64_t number, const PlanFrame &shape);
  void restart(int64_t number, const PlanFrame &shape);
  static void destroy(Iteration *iteration, const PlanFrame &shape);
};

/// A value that every iteration receives (a constant Enter).
struct LoopConstant {
  uint32_t enter;
  Tensor value; // empty if dead
};

/// A value for an iteration that can't start yet.
struct DeferredValue {
  uint32_t node;
  Tensor value;
};

/// One execution of a v1 frame (or of a plan outside all frames).
struct FrameExecution {
  FrameExecution(Activation *activation, uint32_t id) : activation(activation), id(id) {}
  FrameExecution(const FrameExecution &) = delete;
  FrameExecution &operator=(const FrameExecution &) = delete;

  Activation *const activation;
  const uint32_t id; // index in the plan
  Iteration *parent = nullptr;
  std::deque<Iteration *> live; // oldest first
  int64_t nextNumber = 0;
  uint32_t pendingEnters = 0;
  bool isEntered = false; // a live value has entered
  std::vector<LoopConstant> constants;
  std::vector<DeferredValue> deferred;
  std::vector<uint32_t> deadExits;
  std::vector<uint32_t> liveExits;
  std::vector<Iteration *> spare;

  const DataflowPlan &plan() const { return activation->plan; }
  const PlanFrame &shape() const { return plan().frames[id]; }
  ~FrameExecution();
};

} // namespace treadle::dataflow
