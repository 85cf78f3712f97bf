// Counts what machine code does.
#pragma once

#include "treadle/CodeProfile.h"

#include <memory>
#include <mutex>

namespace llvm {
class Module;
} // namespace llvm

namespace treadle::codegen {

/// The counts of one piece of code. They live as long as the code may run.
class MeteredCode {
public:
  /// Where code comes from. Its number, counted from 1, is the line of a debug location.
  struct Place {
    std::string name, op, where; // `where`: the function
    int loop = -1;               // the place of the loop around it
  };

  explicit MeteredCode(std::string cluster) : cluster(std::move(cluster)) {}

  /// Puts a count into each block of optimized code. Places are complete by then.
  void instrument(llvm::Module &module);
  CodeProfile::Cluster read() const;

  std::vector<Place> places;

private:
  /// What a block does for one place each time that it runs.
  struct Share {
    size_t block;
    int place; // -1: unknown
    CodeProfile::Work work;
    int64_t iterations = 0; // of the loop that the place is
  };

  const std::string cluster;
  std::vector<Share> shares;
  std::vector<uint64_t> counts; // by block
};

/// What of a session is counted. Thread-safe.
class CodeMeter {
public:
  std::shared_ptr<MeteredCode> add(std::string cluster);
  CodeProfile read() const;

private:
  mutable std::mutex mutex;
  std::vector<std::shared_ptr<MeteredCode>> codes;
};

} // namespace treadle::codegen
