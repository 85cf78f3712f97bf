// What an optimizer's step is made of: variables that change, numbers that say how, and a gradient,
// for all rows or for some. A rule says what happens to one element; the rest is the same for all.
#pragma once

#include "treadle/kernels/state/Variables.h"

#include <array>

namespace treadle {

/// The inputs of an op, by what they are for. The variables come first.
struct OptimizerLayout {
  int variables; // the one that is optimized and its slots
  int gradient;  // the input that is the gradient
  bool isSparse; // the input after it holds the rows that it is for
};

/// Variables of one step, locked, with values of one shape that may be written.
class OptimizerVariables {
public:
  static constexpr int maxCount = 4;

  /// `isOpen()` is false, the op having failed, where they don't fit together.
  OptimizerVariables(OpContext &ctx, int count, DType dtype);
  bool isOpen() const { return isGood; }
  Tensor &operator[](int i) { return *tensors[i]; }

private:
  void lockAll(OpContext &ctx, int count);
  std::array<std::optional<VariableWriter>, maxCount> writers;
  std::array<Tensor *, maxCount> tensors = {};
  bool isGood = false;
};

/// True if the gradient, and the rows that it is for, fit the variable; else the op has failed.
bool checkGradient(OpContext &ctx, const OptimizerLayout &layout, const Tensor &variable);

/// True if all inputs but variables, gradient and rows are scalars; else the op has failed.
bool checkScalars(OpContext &ctx, const OptimizerLayout &layout);

} // namespace treadle
