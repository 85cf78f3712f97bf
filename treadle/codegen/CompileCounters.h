// Statistics of compilation.
#pragma once

#include "treadle/codegen/CodeMeter.h"
#include "treadle/codegen/Counters.h"

#include <mutex>
#include <string>

namespace treadle::codegen {

/// Statistics of compilation, in addition to those of running compiled code. Thread-safe.
struct CompileCounters : ClusterCounters {
  Count memoryHits{0}, diskHits{0}; // code found in the caches
  Count failures{0};                // clusters that can't be compiled
  std::unique_ptr<CodeMeter> meter; // null: the work of compiled code isn't counted

  /// Counts a failure and records its reason.
  void addFailure(const std::string &why) {
    std::lock_guard lock(mutex);
    add(failures);
    lastFailure = why;
  }
  /// Returns the reason of the last failure; empty if there was none.
  std::string failure() const {
    std::lock_guard lock(mutex);
    return lastFailure;
  }

private:
  mutable std::mutex mutex; // guards the following members
  std::string lastFailure;
};

} // namespace treadle::codegen
