#include "treadle/kernels/files/Reader.h"
#include "treadle/kernels/RunFileAccess.h"

#include "treadle/kernels/exchange/Queue.h"

#include "treadle/runtime/Execution.h"
#include "treadle/tensor/Wire.h"

namespace treadle {
namespace {

enum StateField : uint32_t {
  stateStarted = 1,
  stateFinished = 2,
  stateProduced = 3,
  stateWork = 4
};

} // namespace

// Blocks this thread if the queue is empty, since an op that reads holds its reader meanwhile.
bool FileReader::takeWork(OpContext &ctx, Queue &queue) {
  if (queue.traits.dtypes != std::vector<DType>{DType::String}) {
    ctx.fail(invalidArgument("the queue's elements must be one string each"));
    return false;
  }
  work.clear();
  Tensor name;
  Execution inner;
  inner.outputs = &name;
  inner.outputCount = 1;
  inner.runState = &ctx.run();
  queue.dequeue(inner, Queue::DequeueMode::One, 1);
  finishSuspended(inner);
  if (inner.error) {
    ctx.fail(std::move(*inner.error));
    return false;
  }
  if (!name || name.count() != 1) {
    ctx.fail(invalidArgument("an element of the queue is ",
                             name ? tensorTypeText(name) : std::string("nothing"),
                             ", expected a string scalar"));
    return false;
  }
  work = *name.data<std::string>();
  if (Expected<void> begun = start(work, filesOf(ctx)); !begun) {
    ctx.fail(std::move(begun.error()));
    return false;
  }
  ++started;
  return true;
}

std::optional<FileReader::ReadResult> FileReader::step(OpContext &ctx) {
  auto taken = ctx.check(next(work, filesOf(ctx)));
  if (!taken)
    return std::nullopt;
  produced += taken->record.has_value();
  finished += taken->isAtEnd;
  return taken;
}

std::optional<Record> FileReader::read(OpContext &ctx, Queue &queue) {
  std::lock_guard lock(mutex);
  for (;;) {
    if (!isWorking() && !takeWork(ctx, queue))
      return std::nullopt;
    auto taken = step(ctx);
    if (!taken || taken->record)
      return taken ? std::move(taken->record) : std::nullopt;
  }
}

std::optional<std::vector<Record>> FileReader::readUpTo(OpContext &ctx, Queue &queue,
                                                        int64_t count) {
  std::lock_guard lock(mutex);
  std::vector<Record> records;
  while (records.empty() && count > 0) {
    if (!isWorking() && !takeWork(ctx, queue))
      return std::nullopt;
    while (isWorking() && std::ssize(records) < count) {
      auto taken = step(ctx);
      if (!taken)
        return std::nullopt;
      if (taken->record)
        records.push_back(std::move(*taken->record));
    }
  }
  return records;
}

int64_t FileReader::recordsProduced() {
  std::lock_guard lock(mutex);
  return produced;
}

int64_t FileReader::workFinished() {
  std::lock_guard lock(mutex);
  return finished;
}

void FileReader::reset() {
  std::lock_guard lock(mutex);
  started = finished = produced = 0;
  work.clear();
}

Expected<std::string> FileReader::serializedState() {
  if (!hasState())
    return Unexpected(unimplemented("a reader of parts of files has no state to serialize"));
  std::lock_guard lock(mutex);
  std::string state;
  putNumber(state, stateStarted, static_cast<uint64_t>(started));
  putNumber(state, stateFinished, static_cast<uint64_t>(finished));
  putNumber(state, stateProduced, static_cast<uint64_t>(produced));
  if (!work.empty())
    putBytes(state, stateWork, work);
  return state;
}

Expected<void> FileReader::restoreState(std::string_view state) {
  reset(); // also the state that remains on errors
  if (!hasState())
    return Unexpected(unimplemented("a reader of parts of files has no state to restore"));
  int64_t counts[4] = {};
  std::string_view current;
  WireReader reader(state);
  for (WireReader::Field field; reader.next(field);)
    if (field.number == stateWork)
      current = field.bytes;
    else if (field.number < std::size(counts))
      counts[field.number] = static_cast<int64_t>(field.value);
  bool isGood = reader.isGood() && counts[stateStarted] >= 0 &&
                counts[stateStarted] <= counts[stateFinished] && counts[stateProduced] >= 0;
  if (!isGood)
    return Unexpected(invalidArgument("the text is not the state of a reader"));
  std::lock_guard lock(mutex);
  started = counts[stateStarted];
  finished = counts[stateFinished];
  produced = counts[stateProduced];
  work = current;
  return {};
}

} // namespace treadle
