// Ops that are compiled to machine code rather than to a kernel call.
#pragma once

#include "treadle/dialect/Tfg.h"
#include "treadle/ops/OpFacts.h"

namespace treadle::tfg {

/// Returns how a node is compiled, as far as its op and dtypes determine that.
NativeForm nativeForm(Node node);

/// Returns whether an op is compiled to elementwise code, for some dtypes.
bool computesElements(llvm::StringRef op);

/// Returns whether a tensor is known to be so small that a kernel call takes longer than moving its
/// elements.
bool isCheapToMove(mlir::Type type);

/// Returns whether an op takes so little time that interpreting its node takes longer: its tensors
/// are numbers, and known to be small. Larger tensors are left to kernels, which use all threads.
bool isSmallWork(Node node);

/// The minimum number of computing or small nodes in a cluster without a loop. With fewer, calling
/// the cluster costs as much as it saves.
inline constexpr int64_t minCompiledNodes = 5;

/// The same for nodes whose results are known to be large.
inline constexpr int64_t minCompiledLargeNodes = 2;

/// The maximum number of nodes in such a cluster.
inline constexpr size_t maxCompiledNodes = 2000;

/// The maximum number of nodes of a graph or function with such clusters: 40 nodes compile in 0.05
/// to 2 s. ResNet-50 has 500 nodes.
inline constexpr size_t maxGraphNodes = 20'000;

/// Returns whether the node is in the epilogue (bias, normalization, products and sums, activation)
/// of a contraction (convolution, matrix product) that isn't small, so that a kernel computes both.
bool isInEpilogue(Node node);

} // namespace treadle::tfg
