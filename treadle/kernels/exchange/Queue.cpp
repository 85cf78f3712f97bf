// Queues: scheduling of waiting ops.
#include "treadle/kernels/exchange/Queue.h"

#include "treadle/kernels/ElementShapes.h"

#include <algorithm>

namespace treadle {

// --- state -------------------------------------------------------------------------------------

int64_t Queue::size() const {
  std::lock_guard lock(mutex);
  return storage->size();
}

bool Queue::isClosed() const {
  std::lock_guard lock(mutex);
  return closed;
}

int64_t Queue::available() const {
  return std::max<int64_t>(0, storage->size() - (closed ? 0 : traits.kept));
}

// A batch beyond the capacity is admitted if its op is the first to wait.
int64_t Queue::room() const {
  if (traits.capacity < 0)
    return INT64_MAX;
  int64_t wanted = taking.empty() ? 0 : taking.front()->count + traits.kept;
  return std::max(traits.capacity, wanted) - storage->size();
}

Error Queue::closedError() const { return cancelled("the queue is closed"); }

// --- attempts ----------------------------------------------------------------------------------

// Claims the op's suspension. An attempt has no effect if the op's run was stopped while it waited.
bool Queue::claim(QueueRequest &a) {
  a.isDone = true;
  a.isLost = a.suspension && !a.suspension->claim();
  return !a.isLost;
}

// Returns false and sets an error if memory is exhausted; the attempt may be of another op.
bool Queue::pushFirst(QueueRequest &a) {
  try {
    storage->push(std::move(a.tuples.front()));
  } catch (const std::bad_alloc &thrown) {
    a.error = memoryError(thrown);
    return false;
  }
  a.tuples.pop_front();
  return true;
}

bool Queue::tryEnqueue(QueueRequest &a) {
  if (closed) {
    if (claim(a))
      a.error = closedError();
    return true;
  }
  int64_t places = room();
  for (; a.tuples.size() > 1 && places > 0; --places)
    if (!pushFirst(a)) {
      claim(a);
      return true;
    }
  if (places <= 0 && !a.tuples.empty())
    return false;
  if (claim(a) && !a.tuples.empty())
    pushFirst(a);
  return true;
}

bool Queue::tryDequeue(QueueRequest &a) {
  int64_t count = a.count;
  if (available() < count) {
    if (!closed)
      return false;
    if (a.taking != DequeueMode::BatchUpTo || available() == 0) {
      if (claim(a))
        a.error = outOfRange("the queue is closed and has too few elements: ", a.count,
                             " requested, ", available(), " available");
      return true;
    }
    count = available();
  }
  if (!claim(a))
    return true;
  if (a.taking == DequeueMode::One) {
    a.outputs = storage->pop();
    return true;
  }
  std::vector<QueueTuple> tuples;
  tuples.reserve(count);
  for (int64_t i = 0; i < count; ++i)
    tuples.push_back(storage->pop());
  Expected<QueueTuple> batch = batchOf(traits, tuples);
  if (batch)
    a.outputs = std::move(*batch);
  else
    a.error = std::move(batch.error());
  return true;
}

bool Queue::tryClose(QueueRequest &a) {
  if (!claim(a))
    return true;
  if (closed)
    a.error = cancelled("the queue is closed already");
  closed = true;
  return true;
}

bool Queue::attempt(QueueRequest &a) {
  switch (a.kind) {
  case QueueRequest::Kind::Enqueue:
    return tryEnqueue(a);
  case QueueRequest::Kind::Dequeue:
    return tryDequeue(a);
  case QueueRequest::Kind::Close:
    return tryClose(a);
  }
  return true;
}

// --- waiting ops -------------------------------------------------------------------------------

// Returns true if the queue changed.
bool Queue::advance(QueueRequests &line, QueueRequests &finished) {
  bool moved = false;
  while (!line.empty()) {
    std::shared_ptr<QueueRequest> first = line.front();
    // Only this queue refers to an op whose run has ended.
    bool isAbandoned = first->suspension && first->suspension->isUnique();
    if (!isAbandoned) {
      int64_t before = storage->size();
      bool isOver = attempt(*first);
      moved |= storage->size() != before;
      if (!isOver)
        break;
      if (!first->isLost)
        finished.push_back(first);
    }
    line.pop_front();
    moved = true;
  }
  return moved;
}

void Queue::advance(QueueRequests &finished) {
  while (advance(adding, finished) || advance(taking, finished)) {
  }
}

// Completes ops. This may run further ops that use this queue, so the lock must not be held.
void Queue::finish(OpContext &ctx, const QueueRequests &finished, const QueueRequest *own) {
  for (const std::shared_ptr<QueueRequest> &a : finished) {
    if (a.get() == own) {
      if (a->error)
        ctx.fail(std::move(*a->error));
      for (size_t i = 0; i < a->outputs.size(); ++i)
        ctx.setOutput(static_cast<int>(i), std::move(a->outputs[i]));
    } else if (a->error) {
      a->suspension->fail(std::move(*a->error));
    } else {
      a->suspension->complete(std::move(a->outputs));
    }
  }
}

void Queue::submit(OpContext &ctx, QueueRequests &line, std::shared_ptr<QueueRequest> own) {
  QueueRequests finished;
  {
    std::lock_guard lock(mutex);
    line.push_back(own);
    advance(finished);
    if (!own->isDone)
      own->suspension = ctx.suspend();
  }
  finish(ctx, finished, own.get());
}

// --- requests of ops ---------------------------------------------------------------------------

void Queue::enqueue(OpContext &ctx, std::deque<QueueTuple> tuples) {
  if (tuples.empty())
    return;
  auto own = std::make_shared<QueueRequest>(QueueRequest::Kind::Enqueue);
  own->tuples = std::move(tuples);
  submit(ctx, adding, std::move(own));
}

void Queue::dequeue(OpContext &ctx, DequeueMode how, int64_t count) {
  auto own = std::make_shared<QueueRequest>(QueueRequest::Kind::Dequeue, how, count);
  if (how == DequeueMode::One || count > 0)
    return submit(ctx, taking, std::move(own));
  if (auto nothing = ctx.check(batchOf(traits, {})))
    for (size_t i = 0; i < nothing->size(); ++i)
      ctx.setOutput(static_cast<int>(i), std::move((*nothing)[i]));
}

void Queue::close(OpContext &ctx, bool cancelsPending) {
  if (!cancelsPending)
    return submit(ctx, adding, std::make_shared<QueueRequest>(QueueRequest::Kind::Close));
  QueueRequests finished;
  {
    std::lock_guard lock(mutex);
    closed = true;
    advance(finished);
  }
  finish(ctx, finished, nullptr);
}

// --- batches -----------------------------------------------------------------------------------

namespace {

/// Returns the shape of component `c` in a batch: the declared dimensions, and the largest of
/// unstated ones.
PartialShape batchedShape(const QueueTraits &traits, std::span<const QueueTuple> tuples, size_t c) {
  PartialShape shape = traits.shapes[c];
  for (size_t d = 0; d < shape.dims.size(); ++d) {
    if (shape.dims[d] >= 0)
      continue;
    shape.dims[d] = 0;
    for (const QueueTuple &tuple : tuples)
      shape.dims[d] = std::max(shape.dims[d], tuple[c].dim(static_cast<int>(d)));
  }
  return shape;
}

Expected<Tensor> paddedBatch(DType dtype, Dims elementDims, std::span<const Tensor> elements) {
  DimVector dims;
  dims.push(static_cast<int64_t>(elements.size()));
  for (int64_t d : elementDims)
    dims.push(d);
  Expected<Tensor> out = Tensor::make(dtype, dims);
  if (!out || out->count() == 0)
    return out;
  zeroElements(dtype, out->raw(), out->count());
  int64_t each = out->count() / static_cast<int64_t>(elements.size());
  DimVector strides = rowMajorStrides(elementDims);
  for (size_t i = 0; i < elements.size(); ++i)
    copyStrided(dtype, elements[i].dims(),
                elementAt(dtype, out->raw(), static_cast<int64_t>(i) * each), strides,
                elements[i].raw(), rowMajorStrides(elements[i].dims()));
  return out;
}

} // namespace

Expected<QueueTuple> batchOf(const QueueTraits &traits, std::span<const QueueTuple> tuples) {
  QueueTuple batch;
  for (size_t c = 0; c < traits.dtypes.size(); ++c) {
    std::vector<Tensor> column;
    column.reserve(tuples.size());
    for (const QueueTuple &tuple : tuples)
      column.push_back(tuple[c]);
    PartialShape shape = batchedShape(traits, tuples, c);
    Tensor joined = TREADLE_TRY(traits.pads ? paddedBatch(traits.dtypes[c], shape.dims, column)
                                            : stackTensors(traits.dtypes[c], column, shape.dims));
    batch.push_back(std::move(joined));
  }
  return batch;
}

} // namespace treadle
