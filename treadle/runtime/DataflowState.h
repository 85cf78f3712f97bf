// Internal to the runtime: what a dataflow run remembers. One thread owns all of it.
#pragma once

#include "treadle/runtime/DataflowPlan.h"
#include "treadle/runtime/FunctionOps.h"

#include <cstdlib>
#include <deque>
#include <map>
#include <memory>
#include <vector>

namespace treadle::dataflow {

struct Frame;
struct Iteration;

/// A node of a plan, in an iteration.
struct Site {
  uint32_t node;
  Iteration *iteration;
};

/// What to do when a called plan has given its results.
struct Continuation {
  enum Phase : uint8_t { Return, LoopCondition, LoopBody, ForBody } phase = Return;
  Site caller{};
  std::vector<Tensor> variables; // of a While
  const Plan *cond = nullptr, *body = nullptr;
  ForRange range; // of a For: what is left of it
};

/// Values of one result, by the iterations (outermost frame first) that gave them.
struct Gathered {
  std::map<std::vector<int64_t>, Tensor> byIteration;
};

/// A plan being run: the graph itself, or a function that it called and that may wait.
struct Activation {
  const DataflowPlan &plan;
  std::vector<Tensor> args;
  std::vector<Tensor> results;
  std::vector<Gathered> gathered; // for results inside frames
  Continuation then;
  int depth = 0;
  explicit Activation(const DataflowPlan &plan)
      : plan(plan), results(plan.results.size()), gathered(plan.results.size()) {}
};

/// One iteration of a frame: counters and arrived inputs of all its nodes, in one block of memory.
struct Iteration {
  Frame *frame;
  int64_t number;
  uint32_t outstanding = 0; // nodes ready or running here, and child frames that aren't done
  std::vector<Frame *> children;
  NodeCounter *counters;
  Tensor *inputs;

  static Iteration *make(Frame *frame, int64_t number, const PlanFrame &shape);
  void restart(int64_t number, const PlanFrame &shape);
  static void destroy(Iteration *iteration, const PlanFrame &shape);
};

/// A value that enters every iteration.
struct LoopConstant {
  uint32_t enter;
  Tensor value; // empty: dead
};

/// A value for an iteration that may not start yet.
struct Carried {
  uint32_t node;
  Tensor value;
};

/// One execution of a v1 frame (or of a plan outside all frames).
struct Frame {
  Frame(Activation *activation, uint32_t id) : activation(activation), id(id) {}
  Frame(const Frame &) = delete;
  Frame &operator=(const Frame &) = delete;

  Activation *const activation;
  const uint32_t id; // in the plan
  Iteration *parent = nullptr;
  std::deque<Iteration *> live; // oldest first
  int64_t nextNumber = 0;
  uint32_t pendingEnters = 0;
  bool isEntered = false; // a value came in, alive
  std::vector<LoopConstant> constants;
  std::vector<Carried> carried;
  std::vector<uint32_t> deadExits;
  std::vector<uint32_t> liveExits;
  std::vector<Iteration *> spare;

  const DataflowPlan &plan() const { return activation->plan; }
  const PlanFrame &shape() const { return plan().frames[id]; }
  ~Frame();
};

} // namespace treadle::dataflow
