#include "treadle/runtime/Sequential.h"

#include "treadle/runtime/CachedPrefix.h"
#include "treadle/runtime/Execution.h"
#include "treadle/runtime/FunctionOps.h"
#include "treadle/runtime/PlanBuilder.h"
#include "treadle/runtime/Run.h"
#include "treadle/runtime/Trace.h"

#include <algorithm>
#include <cstring>
#include <ranges>

namespace treadle {

// --- frames ------------------------------------------------------------------------------------

FrameStack &FrameStack::ofThisThread() {
  thread_local FrameStack stack;
  return stack;
}

FrameStack::~FrameStack() {
  for (Chunk &chunk : chunks)
    std::free(chunk.slots);
}

Tensor *FrameStack::push(uint32_t count) {
  if (chunks.empty() || chunks.back().capacity - chunks.back().used < count) {
    uint32_t capacity = std::max<uint32_t>(count, 4096);
    auto *slots = static_cast<Tensor *>(std::malloc(capacity * sizeof(Tensor)));
    if (!slots)
      throw std::bad_alloc();
    chunks.push_back({slots, capacity, 0});
  }
  Chunk &chunk = chunks.back();
  Tensor *slots = chunk.slots + chunk.used;
  chunk.used += count;
  std::memset(static_cast<void *>(slots), 0, count * sizeof(Tensor));
  return slots;
}

void FrameStack::pop(uint32_t count) {
  chunks.back().used -= count;
  // The first chunk is kept for the next run; others are freed with their last frame.
  if (chunks.back().used == 0 && chunks.size() > 1) {
    std::free(chunks.back().slots);
    chunks.pop_back();
  }
}

// --- the loop ----------------------------------------------------------------------------------

namespace {

bool failAt(const SequentialPlan &plan, const PlanNode &node, Execution &ctx,
            std::unique_ptr<Error> &error) {
  const NodeInfo &info = plan.infos[node.info];
  error = std::move(ctx.error);
  if (!runsFunctions(node, info))
    *error = std::move(*error).atNode(info.name, info.op);
  return false;
}

void clearAfter(const SequentialPlan &plan, const PlanNode &node, Tensor *slots,
                const uint32_t *inputs) {
  for (uint32_t i = 0; i < node.inputCount; ++i)
    if (inputs[i] & InputIndex::clearBit)
      slots[inputs[i] & InputIndex::slotMask].reset();
  if (node.clearsOutputs) [[unlikely]]
    for (uint32_t o = 0; o < node.outputCount; ++o)
      if (plan.isOutputUnused[node.outputBegin + o])
        slots[node.outputBegin + o].reset();
}

// A node is dead if a data input is empty or a control input was dead. A Merge is dead only if all
// its data inputs are; its control inputs only delay it.
bool isDead(const SequentialPlan &plan, const PlanNode &node, const Execution &ctx,
            const std::vector<bool> &deadNodes) {
  auto isEmpty = [&](int i) { return !ctx.input(i); };
  auto inputs = std::views::iota(0, ctx.numInputs());
  if (!needsAllInputs(node.kind))
    return std::ranges::all_of(inputs, isEmpty);
  const uint32_t *controls = plan.controlBegin.data() + node.info;
  for (uint32_t k = controls[0]; k < controls[1]; ++k)
    if (deadNodes[plan.controlInputs[k]])
      return true;
  return std::ranges::any_of(inputs, isEmpty);
}

/// Without tracing and memory accounting, the loop has no code for them: with exception handlers in
/// it, the compiler would no longer inline this.
[[gnu::always_inline]] inline void runNode(const PlanNode &node, Execution &ctx) {
  callKernel(node.fn, ctx);
  if (ctx.suspension) [[unlikely]]
    finishSuspended(ctx);
}

/// Runs a node of a run that is traced, or whose strings are charged to an account.
void runWatched(const SequentialPlan &plan, const PlanNode &node, Execution &ctx) {
  Trace *trace = ctx.run().trace;
  Trace::Clock::time_point begin = Trace::now(trace);
  callAndCharge(node.fn, ctx);
  Trace::Work work;
  if (ctx.suspension) {
    Trace::Clock::time_point suspended = Trace::now(trace);
    finishSuspended(ctx);
    work.waited = Trace::now(trace) - suspended;
  }
  if (!trace)
    return;
  work.bytes = bytesOf({ctx.outputs, ctx.outputCount});
  trace->add(plan.infos[node.info].name, plan.infos[node.info].op, plan.name, begin, work);
}

bool isWatched(const RunState &run) { return run.trace || MemoryBudget::opened(); }

template <bool hasDeadness, bool isWatched>
bool runAll(const SequentialPlan &plan, const NodeList &list, Tensor *slots, RunState &run,
            std::unique_ptr<Error> &error) {
  Execution ctx;
  ctx.bases[0] = slots;
  ctx.bases[1] = list.constants;
  ctx.runState = &run;
  std::vector<bool> deadNodes(hasDeadness ? plan.infos.size() : 0);
  const PlanNode *end = list.nodes.data() + list.nodes.size();
  for (const PlanNode *node = list.nodes.data(); node != end; ++node) {
    ctx.inputIndex = list.inputIndices + node->inputBegin;
    ctx.inputCount = node->inputCount;
    ctx.outputCount = node->outputCount;
    ctx.outputs = slots + node->outputBegin;
    ctx.boundState = node->state;
    bool dead = false;
    if constexpr (hasDeadness) {
      dead = !node->runsDead && isDead(plan, *node, ctx, deadNodes);
      deadNodes[node->info] = dead;
    }
    if (!dead) {
      if (node->isExpensive && run.isStopped()) [[unlikely]] {
        error = std::make_unique<Error>(run.stopReason());
        return false;
      }
      if constexpr (isWatched)
        runWatched(plan, *node, ctx);
      else
        runNode(*node, ctx);
      if (ctx.error) [[unlikely]]
        return failAt(plan, *node, ctx, error);
    }
    clearAfter(plan, *node, slots, ctx.inputIndex);
  }
  return true;
}

} // namespace

bool SequentialPlan::runNodes(const NodeList &list, Tensor *slots, RunState &run,
                              std::unique_ptr<Error> &error) const {
  if (hasDeadness)
    return isWatched(run) ? runAll<true, true>(*this, list, slots, run, error)
                          : runAll<true, false>(*this, list, slots, run, error);
  return isWatched(run) ? runAll<false, true>(*this, list, slots, run, error)
                        : runAll<false, false>(*this, list, slots, run, error);
}

bool SequentialPlan::runNodes(Tensor *slots, RunState &run, std::unique_ptr<Error> &error) const {
  if (run.isStopped()) [[unlikely]] {
    error = std::make_unique<Error>(run.stopReason());
    return false;
  }
  if (cachedPrefix)
    if (auto values = cachedPrefix->values(*this, slots, run)) {
      CachedPrefix::placeResults(*values, slots);
      return runNodes(CachedPrefix::rest(*values), slots, run, error);
    }
  return runNodes({nodes, inputIndices.data(), constants.data()}, slots, run, error);
}

Expected<std::vector<Tensor>> SequentialPlan::run(std::vector<Tensor> args, RunState &run) const {
  SlotFrame frame(numSlots);
  std::ranges::move(args, frame.slots);
  std::unique_ptr<Error> error;
  if (!runNodes(frame.slots, run, error))
    return Unexpected(std::move(*error));
  std::vector<Tensor> given(results.size());
  for (size_t r = 0; r < given.size(); ++r) {
    given[r] = takeResult(frame.slots, r);
    if (!given[r])
      return Unexpected(invalidArgument("'", results[r].name, "'", branchNotTaken));
  }
  return given;
}

// --- v1 conditionals ---------------------------------------------------------------------------

namespace {

void runNothing(OpContext &) {}

// The output that isn't taken stays empty, which means dead here.
void runSwitch(OpContext &ctx) {
  if (std::optional<bool> taken = ctx.check(switchPredicateOf(ctx.input(1))))
    ctx.setOutput(*taken ? 1 : 0, ctx.takeInput(0));
}

void runSwitchN(OpContext &ctx) {
  if (std::optional<int> taken =
          ctx.check(branchIndexOf(ctx.input(1), static_cast<size_t>(ctx.numOutputs()))))
    ctx.setOutput(*taken, ctx.takeInput(0));
}

void runMerge(OpContext &ctx) {
  for (int i = 0; i < ctx.numInputs(); ++i)
    if (ctx.input(i)) {
      ctx.setOutput(0, ctx.takeInput(i));
      if (ctx.numOutputs() > 1)
        ctx.setOutput(1, Tensor::scalar<int32_t>(DType::Int32, i));
      return;
    }
}

} // namespace

KernelFn plan::controlKernel(NodeKind kind) {
  switch (kind) {
  case NodeKind::NoOp:
    return runNothing;
  case NodeKind::Switch:
    return runSwitch;
  case NodeKind::SwitchN:
    return runSwitchN;
  case NodeKind::Merge:
    return runMerge;
  default:
    return nullptr;
  }
}

} // namespace treadle
