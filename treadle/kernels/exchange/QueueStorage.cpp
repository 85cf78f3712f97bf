// The three orders in which elements leave a queue.
#include "treadle/kernels/exchange/Queue.h"
#include "treadle/kernels/random/Philox.h"

#include <algorithm>
#include <random>

namespace treadle {
namespace {

class FifoStorage final : public QueueStorage {
public:
  void push(QueueTuple tuple) override { tuples.push_back(std::move(tuple)); }
  QueueTuple pop() override {
    QueueTuple first = std::move(tuples.front());
    tuples.pop_front();
    return first;
  }
  int64_t size() const override { return static_cast<int64_t>(tuples.size()); }

private:
  std::deque<QueueTuple> tuples;
};

/// The smallest first component first. A binary heap as TensorFlow's is, so that equals come out in
/// the same order.
class PriorityStorage final : public QueueStorage {
public:
  void push(QueueTuple tuple) override {
    heap.push_back(std::move(tuple));
    std::ranges::push_heap(heap, comesLater);
  }
  QueueTuple pop() override {
    std::ranges::pop_heap(heap, comesLater);
    QueueTuple first = std::move(heap.back());
    heap.pop_back();
    return first;
  }
  int64_t size() const override { return static_cast<int64_t>(heap.size()); }

private:
  static bool comesLater(const QueueTuple &a, const QueueTuple &b) {
    return a[0].scalarValue<int64_t>() > b[0].scalarValue<int64_t>();
  }
  std::vector<QueueTuple> heap;
};

/// Draws as TensorFlow does, so that a seeded queue gives the same order.
class ShuffledStorage final : public QueueStorage {
public:
  explicit ShuffledStorage(Philox stream) : stream(stream) {}
  void push(QueueTuple tuple) override { tuples.push_back(std::move(tuple)); }
  QueueTuple pop() override {
    size_t drawn = numbers.next() % tuples.size();
    QueueTuple tuple = std::exchange(tuples[drawn], QueueTuple());
    if (drawn + 1 < tuples.size())
      tuples[drawn] = std::move(tuples.back());
    tuples.pop_back();
    return tuple;
  }
  int64_t size() const override { return static_cast<int64_t>(tuples.size()); }

private:
  Philox stream;
  PhiloxNumbers numbers{stream};
  std::vector<QueueTuple> tuples;
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
