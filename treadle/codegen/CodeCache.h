// Caches compiled code within the process and on disk.
#pragma once

#include "treadle/codegen/DiskCache.h"
#include "treadle/codegen/Jit.h"

#include <condition_variable>
#include <map>
#include <set>

namespace treadle::codegen {

/// Compiled code, keyed by the content that it was generated from. Thread-safe.
class CodeCache {
public:
  /// Returns the cache of this process, with the folder that the environment names; null if
  /// TREADLE_CACHE_DIR is `off`.
  static CodeCache *ofProcess();

  /// `disk` may be null. Above `maxBytes` of object files, the least recently used code is evicted;
  /// it stays alive as long as it is in use.
  explicit CodeCache(std::unique_ptr<DiskCache> disk, size_t maxBytes = size_t{64} << 20)
      : disk(std::move(disk)), maxBytes(maxBytes) {}

  /// Returns the key of a program: a hash of its tensor code, the number of its constants, the CPU,
  /// the LLVM version and the sources of the compiler.
  static Expected<ContentKey> keyOf(const TensorProgram &program);

  /// A lock on one key: threads that need the same code wait, so that it is compiled once.
  class KeyLock {
  public:
    /// Waits until no other thread holds the key, or the flag is set. Both `isCancelled` and
    /// `cache` may be null.
    KeyLock(CodeCache *cache, const ContentKey &key, const std::atomic<bool> *isCancelled);
    ~KeyLock();
    KeyLock(const KeyLock &) = delete;
    KeyLock &operator=(const KeyLock &) = delete;

  private:
    CodeCache *const cache;
    const ContentKey key;
    bool isTaken = false;
  };

  /// Returns the code of a key, or null. Counts a hit in memory or on disk.
  std::shared_ptr<const LinkedCode> find(const ContentKey &key, CompileCounters *counters);
  /// Adds code, with the object file that it was loaded from.
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
  std::mutex mutex; // guards the following members
  std::map<ContentKey, Entry> entries;
  size_t numBytes = 0;
  uint64_t now = 0;
  std::set<ContentKey> lockedKeys; // keys that are locked
  std::condition_variable keyReleased;
};

} // namespace treadle::codegen
