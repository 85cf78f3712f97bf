// Products of pieces of one tensor that a loop takes one after the other, as a recurrent network
// does with its inputs: a piece has too few rows for a fast product, many of them have enough.
#pragma once

#include "treadle/kernels/products/PackedProduct.h"
#include "treadle/tensor/ThreadSlots.h"

namespace treadle {

/// Multiplies the pieces that follow together with the one that is asked for, and keeps what will
/// be asked for next. It begins when a piece follows the one of the call before in memory, and
/// computes at most eight times as many ahead as were asked for so far: some when they are needed,
/// and those after them meanwhile, where another thread has the time. Thread-safe: each caller of
/// the graph has a sequence of its own.
class ProductAhead {
public:
  /// Writes left * right to `out` and returns true, if `left`, row-major and straight, is next in a
  /// sequence; false, having done nothing, if it isn't.
  bool multiply(OpContext &ctx, const Tensor &left,
                const std::shared_ptr<const PackedMatrix> &right, float *out) const;

private:
  class Batch;

  /// The pieces that one caller asks for.
  class Sequence {
  public:
    bool multiply(OpContext &ctx, const Tensor &left,
                  const std::shared_ptr<const PackedMatrix> &right, float *out);

  private:
    /// Nothing is kept for longer than a sequence lasts.
    struct State {
      Tensor last; // its owner's elements stay what they are while this is kept
      std::shared_ptr<const PackedMatrix> right;
      int64_t asked = 0; // pieces, by this sequence
      std::shared_ptr<Batch> batch, next;
    };

    bool continuesWith(const Tensor &left, const PackedMatrix *matrix) const;
    int64_t unused() const;
    void begin(const Tensor &left, const std::shared_ptr<const PackedMatrix> &right);
    void end();
    std::shared_ptr<Batch> startBatch(OpContext &ctx, const Tensor &left, int64_t first) const;
    bool findBatch(OpContext &ctx, const Tensor &left);

    State now;
    int disappointments = 0;
  };

  ThreadSlots<Sequence> sequences; // by caller
};

} // namespace treadle
