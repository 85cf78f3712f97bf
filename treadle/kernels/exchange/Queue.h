// Queues of tuples of tensors: FIFO, random or by priority, with bounded capacity. Ops wait for
// room or for elements.
#pragma once

#include "treadle/kernels/Element.h"
#include "treadle/tensor/BudgetedMemory.h"
#include "treadle/tensor/Resource.h"

#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace treadle {

/// An element of a queue: one tensor for each component.
using QueueTuple = std::vector<Tensor>;

/// A stored element, charged to the memory budget of its container.
struct StoredTuple {
  StoredTuple(QueueTuple taken, const MemoryShare &share)
      : charge(share, taken.capacity() * sizeof(Tensor)), tuple(std::move(taken)) {}
  MemoryCharge charge;
  QueueTuple tuple;
};

/// The elements of a queue and the order in which they leave. `push` throws std::bad_alloc if
/// memory is exhausted.
class QueueStorage {
public:
  virtual ~QueueStorage() = default;
  virtual void push(QueueTuple tuple) = 0;
  virtual QueueTuple pop() = 0; // must not be empty
  virtual int64_t size() const = 0;
};

struct QueueTraits {
  std::string op; // op that created the queue
  std::vector<DType> dtypes;
  std::vector<PartialShape> shapes; // empty: any shapes
  int64_t capacity = -1;            // negative: unbounded
  int64_t kept = 0;                 // min_after_dequeue: elements kept until the queue is closed
  bool pads = false;                // whether batches are padded to the largest shape
};

/// A queue. Enqueues complete in FIFO order, and so do dequeues; an op that can't complete at once
/// is suspended. Thread-safe.
class Queue final : public Resource {
public:
  static constexpr std::string_view kindName = "queue";
  std::string_view kind() const override { return kindName; }

  Queue(QueueTraits traits, std::unique_ptr<QueueStorage> storage)
      : traits(std::move(traits)), storage(std::move(storage)) {}
  const QueueTraits traits;

  /// How elements are dequeued: a single one, a batch of exactly `count`, or a batch of fewer once
  /// the queue is closed.
  enum class DequeueMode : uint8_t { One, Batch, BatchUpTo };

  void enqueue(OpContext &ctx, std::deque<QueueTuple> tuples);
  void dequeue(OpContext &ctx, DequeueMode taking, int64_t count);
  /// Closes the queue after pending enqueues, or cancels these.
  void close(OpContext &ctx, bool cancelsPending);
  int64_t size() const;
  bool isClosed() const;

private:
  struct QueueRequest {
    enum class Kind : uint8_t { Enqueue, Dequeue, Close } kind;
    DequeueMode taking = DequeueMode::One;
    int64_t count = 0;
    std::deque<QueueTuple> tuples;
    Ref<Suspension> suspension = {}; // null for the op that is just running
    std::optional<Error> error = {};
    std::vector<Tensor> outputs = {};
    bool isDone = false;
    bool isLost = false; // done, but the op's run was stopped
  };
  using QueueRequests = std::deque<std::shared_ptr<QueueRequest>>;

  void submit(OpContext &ctx, QueueRequests &line, std::shared_ptr<QueueRequest> attempt);
  void finish(OpContext &ctx, const QueueRequests &finished, const QueueRequest *own);
  void advance(QueueRequests &finished);
  bool advance(QueueRequests &line, QueueRequests &finished);
  bool attempt(QueueRequest &a);
  bool pushFirst(QueueRequest &a);
  bool tryEnqueue(QueueRequest &a);
  bool tryDequeue(QueueRequest &a);
  bool tryClose(QueueRequest &a);
  bool claim(QueueRequest &a);
  int64_t available() const;
  int64_t room() const;
  Error closedError() const;

  mutable std::mutex mutex;
  std::unique_ptr<QueueStorage> storage;
  QueueRequests adding, taking; // waiting, in order
  bool closed = false;
};

/// Stacks the tuples of a batch, one tensor for each component, padded if the queue pads.
Expected<QueueTuple> batchOf(const QueueTraits &traits, std::span<const QueueTuple> tuples);

std::unique_ptr<QueueStorage> makeFifoStorage();
std::unique_ptr<QueueStorage> makePriorityStorage();
std::unique_ptr<QueueStorage> makeShuffledStorage(uint64_t seed, uint64_t seed2);

} // namespace treadle
