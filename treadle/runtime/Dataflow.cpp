// The main loop of a dataflow run: takes ready nodes, runs kernels, waits and ends.
#include "treadle/runtime/Dataflow.h"

#include "treadle/runtime/Cores.h"
#include "treadle/runtime/Execution.h"
#include "treadle/runtime/Sequential.h"
#include "treadle/runtime/ThreadPool.h"
#include "treadle/runtime/WaitingThreads.h"

#include <algorithm>

namespace treadle {
namespace dataflow {
namespace {

constexpr uint64_t readyPerCheck = 64; // nodes between checks of the inbox and the clock

// The inputs of a node are contiguous, so all nodes share one array of consecutive indices.
const uint32_t *consecutiveIndices(size_t count) {
  thread_local std::vector<uint32_t> row;
  while (row.size() < count)
    row.push_back(static_cast<uint32_t>(row.size()) | InputIndex::takeBit);
  return row.data();
}

} // namespace

// --- suspended and offloaded ops ---------------------------------------------------------------

void Runner::Waiting::complete(std::vector<Tensor> outputs) {
  runner->arrive({instance, std::move(outputs), nullptr});
}

void Runner::Waiting::fail(Error e) {
  runner->arrive({instance, {}, std::make_unique<Error>(std::move(e))});
}

struct Runner::Offloaded {
  Execution ctx;
  std::vector<Tensor> outputs;
  std::vector<uint32_t> indices;
};

void Runner::arrive(Arrival arrival) {
  std::lock_guard lock(mutex);
  inbox.push_back(std::move(arrival));
  hasArrivals.store(true, std::memory_order_release);
  wake.notify_one(); // under the lock: the runner may be destroyed right after
}

bool Runner::takeArrivals() {
  std::vector<Arrival> arrivals;
  {
    std::lock_guard lock(mutex);
    arrivals.swap(inbox);
    hasArrivals.store(false, std::memory_order_relaxed);
  }
  for (Arrival &a : arrivals) {
    --outstanding;
    std::erase_if(waiting, [&](const Ref<Waiting> &w) {
      bool isIt =
          w->instance.node == a.instance.node && w->instance.iteration == a.instance.iteration;
      if (isIt && run.trace) [[unlikely]] {
        const NodeInfo &info = planOf(a.instance).infos[a.instance.node];
        run.trace->addWait(info.name, info.op, w->begin, bytesOf(a.outputs));
      }
      return isIt;
    });
    clearInputs(a.instance);
    if (a.error) {
      failAt(a.instance, std::move(*a.error));
      continue;
    }
    a.outputs.resize(nodeAt(a.instance).outputCount);
    if (!error)
      propagate(a.instance, a.outputs, false);
  }
  return !arrivals.empty();
}

void Runner::waitForArrival() {
  int waker = run.onStop([this] {
    std::lock_guard lock(mutex);
    wake.notify_one();
  });
  {
    WaitScope resting;
    std::unique_lock lock(mutex);
    wake.wait(lock, [this] { return !inbox.empty() || run.isStopped(); });
  }
  run.forget(waker);
}

// After an error or a stop, cancels suspended ops and waits for offloaded ones.
void Runner::abandon() {
  for (Ref<Waiting> &w : waiting)
    if (w->claim())
      --outstanding;
  waiting.clear();
  while (outstanding > 0) {
    {
      WaitScope resting;
      std::unique_lock lock(mutex);
      wake.wait(lock, [this] { return !inbox.empty(); });
    }
    takeArrivals();
  }
}

void Runner::failAt(NodeInstance instance, Error e) {
  const NodeInfo &info = planOf(instance).infos[instance.node];
  if (!runsFunctions(nodeAt(instance), info))
    e = std::move(e).atNode(info.name, info.op);
  if (error && instance.node >= errorOrder)
    return;
  error = std::make_unique<Error>(std::move(e));
  errorOrder = instance.node;
}

// --- the loop ----------------------------------------------------------------------------------

void Runner::loop() {
  for (uint64_t count = 0; !error && !isDone(); ++count) {
    if (count % readyPerCheck == 0) {
      if (run.isStopped()) {
        error = std::make_unique<Error>(run.stopReason());
        return;
      }
      if (hasArrivals.load(std::memory_order_acquire) && takeArrivals())
        continue; // the arrival may have been the last one, or an error
    }
    if (readyHead < ready.size()) {
      Ready next = ready[readyHead++];
      if (readyHead == ready.size()) {
        ready.clear();
        readyHead = 0;
      }
      fire(next);
      continue;
    }
    if (outstanding == 0) {
      if (!endStuckFrame()) {
        error = std::make_unique<Error>(
            internal("the graph is stuck: no node is ready and no op is outstanding"));
        return;
      }
      continue;
    }
    waitForArrival();
    count = readyPerCheck - 1; // check at the next node
  }
}

Expected<std::vector<Tensor>> Runner::execute(const Plan &plan, std::vector<Tensor> args) {
  callPlan(plan, std::move(args), {}, std::atomic_ref(run.callDepth).load());
  loop();
  abandon();
  if (error)
    return Unexpected(std::move(*error));
  return takeResults(*top);
}

Runner::~Runner() {
  // Left by an exception: offloaded ops still use this object.
  if (outstanding > 0) {
    if (!error)
      error = std::make_unique<Error>(internal("the run was abandoned"));
    abandon();
  }
  frames.clear();
  activations.clear();
}

// --- nodes -------------------------------------------------------------------------------------

void Runner::clearInputs(NodeInstance instance) {
  Tensor *inputs = inputsOf(instance);
  for (uint32_t i = 0; i < nodeAt(instance).inputCount; ++i)
    inputs[i].reset();
}

void Runner::fire(Ready next) {
  NodeInstance instance{next.node, next.iteration};
  const PlanNode &node = nodeAt(instance);
  if (next.isDead) {
    clearInputs(instance);
    scratch.assign(node.outputCount, Tensor());
    return propagate(instance, {scratch.data(), node.outputCount}, true);
  }
  switch (node.kind) {
  case NodeKind::Arg: {
    int32_t argument = planOf(instance).locations[instance.node].argument;
    Tensor value = argument < 0 ? Tensor() : instance.iteration->frame->activation->args[argument];
    return propagate(instance, {&value, 1}, false);
  }
  case NodeKind::NoOp:
    return propagate(instance, {}, false);
  case NodeKind::Switch:
  case NodeKind::SwitchN:
    return runSwitch(instance);
  case NodeKind::Merge:
    return runMerge(instance);
  case NodeKind::Enter:
  case NodeKind::Exit:
  case NodeKind::NextIteration: {
    Tensor value = std::move(*inputsOf(instance));
    return propagate(instance, {&value, 1}, false);
  }
  case NodeKind::Call:
    return node.mayBlock ? startCall(instance) : runHere(instance);
  case NodeKind::While:
    return node.mayBlock ? startWhile(instance) : runHere(instance);
  case NodeKind::For:
    return node.mayBlock ? startFor(instance) : runHere(instance);
  default:
    return runHere(instance);
  }
}

// Runs the node on this thread, or offloads it if other nodes could run meanwhile. Ops that suspend
// hold no thread.
void Runner::runHere(NodeInstance instance) {
  const PlanNode &node = nodeAt(instance);
  bool isReady = readyHead < ready.size();
  if (node.waits && !node.mayBlock && (isReady || outstanding > 0))
    return offload(instance,
                   [](std::function<void()> task) { return WaitingThreads::run(std::move(task)); });
  if (node.isExpensive && !node.mayBlock && run.pool && isReady)
    return offload(instance, [this](std::function<void()> task) {
      run.pool->schedule(std::move(task));
      return true;
    });
  return runKernel(instance);
}

void Runner::prepare(Execution &ctx, NodeInstance instance, Tensor *outputs) {
  const PlanNode &node = nodeAt(instance);
  ctx.bases[0] = inputsOf(instance);
  ctx.inputIndex = consecutiveIndices(node.inputCount);
  ctx.inputCount = node.inputCount;
  ctx.outputCount = node.outputCount;
  ctx.outputs = outputs;
  ctx.boundState = node.state;
  ctx.runState = &run;
}

/// Names the loop of a frame and, for a nested loop, the iterations of the enclosing frames.
static std::string nameOf(const FrameExecution &frame) {
  const Iteration *outer = frame.parent;
  return outer && outer->frame->id
             ? str(frame.shape().name, " in ", nameOf(*outer->frame), " ", outer->number)
             : frame.shape().name;
}

void Runner::trace(NodeInstance instance, Trace::Clock::time_point begin, Trace::Work work) const {
  const DataflowPlan &plan = planOf(instance);
  const NodeInfo &info = plan.infos[instance.node];
  const FrameExecution &frame = *instance.iteration->frame;
  if (frame.id == 0)
    return run.trace->add(info.name, info.op, plan.name, begin, work);
  TracedIteration iteration{nameOf(frame), instance.iteration->number,
                            frame.shape().parallelIterations};
  run.trace->add(info.name, info.op, plan.name, begin, work, &iteration);
}

void Runner::runKernel(NodeInstance instance) {
  struct Executor final : SuspendingExecutor {
    Executor(Runner *runner, NodeInstance instance) : runner(runner), instance(instance) {}
    Ref<Suspension> suspend(OpContext &) override {
      ++runner->outstanding;
      runner->waiting.push_back(makeRef<Waiting>(runner, instance));
      return runner->waiting.back();
    }
    Runner *runner;
    NodeInstance instance;
  } executor(this, instance);
  const PlanNode &node = nodeAt(instance);
  // A nested run on this thread may use `scratch`, so the outputs move to a vector of their own.
  std::vector<Tensor> outputs = std::move(scratch);
  outputs.resize(std::max<size_t>(outputs.size(), node.outputCount));
  {
    Execution ctx;
    prepare(ctx, instance, outputs.data());
    ctx.executor = &executor;
    auto begin = Trace::now(run.trace);
    callAndCharge(node.fn, ctx);
    if (run.trace) [[unlikely]]
      trace(instance, begin, {bytesOf({outputs.data(), node.outputCount}), {}});
    if (ctx.error)
      failAt(instance, std::move(*ctx.error));
    else if (!ctx.suspension) {
      clearInputs(instance);
      propagate(instance, {outputs.data(), node.outputCount}, false);
    }
  }
  for (uint32_t i = 0; i < node.outputCount; ++i)
    outputs[i].reset();
  scratch = std::move(outputs);
}

void Runner::offload(NodeInstance instance, const Schedule &schedule) {
  const PlanNode &node = nodeAt(instance);
  auto op = std::make_shared<Offloaded>();
  op->outputs.resize(node.outputCount);
  op->indices.assign(consecutiveIndices(node.inputCount),
                     consecutiveIndices(node.inputCount) + node.inputCount);
  prepare(op->ctx, instance, op->outputs.data());
  op->ctx.inputIndex = op->indices.data();
  ++outstanding;
  bool isScheduled = schedule([this, op, instance, fn = node.fn, account = MemoryBudget::opened()] {
    MemoryBudget::Scope budget(account);
    auto begin = Trace::now(run.trace);
    callAndCharge(fn, op->ctx);
    auto suspended = Trace::now(run.trace);
    finishSuspended(op->ctx);
    if (run.trace) [[unlikely]]
      trace(instance, begin, {bytesOf(op->outputs), Trace::Clock::now() - suspended});
    arrive({instance, std::move(op->outputs), std::move(op->ctx.error)});
  });
  if (isScheduled)
    return;
  --outstanding;
  failAt(instance, resourceExhausted("can't start a thread for an op that may wait for others"));
}

void Runner::runSwitch(NodeInstance instance) {
  const PlanNode &node = nodeAt(instance);
  Tensor *inputs = inputsOf(instance);
  Expected<int> taken = node.kind == NodeKind::SwitchN
                            ? branchIndexOf(inputs[1], node.outputCount)
                            : switchPredicateOf(inputs[1]).map([](bool yes) { return int(yes); });
  if (!taken)
    return failAt(instance, std::move(taken.error()));
  scratch.assign(node.outputCount, Tensor());
  scratch[*taken] = std::move(inputs[0]);
  clearInputs(instance);
  propagate(instance, {scratch.data(), node.outputCount}, false);
}

void Runner::runMerge(NodeInstance instance) {
  const PlanNode &node = nodeAt(instance);
  Tensor *inputs = inputsOf(instance);
  for (int i = 0; i < static_cast<int>(node.inputCount); ++i)
    if (inputs[i]) {
      Tensor outputs[2] = {std::move(inputs[i]), Tensor::scalar<int32_t>(DType::Int32, i)};
      clearInputs(instance);
      return propagate(instance, {outputs, std::min<size_t>(2, node.outputCount)}, false);
    }
}

// --- calls of functions that may suspend -------------------------------------------------------

void Runner::failCall(const Continuation &then, Error e) {
  if (then.caller.iteration)
    failAt(then.caller, std::move(e));
  else
    error = std::make_unique<Error>(std::move(e));
}

void Runner::startCall(NodeInstance instance) {
  const auto &state = *static_cast<const CallState *>(nodeAt(instance).state);
  const PlanNode &node = nodeAt(instance);
  Tensor *inputs = inputsOf(instance);
  Expected<const Plan *> plan = state.plan(inputs, node.inputCount);
  if (!plan)
    return failAt(instance, std::move(plan.error()));
  size_t first = state.firstArg(), numArgs = node.inputCount - first;
  std::vector<Tensor> args(std::make_move_iterator(inputs + first),
                           std::make_move_iterator(inputs + first + numArgs));
  clearInputs(instance);
  Continuation then;
  then.caller = instance;
  callPlan(**plan, std::move(args), std::move(then),
           instance.iteration->frame->activation->depth + 1);
}

void Runner::startWhile(NodeInstance instance) {
  const auto &state = *static_cast<const WhileState *>(nodeAt(instance).state);
  size_t numVars = nodeAt(instance).inputCount;
  Expected<WhilePlans> plans = state.plans(numVars);
  if (!plans)
    return failAt(instance, state.caller.at(std::move(plans.error())));
  Tensor *inputs = inputsOf(instance);
  Continuation then;
  then.phase = Continuation::LoopCondition;
  then.caller = instance;
  then.cond = plans->cond;
  then.body = plans->body;
  then.variables.assign(std::make_move_iterator(inputs), std::make_move_iterator(inputs + numVars));
  std::vector<Tensor> args = then.variables;
  callPlan(*plans->cond, std::move(args), std::move(then),
           instance.iteration->frame->activation->depth + 1);
}

void Runner::startFor(NodeInstance instance) {
  const auto &state = *static_cast<const ForState *>(nodeAt(instance).state);
  const PlanNode &node = nodeAt(instance);
  Tensor *inputs = inputsOf(instance);
  Expected<ForRange> range = ForRange::of(inputs[0], inputs[1], inputs[2]);
  if (!range)
    return failAt(instance, state.caller.at(std::move(range.error())));
  Expected<const Plan *> body = state.body.plan(node.inputCount - 2);
  if (!body)
    return failAt(instance, state.caller.at(std::move(body.error())));
  Continuation then;
  then.phase = Continuation::ForBody;
  then.caller = instance;
  then.body = *body;
  then.range = *range;
  then.range.next -= range->delta;
  std::vector<Tensor> variables(std::make_move_iterator(inputs + 3),
                                std::make_move_iterator(inputs + node.inputCount));
  resume(std::move(then), std::move(variables), instance.iteration->frame->activation->depth + 1);
}

// Runs plans that can finish immediately one call after the other. For a dataflow plan, starts it;
// `resume` continues when it has its results.
void Runner::callPlan(const Plan &plan, std::vector<Tensor> args, Continuation then, int depth) {
  std::optional<NextCall> next = NextCall{&plan, std::move(args)};
  while (next) {
    const Plan &callee = *next->plan;
    if (depth > RunState::maxCallDepth)
      return failCall(then, recursionTooDeep(callee));
    for (size_t i = 0; i < next->args.size(); ++i)
      if (Expected<void> ok = convertArgument(callee, i, next->args[i]); !ok) {
        const NodeInfo *caller =
            then.caller.iteration ? &planOf(then.caller).infos[then.caller.node] : nullptr;
        return failCall(then, caller ? std::move(ok.error()).atNode(caller->name, caller->op)
                                     : std::move(ok.error()));
      }
    if (const auto *dataflow = DataflowPlan::from(callee))
      return begin(*dataflow, std::move(next->args), std::move(then), depth);
    Expected<std::vector<Tensor>> results = callee.run(std::move(next->args), run);
    if (!results)
      return failCall(then, std::move(results.error()));
    if (Expected<void> ok = readReferences(callee, *results); !ok)
      return failCall(then, std::move(ok.error()));
    next = advance(then, std::move(*results));
  }
}

void Runner::begin(const DataflowPlan &plan, std::vector<Tensor> args, Continuation then,
                   int depth) {
  auto owned = std::make_unique<Activation>(plan);
  Activation *activation = owned.get();
  activations.emplace(activation, std::move(owned));
  if (!then.caller.iteration)
    top = activation;
  activation->args = std::move(args);
  activation->then = std::move(then);
  activation->depth = depth;
  Iteration *first = newIteration(newFrame(activation, 0));
  ++first->outstanding;
  for (uint32_t node : plan.roots) {
    ++first->outstanding;
    ready.push_back({node, false, first});
  }
  finished(first);
}

void Runner::resume(Continuation then, std::vector<Tensor> results, int depth) {
  if (std::optional<NextCall> next = advance(then, std::move(results)))
    callPlan(*next->plan, std::move(next->args), std::move(then), depth);
}

// Processes the results of a call: returns the next call, or nullopt if the op is done.
std::optional<Runner::NextCall> Runner::advance(Continuation &then, std::vector<Tensor> results) {
  auto end = [&](std::vector<Tensor> values) {
    clearInputs(then.caller);
    propagate(then.caller, values, false);
    return std::nullopt;
  };
  switch (then.phase) {
  case Continuation::Return:
    return end(std::move(results));
  case Continuation::LoopCondition: {
    const auto &state = *static_cast<const WhileState *>(nodeAt(then.caller).state);
    Expected<bool> more = state.shouldContinue(*then.cond, results[0]);
    if (!more) {
      failAt(then.caller, std::move(more.error()));
      return std::nullopt;
    }
    if (!*more)
      return end(std::move(then.variables));
    then.phase = Continuation::LoopBody;
    return NextCall{then.body, std::move(then.variables)};
  }
  case Continuation::LoopBody:
    then.phase = Continuation::LoopCondition;
    then.variables = results;
    return NextCall{then.cond, std::move(results)};
  case Continuation::ForBody:
    break;
  }
  then.range.next += then.range.delta;
  if (then.range.isOver())
    return end(std::move(results));
  results.insert(results.begin(), then.range.index());
  return NextCall{then.body, std::move(results)};
}

} // namespace dataflow

Expected<std::vector<Tensor>> DataflowPlan::run(std::vector<Tensor> args, RunState &run) const {
  return dataflow::Runner(run).execute(*this, std::move(args));
}

} // namespace treadle
