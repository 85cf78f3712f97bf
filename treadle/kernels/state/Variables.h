// Access to variables of either kind: by resource handle or by v1 reference.
#pragma once

#include "treadle/kernels/Handles.h"
#include "treadle/runtime/Variable.h"

namespace treadle {

/// Returns the variable of input `i`, a handle or a reference; null after failing the op.
Variable *variableInput(OpContext &ctx, int i);

/// The bind-time state of a node that makes a named variable.
struct NamedVariable {
  ResourceName name;
  DType dtype;
  CachedHandle cached;
};

/// Outputs the session's variable of this name, made on first use, as a handle or reference that
/// `wrap` makes. Fails if the existing variable has another dtype.
void outputNamedVariable(OpContext &ctx, const NamedVariable &named, Tensor (*wrap)(Ref<Variable>));

/// Returns the error for a variable without a value: NotFound by handle, FailedPrecondition by
/// reference, as in TensorFlow.
Error uninitializedError(const Variable &variable, bool isRef);

/// Returns the variable's value, shared; an empty tensor after failing the op if there is none.
Tensor readVariable(OpContext &ctx, int i);

/// Exclusive access to a variable in order to change its elements.
class VariableWriter {
public:
  /// Locks the variable of input `i`. If it has no value, the op fails and `isOpen()` is false.
  VariableWriter(OpContext &ctx, int i);
  bool isOpen() const { return variable; }
  const Tensor &value() const { return variable->value; }
  Variable &get() { return *variable; }
  /// Whether the elements may be written in place. Elements by reference always may: v1 variables
  /// change under their readers, and graphs rely on it.
  bool isWritable() const { return isReference || (value().isUnique() && !value().get()->owner); }
  /// Makes the variable the only owner of its elements; returns null after failing the op.
  Tensor *writable(OpContext &ctx);
  /// Assigns a value of the same dtype.
  void replace(Tensor fresh) { old = std::exchange(variable->value, std::move(fresh)); }

private:
  Tensor old; // freed after unlocking: declared before the lock
  Variable *variable = nullptr;
  bool isReference = false;
  std::unique_lock<std::mutex> lock;
};

/// Outputs the reference, for ops on v1 variables that return it.
inline void passReference(OpContext &ctx) {
  if (ctx.numOutputs() && !ctx.hasFailed())
    ctx.setOutput(0, ctx.takeInput(0));
}

/// Marks a bound kernel as taking references, which the executor must not dereference.
inline BoundKernel takingRefs(BoundKernel bound) {
  bound.takesRefs = true;
  return bound;
}

} // namespace treadle
