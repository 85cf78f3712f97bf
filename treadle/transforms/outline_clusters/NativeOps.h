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
/// the cluster costs as much as it saves; unless a tensor is so large that its traffic through
/// memory costs more. A costly function of such a tensor is compiled alone.
inline constexpr int64_t minCompiledNodes = 5, minLargeNodes = 2;

/// The work of nodes outside of loops, to decide whether compiling them pays off.
class StraightWork {
public:
  /// Adds the work of a node. Returns `isEnough()`.
  bool add(Node node);
  bool isEnough() const {
    return hasCostly || computing >= (hasLarge ? minLargeNodes : minCompiledNodes);
  }

private:
  int64_t computing = 0;
  bool hasLarge = false, hasCostly = false; // costly: of a large tensor
};

/// The maximum number of nodes in such a cluster.
inline constexpr size_t maxCompiledNodes = 2000;

/// The maximum number of nodes of a graph or function with such clusters. ResNet-50 has 500 nodes.
inline constexpr size_t maxGraphNodes = 20'000;

/// Returns whether the node is in the epilogue (bias, normalization, products and sums, activation)
/// of a contraction (convolution, matrix product) that isn't small, so that a kernel computes both.
bool isInEpilogue(Node node);

} // namespace treadle::tfg
