// The loop of a dataflow run: taking ready nodes, running kernels, waiting, ending.
#include "treadle/runtime/Dataflow.h"

#include "treadle/runtime/Sequential.h"
#include "treadle/runtime/ThreadPool.h"

#include <algorithm>

namespace treadle {
namespace dataflow {
namespace {

constexpr uint64_t readyPerCheck = 64; // nodes between looks at the inbox and the clock

// Every node has its inputs in a row of its own, so all nodes share one row of indices.
const uint32_t *rowOfIndices(size_t count) {
  thread_local std::vector<uint32_t> row;
  while (row.size() < count)
    row.push_back(static_cast<uint32_t>(row.size()) | InputIndex::takeBit);
  return row.data();
}

} // namespace

// --- ops that wait, and ops on other threads ---------------------------------------------------

void Runner::Waiting::complete(std::vector<Tensor> outputs) {
  runner->arrive({site, std::move(outputs), nullptr});
}

void Runner::Waiting::fail(Error e) {
  runner->arrive({site, {}, std::make_unique<Error>(std::move(e))});
}

struct Runner::Offloaded {
  OpContext ctx;
  std::vector<Tensor> outputs;
  std::vector<uint32_t> indices;
};

void Runner::arrive(Arrival arrival) {
  std::lock_guard lock(mutex);
  inbox.push_back(std::move(arrival));
  inboxHasMail.store(true, std::memory_order_release);
  wake.notify_one(); // under the lock: the runner may be gone right after
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
      return w->site.node == a.site.node && w->site.iteration == a.site.iteration;
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
    std::unique_lock lock(mutex);
    wake.wait(lock, [this] { return !inbox.empty() || run.isStopped(); });
  }
  run.forget(waker);
}

// After an error or a stop: what waits is cancelled, what runs elsewhere is waited for.
void Runner::abandon() {
  for (Ref<Waiting> &w : waiting)
    if (w->claim())
      --outstanding;
  waiting.clear();
  while (outstanding > 0) {
    {
      std::unique_lock lock(mutex);
      wake.wait(lock, [this] { return !inbox.empty(); });
    }
    takeArrivals();
  }
}

void Runner::failAt(Site site, Error e) {
  const NodeInfo &info = planOf(site).infos[nodeAt(site).info];
  if (nodeAt(site).kind != NodeKind::Call && nodeAt(site).kind != NodeKind::While &&
      nodeAt(site).kind != NodeKind::For)
    e = std::move(e).atNode(info.name, info.op);
  uint64_t order = info.programOrder;
  if (error && order >= errorOrder)
    return;
  error = std::make_unique<Error>(std::move(e));
  errorOrder = order;
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
        continue; // what arrived may be the end, or an error
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
        error = std::make_unique<Error>(internal(
            "the graph stopped before its end: nothing is ready and nothing is waited for"));
        return;
      }
      continue;
    }
    waitForArrival();
    count = readyPerCheck - 1; // look at once
  }
}

Expected<std::vector<Tensor>> Runner::execute(const Plan &plan, std::vector<Tensor> args) {
  callPlan(plan, std::move(args), {}, run.callDepth);
  loop();
  abandon();
  if (error)
    return Unexpected(std::move(*error));
  std::vector<Tensor> results = std::move(top->results);
  for (size_t r = 0; r < results.size(); ++r) {
    if (!top->gathered.empty() && !top->gathered[r].byIteration.empty()) {
      Expected<Tensor> value = gather(plan.results[r], top->gathered[r]);
      if (!value)
        return Unexpected(std::move(value.error()));
      results[r] = std::move(*value);
    }
    if (!results[r] && plan.results[r].iterations.empty())
      return Unexpected(invalidArgument("'", plan.results[r].name,
                                        "' has no value: it is on a branch that was not taken"));
    if (!results[r])
      return Unexpected(outOfRange("'", plan.results[r].name,
                                   "' has no value in the iteration asked for"));
  }
  return results;
}

Runner::~Runner() {
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
    Tensor value = planOf(site).argOf[site.node] < 0
                       ? Tensor()
                       : site.iteration->frame->activation->args[planOf(site).argOf[site.node]];
    return propagate(site, {&value, 1}, false);
  }
  case NodeKind::NoOp:
    return propagate(site, {}, false);
  case NodeKind::Switch:
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
    return node.mayBlock ? startCall(site) : runKernel(site);
  case NodeKind::While:
    return node.mayBlock ? startWhile(site) : runKernel(site);
  default:
    if (node.isExpensive && run.pool && readyHead < ready.size())
      return offload(site);
    return runKernel(site);
  }
}

