// Machine code that was made before, in this process or another.
#pragma once

#include "treadle/codegen/DiskCache.h"
#include "treadle/codegen/Jit.h"

#include <condition_variable>
#include <map>
#include <set>

namespace treadle::codegen {

/// Code by the content that it was made of. Thread-safe.
class CodeCache {
public:
  /// With the folder of the environment; null where TREADLE_CACHE_DIR is `off`.
  static CodeCache *ofProcess();

  /// `disk` may be null. Above `maxBytes` of object files, code that wasn't asked for for longest
  /// is forgotten; it lives on where it is used.
  explicit CodeCache(std::unique_ptr<DiskCache> disk, size_t maxBytes = size_t{64} << 20)
      : disk(std::move(disk)), maxBytes(maxBytes) {}

  /// What a program's code depends on: its tensor code and the number of its constants, this CPU,
  /// and the compiler: LLVM, and the sources of ours.
  static Expected<ContentKey> keyOf(const TensorProgram &program);

  /// While it lives, others wait who want the code for the same key: what is made in it, and kept,
  /// is made once.
  class Turn {
  public:
    /// Waits for the turns of others to end, or for the flag; it may be null. `cache` may be, too.
    Turn(CodeCache *cache, const ContentKey &key, const std::atomic<bool> *isCancelled);
    ~Turn();
    Turn(const Turn &) = delete;
    Turn &operator=(const Turn &) = delete;

  private:
    CodeCache *const cache;
    const ContentKey key;
    bool isTaken = false;
  };

  /// The code for a key; null if there is none. Counts where it was found.
  std::shared_ptr<const LinkedCode> find(const ContentKey &key, CompileCounters *counters);
  /// Keeps code, and the object file that it was loaded from.
  void keep(const ContentKey &key, std::shared_ptr<const LinkedCode> code, std::string_view object);

private:
  struct Entry {
    std::shared_ptr<const LinkedCode> code;
    size_t bytes = 0;
    uint64_t used = 0;
  };
  std::shared_ptr<const LinkedCode> findInMemory(const ContentKey &key);
  void keepInMemory(const ContentKey &key, std::shared_ptr<const LinkedCode> code, size_t bytes);

  const std::unique_ptr<const DiskCache> disk;
  const size_t maxBytes;
  std::mutex mutex; // guards what follows
  std::map<ContentKey, Entry> entries;
  size_t numBytes = 0;
  uint64_t now = 0;
  std::set<ContentKey> turns; // that were taken
  std::condition_variable turnEnded;
};

} // namespace treadle::codegen
