// Gradients of nodes that run functions: calls, conditionals and loops.
#pragma once

#include "treadle/gradients/Backpropagation.h"

#include <optional>

namespace treadle::tfg {

struct FunctionalNode;

/// Nothing if the node runs no function. Else the gradients of its inputs, from those of its
/// results, which may be null. The node is replaced by one that gives what its gradient needs of
/// its functions' values as further results; its gradient is a node that runs functions, too.
Expected<std::optional<Values>> functionGradients(Backpropagation &b, const Forward &forward);

/// Of a call, If or Case.
Expected<Values> branchGradients(Backpropagation &b, const Forward &forward,
                                 const FunctionalNode &functional);
/// Of a While: a While that runs as many iterations, backward. Values of an iteration that it needs
/// are pushed to lists that are loop variables, and popped.
Expected<Values> loopGradients(Backpropagation &b, const Forward &forward,
                               const FunctionalNode &functional);

/// Unimplemented: nobody said what the gradient of this op is.
Error noGradient(Node node);

} // namespace treadle::tfg
