#include "treadle/kernels/products/LookaheadProduct.h"

#include "treadle/kernels/products/MatMul.h"
#include "treadle/runtime/Execution.h"
#include "treadle/runtime/Run.h"
#include "treadle/runtime/ThreadPool.h"

#include <algorithm>

namespace treadle {
namespace {

/// Maximum number of rows of a piece: more rows are fast enough on their own.
constexpr int64_t maxRowsPerPiece = 12;
/// Number of rows per batch: as many as share one read of a panel of the right operand.
constexpr int64_t rowsPerBatch = 96;
/// Number of rows per part of a batch: enough for a fast product.
constexpr int64_t rowsPerPart = 24;
constexpr int maxWastedBatches = 8;
/// Minimum work in ns to wake up another thread.
constexpr double minWorkPerHelper = 15000;

const float *beginOfOwner(const Tensor &piece) {
  return static_cast<const float *>(piece.get()->owner->data);
}

/// Number of pieces of this size in the owner from this one on.
int64_t piecesFrom(const Tensor &piece) {
  const float *end = beginOfOwner(piece) + piece.get()->owner->count;
  return (end - piece.data<float>()) / piece.count();
}

// Whether `t` is a small part of another tensor. Caller-owned memory, which can change at any time,
// doesn't qualify.
bool isPiece(const Tensor &t) {
  const TensorBlock *owner = t.get()->owner;
  return owner && !owner->isRef && owner->dtype == DType::Float32 && t.rank() == 2 && t.count() &&
         t.dim(0) <= maxRowsPerPiece && owner->count >= 2 * t.count();
}

} // namespace

/// Products of consecutive pieces, in parts that any thread can compute.
class LookaheadProduct::Batch {
public:
  /// `first` is the number of the first piece, whose elements are at `from`.
  Batch(const Tensor &piece, const float *from, std::shared_ptr<const PackedMatrix> right,
        Tensor products, int64_t first)
      : piece(piece), from(from), right(std::move(right)), products(std::move(products)),
        first(first), rows(this->products.dim(0) * this->products.dim(1)),
        parts((rows + rowsPerPart - 1) / rowsPerPart) {}

  int64_t end() const { return first + products.dim(0); }
  bool has(int64_t i) const { return i >= first && i < end(); }
  const float *productOf(int64_t i) const {
    return products.data<float>() + (i - first) * products.dim(1) * products.dim(2);
  }

  /// Computes parts until none is left that no thread has taken.
  void help() {
    for (int64_t part; (part = nextPart.fetch_add(1, std::memory_order_relaxed)) < parts;) {
      multiplyPart(part);
      if (done.fetch_add(1, std::memory_order_acq_rel) + 1 == parts)
        done.notify_all();
    }
  }
  /// Computes the remaining parts, and waits for those of other threads.
  void finish() {
    help();
    for (int64_t n; (n = done.load(std::memory_order_acquire)) < parts;)
      done.wait(n, std::memory_order_acquire);
    releaseOperands();
  }
  /// Drops the parts that no thread has begun.
  void cancel() {
    int64_t begun = std::min(nextPart.exchange(parts, std::memory_order_relaxed), parts);
    if (done.load(std::memory_order_acquire) == begun)
      releaseOperands();
  }

private:
  void multiplyPart(int64_t part) {
    Execution alone;
    const int64_t zero = 0, depth = right->depth(), columns = right->columns();
    int64_t begin = part * rowsPerPart;
    multiplyPacked(alone, std::min(rowsPerPart, rows - begin),
                   [&](int64_t row) { return from + (begin + row) * depth; },
                   {{&zero, 1}, depth, 1}, *right,
                   {products.data<float>() + begin * columns, columns});
  }
  /// Releases the operands early, since the batch itself may have to wait for a thread.
  void releaseOperands() {
    piece = {};
    right = nullptr;
  }

