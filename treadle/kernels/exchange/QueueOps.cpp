// Queue ops: queues are created once per name and session; elements are checked when they are
// enqueued.
#include "treadle/kernels/Handles.h"
#include "treadle/kernels/exchange/Queue.h"

#include "treadle/kernels/ElementShapes.h"

namespace treadle {
namespace {

// --- creation ----------------------------------------------------------------------------------

struct MakeState {
  QueueTraits traits;
  std::unique_ptr<QueueStorage> (*makeStorage)(const MakeState &);
  uint64_t seed, seed2;
  ResourceName resource;
  DType handleDType;
  CachedHandle handle = {};
};

/// Returns an error if the queue of that name, made by another node, has other traits.
std::optional<Error> mismatch(const std::string &name, const QueueTraits &found,
                              const QueueTraits &wanted) {
  auto differs = [&](std::string_view what, const auto &is, const auto &expected) {
    return invalidArgument("the queue '", name, "' has ", what, " ", is, ", but the op expects ",
                           expected);
  };
  if (found.op != wanted.op)
    return differs("the kind", found.op, wanted.op);
  if (found.capacity != wanted.capacity)
    return differs("the capacity", found.capacity, wanted.capacity);
  if (found.kept != wanted.kept)
    return differs("min_after_dequeue", found.kept, wanted.kept);
  if (found.dtypes != wanted.dtypes)
    return invalidArgument("the queue '", name, "' has components of other dtypes");
  bool isSame = found.shapes.size() == wanted.shapes.size();
  for (size_t i = 0; isSame && i < found.shapes.size(); ++i)
    isSame = found.shapes[i].hasRank == wanted.shapes[i].hasRank &&
             found.shapes[i].dims == wanted.shapes[i].dims;
  if (!isSame)
    return invalidArgument("the queue '", name, "' has components of other shapes");
  return std::nullopt;
}

void makeQueue(OpContext &ctx) {
  const auto &state = ctx.state<MakeState>();
  ResourceManager &resources = ctx.run().resources;
  std::optional<Error> error;
  Tensor handle = state.handle.get(resources, [&] {
    Ref<Queue> queue =
        resources.lookupOrCreate<Queue>(state.resource.container, state.resource.name, [&] {
          return makeRef<Queue>(state.traits, state.makeStorage(state));
        });
    error = mismatch(state.resource.name, queue->traits, state.traits);
    return error ? Tensor()
                 : makeHandleFor(state.handleDType, state.handleDType == DType::String,
                                 std::move(queue), state.resource);
  });
  if (error)
    return ctx.fail(std::move(*error));
  ctx.setOutput(0, std::move(handle));
}

std::unique_ptr<QueueStorage> fifo(const MakeState &) { return makeFifoStorage(); }
std::unique_ptr<QueueStorage> priority(const MakeState &) { return makePriorityStorage(); }
std::unique_ptr<QueueStorage> shuffled(const MakeState &state) {
  return makeShuffledStorage(state.seed, state.seed2);
}

std::string_view withoutVersion(std::string_view op) {
  return op.ends_with("V2") ? op.substr(0, op.size() - 2) : op;
}

std::optional<Error> checkTraits(const QueueTraits &traits) {
  if (traits.kept < 0 ||
      (traits.capacity >= 0 && traits.kept >= traits.capacity && traits.kept > 0))
    return invalidArgument("min_after_dequeue is ", traits.kept,
                           ", expected at least 0 and less than the capacity of ", traits.capacity);
  bool needsShapes = traits.pads;
  if (traits.shapes.size() == traits.dtypes.size() || (traits.shapes.empty() && !needsShapes))
    return std::nullopt;
  return invalidArgument("there are ", traits.shapes.size(), " shapes for ", traits.dtypes.size(),
                         " components: expected one for each");
}

template <std::unique_ptr<QueueStorage> (*makeStorage)(const MakeState &)>
Expected<BoundKernel> bindMake(const BindContext &node) {
  const AttrMap &attrs = node.attrs;
  std::string op(withoutVersion(node.op));
  QueueTraits traits{.op = op,
                     .dtypes = attrs.getOr("component_types", std::vector<DType>()),
                     .shapes = attrs.getOr("shapes", std::vector<PartialShape>()),
                     .capacity = attrs.getOr<int64_t>("capacity", -1),
                     .kept = attrs.getOr<int64_t>("min_after_dequeue", 0),
                     .pads = op == "PaddingFIFOQueue"};
  if (makeStorage == priority) { // the priority isn't listed, but comes first
    if (traits.shapes.empty())
      traits.shapes.resize(traits.dtypes.size());
    traits.dtypes.insert(traits.dtypes.begin(), DType::Int64);
    traits.shapes.insert(traits.shapes.begin(), PartialShape::ranked({}));
  }
  if (auto error = checkTraits(traits))
    return Unexpected(std::move(*error));
  return boundWith(
      makeQueue,
      MakeState{.traits = std::move(traits),
                .makeStorage = makeStorage,
                .seed = static_cast<uint64_t>(attrs.getOr<int64_t>("seed", 0)),
                .seed2 = static_cast<uint64_t>(attrs.getOr<int64_t>("seed2", 0)),
                .resource = ResourceName::ofOrNode(node),
                .handleDType = node.op.ends_with("V2") ? DType::Resource : DType::String});
}

// --- enqueue -----------------------------------------------------------------------------------

/// Components start at input 1.
bool checkComponent(OpContext &ctx, const Queue &queue, size_t c, Dims dims) {
  if (queue.traits.shapes.empty() || queue.traits.shapes[c].accepts(dims))
    return true;
  ctx.fail(invalidArgument("component ", c, " has elements of shape ", dimsText(dims),
                           ", but the queue's have ", queue.traits.shapes[c].text()));
  return false;
}

Queue *queueForEnqueue(OpContext &ctx) {
  auto *queue = resourceInput<Queue>(ctx, 0);
  if (!queue)
    return nullptr;
  const std::vector<DType> &dtypes = queue->traits.dtypes;
  bool fits = dtypes.size() + 1 == static_cast<size_t>(ctx.numInputs());
  for (size_t c = 0; fits && c < dtypes.size(); ++c)
    fits = ctx.input(static_cast<int>(c) + 1).dtype() == dtypes[c];
  if (fits)
    return queue;
  ctx.fail(invalidArgument("the ", ctx.numInputs() - 1,
                           " components don't have the number and "
                           "dtypes of the queue's ",
                           dtypes.size()));
  return nullptr;
}

void enqueue(OpContext &ctx) {
  Queue *queue = TREADLE_OR_RETURN(queueForEnqueue(ctx));
  std::deque<QueueTuple> tuples(1);
  for (int i = 1; i < ctx.numInputs(); ++i) {
    if (!checkComponent(ctx, *queue, i - 1, ctx.input(i).dims()))
      return;
    tuples[0].push_back(ctx.takeInput(i));
  }
  queue->enqueue(ctx, std::move(tuples));
}

void enqueueMany(OpContext &ctx) {
  Queue *queue = TREADLE_OR_RETURN(queueForEnqueue(ctx));
  for (int i = 1; i < ctx.numInputs(); ++i) {
    const Tensor &batch = ctx.input(i);
    if (batch.rank() < 1 || batch.dim(0) != ctx.input(1).dim(0))
      return ctx.fail(invalidArgument("component ", i - 1, " is ", tensorTypeText(batch),
                                      ": expected batches of one size, the first dimension"));
    if (!checkComponent(ctx, *queue, i - 1, batch.dims().subspan(1)))
      return;
  }
  std::deque<QueueTuple> tuples(ctx.numInputs() > 1 ? ctx.input(1).dim(0) : 0);
  for (size_t row = 0; row < tuples.size(); ++row)
    for (int i = 1; i < ctx.numInputs(); ++i)
      tuples[row].push_back(rowOf(ctx.input(i), static_cast<int64_t>(row)));
  queue->enqueue(ctx, std::move(tuples));
}

// --- dequeue -----------------------------------------------------------------------------------

using Types = std::vector<DType>;

Queue *queueForDequeue(OpContext &ctx) {
  auto *queue = resourceInput<Queue>(ctx, 0);
  if (!queue || queue->traits.dtypes == ctx.state<Types>())
    return queue;
  ctx.fail(invalidArgument("the op's components don't have the number and dtypes of the queue's ",
                           queue->traits.dtypes.size()));
  return nullptr;
}

void dequeue(OpContext &ctx) {
  if (Queue *queue = queueForDequeue(ctx))
    queue->dequeue(ctx, Queue::DequeueMode::One, 1);
}

bool canBatch(OpContext &ctx, const QueueTraits &traits) {
  bool isKnown = !traits.shapes.empty() || traits.dtypes.empty();
  for (const PartialShape &shape : traits.shapes)
    isKnown = isKnown && (traits.pads ? shape.hasRank : shape.isFullyKnown());
  if (!isKnown)
    ctx.fail(invalidArgument("the queue doesn't declare its components' shapes, so its elements "
                             "can't be taken in batches; set its attribute 'shapes'"));
  return isKnown;
}

template <Queue::DequeueMode taking> void dequeueBatch(OpContext &ctx) {
  Queue *queue = queueForDequeue(ctx);
  if (!queue || !canBatch(ctx, queue->traits))
    return;
  if (ctx.input(1).count() != 1)
    return ctx.fail(invalidArgument("the number of elements must be a scalar, found ",
                                    tensorTypeText(ctx.input(1))));
  int64_t count = indexAt(ctx.input(1), 0);
  if (count < 0)
    return ctx.fail(invalidArgument("the number of elements is ", count, ", expected at least 0"));
  queue->dequeue(ctx, taking, count);
}

// --- other ops ---------------------------------------------------------------------------------

void close(OpContext &ctx) {
  if (auto *queue = resourceInput<Queue>(ctx, 0))
    queue->close(ctx, ctx.state<bool>());
}

void size(OpContext &ctx) {
  if (auto *queue = resourceInput<Queue>(ctx, 0))
    ctx.setOutput(0, Tensor::scalar(DType::Int32, static_cast<int32_t>(queue->size())));
}

void isClosed(OpContext &ctx) {
  if (auto *queue = resourceInput<Queue>(ctx, 0))
    ctx.setOutput(0, Tensor::scalar(DType::Bool, queue->isClosed()));
}

Expected<BoundKernel> waiting(BoundKernel bound, const BindContext &node) {
  if (node.attrs.getOr<int64_t>("timeout_ms", -1) != -1)
    return Unexpected(
        invalidArgument("timeout_ms must be -1: timeouts of single ops aren't supported"));
  bound.mayBlock = true;
  return bound;
}

template <KernelFn fn> Expected<BoundKernel> bindEnqueue(const BindContext &node) {
  return waiting({.fn = fn}, node);
}
template <KernelFn fn> Expected<BoundKernel> bindDequeue(const BindContext &node) {
  return waiting(boundWith(fn, Types(node.outputTypes.begin(), node.outputTypes.end())), node);
}
Expected<BoundKernel> bindClose(const BindContext &node) {
  return waiting(boundWith(close, node.attrs.getOr("cancel_pending_enqueues", false)), node);
}

constexpr BindFn bindDequeueMany = bindDequeue<dequeueBatch<Queue::DequeueMode::Batch>>;
constexpr BindFn bindDequeueUpTo = bindDequeue<dequeueBatch<Queue::DequeueMode::BatchUpTo>>;

const KernelEntry queueTable[] = {
    {"FIFOQueue", bindMake<fifo>},
    {"FIFOQueueV2", bindMake<fifo>},
    {"PaddingFIFOQueue", bindMake<fifo>},
    {"PaddingFIFOQueueV2", bindMake<fifo>},
    {"PriorityQueue", bindMake<priority>},
    {"PriorityQueueV2", bindMake<priority>},
    {"QueueClose", bindClose},
    {"QueueCloseV2", bindClose},
    {"QueueDequeue", bindDequeue<dequeue>},
    {"QueueDequeueMany", bindDequeueMany},
    {"QueueDequeueManyV2", bindDequeueMany},
    {"QueueDequeueUpTo", bindDequeueUpTo},
    {"QueueDequeueUpToV2", bindDequeueUpTo},
    {"QueueDequeueV2", bindDequeue<dequeue>},
    {"QueueEnqueue", bindEnqueue<enqueue>},
    {"QueueEnqueueMany", bindEnqueue<enqueueMany>},
    {"QueueEnqueueManyV2", bindEnqueue<enqueueMany>},
    {"QueueEnqueueV2", bindEnqueue<enqueue>},
    {"QueueIsClosed", bindPlain<isClosed>},
    {"QueueIsClosedV2", bindPlain<isClosed>},
    {"QueueSize", bindPlain<size>},
    {"QueueSizeV2", bindPlain<size>},
    {"RandomShuffleQueue", bindMake<shuffled>},
    {"RandomShuffleQueueV2", bindMake<shuffled>},
};

} // namespace

std::span<const KernelEntry> queueKernels() { return queueTable; }

} // namespace treadle
