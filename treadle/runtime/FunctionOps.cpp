#include "treadle/runtime/FunctionOps.h"

#include "treadle/ops/OpTable.h"
#include "treadle/runtime/Execution.h"
#include "treadle/runtime/PlanBuilder.h"
#include "treadle/runtime/Run.h"
#include "treadle/runtime/Sequential.h"
#include "treadle/runtime/Trace.h"
#include "treadle/runtime/Variable.h"

#include <algorithm>
#include <atomic>
#include <cstring>

namespace treadle {

// --- callees and states ------------------------------------------------------------------------

Expected<void> Callee::check(const Plan &p, size_t numArgs) const {
  if (p.argTypes.size() != numArgs)
    return Unexpected(invalidArgument("function '", function.name, "' takes ", p.argTypes.size(),
                                      " arguments, but is called with ", numArgs));
  if (p.results.size() != resultTypes.size())
    return Unexpected(invalidArgument("function '", function.name, "' returns ", p.results.size(),
                                      " results, expected ", resultTypes.size()));
  for (size_t r = 0; r < resultTypes.size(); ++r)
    if (resultTypes[r].dtype != DType::Invalid && p.resultTypes[r].dtype != resultTypes[r].dtype)
      return Unexpected(invalidArgument("function '", function.name, "' returns ",
                                        dtypeName(p.resultTypes[r].dtype), " as result ", r,
                                        ", expected ", dtypeName(resultTypes[r].dtype)));
  return {};
}

Expected<const Plan *> Callee::plan(size_t numArgs) const {
  if (const Plan *p = cached.load(std::memory_order_acquire))
    return p;
  if (!library)
    return Unexpected(notFound("function '", function.name, "' is not in the graph's library"));
  FunctionRef meant = function;
  if (isGradient)
    meant = {TREADLE_TRY(library->gradientOf(function.name)), nullptr};
  Expected<const Plan *> found = library->plan(meant, mode);
  if (!found)
    return found;
  TREADLE_TRY(check(**found, numArgs));
  cached.store(*found, std::memory_order_release);
  return found;
}

namespace {

bool hasReferences(const std::vector<ValueType> &types) {
  return std::ranges::any_of(types, [](ValueType t) { return t.isRef; });
}

Expected<void> readReference(Tensor &value) {
  Tensor reference = std::move(value);
  value = refVariable(reference).read();
  if (!value)
    return Unexpected(uninitialized(refVariable(reference)));
  return {};
}

} // namespace

Expected<bool> WhileState::shouldContinue(const Plan &cond, const Tensor &result) const {
  if (isFrame)
    return switchPredicateOf(result).map_error(
        [&](Error error) { return std::move(error).atNode(cond.results[0].name, "LoopCond"); });
  return isTrue(result).map_error([&](Error error) { return caller.at(std::move(error)); });
}

Expected<void> convertArgument(const Plan &plan, size_t i, Tensor &value) {
  ValueType want = plan.argTypes[i];
  if (!value)
    return Unexpected(
        invalidArgument("argument ", i, " of function '", plan.name, "'", branchNotTaken));
  if (value.dtype() != want.dtype)
    return Unexpected(invalidArgument("argument ", i, " of function '", plan.name, "' is ",
                                      tensorTypeText(value), ", expected ", dtypeName(want.dtype)));
  if (value.isRef() == want.isRef) [[likely]]
    return {};
  if (want.isRef)
    return Unexpected(invalidArgument("argument ", i, " of function '", plan.name,
                                      "' is a value, expected a reference to a variable"));
  return readReference(value);
}

Expected<void> readReferences(const Plan &plan, std::span<Tensor> results) {
  for (size_t r = 0; r < results.size(); ++r)
    if (plan.resultTypes[r].isRef && results[r] && results[r].isRef())
      TREADLE_TRY(readReference(results[r]));
  return {};
}

Error deadResult(const Plan &plan, size_t r, std::string_view why) {
  return invalidArgument("result '", plan.results[r].name, "' of function '", plan.name, "'", why);
}

Error recursionTooDeep(const Plan &plan) {
  return resourceExhausted("function '", plan.name, "' is called inside more than ",
                           RunState::maxCallDepth, " other calls; it may recurse infinitely");
}

Expected<const Callee *> CallState::choose(const Tensor &selector) const {
  if (choice == Case)
    return branchIndexOf(selector, functions.size()).map([&](int i) { return &functions[i]; });
  return (choice == If ? isTrue(selector) : switchPredicateOf(selector)).map([&](bool yes) {
    return &functions[yes ? 0 : 1];
  });
}

Expected<const Plan *> CallState::plan(const Tensor *selector, size_t numInputs) const {
  const Callee *callee = &functions[0];
  if (choice != Always) {
    Expected<const Callee *> chosen = choose(*selector);
    if (!chosen)
      return Unexpected(caller.at(std::move(chosen.error())));
    callee = *chosen;
  }
  Expected<const Plan *> plan = callee->plan(numInputs - firstArg());
  if (!plan)
    plan.error() = caller.at(std::move(plan.error()));
  return plan;
}

static Expected<void> checkLoopTypes(const Plan &cond, const Plan &body) {
  for (size_t i = 0; i < body.argTypes.size(); ++i)
    if (body.argTypes[i].dtype != body.resultTypes[i].dtype ||
        body.argTypes[i].dtype != cond.argTypes[i].dtype)
      return Unexpected(invalidArgument(
          "loop variable ", i, " is ", dtypeName(body.argTypes[i].dtype), " for the body '",
          body.name, "', which returns ", dtypeName(body.resultTypes[i].dtype), "; the condition '",
          cond.name, "' takes ", dtypeName(cond.argTypes[i].dtype)));
  return {};
}

Expected<WhilePlans> WhileState::plans(size_t numVars) const {
  Expected<const Plan *> condPlan = cond.plan(numVars), bodyPlan = body.plan(numVars);
  for (auto *plan : {&condPlan, &bodyPlan})
    if (!*plan)
      return Unexpected(std::move(plan->error()));
  return checkLoopTypes(**condPlan, **bodyPlan).map([&] {
    return WhilePlans{*condPlan, *bodyPlan};
  });
}

Expected<ForRange> ForRange::of(const Tensor &start, const Tensor &limit, const Tensor &delta) {
  for (const Tensor *t : {&start, &limit, &delta})
    if (!t->isScalar() || t->dtype() != DType::Int32)
      return Unexpected(invalidArgument("start, limit and delta must be int32 scalars, found ",
                                        tensorTypeText(*t)));
  ForRange range{start.scalarValue<int32_t>(), limit.scalarValue<int32_t>(),
                 delta.scalarValue<int32_t>()};
  bool isForwards = range.next < range.limit;
  if (range.next != range.limit && (range.delta == 0 || (range.delta > 0) != isForwards))
    return Unexpected(invalidArgument("a loop from ", range.next, " to ", range.limit, " by ",
                                      range.delta, " never ends; change the sign of delta"));
  if (range.next == range.limit && range.delta == 0)
    range.delta = 1;
  return range;
}

// --- kernels -----------------------------------------------------------------------------------

namespace {

bool succeed(OpContext &ctx, Expected<void> result) {
  if (!result)
    ctx.fail(std::move(result.error()));
  return result.has_value();
}

class DepthGuard {
public:
  explicit DepthGuard(RunState &run) : depth(run.callDepth), own(++depth) {}
  ~DepthGuard() { --depth; }
  bool isTooDeep() const { return own > RunState::maxCallDepth; }

private:
  // Several threads may call functions in the same run.
  std::atomic_ref<int> depth;
  const int own;
};

/// Runs a plan over a frame that holds its arguments. Returns false after a failure.
bool runInFrame(const SequentialPlan &plan, SlotFrame &frame, std::span<Tensor> results,
                OpContext &ctx) {
  if (!plan.runNodes(frame.slots, ctx.run(), Execution::of(ctx).error))
    return false;
  for (size_t r = 0; r < results.size(); ++r) {
    results[r] = plan.takeResult(frame.slots, r);
    if (!results[r]) {
      ctx.fail(deadResult(plan, r));
      return false;
    }
  }
  return succeed(ctx, readReferences(plan, results));
}

bool callInFrame(const SequentialPlan &plan, SlotFrame &frame, std::span<Tensor> results,
                 OpContext &ctx) {
  DepthGuard depth(ctx.run());
  if (!depth.isTooDeep())
    return runInFrame(plan, frame, results, ctx);
  ctx.fail(recursionTooDeep(plan));
  return false;
}

} // namespace

bool runFunction(const Plan &plan, std::span<Tensor> args, std::span<Tensor> results,
                 OpContext &ctx) {
  if (const auto *sequential = SequentialPlan::from(plan)) {
    SlotFrame frame(sequential->numSlots);
    std::ranges::move(args, frame.slots);
    return runInFrame(*sequential, frame, results, ctx);
  }
  std::vector<Tensor> values(std::make_move_iterator(args.begin()),
                             std::make_move_iterator(args.end()));
  auto outputs = ctx.check(plan.run(std::move(values), ctx.run()));
  if (!outputs)
    return false;
  std::ranges::move(*outputs, results.begin());
  return succeed(ctx, readReferences(plan, results));
}

bool callFunction(const Plan &plan, std::span<Tensor> args, std::span<Tensor> results,
                  OpContext &ctx) {
  DepthGuard depth(ctx.run());
  if (!depth.isTooDeep())
    return runFunction(plan, args, results, ctx);
  ctx.fail(recursionTooDeep(plan));
  return false;
}

namespace {

bool takeArguments(const Plan &plan, int firstInput, Tensor *args, const Caller &caller,
                   OpContext &ctx) {
  for (size_t i = 0; i < plan.argTypes.size(); ++i) {
    args[i] = ctx.takeInput(firstInput + static_cast<int>(i));
    if (Expected<void> ok = convertArgument(plan, i, args[i]); !ok) {
      caller.fail(ctx, std::move(ok.error()));
      return false;
    }
  }
  return true;
}

void runCall(OpContext &ctx) {
  const auto &self = ctx.state<CallState>();
  Expected<const Plan *> plan =
      self.plan(self.firstArg() ? &ctx.input(0) : nullptr, ctx.numInputs());
  if (!plan)
    return ctx.fail(std::move(plan.error()));
  // The arguments are the first slots of a sequential plan's frame.
  const auto *sequential = SequentialPlan::from(**plan);
  size_t numArgs = (*plan)->argTypes.size();
  SlotFrame frame(sequential ? sequential->numSlots : static_cast<uint32_t>(numArgs));
  if (!takeArguments(**plan, self.firstArg(), frame.slots, self.caller, ctx))
    return;
  std::span<Tensor> outputs(Execution::of(ctx).outputs, static_cast<size_t>(ctx.numOutputs()));
  if (sequential)
    callInFrame(*sequential, frame, outputs, ctx);
  else
    callFunction(**plan, {frame.slots, numArgs}, outputs, ctx);
}

// --- while -------------------------------------------------------------------------------------

// A loop whose plans are both sequential. The loop variables live in the argument slots of the
// body, the condition reads them without reference counting, and results move back to the argument
// slots.
class WhileLoop {
  // Copies of tensors without their reference counts. They must be dropped before anything could
  // release them.
  class BorrowedTensors {
  public:
    BorrowedTensors(void *to, const void *from, size_t count)
        : to(to), bytes(count * sizeof(Tensor)) {
      std::memcpy(to, from, bytes);
    }
    BorrowedTensors(const BorrowedTensors &) = delete;
    BorrowedTensors &operator=(const BorrowedTensors &) = delete;
    ~BorrowedTensors() { std::memset(to, 0, bytes); }

