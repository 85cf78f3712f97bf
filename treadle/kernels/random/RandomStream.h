// Sources of an op's random numbers: a stream of the node that persists between runs, a seed, a key
// and counter, or the state in a variable.
#pragma once

#include "treadle/kernels/Handles.h"
#include "treadle/kernels/random/Philox.h"

#include <string>

namespace treadle {

/// Number of blocks that TensorFlow reserves per element, regardless of need.
inline constexpr uint64_t blocksPerElement = 256;

/// The stream of a node with seeds. The session keeps it, and all requests share it. Seeds of 0 and
/// 0 mean a nondeterministic seed.
class NodeStream {
public:
  static NodeStream of(const BindContext &node);
  /// Reserves `blocks` blocks of the stream for exclusive use.
  Philox reserve(OpContext &ctx, uint64_t blocks) const;

private:
  Philox start() const;

  uint64_t seed = 0, seed2 = 0;
  std::string name;
  CachedHandle stream;
};

/// Sets the stream for the seed in input `i`, two numbers; returns false after failing the op.
bool readSeed(OpContext &ctx, int i, Philox &stream);

/// Sets the stream for key, counter and algorithm in inputs `first` to `first + 2`; returns false
/// after failing the op.
bool readKeyCounter(OpContext &ctx, int first, Philox &stream);

/// Returns false after failing the op unless the algorithm is Philox or automatic. In ops on states
/// ThreeFry is unimplemented rather than invalid, as in TensorFlow.
bool checkAlgorithm(OpContext &ctx, int64_t algorithm, bool isStateful = true);

/// Initializes `stream` from the state in input 0's variable, and advances that by `blocks`.
/// Counter and key begin at element `skipped`. Returns false after failing the op. Copies the old
/// state to `before` if that isn't null.
bool advanceState(OpContext &ctx, int64_t skipped, uint64_t blocks, Philox &stream,
                  int64_t *before = nullptr);

} // namespace treadle
