// Internal to the runtime: the ops that call functions, in the form both executors use.
#pragma once

#include "treadle/runtime/Plan.h"

namespace treadle {

/// A function that a node calls: its plan is looked up when the node is first reached, so that
/// recursion ends and what isn't reached needn't exist. Thread-safe.
class Callee {
public:
  Callee(FunctionRef function, ArgMode mode, FunctionLibrary *library)
      : function(std::move(function)), mode(mode), library(library) {}
  /// A callee that is known already.
  Callee(std::string name, std::shared_ptr<const Plan> plan)
      : function{std::move(name), nullptr}, mode(ArgMode::Owned), library(nullptr),
        owned(std::move(plan)) {
    cached.store(owned.get(), std::memory_order_release);
  }
  Callee(const Callee &other)
      : function(other.function), mode(other.mode), library(other.library), owned(other.owned) {
    cached.store(owned.get(), std::memory_order_release);
  }
  /// The plan; checks the number of arguments and results.
  Expected<const Plan *> plan(size_t numArgs, size_t numResults) const;
  const FunctionRef function;

private:
  ArgMode mode;
  FunctionLibrary *library;
  std::shared_ptr<const Plan> owned; // may be null
  mutable std::atomic<const Plan *> cached{nullptr};
};

/// The node that calls, for messages.
struct Caller {
  std::string name, op;
  /// Ends the op with an error of its own (errors inside the function name their own node).
  void fail(OpContext &ctx, Error error) const {
    ctx.fail(std::move(error).atNode(name, op));
  }
};

/// A call or a conditional: which function runs is chosen from input 0 where there is a choice.
struct CallState {
  Caller caller;
  enum Choice : uint8_t { Always, If, Case } choice;
  std::vector<Callee> functions; // If: then, else
  /// The function to run; InvalidArgument if input 0 can't choose.
  Expected<const Callee *> choose(const Tensor &selector) const;
  int firstArg() const { return choice == Always ? 0 : 1; }
};

struct WhileState {
  Caller caller;
  Callee cond, body;
  int64_t parallelIterations;
};

struct ForState {
  Caller caller;
  Callee body;
};

/// A tensor as a condition: a scalar by its value (a string by whether it is empty), anything else by
/// whether it has elements.
Expected<bool> isTrue(const Tensor &tensor);

/// InvalidArgument unless `value` has the dtype that argument `i` of the plan wants.
Expected<void> checkArgument(const Plan &plan, size_t i, const Tensor &value);

} // namespace treadle
