// Queues of tuples of tensors: in order, at random or by priority, of bounded size, with ops that
// wait for room or for elements.
#pragma once

#include "treadle/kernels/Element.h"
#include "treadle/tensor/KeptMemory.h"
#include "treadle/tensor/Resource.h"

#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace treadle {

/// An element of a queue: one tensor a component.
using QueueTuple = std::vector<Tensor>;

/// An element that is kept, charged to whoever keeps it.
struct KeptTuple {
  KeptTuple(QueueTuple taken, const MemoryShare &share)
      : charge(share, taken.capacity() * sizeof(Tensor)), tuple(std::move(taken)) {}
  MemoryCharge charge;
  QueueTuple tuple;
};

/// Where a queue keeps its elements, and which comes out next. `push` throws where memory ends.
class QueueStorage {
public:
  virtual ~QueueStorage() = default;
  virtual void push(QueueTuple tuple) = 0;
  virtual QueueTuple pop() = 0; // there is one
  virtual int64_t size() const = 0;
};

struct QueueTraits {
  std::string op; // that made it
  std::vector<DType> dtypes;
  std::vector<PartialShape> shapes; // empty: any
  int64_t capacity = -1;            // below zero: any
  int64_t kept = 0;                 // elements that stay until the queue is closed
  bool pads = false;                // batches of elements of different shapes are padded
};

/// Thread-safe. Ops complete in the order in which they came, those that add and those that take
/// each among themselves; an op that can't complete at once is suspended.
class Queue final : public Resource {
public:
  static constexpr std::string_view kindName = "queue";
  std::string_view kind() const override { return kindName; }

  Queue(QueueTraits traits, std::unique_ptr<QueueStorage> storage)
      : traits(std::move(traits)), storage(std::move(storage)) {}
  const QueueTraits traits;

  /// How elements are taken: one as it is, or a batch of `count`, or of fewer where there are no
  /// more and won't be.
  enum class Taking : uint8_t { One, Batch, BatchUpTo };

  void enqueue(OpContext &ctx, std::deque<QueueTuple> tuples);
  void dequeue(OpContext &ctx, Taking taking, int64_t count);
  /// Waits for ops that are adding elements, or cancels them.
  void close(OpContext &ctx, bool cancelsPending);
  int64_t size() const;
  bool isClosed() const;

private:
  struct Attempt {
    enum class Kind : uint8_t { Enqueue, Dequeue, Close } kind;
    Taking taking = Taking::One;
    int64_t count = 0;
    std::deque<QueueTuple> tuples;
    Ref<Suspension> suspension = {}; // null: the op is at its first try
    std::optional<Error> error = {};
    std::vector<Tensor> outputs = {};
    bool isDone = false;
    bool isLost = false; // done, but for a run that was stopped meanwhile
  };
  using Attempts = std::deque<std::shared_ptr<Attempt>>;

  void submit(OpContext &ctx, Attempts &line, std::shared_ptr<Attempt> attempt);
  void finish(OpContext &ctx, const Attempts &finished, const Attempt *own);
  void advance(Attempts &finished);
  bool advance(Attempts &line, Attempts &finished);
  bool attempt(Attempt &a);
  bool pushFirst(Attempt &a);
  bool tryEnqueue(Attempt &a);
  bool tryDequeue(Attempt &a);
  bool tryClose(Attempt &a);
  bool claim(Attempt &a);
  int64_t available() const;
  int64_t room() const;
  Error closedError() const;

  mutable std::mutex mutex;
  std::unique_ptr<QueueStorage> storage;
  Attempts adding, taking; // waiting, in order
  bool closed = false;
};

/// The tuples of a batch as one tensor a component, padded to the largest where the queue says so.
Expected<QueueTuple> batchOf(const QueueTraits &traits, std::span<const QueueTuple> tuples);

std::unique_ptr<QueueStorage> makeFifoStorage();
std::unique_ptr<QueueStorage> makePriorityStorage();
std::unique_ptr<QueueStorage> makeShuffledStorage(uint64_t seed, uint64_t seed2);

} // namespace treadle
