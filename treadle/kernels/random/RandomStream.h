// Where an op's random numbers come from: a stream of its own that goes on from run to run, a seed,
// a key and a counter, or the state that a variable holds.
#pragma once

#include "treadle/kernels/Handles.h"
#include "treadle/kernels/random/Philox.h"

#include <string>

namespace treadle {

/// Blocks that TensorFlow sets aside for an element, whatever it needs.
inline constexpr uint64_t blocksOfElement = 256;

/// The stream of a node with seeds. It is its session's, whatever is fetched, and starts from the
/// seeds; seeds of 0 and 0 ask for numbers that differ each time.
class NodeStream {
public:
  static NodeStream of(const BindContext &node);
  /// A part of the stream for one use: `blocks` blocks that nobody else gets.
  Philox reserve(OpContext &ctx, uint64_t blocks) const;

private:
  Philox start() const;

  uint64_t seed = 0, seed2 = 0;
  std::string name;
  CachedHandle stream;
};

/// The stream of the seed of two numbers that input `i` holds; false having failed.
bool readSeed(OpContext &ctx, int i, Philox &stream);

/// The stream of a key, a counter and an algorithm, inputs `first` to `first + 2`; false having
/// failed.
bool readKeyCounter(OpContext &ctx, int first, Philox &stream);

/// False having failed where that isn't Philox, nor any; with ops on states, ThreeFry is
/// unimplemented rather than invalid, as in TensorFlow.
bool checkAlgorithm(OpContext &ctx, int64_t algorithm, bool isStateful = true);

/// Takes the stream whose state the variable of input 0 holds from `skipped` elements on (the first
/// of these is the algorithm), and moves the state on by `blocks`; false having failed. The state
/// as it was goes to `before`, if given.
bool advanceState(OpContext &ctx, int64_t skipped, uint64_t blocks, Philox &stream,
                  int64_t *before = nullptr);

} // namespace treadle