  Tensor piece; // keeps its owner's elements alive
  const float *from;
  std::shared_ptr<const PackedMatrix> right;
  Tensor products; // one product per piece
  const int64_t first, rows, parts;
  std::atomic<int64_t> nextPart{0}, done{0};
};

bool LookaheadProduct::Sequence::continuesWith(const Tensor &left,
                                               const PackedMatrix *matrix) const {
  return now.last && now.right.get() == matrix && now.last.get()->owner == left.get()->owner &&
         now.last.count() == left.count() && now.last.dim(0) == left.dim(0) &&
         now.last.data<float>() + now.last.count() == left.data<float>();
}

int64_t LookaheadProduct::Sequence::unused() const {
  const std::shared_ptr<Batch> &ahead = now.next ? now.next : now.batch;
  return ahead ? ahead->end() - now.asked : 0;
}

void LookaheadProduct::Sequence::begin(const Tensor &left,
                                       const std::shared_ptr<const PackedMatrix> &right) {
  if (unused() > now.asked)
    ++wastedBatches;
  end();
  if (wastedBatches >= maxWastedBatches || piecesFrom(left) < 2)
    return;
  now.last = left;
  now.right = right;
  now.asked = 1;
}

void LookaheadProduct::Sequence::end() {
  if (now.next)
    now.next->cancel();
  now = {};
}

/// Creates a batch that begins with piece `first`, where `left` is piece `asked`, and offers it to
/// another thread if one is free. Returns null if there is no such piece, or not enough memory. The
/// batch size doesn't depend on the threads, since sums of few rows are rounded differently from
/// those of many.
std::shared_ptr<LookaheadProduct::Batch>
LookaheadProduct::Sequence::startBatch(OpContext &ctx, const Tensor &left, int64_t first) const {
  int64_t before = first - now.asked, rows = left.dim(0);
  int64_t count = std::min(
      {piecesFrom(left) - before, std::max<int64_t>(rowsPerBatch / rows, 1), 4 * now.asked});
  if (count <= 0)
    return nullptr;
  Expected<Tensor> products = Tensor::make(DType::Float32, {count, rows, now.right->columns()});
  if (!products)
    return nullptr;
  double cost = costOfProduct * static_cast<double>(left.dim(1) * products->count());
  auto batch = std::make_shared<Batch>(left, left.data<float>() + before * left.count(), now.right,
                                       std::move(*products), first);
  ThreadPool *pool = ctx.pool();
  if (pool && pool->numWorkers() && cost >= minWorkPerHelper && pool->freeCores() > 0)
    pool->schedule([batch] { batch->help(); });
  return batch;
}

/// Makes sure that a batch contains the requested piece; false if there isn't enough memory.
bool LookaheadProduct::Sequence::ensureBatch(OpContext &ctx, const Tensor &left) {
  if (now.batch && now.batch->has(now.asked))
    return true;
  now.batch = now.next ? std::move(now.next) : startBatch(ctx, left, now.asked);
  now.next = nullptr;
  if (!now.batch)
    return false;
  now.next = startBatch(ctx, left, now.batch->end());
  now.batch->finish();
  return true;
}

bool LookaheadProduct::Sequence::multiply(OpContext &ctx, const Tensor &left,
                                          const std::shared_ptr<const PackedMatrix> &right,
                                          float *out) {
  if (!continuesWith(left, right.get())) {
    begin(left, right);
    return false;
  }
  if (!ensureBatch(ctx, left)) {
    end();
    return false;
  }
  std::copy_n(now.batch->productOf(now.asked), left.dim(0) * right->columns(), out);
  ++now.asked;
  now.last = left;
  if (piecesFrom(left) < 2) {
    end();
    wastedBatches = 0;
  }
  return true;
}

bool LookaheadProduct::multiply(OpContext &ctx, const Tensor &left,
                                const std::shared_ptr<const PackedMatrix> &right,
                                float *out) const {
  if (!isPiece(left))
    return false;
  auto own = sequences.tryTake(ctx.caller());
  return own && own->multiply(ctx, left, right, out);
}

} // namespace treadle
