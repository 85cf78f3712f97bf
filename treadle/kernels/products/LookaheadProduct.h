// Lookahead products of consecutive slices of one tensor, as a recurrent network's loop takes them
// from its inputs: a slice has too few rows for a fast product, but many slices together have
// enough.
#pragma once

#include "treadle/kernels/products/PackedProduct.h"
#include "treadle/tensor/ThreadSlots.h"

namespace treadle {

/// Multiplies the requested slice together with the slices that follow it, and caches their
/// products. It starts when a slice follows that of the previous call in memory, and computes at
/// most eight times as many slices ahead as were requested so far: some when they are needed, and
/// those after them concurrently if another thread is free. Thread-safe: each caller of the graph
/// has a sequence of its own.
class LookaheadProduct {
public:
  /// If `left`, row-major and untransposed, is next in a sequence, writes left * right to `out` and
  /// returns true. Otherwise returns false without doing anything.
  bool multiply(OpContext &ctx, const Tensor &left,
                const std::shared_ptr<const PackedMatrix> &right, float *out) const;

private:
  class Batch;

  /// The slices that one caller requests.
  class Sequence {
  public:
    bool multiply(OpContext &ctx, const Tensor &left,
                  const std::shared_ptr<const PackedMatrix> &right, float *out);

  private:
    /// State of a running sequence; released when the sequence ends.
    struct State {
      Tensor last; // keeps its owner's elements unchanged
      std::shared_ptr<const PackedMatrix> right;
      int64_t asked = 0; // number of slices requested in this sequence
      std::shared_ptr<Batch> batch, next;
    };

    bool continuesWith(const Tensor &left, const PackedMatrix *matrix) const;
    int64_t unused() const;
    void begin(const Tensor &left, const std::shared_ptr<const PackedMatrix> &right);
    void end();
    std::shared_ptr<Batch> startBatch(OpContext &ctx, const Tensor &left, int64_t first) const;
    bool ensureBatch(OpContext &ctx, const Tensor &left);

    State now;
    int wastedBatches = 0;
  };

  ThreadSlots<Sequence> sequences; // one per caller
};

} // namespace treadle
