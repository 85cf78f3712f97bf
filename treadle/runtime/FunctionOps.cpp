#include "treadle/runtime/FunctionOps.h"

#include "treadle/runtime/PlanBuilder.h"
#include "treadle/runtime/Run.h"
#include "treadle/runtime/Sequential.h"

#include <cstring>

namespace treadle {

// --- what the ops are made of ------------------------------------------------------------------

Expected<const Plan *> Callee::plan(size_t numArgs, size_t numResults) const {
  if (const Plan *p = cached.load(std::memory_order_acquire))
    return p;
  if (!library)
    return Unexpected(notFound("function '", function.name, "' is not in the graph's library"));
  Expected<const Plan *> found = library->plan(function, mode);
  if (!found)
    return found;
  const Plan &p = **found;
  if (p.argTypes.size() != numArgs)
    return Unexpected(invalidArgument("function '", function.name, "' takes ", p.argTypes.size(),
                                      " arguments, but gets ", numArgs));
  if (p.results.size() != numResults)
    return Unexpected(invalidArgument("function '", function.name, "' gives ", p.results.size(),
                                      " results, expected ", numResults));
  cached.store(&p, std::memory_order_release);
  return found;
}

namespace {

template <typename T> bool isNonZero(const Tensor &t) { return t.scalarValue<T>() != T(0); }

} // namespace

Expected<bool> isTrue(const Tensor &t) {
  if (!t.isScalar())
    return t.count() > 0;
  switch (t.dtype()) {
  case DType::Bool:
    return t.scalarValue<bool>();
  case DType::Int32:
  case DType::UInt32:
    return isNonZero<int32_t>(t);
  case DType::Int64:
  case DType::UInt64:
    return isNonZero<int64_t>(t);
  case DType::Int8:
  case DType::UInt8:
    return isNonZero<int8_t>(t);
  case DType::Int16:
  case DType::UInt16:
    return isNonZero<int16_t>(t);
  case DType::Float32:
    return isNonZero<float>(t);
  case DType::Float64:
    return isNonZero<double>(t);
  case DType::String:
    return !t.scalarValue<std::string>().empty();
  default:
    return Unexpected(invalidArgument("a ", dtypeName(t.dtype()), " scalar can't be a condition"));
  }
}

Expected<void> checkArgument(const Plan &plan, size_t i, const Tensor &value) {
  ValueType want = plan.argTypes[i];
  if (!value)
    return Unexpected(invalidArgument("argument ", i, " of function '", plan.name,
                                      "' has no value: it is on a branch that was not taken"));
  if (value.dtype() != want.dtype)
    return Unexpected(invalidArgument("argument ", i, " of function '", plan.name, "' is ",
                                      tensorTypeText(value), ", expected ", dtypeName(want.dtype)));
  return {};
}

Expected<const Callee *> CallState::choose(const Tensor &selector) const {
  switch (choice) {
  case Always:
    return &functions[0];
  case If:
    return isTrue(selector).map([&](bool yes) { return &functions[yes ? 0 : 1]; });
  case Case:
    break;
  }
  if (!selector.isScalar() || selector.dtype() != DType::Int32)
    return Unexpected(invalidArgument("the branch index must be an int32 scalar, found ",
                                      tensorTypeText(selector)));
  int64_t i = selector.scalarValue<int32_t>();
  int64_t last = static_cast<int64_t>(functions.size()) - 1;
  return &functions[i < 0 || i > last ? last : i];
}

// --- kernels -----------------------------------------------------------------------------------

namespace {

class DepthGuard {
public:
  explicit DepthGuard(RunState &run) : run(run) { ++run.callDepth; }
  ~DepthGuard() { --run.callDepth; }
  bool isTooDeep() const { return run.callDepth > RunState::maxCallDepth; }

private:
  RunState &run;
};

Error tooDeep(const Plan &plan) {
  return resourceExhausted("function '", plan.name, "' was called inside more than ",
                           RunState::maxCallDepth, " other calls; it may call itself without end");
}

// The value of a result, moved out where this was its last use.
Tensor takeResult(const Plan &plan, Tensor *slots, size_t r) {
  uint32_t index = plan.resultIndices[r];
  if (index & InputIndex::constantBit)
    return plan.constants[index & InputIndex::slotMask];
  if (index & InputIndex::takeBit)
    return std::move(slots[index & InputIndex::slotMask]);
  return slots[index & InputIndex::slotMask];
}

Error deadResult(const Plan &plan, size_t r) {
  return invalidArgument("result '", plan.results[r].name, "' of function '", plan.name,
                         "' has no value: it is on a branch that was not taken");
}

// Runs any plan over tensors that the caller gives away.
bool call(const Plan &plan, std::span<Tensor> args, std::span<Tensor> results, OpContext &ctx) {
  RunState &run = ctx.run();
  DepthGuard depth(run);
  if (depth.isTooDeep()) {
    ctx.fail(tooDeep(plan));
    return false;
  }
  if (!plan.isSequential) {
    std::vector<Tensor> values(std::make_move_iterator(args.begin()),
                               std::make_move_iterator(args.end()));
    auto outputs = ctx.check(runPlan(plan, std::move(values), run));
    if (outputs)
      std::move(outputs->begin(), outputs->end(), results.begin());
    return outputs.has_value();
  }
  Frame frame(plan.numSlots);
  std::move(args.begin(), args.end(), frame.slots);
  if (!runNodes(plan, frame.slots, run, ctx.error))
    return false;
  for (size_t r = 0; r < results.size(); ++r) {
    results[r] = takeResult(plan, frame.slots, r);
    if (!results[r]) {
      ctx.fail(deadResult(plan, r));
      return false;
    }
  }
  return true;
}

bool takeArguments(const Plan &plan, int firstInput, Tensor *args, const Caller &caller,
                   OpContext &ctx) {
  for (size_t i = 0; i < plan.argTypes.size(); ++i) {
    int input = firstInput + static_cast<int>(i);
    if (Expected<void> ok = checkArgument(plan, i, ctx.input(input)); !ok) {
      caller.fail(ctx, std::move(ok.error()));
      return false;
    }
    args[i] = ctx.takeInput(input);
  }
  return true;
}

void runCall(OpContext &ctx) {
  const auto &self = ctx.state<CallState>();
  Expected<const Callee *> callee =
      self.choice == CallState::Always ? &self.functions[0] : self.choose(ctx.input(0));
  if (!callee)
    return self.caller.fail(ctx, std::move(callee.error()));
  size_t numArgs = ctx.numInputs() - self.firstArg();
  Expected<const Plan *> plan = (*callee)->plan(numArgs, ctx.numOutputs());
  if (!plan)
    return self.caller.fail(ctx, std::move(plan.error()));
  Frame args(static_cast<uint32_t>(numArgs));
  if (takeArguments(**plan, self.firstArg(), args.slots, self.caller, ctx))
    call(**plan, {args.slots, numArgs}, {ctx.outputs, ctx.outputCount}, ctx);
}

// --- while -------------------------------------------------------------------------------------

// Both plans are sequential: the loop variables live in the body's argument slots; the condition
// looks at them without counting references; results move back to the argument slots.
class WhileLoop {
public:
  WhileLoop(const Plan &cond, const Plan &body, OpContext &ctx)
      : cond(cond), body(body), ctx(ctx), condFrame(cond.numSlots), bodyFrame(body.numSlots),
        numVars(body.argTypes.size()) {}
  Tensor *variables() { return bodyFrame.slots; }

