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
const uint32_t *rowOfIndices(size_t count) {
  thread_local std::vector<uint32_t> row;
  while (row.size() < count)
    row.push_back(static_cast<uint32_t>(row.size()) | InputIndex::takeBit);
  return row.data();
}

} // namespace

// --- suspended and offloaded ops ---------------------------------------------------------------

void Runner::Waiting::complete(std::vector<Tensor> outputs) {
  runner->arrive({site, std::move(outputs), nullptr});
}

void Runner::Waiting::fail(Error e) {
  runner->arrive({site, {}, std::make_unique<Error>(std::move(e))});
}

struct Runner::Offloaded {
  Execution ctx;
  std::vector<Tensor> outputs;
  std::vector<uint32_t> indices;
};

void Runner::arrive(Arrival arrival) {
  std::lock_guard lock(mutex);
  inbox.push_back(std::move(arrival));
  inboxHasMail.store(true, std::memory_order_release);
  wake.notify_one(); // under the lock: the runner may be destroyed right after
}

bool Runner::takeArrivals() {
  std::vector<Arrival> arrivals;
  {
    std::lock_guard lock(mutex);
    arrivals.swap(inbox);
    inboxHasMail.store(false, std::memory_order_relaxed);
  }
  for (Arrival &a : arrivals) {
    --outstanding;
    std::erase_if(waiting, [&](const Ref<Waiting> &w) {
      bool isIt = w->site.node == a.site.node && w->site.iteration == a.site.iteration;
      if (isIt && run.trace) [[unlikely]] {
        const NodeInfo &info = planOf(a.site).infos[a.site.node];
        run.trace->addWait(info.name, info.op, w->begin, bytesOf(a.outputs));
      }
      return isIt;
    });
    clearInputs(a.site);
    if (a.error) {
      failAt(a.site, std::move(*a.error));
      continue;
    }
    a.outputs.resize(nodeAt(a.site).outputCount);
    if (!error)
      propagate(a.site, a.outputs, false);
  }
  return !arrivals.empty();
}

void Runner::waitForArrival() {
  int waker = run.onStop([this] {
    std::lock_guard lock(mutex);
    wake.notify_one();
  });
  {
    Resting resting;
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
      Resting resting;
      std::unique_lock lock(mutex);
      wake.wait(lock, [this] { return !inbox.empty(); });
    }
    takeArrivals();
  }
}

void Runner::failAt(Site site, Error e) {
  const NodeInfo &info = planOf(site).infos[site.node];
  if (!runsFunctions(nodeAt(site), info))
    e = std::move(e).atNode(info.name, info.op);
  if (error && site.node >= errorOrder)
    return;
  error = std::make_unique<Error>(std::move(e));
  errorOrder = site.node;
}

// --- the loop ----------------------------------------------------------------------------------

