// Storage of queues: FIFO, priority and random order.
#include "treadle/kernels/exchange/Queue.h"
#include "treadle/kernels/random/Philox.h"

#include <algorithm>
#include <random>

namespace treadle {
namespace {

class FifoStorage final : public QueueStorage {
public:
  void push(QueueTuple tuple) override { tuples.emplace_back(std::move(tuple), share); }
  QueueTuple pop() override {
    QueueTuple first = std::move(tuples.front().tuple);
    tuples.pop_front();
    return first;
  }
  int64_t size() const override { return static_cast<int64_t>(tuples.size()); }

private:
  const MemoryShare share;
  std::deque<StoredTuple, BudgetedAllocator<StoredTuple>> tuples{share};
};

/// A priority queue: smallest first component first. A binary heap like TensorFlow's, so that ties
/// leave in the same order.
class PriorityStorage final : public QueueStorage {
public:
  void push(QueueTuple tuple) override {
    heap.emplace_back(std::move(tuple), share);
    std::ranges::push_heap(heap, hasLowerPriority);
  }
  QueueTuple pop() override {
    std::ranges::pop_heap(heap, hasLowerPriority);
    QueueTuple first = std::move(heap.back().tuple);
    heap.pop_back();
    return first;
  }
  int64_t size() const override { return static_cast<int64_t>(heap.size()); }

private:
  static bool hasLowerPriority(const StoredTuple &a, const StoredTuple &b) {
    return a.tuple[0].scalarValue<int64_t>() > b.tuple[0].scalarValue<int64_t>();
  }
  const MemoryShare share;
  BudgetedVector<StoredTuple> heap{share};
};

/// A random queue. Draws like TensorFlow, so that a seeded queue returns the same order.
class ShuffledStorage final : public QueueStorage {
public:
  explicit ShuffledStorage(Philox stream) : stream(stream) {}
  void push(QueueTuple tuple) override { tuples.emplace_back(std::move(tuple), share); }
  QueueTuple pop() override {
    size_t drawn = numbers.next() % tuples.size();
    QueueTuple tuple = std::move(tuples[drawn].tuple);
    if (drawn + 1 < tuples.size())
      tuples[drawn] = std::move(tuples.back());
    tuples.pop_back();
    return tuple;
  }
  int64_t size() const override { return static_cast<int64_t>(tuples.size()); }

private:
  Philox stream;
  PhiloxNumbers numbers{stream};
  const MemoryShare share;
  BudgetedVector<StoredTuple> tuples{share};
};

} // namespace

std::unique_ptr<QueueStorage> makeFifoStorage() { return std::make_unique<FifoStorage>(); }

std::unique_ptr<QueueStorage> makePriorityStorage() { return std::make_unique<PriorityStorage>(); }

std::unique_ptr<QueueStorage> makeShuffledStorage(uint64_t seed, uint64_t seed2) {
  if (seed == 0 && seed2 == 0) {
    std::random_device device;
    seed = device();
    seed2 = device();
  }
  return std::make_unique<ShuffledStorage>(Philox::fromSeeds(seed, seed2));
}

} // namespace treadle
