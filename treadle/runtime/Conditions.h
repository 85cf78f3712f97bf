// Evaluation of conditions, predicates and branch indices of control flow.
#pragma once

#include "treadle/tensor/Tensor.h"

namespace treadle {

/// Whether TensorFlow can convert scalars of the dtype to bool.
bool isTruthConvertible(DType dtype);

/// Evaluates the condition of an If or a While: a numeric scalar is true if it is nonzero, a string
/// scalar if it isn't empty, any other tensor if it has elements. Returns InvalidArgument for
/// scalars of dtypes that can't be converted to bool.
Expected<bool> isTrue(const Tensor &tensor);

/// Returns the predicate of a Switch, directly or through LoopCond; InvalidArgument unless it is a
/// bool scalar.
Expected<bool> switchPredicateOf(const Tensor &tensor);

/// Returns the branch of a Case, or the output of a _SwitchN, that `index` selects: the last of
/// `count` if the index is out of range. Returns InvalidArgument unless it is an int32 scalar.
Expected<int> branchIndexOf(const Tensor &index, size_t count);

} // namespace treadle
