// The ops that call functions, in the form both executors and the kernels that call some use.
#pragma once

#include "treadle/runtime/Choice.h"
#include "treadle/runtime/Plan.h"

namespace treadle {

/// A function that a node calls: its plan is looked up when the node is first reached, so that
/// recursion ends and what isn't reached needn't exist. Thread-safe.
class Callee {
public:
  /// `resultTypes` is what the node gives: Invalid stands for any dtype. `isGradient`: the
  /// function's gradient is called.
  Callee(FunctionRef function, std::vector<ValueType> resultTypes, ArgMode mode,
         FunctionLibrary *library, bool isGradient = false)
      : function(std::move(function)), resultTypes(std::move(resultTypes)), mode(mode),
        library(library), isGradient(isGradient) {}
  /// A callee that is known already.
  Callee(std::string name, std::shared_ptr<const Plan> plan)
      : function{std::move(name), nullptr}, mode(ArgMode::Owned), library(nullptr),
        owned(std::move(plan)) {
    cached.store(owned.get(), std::memory_order_release);
  }
  Callee(const Callee &other)
      : function(other.function), resultTypes(other.resultTypes), mode(other.mode),
        library(other.library), isGradient(other.isGradient), owned(other.owned) {
    cached.store(owned.get(), std::memory_order_release);
  }
  /// The plan; checks the number of arguments, and the results' number and dtypes.
  Expected<const Plan *> plan(size_t numArgs) const;
  const FunctionRef function;

private:
  Expected<void> check(const Plan &plan, size_t numArgs) const;

  std::vector<ValueType> resultTypes;
  ArgMode mode;
  FunctionLibrary *library;
  bool isGradient = false;
  std::shared_ptr<const Plan> owned; // may be null
  mutable std::atomic<const Plan *> cached{nullptr};
};

/// The node that calls, for messages.
struct Caller {
  std::string name, op;
  /// An error of the op's own (errors inside the function name their own node).
  Error at(Error error) const { return std::move(error).atNode(name, op); }
  void fail(OpContext &ctx, Error error) const { ctx.fail(at(std::move(error))); }
};

/// A call or a conditional: which function runs is chosen from input 0 where there is a choice.
struct CallState {
  enum Choice : uint8_t { Always, If, Switch, Case };
  Caller caller;
  Choice choice = Always;
  std::vector<Callee> functions = {}; // If, Switch: then, else
  /// The plan of the function to run, which input 0 chooses (null if there is no choice). Errors
  /// are said of the caller.
  Expected<const Plan *> plan(const Tensor *selector, size_t numInputs) const;
  int firstArg() const { return choice == Always ? 0 : 1; }

private:
  Expected<const Callee *> choose(const Tensor &selector) const;
};

struct WhilePlans {
  const Plan *cond, *body;
};

struct WhileState {
  Caller caller;
  Callee cond, body;
  bool isFrame = false; // a v1 loop: its condition is a Switch's predicate
  /// Both plans, of loop variables of the same dtypes.
  Expected<WhilePlans> plans(size_t numVars) const;
  /// Whether another iteration follows, by what `cond` gave.
  Expected<bool> goesOn(const Plan &cond, const Tensor &result) const;
};

/// The numbers that a For still goes through.
struct ForRange {
  int64_t next = 0, limit = 0, delta = 1;
  static Expected<ForRange> of(const Tensor &start, const Tensor &limit, const Tensor &delta);
  bool isOver() const { return delta > 0 ? next >= limit : next <= limit; }
  Tensor index() const { return Tensor::scalar(DType::Int32, static_cast<int32_t>(next)); }
};

struct ForState {
  Caller caller;
  Callee body;
};

/// The state of a node of a plan that calls functions so; null for others.
const CallState *callStateOf(const PlanNode &node);
const WhileState *whileStateOf(const PlanNode &node);
const ForState *forStateOf(const PlanNode &node);

/// InvalidArgument unless `value` has the dtype that argument `i` of the plan wants. A reference is
/// read where the plan wants a value.
Expected<void> acceptArgument(const Plan &plan, size_t i, Tensor &value);

/// Functions give values: results that are references are read.
Expected<void> readReferences(const Plan &plan, std::span<Tensor> results);

/// Runs any plan over tensors that the caller gives away; false, having failed.
bool callFunction(const Plan &plan, std::span<Tensor> args, std::span<Tensor> results,
                  OpContext &ctx);

/// How errors about results without a value end: of a result that is dead; of one of a run in which
/// a v1 loop got a value and gave none; and of one that was asked for by iteration.
inline constexpr std::string_view branchNotTaken =
    " has no value: it is on a branch that was not taken";
inline constexpr std::string_view loopGaveNone =
    " has no value: it is on a branch that was not taken, or leaves a loop that ended without it";
inline constexpr std::string_view notInIteration = " has no value in the iteration asked for";

/// What to say of a result that is dead, and of calls inside calls without end.
Error deadResult(const Plan &plan, size_t result, std::string_view why = branchNotTaken);
Error tooDeep(const Plan &plan);

} // namespace treadle