void Runner::loop() {
  for (uint64_t count = 0; !error && !isDone(); ++count) {
    if (count % readyPerCheck == 0) {
      if (run.isStopped()) {
        error = std::make_unique<Error>(run.stopReason());
        return;
      }
      if (inboxHasMail.load(std::memory_order_acquire) && takeArrivals())
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

void Runner::clearInputs(Site site) {
  Tensor *inputs = inputsOf(site);
  for (uint32_t i = 0; i < nodeAt(site).inputCount; ++i)
    inputs[i].reset();
}

void Runner::fire(Ready next) {
  Site site{next.node, next.iteration};
  const PlanNode &node = nodeAt(site);
  if (next.isDead) {
    clearInputs(site);
    scratch.assign(node.outputCount, Tensor());
    return propagate(site, {scratch.data(), node.outputCount}, true);
  }
  switch (node.kind) {
  case NodeKind::Arg: {
    int32_t argument = planOf(site).places[site.node].argument;
    Tensor value = argument < 0 ? Tensor() : site.iteration->frame->activation->args[argument];
    return propagate(site, {&value, 1}, false);
  }
  case NodeKind::NoOp:
    return propagate(site, {}, false);
  case NodeKind::Switch:
  case NodeKind::SwitchN:
    return runSwitch(site);
  case NodeKind::Merge:
    return runMerge(site);
  case NodeKind::Enter:
  case NodeKind::Exit:
  case NodeKind::NextIteration: {
    Tensor value = std::move(*inputsOf(site));
    return propagate(site, {&value, 1}, false);
  }
  case NodeKind::Call:
    return node.mayBlock ? startCall(site) : runHere(site);
  case NodeKind::While:
    return node.mayBlock ? startWhile(site) : runHere(site);
  case NodeKind::For:
    return node.mayBlock ? startFor(site) : runHere(site);
  default:
    return runHere(site);
  }
}

// Runs the node on this thread, or offloads it if other nodes could run meanwhile. Ops that suspend
// hold no thread.
void Runner::runHere(Site site) {
  const PlanNode &node = nodeAt(site);
  bool isReady = readyHead < ready.size();
  if (node.waits && !node.mayBlock && (isReady || outstanding > 0))
    return offload(site,
                   [](std::function<void()> task) { return WaitingThreads::run(std::move(task)); });
  if (node.isExpensive && !node.mayBlock && run.pool && isReady)
    return offload(site, [this](std::function<void()> task) {
      run.pool->schedule(std::move(task));
      return true;
    });
  return runKernel(site);
}

void Runner::prepare(Execution &ctx, Site site, Tensor *outputs) {
  const PlanNode &node = nodeAt(site);
  ctx.bases[0] = inputsOf(site);
  ctx.inputIndex = rowOfIndices(node.inputCount);
  ctx.inputCount = node.inputCount;
  ctx.outputCount = node.outputCount;
  ctx.outputs = outputs;
  ctx.boundState = node.state;
  ctx.runState = &run;
}

/// Names the loop of a frame and, for a nested loop, the iterations of the enclosing frames.
static std::string nameOf(const Frame &frame) {
  const Iteration *outer = frame.parent;
  return outer && outer->frame->id
             ? str(frame.shape().name, " in ", nameOf(*outer->frame), " ", outer->number)
             : frame.shape().name;
}

void Runner::trace(Site site, Trace::Clock::time_point begin, Trace::Work work) const {
  const DataflowPlan &plan = planOf(site);
  const NodeInfo &info = plan.infos[site.node];
  const Frame &frame = *site.iteration->frame;
  if (frame.id == 0)
    return run.trace->add(info.name, info.op, plan.name, begin, work);
  TracedIteration iteration{nameOf(frame), site.iteration->number,
                            frame.shape().parallelIterations};
  run.trace->add(info.name, info.op, plan.name, begin, work, &iteration);
}

void Runner::runKernel(Site site) {
  struct Executor final : SuspendingExecutor {
    Executor(Runner *runner, Site site) : runner(runner), site(site) {}
    Ref<Suspension> suspend(OpContext &) override {
      ++runner->outstanding;
      runner->waiting.push_back(makeRef<Waiting>(runner, site));
      return runner->waiting.back();
    }
    Runner *runner;
    Site site;
  } executor(this, site);
  const PlanNode &node = nodeAt(site);
  // A nested run on this thread may use `scratch`, so the outputs move to a vector of their own.
  std::vector<Tensor> outputs = std::move(scratch);
  outputs.resize(std::max<size_t>(outputs.size(), node.outputCount));
  {
    Execution ctx;
    prepare(ctx, site, outputs.data());
    ctx.executor = &executor;
    auto begin = Trace::now(run.trace);
    callCharged(node.fn, ctx);
    if (run.trace) [[unlikely]]
      trace(site, begin, {bytesOf({outputs.data(), node.outputCount}), {}});
    if (ctx.error)
      failAt(site, std::move(*ctx.error));
    else if (!ctx.suspension) {
      clearInputs(site);
      propagate(site, {outputs.data(), node.outputCount}, false);
    }
  }
  for (uint32_t i = 0; i < node.outputCount; ++i)
    outputs[i].reset();
  scratch = std::move(outputs);
}

void Runner::offload(Site site, const Schedule &schedule) {
  const PlanNode &node = nodeAt(site);
  auto op = std::make_shared<Offloaded>();
  op->outputs.resize(node.outputCount);
  op->indices.assign(rowOfIndices(node.inputCount),
                     rowOfIndices(node.inputCount) + node.inputCount);
  prepare(op->ctx, site, op->outputs.data());
  op->ctx.inputIndex = op->indices.data();
  ++outstanding;
  bool isScheduled = schedule([this, op, site, fn = node.fn, account = MemoryBudget::opened()] {
    MemoryBudget::Scope budget(account);
    auto begin = Trace::now(run.trace);
    callCharged(fn, op->ctx);
    auto suspended = Trace::now(run.trace);
    finishSuspended(op->ctx);
    if (run.trace) [[unlikely]]
      trace(site, begin, {bytesOf(op->outputs), Trace::Clock::now() - suspended});
    arrive({site, std::move(op->outputs), std::move(op->ctx.error)});
  });
  if (isScheduled)
    return;
  --outstanding;
  failAt(site, resourceExhausted("can't start a thread for an op that may wait for others"));
}

void Runner::runSwitch(Site site) {
  const PlanNode &node = nodeAt(site);
  Tensor *inputs = inputsOf(site);
  Expected<int> taken = node.kind == NodeKind::SwitchN
                            ? asChoice(inputs[1], node.outputCount)
                            : asPredicate(inputs[1]).map([](bool yes) { return int(yes); });
  if (!taken)
    return failAt(site, std::move(taken.error()));
  scratch.assign(node.outputCount, Tensor());
  scratch[*taken] = std::move(inputs[0]);
  clearInputs(site);
  propagate(site, {scratch.data(), node.outputCount}, false);
}

void Runner::runMerge(Site site) {
  const PlanNode &node = nodeAt(site);
  Tensor *inputs = inputsOf(site);
  for (int i = 0; i < static_cast<int>(node.inputCount); ++i)
    if (inputs[i]) {
      Tensor outputs[2] = {std::move(inputs[i]), Tensor::scalar<int32_t>(DType::Int32, i)};
      clearInputs(site);
      return propagate(site, {outputs, std::min<size_t>(2, node.outputCount)}, false);
    }
}

// --- calls of functions that may suspend -------------------------------------------------------

void Runner::failCall(const Continuation &then, Error e) {
  if (then.caller.iteration)
    failAt(then.caller, std::move(e));
  else
    error = std::make_unique<Error>(std::move(e));
}

void Runner::startCall(Site site) {
  const auto &state = *static_cast<const CallState *>(nodeAt(site).state);
  const PlanNode &node = nodeAt(site);
  Tensor *inputs = inputsOf(site);
  Expected<const Plan *> plan = state.plan(inputs, node.inputCount);
  if (!plan)
    return failAt(site, std::move(plan.error()));
  size_t first = state.firstArg(), numArgs = node.inputCount - first;
  std::vector<Tensor> args(std::make_move_iterator(inputs + first),
                           std::make_move_iterator(inputs + first + numArgs));
  clearInputs(site);
  Continuation then;
  then.caller = site;
  callPlan(**plan, std::move(args), std::move(then), site.iteration->frame->activation->depth + 1);
}

void Runner::startWhile(Site site) {
  const auto &state = *static_cast<const WhileState *>(nodeAt(site).state);
  size_t numVars = nodeAt(site).inputCount;
  Expected<WhilePlans> plans = state.plans(numVars);
  if (!plans)
    return failAt(site, state.caller.at(std::move(plans.error())));
  Tensor *inputs = inputsOf(site);
  Continuation then;
  then.phase = Continuation::LoopCondition;
  then.caller = site;
  then.cond = plans->cond;
  then.body = plans->body;
  then.variables.assign(std::make_move_iterator(inputs), std::make_move_iterator(inputs + numVars));
  std::vector<Tensor> args = then.variables;
  callPlan(*plans->cond, std::move(args), std::move(then),
           site.iteration->frame->activation->depth + 1);
}

void Runner::startFor(Site site) {
  const auto &state = *static_cast<const ForState *>(nodeAt(site).state);
  const PlanNode &node = nodeAt(site);
  Tensor *inputs = inputsOf(site);
  Expected<ForRange> range = ForRange::of(inputs[0], inputs[1], inputs[2]);
  if (!range)
    return failAt(site, state.caller.at(std::move(range.error())));
  Expected<const Plan *> body = state.body.plan(node.inputCount - 2);
  if (!body)
    return failAt(site, state.caller.at(std::move(body.error())));
  Continuation then;
  then.phase = Continuation::ForBody;
  then.caller = site;
  then.body = *body;
  then.range = *range;
  then.range.next -= range->delta;
  std::vector<Tensor> variables(std::make_move_iterator(inputs + 3),
                                std::make_move_iterator(inputs + node.inputCount));
  resume(std::move(then), std::move(variables), site.iteration->frame->activation->depth + 1);
}

// Runs plans that can finish immediately one call after the other. For a dataflow plan, starts it;
// `resume` continues when it has its results.
void Runner::callPlan(const Plan &plan, std::vector<Tensor> args, Continuation then, int depth) {
  std::optional<NextCall> next = NextCall{&plan, std::move(args)};
  while (next) {
    const Plan &callee = *next->plan;
    if (depth > RunState::maxCallDepth)
      return failCall(then, tooDeep(callee));
    for (size_t i = 0; i < next->args.size(); ++i)
      if (Expected<void> ok = acceptArgument(callee, i, next->args[i]); !ok) {
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
    Expected<bool> more = state.goesOn(*then.cond, results[0]);
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
