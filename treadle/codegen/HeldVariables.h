// The variables that a call of compiled code works on. No LLVM, no MLIR.
#pragma once

#include "treadle/codegen/Frame.h"
#include "treadle/runtime/Kernel.h"
#include "treadle/runtime/Variable.h"

#include <span>
#include <vector>

namespace treadle::codegen {

/// Variables behind some inputs of a call, and what they held when it began. Compiled code works on
/// these values; then `write` gives the variables their new ones, if nobody else changed one
/// meanwhile. So a call's effects on variables come all at once, between those of other runs: or
/// never, and then somebody else has to have them. Holds shares of the values, so that whoever
/// changes a variable meanwhile gives it other memory. Belongs to one thread.
class HeldVariables {
public:
  /// The numbers of those inputs, which live as long.
  HeldVariables(OpContext &ctx, std::span<const int> handles);

  /// False where a handle isn't one of a variable with a value of numbers or strings.
  bool isComplete() const { return complete; }
  size_t size() const { return values.size(); }
  int input(size_t i) const { return inputs[i]; }
  const Tensor &value(size_t i) const { return values[i]; }
  const WatchedValue *watched() const { return places.data(); }

  /// Whether each variable still holds what it did.
  bool areUnchanged() const;
  /// A value for each. False where nothing was written: somebody else changed a variable; or two
  /// handles are those of one, and code that takes them for two has changed it.
  bool write(std::span<Tensor> results);

private:
  bool hasAlias() const;

  std::span<const int> inputs;
  std::vector<Variable *> variables; // kept by the inputs
  std::vector<Tensor> values;
  std::vector<WatchedValue> places;
  bool complete = true;
};

} // namespace treadle::codegen
