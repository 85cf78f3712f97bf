// The variables that a call of compiled code works on. Depends on neither LLVM nor MLIR.
#pragma once

#include "treadle/codegen/CallFrame.h"
#include "treadle/runtime/Kernel.h"
#include "treadle/runtime/Variable.h"

#include <span>
#include <vector>

namespace treadle::codegen {

/// The variables behind some inputs of a call, and their values when it began. Compiled code works
/// on these values; `write` then stores the new values, unless another run has changed one of the
/// variables. The effects of a call are thus atomic: they happen all at once between those of other
/// runs, or not at all, and then the caller must run them differently. Shares ownership of the
/// values, so that other writers allocate new memory. Used by one thread.
class VariableSnapshot {
public:
  /// `handles`: the numbers of these inputs; must outlive this object.
  VariableSnapshot(OpContext &ctx, std::span<const int> handles);

  /// Whether every handle refers to a variable that holds numbers or strings.
  bool isComplete() const { return complete; }
  size_t size() const { return values.size(); }
  int input(size_t i) const { return inputs[i]; }
  const Tensor &value(size_t i) const { return values[i]; }
  const WatchedValue *watched() const { return places.data(); }

  /// Whether each variable still holds its initial value.
  bool areUnchanged() const;
  /// Stores a new value for each variable. Returns false, without writing, if another run has
  /// changed a variable, or if two handles refer to the same variable and the code, which assumes
  /// they don't, changes it.
  bool write(std::span<Tensor> results);

private:
  bool hasAlias() const;

  std::span<const int> inputs;
  std::vector<Variable *> variables; // kept alive by the inputs
  std::vector<Tensor> values;
  std::vector<WatchedValue> places;
  bool complete = true;
};

} // namespace treadle::codegen