void Runner::prepare(OpContext &ctx, Site site, Tensor *outputs) {
  const PlanNode &node = nodeAt(site);
  ctx.bases[0] = inputsOf(site);
  ctx.inputIndex = rowOfIndices(node.inputCount);
  ctx.inputCount = node.inputCount;
  ctx.outputCount = node.outputCount;
  ctx.outputs = outputs;
  ctx.boundState = node.state;
  ctx.runState = &run;
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
  // A nested run of this thread may use `scratch`, so the outputs stand elsewhere meanwhile.
  std::vector<Tensor> outputs = std::move(scratch);
  outputs.resize(std::max<size_t>(outputs.size(), node.outputCount));
  {
    OpContext ctx;
    prepare(ctx, site, outputs.data());
    ctx.executor = &executor;
    node.fn(ctx);
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

void Runner::offload(Site site) {
  const PlanNode &node = nodeAt(site);
  auto op = std::make_shared<Offloaded>();
  op->outputs.resize(node.outputCount);
  op->indices.assign(rowOfIndices(node.inputCount), rowOfIndices(node.inputCount) + node.inputCount);
  prepare(op->ctx, site, op->outputs.data());
  op->ctx.inputIndex = op->indices.data();
  ++outstanding;
  run.pool->schedule([this, op, site, fn = node.fn] {
    fn(op->ctx);
    finishSuspended(op->ctx);
    arrive({site, std::move(op->outputs), std::move(op->ctx.error)});
  });
}

void Runner::runSwitch(Site site) {
  const PlanNode &node = nodeAt(site);
  Tensor *inputs = inputsOf(site);
  const Tensor &selector = inputs[1];
  bool isBool = selector && selector.isScalar() && selector.dtype() == DType::Bool;
  bool isIndex = selector && selector.isScalar() && selector.dtype() == DType::Int32;
  if (!isBool && !isIndex)
    return failAt(site, invalidArgument("the predicate must be a bool scalar, found ",
                                        tensorTypeText(selector)));
  int taken = isBool ? selector.scalarValue<bool>() : selector.scalarValue<int32_t>();
  if (taken < 0 || taken >= node.outputCount)
    taken = node.outputCount - 1;
  scratch.assign(node.outputCount, Tensor());
  scratch[taken] = std::move(inputs[0]);
  clearInputs(site);
  propagate(site, {scratch.data(), node.outputCount}, false);
}

void Runner::runMerge(Site site) {
  const PlanNode &node = nodeAt(site);
  Tensor *inputs = inputsOf(site);
  for (int i = 0; i < node.inputCount; ++i)
    if (inputs[i]) {
      Tensor outputs[2] = {std::move(inputs[i]), Tensor::scalar<int32_t>(DType::Int32, i)};
      clearInputs(site);
      return propagate(site, {outputs, std::min<size_t>(2, node.outputCount)}, false);
    }
}

// --- calls of functions that may wait ----------------------------------------------------------

void Runner::startCall(Site site) {
  const auto &state = *static_cast<const CallState *>(nodeAt(site).state);
  const PlanNode &node = nodeAt(site);
  Tensor *inputs = inputsOf(site);
  Expected<const Callee *> callee = state.choose(inputs[0]);
  if (!callee)
    return failAt(site, std::move(callee.error()).atNode(state.caller.name, state.caller.op));
  size_t first = state.firstArg(), numArgs = node.inputCount - first;
  Expected<const Plan *> plan = (*callee)->plan(numArgs, node.outputCount);
  if (!plan)
    return failAt(site, std::move(plan.error()).atNode(state.caller.name, state.caller.op));
  std::vector<Tensor> args(std::make_move_iterator(inputs + first),
                           std::make_move_iterator(inputs + first + numArgs));
  clearInputs(site);
  int depth = site.iteration->frame->activation->depth + 1;
  callPlan(**plan, std::move(args), {Continuation::Return, site, {}, nullptr, nullptr}, depth);
}

void Runner::startWhile(Site site) {
  const auto &state = *static_cast<const WhileState *>(nodeAt(site).state);
  size_t numVars = nodeAt(site).inputCount;
  Expected<const Plan *> cond = state.cond.plan(numVars, 1);
  Expected<const Plan *> body = state.body.plan(numVars, numVars);
  for (auto *plan : {&cond, &body})
    if (!*plan)
      return failAt(site, std::move(plan->error()).atNode(state.caller.name, state.caller.op));
  Tensor *inputs = inputsOf(site);
  std::vector<Tensor> vars(std::make_move_iterator(inputs),
                           std::make_move_iterator(inputs + numVars));
  std::vector<Tensor> args = vars;
  int depth = site.iteration->frame->activation->depth + 1;
  callPlan(**cond, std::move(args),
           {Continuation::LoopCondition, site, std::move(vars), *cond, *body}, depth);
}

void Runner::callPlan(const Plan &plan, std::vector<Tensor> args, Continuation then, int depth) {
  bool isTop = !then.caller.iteration;
  auto fail = [&](Error e) {
    if (isTop)
      error = std::make_unique<Error>(std::move(e));
    else
      failAt(then.caller, std::move(e));
  };
  if (depth > RunState::maxCallDepth)
    return fail(resourceExhausted("function '", plan.name, "' was called inside more than ",
                                  RunState::maxCallDepth,
                                  " other calls; it may call itself without end"));
  for (size_t i = 0; i < args.size(); ++i)
    if (Expected<void> ok = checkArgument(plan, i, args[i]); !ok)
      return fail(std::move(ok.error()));
  if (plan.isSequential) {
    Expected<std::vector<Tensor>> results = runPlan(plan, std::move(args), run);
    if (!results)
      return fail(std::move(results.error()));
    return resume(std::move(then), std::move(*results), depth);
  }
  auto owned = std::make_unique<Activation>(plan);
  Activation *activation = owned.get();
  activations.emplace(activation, std::move(owned));
  activation->args = std::move(args);
  activation->then = std::move(then);
  activation->depth = depth;
  if (isTop) {
    top = activation;
    activation->gathered.resize(plan.results.size());
  }
  auto root = std::make_unique<Frame>();
  root->activation = activation;
  root->id = 0;
  Frame *frame = root.get();
  frames.emplace(frame, std::move(root));
  Iteration *first = newIteration(frame);
  ++first->outstanding;
  for (uint32_t node : plan.roots) {
    ++first->outstanding;
    ready.push_back({node, false, first});
  }
  finished(first);
}

void Runner::resume(Continuation then, std::vector<Tensor> results, int depth) {
  switch (then.phase) {
  case Continuation::Return:
    clearInputs(then.caller);
    return propagate(then.caller, results, false);
  case Continuation::LoopCondition: {
    Expected<bool> more = isTrue(results[0]);
    if (!more)
      return failAt(then.caller, std::move(more.error()));
    if (!*more) {
      clearInputs(then.caller);
      return propagate(then.caller, then.variables, false);
    }
    const Plan &body = *then.body;
    std::vector<Tensor> args = std::move(then.variables);
    then.phase = Continuation::LoopBody;
    return callPlan(body, std::move(args), std::move(then), depth);
  }
  case Continuation::LoopBody: {
    const Plan &cond = *then.cond;
    std::vector<Tensor> args = results;
    then.variables = std::move(results);
    then.phase = Continuation::LoopCondition;
    return callPlan(cond, std::move(args), std::move(then), depth);
  }
  }
}

} // namespace dataflow

// --- entry -------------------------------------------------------------------------------------

namespace {

Expected<std::vector<Tensor>> runSequentialPlan(const Plan &plan, std::vector<Tensor> args,
                                                RunState &run) {
  Frame frame(plan.numSlots);
  std::move(args.begin(), args.end(), frame.slots);
  std::unique_ptr<Error> error;
  if (!runNodes(plan, frame.slots, run, error))
    return Unexpected(std::move(*error));
  std::vector<Tensor> results(plan.results.size());
  for (size_t r = 0; r < results.size(); ++r) {
    uint32_t index = plan.resultIndices[r], slot = index & InputIndex::slotMask;
    if (index & InputIndex::constantBit)
      results[r] = plan.constants[slot];
    else if (index & InputIndex::takeBit)
      results[r] = std::move(frame.slots[slot]);
    else
      results[r] = frame.slots[slot];
    if (!results[r])
      return Unexpected(invalidArgument("'", plan.results[r].name,
                                        "' has no value: it is on a branch that was not taken"));
  }
  return results;
}

} // namespace

Expected<std::vector<Tensor>> runPlan(const Plan &plan, std::vector<Tensor> args, RunState &run) {
  if (plan.isSequential)
    return runSequentialPlan(plan, std::move(args), run);
  dataflow::Runner runner(run);
  return runner.execute(plan, std::move(args));
}

} // namespace treadle
