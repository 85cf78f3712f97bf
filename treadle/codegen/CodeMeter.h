// Counts the work of compiled code.
#pragma once

#include "treadle/CodeProfile.h"

#include <memory>
#include <mutex>

namespace llvm {
class Module;
} // namespace llvm

namespace treadle::codegen {

/// The counters of one piece of code. They live as long as the code may run.
class MeteredCode {
public:
  /// The origin of an instruction. Its index plus one is the line of the debug location.
  struct Origin {
    std::string name, op, where; // `where`: name of the function
    int loop = -1;               // index of the enclosing loop
  };

  explicit MeteredCode(std::string cluster) : cluster(std::move(cluster)) {}

  /// Adds a counter to each block of optimized code. All origins must be known by then.
  void instrument(llvm::Module &module);
  CodeProfile::Cluster read() const;

  std::vector<Origin> originTable;

private:
  /// The work that a block does for one origin each time it runs.
  struct OriginWork {
    size_t block;
    int place; // -1 if unknown
    CodeProfile::Work work;
    int64_t iterations = 0; // of the loop at this origin
  };

  const std::string cluster;
  std::vector<OriginWork> shares;
  std::vector<uint64_t> counts; // by block
};

/// The counters of a session. Thread-safe.
class CodeMeter {
public:
  std::shared_ptr<MeteredCode> add(std::string cluster);
  CodeProfile read() const;

private:
  mutable std::mutex mutex;
  std::vector<std::shared_ptr<MeteredCode>> codes;
};

} // namespace treadle::codegen