  bool run() {
    for (;;) {
      std::optional<bool> more = evaluateCondition();
      if (!more)
        return false;
      if (!*more)
        return true;
      if (!runNodes(body, bodyFrame.slots, ctx.run(), ctx.error) || !carryOver())
        return false;
    }
  }

private:
  std::optional<bool> evaluateCondition() {
    void *borrowed = condFrame.slots;
    std::memcpy(borrowed, bodyFrame.slots, numVars * sizeof(Tensor));
    bool ok = runNodes(cond, condFrame.slots, ctx.run(), ctx.error);
    std::optional<bool> more;
    if (ok) {
      Tensor result = takeResult(cond, condFrame.slots, 0);
      if (result && result.isScalar() && result.dtype() == DType::Bool) [[likely]]
        more = result.scalarValue<bool>();
      else if (!result)
        ctx.fail(deadResult(cond, 0));
      else if (std::optional<bool> yes = ctx.check(isTrue(result)))
        more = *yes;
    }
    std::memset(borrowed, 0, numVars * sizeof(Tensor));
    return more;
  }

  bool carryOver() {
    Tensor *slots = bodyFrame.slots;
    if (body.resultsNeedTemporaries) {
      Frame next(static_cast<uint32_t>(numVars));
      for (size_t i = 0; i < numVars; ++i)
        next.slots[i] = takeResult(body, slots, i);
      for (size_t i = 0; i < numVars; ++i)
        slots[i] = std::move(next.slots[i]);
    } else {
      for (size_t i = 0; i < numVars; ++i)
        if (!body.isPassThrough[i])
          slots[i] = takeResult(body, slots, i);
    }
    for (size_t i = 0; i < numVars; ++i)
      if (!slots[i]) {
        ctx.fail(deadResult(body, i));
        return false;
      }
    return true;
  }

