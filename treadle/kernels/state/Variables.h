// How ops reach a variable, whichever kind it is: behind a resource handle or a v1 reference.
#pragma once

#include "treadle/kernels/Handles.h"
#include "treadle/runtime/Variable.h"

namespace treadle {

/// The variable that input `i` names, by handle or by reference; null, having failed.
Variable *variableInput(OpContext &ctx, int i);

/// What a node that makes a named variable knows.
struct NamedVariable {
  ResourceName name;
  DType dtype;
  CachedHandle cached;
};

/// Gives the session's variable of this name, made when first asked for, in the form that `wrap`
/// makes of it: a handle or a reference. Fails where the name is that of another dtype's.
void giveNamedVariable(OpContext &ctx, const NamedVariable &named, Tensor (*wrap)(Ref<Variable>));

/// The error of using a variable without a value: NotFound behind a handle, FailedPrecondition
/// behind a reference, as TensorFlow has it.
Error uninitialised(const Variable &variable, bool isRef);

/// The value, shared; empty, having failed, where there is none.
Tensor readVariable(OpContext &ctx, int i);

/// A variable locked for changing its elements.
class VariableWriter {
public:
  /// Input `i`'s variable; `isOpen()` is false, the op having failed, where it has no value.
  VariableWriter(OpContext &ctx, int i);
  bool isOpen() const { return variable; }
  const Tensor &value() const { return variable->value; }
  Variable &get() { return *variable; }
  /// True if the elements may be written in place. Those behind a reference always are:
  /// TensorFlow's v1 variables change under whoever read them, and graphs rely on it.
  bool isWritable() const { return isReference || (value().isUnique() && !value().get()->owner); }
  /// Gives the variable elements of its own; null, having failed, where that can't be.
  Tensor *writable(OpContext &ctx);
  /// Another value of the variable's dtype.
  void replace(Tensor fresh) { old = std::exchange(variable->value, std::move(fresh)); }

private:
  Tensor old; // let go of after the lock: declared before it
  Variable *variable = nullptr;
  bool isReference = false;
  std::unique_lock<std::mutex> lock;
};

/// Hands the reference on to output 0, for ops on v1 variables that give it back.
inline void passReference(OpContext &ctx) {
  if (ctx.numOutputs() && !ctx.hasFailed())
    ctx.setOutput(0, ctx.takeInput(0));
}

/// A bound kernel that works on references, which the executor must not read first.
inline BoundKernel takingRefs(BoundKernel bound) {
  bound.takesRefs = true;
  return bound;
}

} // namespace treadle
