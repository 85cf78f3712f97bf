// The frame of an optimizer step: variables that it updates, scalar hyperparameters, and a gradient
// for all rows or for some. Only the update rule of one element differs between optimizers.
#pragma once

#include "treadle/kernels/state/Variables.h"

#include <array>

namespace treadle {

/// The roles of an op's inputs. The variables come first.
struct OptimizerLayout {
  int variables; // the optimized variable and its slots
  int gradient;  // index of the gradient input
  bool isSparse; // the next input holds the gradient's row indices
};

/// The variables of one step, locked; their values have one shape and are writable.
class OptimizerVariables {
public:
  static constexpr int maxCount = 4;

  /// If the variables don't match, fails ctx and `isOpen()` is false.
  OptimizerVariables(OpContext &ctx, int count, DType dtype);
  bool isOpen() const { return isGood; }
  Tensor &operator[](int i) { return *tensors[i]; }

private:
  void lockAll(OpContext &ctx, int count);
  std::array<std::optional<VariableWriter>, maxCount> writers;
  std::array<Tensor *, maxCount> tensors = {};
  bool isGood = false;
};

/// Returns false, with ctx failed, unless the gradient and its row indices fit the variable.
bool checkGradient(OpContext &ctx, const OptimizerLayout &layout, const Tensor &variable);

/// Returns false, with ctx failed, unless all inputs but variables, gradient and row indices are
/// scalars.
bool checkScalars(OpContext &ctx, const OptimizerLayout &layout);

} // namespace treadle
