// Readers: records of files whose names come from a queue.
#pragma once

#include "treadle/checkpoint/FileAccess.h"
#include "treadle/kernels/Handles.h"

#include <string>

namespace treadle {

class Queue;

struct Record {
  std::string key, value;
};

/// Reads one unit of work (a file, by name) after another. Thread-safe; ops read one at a time.
class FileReader : public Resource {
public:
  static constexpr std::string_view kindName = "reader";
  std::string_view kind() const override { return kindName; }

  /// Reads the next record; waits for work if the queue is empty. Returns nullopt after failing the
  /// op.
  std::optional<Record> read(OpContext &ctx, Queue &queue);
  /// Reads up to `count` records of one unit of work.
  std::optional<std::vector<Record>> readUpTo(OpContext &ctx, Queue &queue, int64_t count);

  int64_t recordsProduced();
  int64_t workFinished();
  void reset();
  /// Returns Unimplemented for readers in the middle of a file.
  Expected<std::string> serializedState();
  Expected<void> restoreState(std::string_view state);

protected:
  struct ReadResult {
    std::optional<Record> record;
    bool isAtEnd; // end of the unit of work
  };
  /// Begins a unit of work; if this fails, the unit is skipped.
  virtual Expected<void> start(const std::string &, const FileAccess &) { return {}; }
  virtual Expected<ReadResult> next(const std::string &work, const FileAccess &files) = 0;
  virtual bool hasState() const { return false; }

private:
  bool isWorking() const { return finished < started; }
  bool takeWork(OpContext &ctx, Queue &queue);
  std::optional<ReadResult> step(OpContext &ctx);

  std::mutex mutex;
  int64_t started = 0, finished = 0, produced = 0;
  std::string work; // the current unit
};

} // namespace treadle
