// Function-calling ops, in the form that both executors and function-calling kernels use.
#pragma once

#include "treadle/runtime/Conditions.h"
#include "treadle/runtime/Plan.h"

namespace treadle {

/// A function that a node calls. Its plan is looked up when the node first runs, so that building
/// plans of recursive functions terminates and functions that are never called may be missing.
/// Thread-safe.
class Callee {
public:
  /// `resultTypes` are those of the node; Invalid matches any dtype. With `isGradient`, the
  /// gradient of the function is called.
  Callee(FunctionRef function, std::vector<ValueType> resultTypes, ArgMode mode,
         FunctionLibrary *library, bool isGradient = false)
      : function(std::move(function)), resultTypes(std::move(resultTypes)), mode(mode),
        library(library), isGradient(isGradient) {}
  /// A callee whose plan is known.
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
  /// Returns the plan; checks the number of arguments, and the number and dtypes of the results.
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

/// The calling node, for error messages.
struct Caller {
  std::string name, op;
  /// Adds the node to an error of the op itself. Errors inside the function name their own node.
  Error at(Error error) const { return std::move(error).atNode(name, op); }
  void fail(OpContext &ctx, Error error) const { ctx.fail(at(std::move(error))); }
};

/// The state of a call or a conditional. For a conditional, input 0 selects the function.
struct CallState {
  enum Choice : uint8_t { Always, If, Switch, Case };
  Caller caller;
  Choice choice = Always;
  std::vector<Callee> functions = {}; // of an If or a Switch: then, else
  /// Returns the plan of the function that `selector`, input 0, selects (null if there is one
  /// function). Errors name the calling node.
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
  bool isFrame = false; // a v1 loop: its condition must be a bool scalar, as for Switch
  /// Returns both plans, whose loop variables have the same dtypes.
  Expected<WhilePlans> plans(size_t numVars) const;
  /// Whether `result`, the output of `cond`, asks for another iteration.
  Expected<bool> shouldContinue(const Plan &cond, const Tensor &result) const;
};

/// The remaining range of a For loop.
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

/// Returns the state of a node that calls functions; null for other nodes.
const CallState *callStateOf(const PlanNode &node);
const WhileState *whileStateOf(const PlanNode &node);
const ForState *forStateOf(const PlanNode &node);

/// Converts `value` for argument `i` of the plan: reads a reference if the plan expects a value.
/// Returns InvalidArgument if the dtype differs.
Expected<void> convertArgument(const Plan &plan, size_t i, Tensor &value);

/// Replaces results that are references by their values.
Expected<void> readReferences(const Plan &plan, std::span<Tensor> results);

/// Calls any plan and consumes the argument tensors. Returns false after a failure.
bool callFunction(const Plan &plan, std::span<Tensor> args, std::span<Tensor> results,
                  OpContext &ctx);

/// Like callFunction, as part of the function that contains the node: doesn't count as a call.
bool runFunction(const Plan &plan, std::span<Tensor> args, std::span<Tensor> results,
                 OpContext &ctx);

/// Ends of error messages about results without a value: of a dead result; of a dead result of a
/// run in which a v1 loop was entered and produced no value; and of a result that was requested by
/// iteration.
inline constexpr std::string_view branchNotTaken =
    " has no value: it is on a branch that was not taken";
inline constexpr std::string_view loopGaveNone =
    " has no value: it is on a branch that was not taken, or leaves a loop that ended without it";
inline constexpr std::string_view notInIteration = " has no value in the requested iteration";

/// Errors for a dead result, and for function calls nested too deeply.
Error deadResult(const Plan &plan, size_t result, std::string_view why = branchNotTaken);
Error recursionTooDeep(const Plan &plan);

} // namespace treadle
