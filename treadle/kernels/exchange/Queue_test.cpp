// Queues: order, capacity, batches, closing, and waiting ops.
#include "treadle/kernels/exchange/Queue.h"

#include "treadle/kernels/Handles.h"
#include "treadle/testing/KernelTest.h"

#include <chrono>
#include <thread>

namespace treadle {
namespace {

using Ints = std::vector<int32_t>;

AttrMap attributes(std::vector<DType> dtypes, std::vector<PartialShape> shapes,
                   int64_t capacity = -1) {
  AttrMap attrs;
  std::vector<TypeAttr> types;
  for (DType dtype : dtypes)
    types.push_back({dtype});
  attrs.set("component_types", types);
  attrs.set("shapes", std::move(shapes));
  attrs.set("capacity", capacity);
  return attrs;
}

struct Ints1 {
  explicit Ints1(int64_t capacity = -1, std::string_view op = "FIFOQueueV2",
                 PartialShape shape = PartialShape::ranked({}))
      : handle(run1(op, {}, DType::Resource, attributes({DType::Int32}, {shape}, capacity))) {}

  std::string enqueue(Tensor value) const {
    return failure("QueueEnqueueV2", {handle, std::move(value)});
  }
  std::string enqueueMany(Tensor values) const {
    return failure("QueueEnqueueManyV2", {handle, std::move(values)});
  }
  std::string close(bool cancels = false) const {
    AttrMap attrs;
    attrs.set("cancel_pending_enqueues", cancels);
    return failure("QueueCloseV2", {handle}, attrs);
  }
  int32_t dequeue() const {
    return run1("QueueDequeueV2", {handle}, DType::Int32).scalarValue<int32_t>();
  }
  Tensor dequeueMany(int32_t count) const {
    return run1("QueueDequeueManyV2", {handle, scalar(count)}, DType::Int32);
  }
  std::string dequeueError(std::string_view op = "QueueDequeueV2", Ints count = {}) const {
    std::vector<Tensor> inputs = {handle};
    for (int32_t n : count)
      inputs.push_back(scalar(n));
    return errorClassOf(op, inputs, {DType::Int32});
  }
  int32_t size() const {
    return run1("QueueSizeV2", {handle}, DType::Int32).scalarValue<int32_t>();
  }
  static std::string failure(std::string_view op, std::vector<Tensor> inputs, AttrMap attrs = {}) {
    auto out = runOp(builtinKernels(), op, attrs, std::move(inputs), {});
    return out ? "" : std::string(errorClass(out.error().code));
  }
  /// Lets the other thread start waiting, which can't be observed.
  static void pause() { std::this_thread::sleep_for(std::chrono::milliseconds(20)); }

