// Gradients of nodes that call functions: calls, conditionals and loops.
#pragma once

#include "treadle/gradients/Backpropagation.h"

#include <optional>

namespace treadle::tfg {

struct FunctionalNode;

/// Returns nullopt if the node doesn't call functions; otherwise the gradients of its inputs, given
/// those of its results, which may be null. The node is replaced by one with additional results for
/// the values that the gradient needs from its functions; the gradient is a node that calls
/// functions too.
Expected<std::optional<Values>> functionGradients(Backpropagation &b,
                                                  const DifferentiatedNode &forward);

/// Differentiates a call, If or Case.
Expected<Values> branchGradients(Backpropagation &b, const DifferentiatedNode &forward,
                                 const FunctionalNode &functional);
/// Differentiates a While: the gradient is a While that runs the same number of iterations
/// backward. Values of an iteration that it needs are pushed to lists that are loop variables, and
/// popped.
Expected<Values> loopGradients(Backpropagation &b, const DifferentiatedNode &forward,
                               const FunctionalNode &functional);

/// Returns an Unimplemented error: the op's gradient isn't defined.
Error noGradient(Node node);

} // namespace treadle::tfg