  private:
    void *const to;
    const size_t bytes;
  };

public:
  WhileLoop(const SequentialPlan &cond, const SequentialPlan &body, OpContext &ctx)
      : cond(cond), body(body), ctx(ctx), condFrame(cond.numSlots), bodyFrame(body.numSlots),
        numVars(body.argTypes.size()) {}
  Tensor *variables() { return bodyFrame.slots; }

  bool run() {
    Trace *trace = ctx.run().trace;
    for (int64_t i = 0;; ++i) {
      TracedScope scope(trace, i);
      std::optional<bool> more = evaluateCondition();
      if (!more)
        return false;
      if (!*more)
        return true;
      if (!body.runNodes(bodyFrame.slots, ctx.run(), Execution::of(ctx).error) ||
          !moveResultsToVariables())
        return false;
    }
  }

private:
  std::optional<bool> evaluateCondition() {
    BorrowedTensors loan(condFrame.slots, bodyFrame.slots, numVars);
    bool ok = cond.runNodes(condFrame.slots, ctx.run(), Execution::of(ctx).error);
    std::optional<bool> more;
    if (ok) {
      Tensor result = cond.takeResult(condFrame.slots, 0);
      if (result && result.isScalar() && result.dtype() == DType::Bool) [[likely]]
        more = result.scalarValue<bool>();
      else if (!result)
        ctx.fail(deadResult(cond, 0));
      else
        more = ctx.check(ctx.state<WhileState>().shouldContinue(cond, result));
    }
    return more;
  }

