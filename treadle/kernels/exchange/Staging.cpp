// Staging areas: FIFO buffers of tuples.
#include "treadle/kernels/exchange/Staging.h"

#include "treadle/kernels/exchange/Queue.h"

#include <deque>
#include <numeric>

namespace treadle {

// Converts exhausted memory to an error, since the turn may be of another op.
static StagingResult runPending(const PendingStaging &turn) {
  try {
    return turn.act();
  } catch (const std::bad_alloc &thrown) {
    return Unexpected(memoryError(thrown));
  }
}

void StagingArea::submit(OpContext &ctx, PendingStaging turn) {
  std::vector<Done> done;
  {
    std::lock_guard lock(mutex);
    if (!turn.isReady()) {
      waiting.push_back({std::move(turn), ctx.suspend()});
      return;
    }
    auto outputs = ctx.check(turn.act());
    for (size_t i = 0; outputs && i < outputs->size(); ++i)
      ctx.setOutput(static_cast<int>(i), std::move((*outputs)[i]));
    done = advance();
  }
  for (Done &each : done)
    if (each.result)
      each.suspension->complete(std::move(*each.result));
    else
      each.suspension->fail(std::move(each.result.error()));
}

std::vector<StagingArea::Done> StagingArea::advance() {
  std::vector<Done> done;
  for (bool isMoving = true; isMoving;) {
    isMoving = false;
    for (auto each = waiting.begin(); each != waiting.end();) {
      if (!each->turn.isReady()) {
        ++each;
        continue;
      }
      if (each->suspension->claim()) { // otherwise its run was stopped
        done.push_back({std::move(each->suspension), runPending(each->turn)});
        isMoving = true;
      }
      each = waiting.erase(each);
    }
  }
  return done;
}

StagingState StagingState::of(const BindContext &node) {
  return {ResourceName::ofOrNode(node), node.attrs.getOr<int64_t>("capacity", 0),
          node.attrs.getOr<int64_t>("memory_limit", 0),
          node.attrs.getOr("dtypes", std::vector<DType>())};
}

StagingResult ofTypes(StagingResult tuple, std::span<const DType> dtypes) {
  bool fits = !tuple || tuple->size() == dtypes.size();
  for (size_t i = 0; tuple && fits && i < dtypes.size(); ++i)
    fits = (*tuple)[i].dtype() == dtypes[i];
  if (fits)
    return tuple;
  return Unexpected(invalidArgument("the staged tuple has ", tuple->size(),
                                    " components, or their dtypes differ from the op's outputs"));
}

namespace {

using Tuple = QueueTuple;

class Line final : public StagingArea {
public:
  static constexpr std::string_view kindName = "staging area";
  std::string_view kind() const override { return kindName; }

  Line(int64_t capacity, int64_t memoryLimit, const std::vector<DType> &)
      : capacity(capacity), memoryLimit(memoryLimit) {}

  void put(OpContext &ctx, Tuple tuple) {
    size_t size = bytesOf(tuple);
    if (memoryLimit && static_cast<int64_t>(size) > memoryLimit)
      return ctx.fail(resourceExhausted("a tuple of ", size,
                                        " bytes was staged, but the staging "
                                        "area holds ",
                                        memoryLimit, "; raise memory_limit"));
    submit(ctx, {[this, size] { return hasRoom(size); },
                 [this, size, tuple = std::move(tuple)]() mutable -> StagingResult {
                   tuples.emplace_back(std::move(tuple), share);
                   bytes += size;
                   return Tuple();
                 }});
  }

  void take(OpContext &ctx) {
    submit(ctx, {[this] { return !tuples.empty(); },
                 [this, &dtypes = ctx.state<StagingState>().dtypes] {
                   Tuple first = std::move(tuples.front().tuple);
                   tuples.pop_front();
                   bytes -= bytesOf(first);
                   return ofTypes(std::move(first), dtypes);
                 }});
  }

  void peek(OpContext &ctx, int64_t i) {
    submit(ctx, {[this, i] { return i < std::ssize(tuples); },
                 [this, i, &dtypes = ctx.state<StagingState>().dtypes] {
                   return ofTypes(tuples[i].tuple, dtypes);
                 }});
  }

  void clear(OpContext &ctx) {
    submit(ctx, {[] { return true; },
                 [this]() -> StagingResult {
                   tuples.clear();
                   bytes = 0;
                   return Tuple();
                 }});
  }

  size_t size() {
    return now([this] { return tuples.size(); });
  }

private:
  static size_t bytesOf(const Tuple &tuple) {
    return std::accumulate(tuple.begin(), tuple.end(), size_t{0},
                           [](size_t sum, const Tensor &t) { return sum + t.bytes(); });
  }
  bool hasRoom(size_t size) const {
    return (!capacity || std::ssize(tuples) < capacity) &&
           (!memoryLimit || static_cast<int64_t>(bytes + size) <= memoryLimit);
  }

  const int64_t capacity, memoryLimit;
  const MemoryShare share;
  std::deque<StoredTuple, BudgetedAllocator<StoredTuple>> tuples{share};
  size_t bytes = 0;
};

void stage(OpContext &ctx) {
  Tuple tuple;
  for (int i = 0; i < ctx.numInputs(); ++i)
    tuple.push_back(ctx.takeInput(i));
  stagingArea<Line>(ctx)->put(ctx, std::move(tuple));
}

void unstage(OpContext &ctx) { stagingArea<Line>(ctx)->take(ctx); }

void peek(OpContext &ctx) {
  const Tensor &index = ctx.input(0);
  if (index.rank() != 0 || index.scalarValue<int32_t>() < 0)
    return ctx.fail(
        invalidArgument("index is ", tensorTypeText(index), ", expected a non-negative scalar"));
  stagingArea<Line>(ctx)->peek(ctx, index.scalarValue<int32_t>());
}

void size(OpContext &ctx) { outputSize(ctx, stagingArea<Line>(ctx)->size()); }
void clear(OpContext &ctx) { stagingArea<Line>(ctx)->clear(ctx); }

const KernelEntry stagingTable[] = {
    {"Stage", bindStaging<stage>},     {"StageClear", bindStagingNow<clear>},
    {"StagePeek", bindStaging<peek>},  {"StageSize", bindStagingNow<size>},
    {"Unstage", bindStaging<unstage>},
};

} // namespace

std::span<const KernelEntry> stagingKernels() { return stagingTable; }

} // namespace treadle
