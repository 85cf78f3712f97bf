// Gradients of nodes that call functions.
#pragma once

#include "treadle/transforms/symbolic_gradient/GradientTable.h"
#include "treadle/transforms/symbolic_gradient/SymbolicGradients.h"

namespace treadle::tfg {

/// The name of the function whose gradient is that of the node: what it calls, or for a node that
/// is a SymbolicGradient itself what computes it. Empty where the node calls nothing.
Expected<std::string> differentiatedCallee(Node node, SymbolicGradients &gradients);

/// A SymbolicGradient node of `callee`.
Values callGradient(Emitter &e, const Forward &f, llvm::StringRef callee);

} // namespace treadle::tfg
