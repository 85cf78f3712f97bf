// Ops that machine code has a form of its own for, instead of a call of their kernel.
#pragma once

#include "treadle/dialect/Tfg.h"
#include "treadle/ops/OpFacts.h"

namespace treadle::tfg {

/// How machine code stands to a node, as far as its op and dtypes tell.
NativeForm nativeForm(Node node);

/// Whether an op computes elements in a form of machine code, for some dtypes.
bool computesElements(llvm::StringRef op);

/// Whether a tensor is known to be so small that the call of a kernel takes longer than to put its
/// elements elsewhere.
bool isQuicklyMoved(mlir::Type type);

/// So many nodes that compute make a cluster without a loop: with fewer, the call of the cluster
/// takes what it saves.
inline constexpr int64_t worthCompiling = 5;

/// The most nodes of such a cluster: compiling takes more than linear time.
inline constexpr size_t mostCompiled = 40;

/// The most nodes of a graph, or a function, that such clusters are made of: 40 of them compile in
/// 0.05 to 2 s. ResNet-50 has 500.
inline constexpr size_t mostOfGraph = 20'000;

/// Nodes that kernels compute in one go with the contraction (a convolution, a matrix product)
/// before them: a bias, a normalisation, products and sums, an activation.
bool followsContraction(Node node);

} // namespace treadle::tfg
