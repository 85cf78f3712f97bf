#include "treadle/kernels/ProductAhead.h"

#include <cstring>

namespace treadle {
namespace {

/// Above this a piece has rows enough for a product of its own.
constexpr int64_t maxRowsOfPiece = 12;
/// So many rows at a time: as many as a product reads a panel of the right operand for.
constexpr int64_t rowsAhead = 96;
constexpr int maxDisappointments = 8;

const float *beginOfOwner(const Tensor &piece) {
  return static_cast<const float *>(piece.get()->owner->data);
}

/// How many pieces of this size the owner has from this one on.
int64_t piecesFrom(const Tensor &piece) {
  const float *end = beginOfOwner(piece) + piece.get()->owner->count;
  return (end - piece.data<float>()) / piece.count();
}

// Not a caller's own memory, which may change without our knowing, and not the whole of a tensor.
bool isPiece(const Tensor &t) {
  const TensorBlock *owner = t.get()->owner;
  return owner && !owner->isRef && owner->dtype == DType::Float32 && t.rank() == 2 && t.count() &&
         t.dim(0) <= maxRowsOfPiece && owner->count >= 2 * t.count();
}

} // namespace

bool ProductAhead::Sequence::continuesWith(const Tensor &left, const PackedMatrix *matrix) const {
  return last && right.get() == matrix && last.get()->owner == left.get()->owner &&
         last.count() == left.count() && last.dim(0) == left.dim(0) &&
         last.data<float>() + last.count() == left.data<float>();
}

void ProductAhead::begin(const Tensor &left,
                         const std::shared_ptr<const PackedMatrix> &right) const {
  if (sequence.unused() > sequence.asked)
    ++disappointments;
  sequence = {};
  if (disappointments >= maxDisappointments || piecesFrom(left) < 2)
    return;
  sequence.last = left;
  sequence.right = right;
  sequence.asked = sequence.first = 1;
}

bool ProductAhead::computeNext(OpContext &ctx, const Tensor &left) const {
  int64_t rows = left.dim(0), depth = left.dim(1), columns = sequence.right->columns();
  int64_t most = std::max<int64_t>(rowsAhead / rows, 1);
  int64_t count = std::min({piecesFrom(left), most, 4 * sequence.asked});
  Expected<Tensor> products = Tensor::make(DType::Float32, {count, rows, columns});
  if (!products)
    return false;
  const int64_t zero = 0;
  multiplyPacked(ctx, count * rows, [&](int64_t row) { return left.data<float>() + row * depth; },
                 {{&zero, 1}, depth, 1}, *sequence.right, {products->data<float>(), columns});
  sequence.products = std::move(*products);
  sequence.first = sequence.asked;
  sequence.count = count;
  return true;
}

bool ProductAhead::multiply(OpContext &ctx, const Tensor &left,
                            const std::shared_ptr<const PackedMatrix> &right, float *out) const {
  if (!isPiece(left) || isBusy.exchange(true, std::memory_order_acquire))
    return false;
  struct Release {
    std::atomic<bool> &isBusy;
    ~Release() { isBusy.store(false, std::memory_order_release); }
  } release{isBusy};
  if (!sequence.continuesWith(left, right.get())) {
    begin(left, right);
    return false;
  }
  if (!sequence.unused() && !computeNext(ctx, left)) {
    sequence = {};
    return false;
  }
  int64_t size = left.dim(0) * right->columns();
  std::memcpy(out, sequence.products.data<float>() + (sequence.asked - sequence.first) * size,
              static_cast<size_t>(size) * sizeof(float));
  ++sequence.asked;
  sequence.last = left;
  if (piecesFrom(left) < 2) { // the end: nothing is kept for longer than it serves
    sequence = {};
    disappointments = 0;
  }
  return true;
}

} // namespace treadle