  bool moveResultsToVariables() {
    Tensor *slots = bodyFrame.slots;
    if (body.resultsNeedTemporaries) {
      SlotFrame next(static_cast<uint32_t>(numVars));
      for (size_t i = 0; i < numVars; ++i)
        next.slots[i] = body.takeResult(slots, i);
      for (size_t i = 0; i < numVars; ++i)
        slots[i] = std::move(next.slots[i]);
    } else {
      for (size_t i = 0; i < numVars; ++i)
        if (!body.isPassThrough[i])
          slots[i] = body.takeResult(slots, i);
    }
    for (size_t i = 0; i < numVars; ++i)
      if (!slots[i]) {
        ctx.fail(deadResult(body, i));
        return false;
      }
    return true;
  }

  const SequentialPlan &cond, &body;
  OpContext &ctx;
  SlotFrame condFrame, bodyFrame;
  const size_t numVars;
};

// Runs a loop of arbitrary plans. The variables are kept in an array and passed to each call.
bool runGeneralWhile(const Plan &cond, const Plan &body, std::span<Tensor> vars, OpContext &ctx) {
  SlotFrame scratch(static_cast<uint32_t>(vars.size()) + 1);
  Tensor &more = scratch.slots[vars.size()];
  for (int64_t i = 0;; ++i) {
    TracedScope scope(ctx.run().trace, i);
    std::span<Tensor> copies(scratch.slots, vars.size());
    std::copy(vars.begin(), vars.end(), copies.begin());
    if (!runFunction(cond, copies, {&more, 1}, ctx))
      return false;
    std::optional<bool> yes = ctx.check(ctx.state<WhileState>().shouldContinue(cond, more));
    if (!yes || !*yes)
      return yes.has_value();
    if (!runFunction(body, vars, copies, ctx))
      return false;
    std::move(copies.begin(), copies.end(), vars.begin());
  }
}

void runWhile(OpContext &ctx) {
  const auto &self = ctx.state<WhileState>();
  size_t numVars = ctx.numInputs();
  Expected<WhilePlans> plans = self.plans(numVars);
  if (!plans)
    return self.caller.fail(ctx, std::move(plans.error()));
  const Plan &cond = *plans->cond, &body = *plans->body;
  DepthGuard depth(ctx.run());
  if (depth.isTooDeep())
    return ctx.fail(recursionTooDeep(body));
  const auto *condInOrder = SequentialPlan::from(cond), *bodyInOrder = SequentialPlan::from(body);
  if (condInOrder && bodyInOrder && !hasReferences(body.resultTypes)) {
    WhileLoop loop(*condInOrder, *bodyInOrder, ctx);
    if (takeArguments(body, 0, loop.variables(), self.caller, ctx) && loop.run())
      std::move(loop.variables(), loop.variables() + numVars, Execution::of(ctx).outputs);
    return;
  }
  SlotFrame vars(static_cast<uint32_t>(numVars));
  if (takeArguments(body, 0, vars.slots, self.caller, ctx) &&
      runGeneralWhile(cond, body, {vars.slots, numVars}, ctx))
    std::move(vars.slots, vars.slots + numVars, Execution::of(ctx).outputs);
}

// --- for ---------------------------------------------------------------------------------------

void runFor(OpContext &ctx) {
  const auto &self = ctx.state<ForState>();
  Expected<ForRange> range = ForRange::of(ctx.input(0), ctx.input(1), ctx.input(2));
  if (!range)
    return self.caller.fail(ctx, std::move(range.error()));
  uint32_t numVars = static_cast<uint32_t>(ctx.numOutputs());
  Expected<const Plan *> body = self.body.plan(ctx.numInputs() - 2);
  if (!body)
    return self.caller.fail(ctx, std::move(body.error()));
  SlotFrame values(2 * numVars + 1); // i and the variables, followed by the results
  Tensor *vars = values.slots + 1, *results = vars + numVars;
  for (uint32_t i = 0; i < numVars; ++i)
    vars[i] = ctx.takeInput(static_cast<int>(i) + 3);
  for (; !range->isOver(); range->next += range->delta) {
    TracedScope scope(ctx.run().trace, range->next);
    values.slots[0] = range->index();
    for (uint32_t a = 0; a <= numVars; ++a)
      if (Expected<void> ok = convertArgument(**body, a, values.slots[a]); !ok)
        return self.caller.fail(ctx, std::move(ok.error()));
    if (!callFunction(**body, {values.slots, numVars + 1}, {results, numVars}, ctx))
      return;
    std::swap_ranges(results, results + numVars, vars);
  }
  std::move(vars, vars + numVars, Execution::of(ctx).outputs);
}

// --- binding -----------------------------------------------------------------------------------

Expected<BoundKernel> bindCall(const NodeSpec &spec, FunctionLibrary *library) {
  CallState state{.caller = {spec.name, spec.op}};
  auto add = [&](const FunctionRef &f) {
    state.functions.emplace_back(f, spec.outputTypes, ArgMode::Owned, library, spec.isGradient);
  };
  if (spec.isFunctionCall) {
    add({spec.op, std::make_shared<AttrMap>(spec.attrs)});
  } else if (opKind(spec.op) == OpKind::If) {
    state.choice = spec.isSwitch ? CallState::Switch : CallState::If;
    if (spec.inputs.empty())
      return Unexpected(invalidArgument("it has no condition input"));
    for (std::string_view branch : {"then_branch", "else_branch"}) {
      FunctionRef f = TREADLE_TRY(spec.attrs.get<FunctionRef>(branch));
      add(f);
    }
  } else if (opKind(spec.op) == OpKind::Case) {
    state.choice = CallState::Case;
    if (spec.inputs.empty())
      return Unexpected(invalidArgument("it has no branch index input"));
    Expected<std::vector<FunctionRef>> branches =
        spec.attrs.get<std::vector<FunctionRef>>("branches");
    if (!branches)
      return Unexpected(std::move(branches.error()));
    if (branches->empty())
      return Unexpected(
          invalidArgument("attribute 'branches' is empty, expected at least one function"));
    for (const FunctionRef &f : *branches)
      add(f);
  } else {
    FunctionRef f = TREADLE_TRY(spec.attrs.get<FunctionRef>("f"));
    add(f);
  }
  return boundWith<CallState>(runCall, std::move(state));
}

Expected<BoundKernel> bindWhile(const NodeSpec &spec, FunctionLibrary *library) {
  if (spec.inputs.size() != spec.outputTypes.size())
    return Unexpected(invalidArgument("it has ", spec.inputs.size(), " loop variables and ",
                                      spec.outputTypes.size(), " outputs, expected equal numbers"));
  if (spec.plans)
    return boundWith<WhileState>(runWhile, WhileState{.caller = {spec.name, spec.op},
                                                      .cond = Callee(spec.name, spec.plans->cond),
                                                      .body = Callee(spec.name, spec.plans->body),
                                                      .isFrame = true});
  Expected<FunctionRef> cond = spec.attrs.get<FunctionRef>("cond");
  Expected<FunctionRef> body = spec.attrs.get<FunctionRef>("body");
  for (auto *f : {&cond, &body})
    if (!*f)
      return Unexpected(std::move(f->error()));
  int64_t parallel = spec.attrs.getOr<int64_t>("parallel_iterations", 10);
  if (parallel <= 0)
    return Unexpected(
        invalidArgument("parallel_iterations is ", parallel, ", expected at least 1"));
  return boundWith<WhileState>(
      runWhile, WhileState{.caller = {spec.name, spec.op},
                           .cond = Callee(*cond, {ValueType{}}, ArgMode::Borrowed, library),
                           .body = Callee(*body, spec.outputTypes, ArgMode::LoopBody, library)});
}

Expected<BoundKernel> bindFor(const NodeSpec &spec, FunctionLibrary *library) {
  if (spec.inputs.size() != spec.outputTypes.size() + 3)
    return Unexpected(invalidArgument("it has ", spec.inputs.size(), " inputs and ",
                                      spec.outputTypes.size(),
                                      " outputs, expected three inputs more than outputs"));
  return spec.attrs.get<FunctionRef>("body").map([&](const FunctionRef &body) {
    return boundWith<ForState>(
        runFor,
        ForState{{spec.name, spec.op}, Callee(body, spec.outputTypes, ArgMode::Owned, library)});
  });
}

} // namespace

const CallState *callStateOf(const PlanNode &node) {
  return node.fn == runCall ? static_cast<const CallState *>(node.state) : nullptr;
}
const WhileState *whileStateOf(const PlanNode &node) {
  return node.fn == runWhile ? static_cast<const WhileState *>(node.state) : nullptr;
}
const ForState *forStateOf(const PlanNode &node) {
  return node.fn == runFor ? static_cast<const ForState *>(node.state) : nullptr;
}

void plan::bindFunctionNode(const NodeSpec &spec, const PlanOptions &options, PlanNode &node,
                            NodeInfo &info) {
  const FunctionKernelEntry *entry = options.kernels->findFunctionKernel(spec.op);
  auto *bind = entry                          ? entry->bind
               : node.kind == NodeKind::Call  ? bindCall
               : node.kind == NodeKind::While ? bindWhile
                                              : bindFor;
  Expected<BoundKernel> kernel = bind(spec, options.functions);
  if (!kernel) {
    kernel = failingKernel(std::move(kernel.error()));
    info.isUnbound = true;
    node.kind = NodeKind::Kernel; // calls no function, so its error names this node
  }
  node.fn = kernel->fn;
  node.state = kernel->state.get();
  info.state = std::move(kernel->state);
}

} // namespace treadle