  Tensor handle;
};

TEST(Queue, givesElementsInOrder) {
  Ints1 queue;
  EXPECT_EQ(queue.enqueue(scalar(1)), "");
  EXPECT_EQ(queue.enqueueMany(vec<int32_t>({2, 3, 4})), "");
  EXPECT_EQ(queue.size(), 4);
  EXPECT_EQ(queue.dequeue(), 1);
  EXPECT_EQ(values<int32_t>(queue.dequeueMany(2)), (Ints{2, 3}));
  EXPECT_EQ(dimsText(queue.dequeueMany(0).dims()), "[0]");
  EXPECT_EQ(queue.dequeue(), 4);
}

TEST(Queue, checksComponents) {
  Ints1 queue;
  EXPECT_EQ(queue.enqueue(vec<int32_t>({1})), "InvalidArgumentError");
  EXPECT_EQ(queue.enqueue(scalar(1.0f)), "InvalidArgumentError");
  EXPECT_EQ(queue.enqueueMany(scalar(1)), "InvalidArgumentError");
  EXPECT_EQ(Ints1::failure("QueueEnqueueV2", {queue.handle}), "InvalidArgumentError");
  EXPECT_EQ(errorClassOf("QueueDequeueV2", {queue.handle}, {DType::Float32}),
            "InvalidArgumentError");
  EXPECT_EQ(queue.dequeueError("QueueDequeueManyV2", {-1}), "InvalidArgumentError");
  Ints1 vague(-1, "FIFOQueueV2", PartialShape{});
  EXPECT_EQ(vague.dequeueError("QueueDequeueManyV2", {1}), "InvalidArgumentError");
}

TEST(Queue, closedQueueDrains) {
  Ints1 queue;
  queue.enqueueMany(vec<int32_t>({1, 2, 3}));
  EXPECT_EQ(queue.close(), "");
  EXPECT_EQ(queue.close(), "CancelledError");
  EXPECT_EQ(queue.enqueue(scalar(4)), "CancelledError");
  EXPECT_EQ(queue.dequeue(), 1);
  EXPECT_EQ(queue.dequeueError("QueueDequeueManyV2", {3}), "OutOfRangeError");
  Tensor rest = run1("QueueDequeueUpToV2", {queue.handle, scalar(3)}, DType::Int32);
  EXPECT_EQ(values<int32_t>(rest), (Ints{2, 3}));
  EXPECT_EQ(queue.dequeueError("QueueDequeueUpToV2", {3}), "OutOfRangeError");
  EXPECT_EQ(queue.dequeueError(), "OutOfRangeError");
}

TEST(Queue, waitsForElements) {
  Ints1 queue;
  Ints got;
  std::thread taker([&] {
    got.push_back(queue.dequeue());
    for (int32_t x : values<int32_t>(queue.dequeueMany(2)))
      got.push_back(x);
  });
  for (int32_t i = 0; i < 3; ++i) {
    Ints1::pause();
    queue.enqueue(scalar(i));
  }
  taker.join();
  EXPECT_EQ(got, (Ints{0, 1, 2}));
}

TEST(Queue, waitsForRoom) {
  Ints1 queue(2);
  std::string error = "unset";
  std::thread giver([&] { error = queue.enqueueMany(vec<int32_t>({1, 2, 3, 4})); });
  Ints got;
  for (int i = 0; i < 4; ++i) {
    EXPECT_LE(queue.size(), 2);
    got.push_back(queue.dequeue());
  }
  giver.join();
  EXPECT_EQ(error, "");
  EXPECT_EQ(got, (Ints{1, 2, 3, 4}));
}

TEST(Queue, batchesMayBeLargerThanTheQueue) {
  Ints1 queue(1);
  Tensor batch;
  std::thread taker([&] { batch = queue.dequeueMany(3); });
  for (int32_t i = 0; i < 3; ++i)
    EXPECT_EQ(queue.enqueue(scalar(i)), "");
  taker.join();
  EXPECT_EQ(values<int32_t>(batch), (Ints{0, 1, 2}));
}

TEST(Queue, closingWakesWaitingOps) {
  Ints1 full(1), empty;
  full.enqueue(scalar(1));
  std::string given, taken;
  std::thread giver([&] { given = full.enqueue(scalar(2)); });
  std::thread taker([&] { taken = empty.dequeueError(); });
  Ints1::pause();
  EXPECT_EQ(full.close(true), "");
  EXPECT_EQ(empty.close(), "");
  giver.join();
  taker.join();
  EXPECT_EQ(given, "CancelledError");
  EXPECT_EQ(taken, "OutOfRangeError");
  EXPECT_EQ(full.dequeue(), 1);
}

TEST(Queue, padsBatches) {
  Ints1 queue(-1, "PaddingFIFOQueueV2", PartialShape::ranked({-1}));
  queue.enqueue(vec<int32_t>({1}));
  queue.enqueue(vec<int32_t>({2, 3}));
  queue.enqueue(vec<int32_t>({}));
  Tensor batch = queue.dequeueMany(3);
  EXPECT_EQ(dimsText(batch.dims()), "[3,2]");
  EXPECT_EQ(values<int32_t>(batch), (Ints{1, 0, 2, 3, 0, 0}));
}

TEST(Queue, smallestPriorityComesFirst) {
  Tensor handle = run1("PriorityQueueV2", {}, DType::Resource,
                       attributes({DType::String}, {PartialShape::ranked({})}));
  for (const auto &[priority, name] :
       std::vector<std::pair<int64_t, std::string>>{{3, "c"}, {-1, "a"}, {2, "b"}})
    EXPECT_EQ(Ints1::failure("QueueEnqueueV2", {handle, scalar(priority), scalar(name)}), "");
  std::string order;
  for (int i = 0; i < 3; ++i)
    order += runAll("QueueDequeueV2", {handle}, {DType::Int64, DType::String})
                 .at(1)
                 .scalarValue<std::string>();
  EXPECT_EQ(order, "abc");
  EXPECT_EQ(Ints1::failure("QueueEnqueueV2", {handle, vec<int64_t>({}), scalar<std::string>("x")}),
            "InvalidArgumentError");
}

// The order that TensorFlow 2.21 draws with this graph's seeds.
TEST(Queue, shufflesAsSeeded) {
  AttrMap attrs = attributes({DType::Int32}, {PartialShape::ranked({})}, 10);
  attrs.set("min_after_dequeue", int64_t{2});
  attrs.set("seed", int64_t{87654321});
  attrs.set("seed2", int64_t{5});
  Ints1 queue;
  queue.handle = run1("RandomShuffleQueueV2", {}, DType::Resource, attrs);
  queue.enqueueMany(vec<int32_t>({0, 1, 2, 3, 4, 5, 6, 7}));
  queue.close();
  Ints order;
  for (int i = 0; i < 8; ++i)
    order.push_back(queue.dequeue());
  EXPECT_EQ(order, (Ints{7, 4, 0, 6, 5, 1, 2, 3}));
}

TEST(Queue, badAttributesAreErrors) {
  AttrMap attrs = attributes({DType::Int32}, {PartialShape::ranked({})}, 10);
  attrs.set("min_after_dequeue", int64_t{10});
  EXPECT_EQ(errorClassOf("RandomShuffleQueueV2", {}, {DType::Resource}, attrs),
            "InvalidArgumentError");
  EXPECT_EQ(
      errorClassOf("PaddingFIFOQueueV2", {}, {DType::Resource}, attributes({DType::Int32}, {})),
      "InvalidArgumentError");
}

} // namespace
} // namespace treadle