  const Plan &cond, &body;
  OpContext &ctx;
  Frame condFrame, bodyFrame;
  const size_t numVars;
};

// Any plans: variables in an array, handed to each call.
bool runGeneralWhile(const Plan &cond, const Plan &body, std::span<Tensor> vars, OpContext &ctx) {
  Frame scratch(static_cast<uint32_t>(vars.size()) + 1);
  Tensor &more = scratch.slots[vars.size()];
  for (;;) {
    std::span<Tensor> copies(scratch.slots, vars.size());
    std::copy(vars.begin(), vars.end(), copies.begin());
    if (!call(cond, copies, {&more, 1}, ctx))
      return false;
    std::optional<bool> yes = ctx.check(isTrue(more));
    if (!yes || !*yes)
      return yes.has_value();
    if (!call(body, vars, copies, ctx))
      return false;
    std::move(copies.begin(), copies.end(), vars.begin());
  }
}

Expected<void> checkLoopTypes(const Plan &cond, const Plan &body) {
  for (size_t i = 0; i < body.argTypes.size(); ++i)
    if (body.argTypes[i].dtype != body.resultTypes[i].dtype ||
        body.argTypes[i].dtype != cond.argTypes[i].dtype)
      return Unexpected(invalidArgument(
          "loop variable ", i, " is ", dtypeName(body.argTypes[i].dtype), " for the body '",
          body.name, "', which hands on ", dtypeName(body.resultTypes[i].dtype),
          "; the condition '", cond.name, "' takes ", dtypeName(cond.argTypes[i].dtype)));
  return {};
}

void runWhile(OpContext &ctx) {
  const auto &self = ctx.state<WhileState>();
  size_t numVars = ctx.numInputs();
  Expected<const Plan *> cond = self.cond.plan(numVars, 1);
  Expected<const Plan *> body = self.body.plan(numVars, numVars);
  for (auto *plan : {&cond, &body})
    if (!*plan)
      return self.caller.fail(ctx, std::move(plan->error()));
  if (Expected<void> ok = checkLoopTypes(**cond, **body); !ok)
    return self.caller.fail(ctx, std::move(ok.error()));
  DepthGuard depth(ctx.run());
  if (depth.isTooDeep())
    return ctx.fail(tooDeep(**body));
  if ((*cond)->isSequential && (*body)->isSequential) {
    WhileLoop loop(**cond, **body, ctx);
    if (takeArguments(**body, 0, loop.variables(), self.caller, ctx) && loop.run())
      std::move(loop.variables(), loop.variables() + numVars, ctx.outputs);
    return;
  }
  Frame vars(static_cast<uint32_t>(numVars));
  if (takeArguments(**body, 0, vars.slots, self.caller, ctx) &&
      runGeneralWhile(**cond, **body, {vars.slots, numVars}, ctx))
    std::move(vars.slots, vars.slots + numVars, ctx.outputs);
}

// --- for ---------------------------------------------------------------------------------------

void runFor(OpContext &ctx) {
  const auto &self = ctx.state<ForState>();
  int32_t range[3];
  for (int i = 0; i < 3; ++i) {
    const Tensor &t = ctx.input(i);
    if (!t.isScalar() || t.dtype() != DType::Int32)
      return self.caller.fail(ctx, invalidArgument("start, limit and delta must be int32 scalars, found ",
                                                   tensorTypeText(t)));
    range[i] = t.scalarValue<int32_t>();
  }
  auto [start, limit, delta] = std::tie(range[0], range[1], range[2]);
  if (delta == 0 || (delta > 0) != (start <= limit))
    if (start != limit)
      return self.caller.fail(ctx, invalidArgument("from ", start, " to ", limit, " by ", delta,
                                                   " never ends; give delta the other sign"));
  uint32_t numVars = ctx.outputCount;
  Expected<const Plan *> body = self.body.plan(numVars + 1, numVars);
  if (!body)
    return self.caller.fail(ctx, std::move(body.error()));
  Frame values(2 * numVars + 1); // i and the variables, then the results
  Tensor *vars = values.slots + 1, *results = vars + numVars;
  for (uint32_t i = 0; i < numVars; ++i)
    vars[i] = ctx.takeInput(static_cast<int>(i) + 3);
  for (int64_t i = start; delta > 0 ? i < limit : i > limit; i += delta) {
    values.slots[0] = Tensor::scalar(DType::Int32, static_cast<int32_t>(i));
    for (uint32_t a = 0; a <= numVars; ++a)
      if (Expected<void> ok = checkArgument(**body, a, values.slots[a]); !ok)
        return self.caller.fail(ctx, std::move(ok.error()));
    if (!call(**body, {values.slots, numVars + 1}, {results, numVars}, ctx))
      return;
    std::move(results, results + numVars, vars);
  }
  std::move(vars, vars + numVars, ctx.outputs);
}

// --- binding -----------------------------------------------------------------------------------

Expected<BoundKernel> bindCall(const NodeSpec &spec, FunctionLibrary *library) {
  CallState state{{spec.name, spec.op}, CallState::Always, {}};
  auto add = [&](const FunctionRef &f) {
    state.functions.emplace_back(f, ArgMode::Owned, library);
  };
  if (spec.isFunctionCall) {
    add({spec.op, std::make_shared<AttrMap>(spec.attrs)});
  } else if (spec.op == "If" || spec.op == "StatelessIf") {
    state.choice = CallState::If;
    for (std::string_view branch : {"then_branch", "else_branch"}) {
      Expected<FunctionRef> f = spec.attrs.get<FunctionRef>(branch);
      if (!f)
        return Unexpected(std::move(f.error()));
      add(*f);
    }
  } else if (spec.op == "Case" || spec.op == "StatelessCase") {
    state.choice = CallState::Case;
    Expected<std::vector<FunctionRef>> branches =
        spec.attrs.get<std::vector<FunctionRef>>("branches");
    if (!branches)
      return Unexpected(std::move(branches.error()));
    if (branches->empty())
      return Unexpected(invalidArgument("attribute 'branches' is empty; give at least one function"));
    for (const FunctionRef &f : *branches)
      add(f);
  } else {
    Expected<FunctionRef> f = spec.attrs.get<FunctionRef>("f");
    if (!f)
      return Unexpected(std::move(f.error()));
    add(*f);
  }
  return boundWith<CallState>(runCall, std::move(state));
}

Expected<BoundKernel> bindWhile(const NodeSpec &spec, FunctionLibrary *library) {
  if (spec.loop)
    return boundWith<WhileState>(runWhile, WhileState{{spec.name, spec.op},
                                                      Callee(spec.name, spec.loop->cond),
                                                      Callee(spec.name, spec.loop->body),
                                                      1});
  Expected<FunctionRef> cond = spec.attrs.get<FunctionRef>("cond");
  Expected<FunctionRef> body = spec.attrs.get<FunctionRef>("body");
  for (auto *f : {&cond, &body})
    if (!*f)
      return Unexpected(std::move(f->error()));
  int64_t parallel = spec.attrs.getOr<int64_t>("parallel_iterations", 10);
  if (parallel <= 0)
    return Unexpected(
        invalidArgument("parallel_iterations is ", parallel, ", expected at least 1"));
  return boundWith<WhileState>(runWhile,
                               WhileState{{spec.name, spec.op},
                                          Callee(*cond, ArgMode::Borrowed, library),
                                          Callee(*body, ArgMode::LoopBody, library),
                                          parallel});
}

Expected<BoundKernel> bindFor(const NodeSpec &spec, FunctionLibrary *library) {
  return spec.attrs.get<FunctionRef>("body").map([&](const FunctionRef &body) {
    return boundWith<ForState>(
        runFor, ForState{{spec.name, spec.op}, Callee(body, ArgMode::Owned, library)});
  });
}

} // namespace

void plan::bindFunctionNode(const NodeSpec &spec, const PlanOptions &options, PlanNode &node,
                            NodeInfo &info) {
  auto *bind = node.kind == NodeKind::Call    ? bindCall
               : node.kind == NodeKind::While ? bindWhile
                                              : bindFor;
  Expected<BoundKernel> kernel = bind(spec, options.functions);
  if (!kernel) // the op's own error: name the node
    kernel = failingKernel(std::move(kernel.error()).atNode(spec.name, spec.op));
  node.fn = kernel->fn;
  node.state = kernel->state.get();
  info.state = std::move(kernel->state);
}

} // namespace treadle
