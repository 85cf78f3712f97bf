// What control flow is decided by, for all that runs it.
#pragma once

#include "treadle/tensor/Tensor.h"

namespace treadle {

/// Whether TensorFlow has a truth for scalars of the dtype.
bool hasTruth(DType dtype);

/// The condition of an If or a While: a scalar by its value (a string by whether it is empty),
/// anything else by whether it has elements. InvalidArgument for scalars of dtypes without
/// truth.
Expected<bool> isTrue(const Tensor &tensor);

/// The predicate of a Switch, also by way of LoopCond: InvalidArgument unless it is a bool scalar.
Expected<bool> asPredicate(const Tensor &tensor);

/// Which of `count` branches of a Case, or outputs of a _SwitchN, an index chooses: the last one
/// where it is out of range. InvalidArgument unless it is an int32 scalar.
Expected<int> asChoice(const Tensor &index, size_t count);

} // namespace treadle
