// What compiling did, counted for whoever asked.
#pragma once

#include "treadle/codegen/CodeMeter.h"
#include "treadle/codegen/Counters.h"

#include <mutex>
#include <string>

namespace treadle::codegen {

/// Beside the counts of what compiled code did, and of compilations. Thread-safe.
struct CompileCounters : ClusterCounters {
  Count memoryHits{0}, diskHits{0}; // what was compiled before, and needn't be again
  Count failures{0};                // what can't be compiled
  std::unique_ptr<CodeMeter> meter; // null: what code does isn't counted

  /// Counts a failure, and keeps why.
  void addFailure(const std::string &why) {
    std::lock_guard lock(mutex);
    add(failures);
    lastFailure = why;
  }
  /// Why the last failure was one; empty if there was none.
  std::string failure() const {
    std::lock_guard lock(mutex);
    return lastFailure;
  }

private:
  mutable std::mutex mutex; // guards what follows
  std::string lastFailure;
};

} // namespace treadle::codegen
