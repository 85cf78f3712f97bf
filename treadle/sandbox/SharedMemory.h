// The memory that a sandbox and its owner share.
#pragma once

#include "treadle/sandbox/Ring.h"

#include <memory>

namespace treadle::sandbox {

/// The layout of the shared memory; initially zeros.
struct SharedLayout {
  Ring toChild, fromChild;
  /// Rung to cancel a call, by the call's number; the first call after loading is 1.
  EventCount forCanceller;
  std::atomic<uint64_t> cancelledCall{0};
  /// The number of the system call that killed the child, plus one. Not trustworthy, for messages
  /// only.
  std::atomic<uint32_t> refusedCall{0};
};

/// A mapping of SharedLayout. The file is sealed: neither side can change its size, since
/// truncation would crash the other side's accesses.
class SharedMemory {
public:
  /// Creates the memory and a file descriptor to pass to another process. ResourceExhausted if
  /// there is no memory.
  static Expected<SharedMemory> make();
  /// Maps the memory of a file descriptor. InvalidArgument if it isn't such a file.
  static Expected<SharedMemory> open(int file);

  SharedLayout &operator*() const { return *shared; }
  SharedLayout *operator->() const { return shared.get(); }
  /// Returns the file descriptor, which this object owns and which is closed on exec; -1 if it was
  /// opened.
  int file() const { return owned ? *owned : -1; }

private:
  struct Unmap {
    void operator()(SharedLayout *memory) const;
  };
  std::unique_ptr<SharedLayout, Unmap> shared;
  std::shared_ptr<const int> owned;

  SharedMemory(SharedLayout *shared, std::shared_ptr<const int> owned)
      : shared(shared), owned(std::move(owned)) {}
  static Expected<SharedMemory> map(int file, std::shared_ptr<const int> owned);
};

} // namespace treadle::sandbox
