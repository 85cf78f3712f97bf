// The memory that a sandbox and its owner share.
#pragma once

#include "treadle/sandbox/Ring.h"

#include <memory>

namespace treadle::sandbox {

/// What stands in it. Nothing but zeros to begin with.
struct Shared {
  Ring toChild, fromChild;
  /// Rung to cancel a call, by its number: the first one after the model was loaded is 1.
  Bell forCanceller;
  std::atomic<uint64_t> cancelledCall{0};
  /// The system call that ended the child, one up; what it says there is for people alone.
  std::atomic<uint32_t> refusedCall{0};
};

/// A mapping of it; of a size that neither side can change, for a file that is cut short would end
/// whoever reads behind its end.
class SharedMemory {
public:
  /// New memory, and the file that gives it to another process. ResourceExhausted if there is none.
  static Expected<SharedMemory> make();
  /// That which a file holds. InvalidArgument for a file of something else.
  static Expected<SharedMemory> open(int file);

  Shared &operator*() const { return *shared; }
  Shared *operator->() const { return shared.get(); }
  /// Open as long as this is, and closed in programs that the process starts. -1 if it was opened.
  int file() const { return owned ? *owned : -1; }

private:
  struct Unmap {
    void operator()(Shared *memory) const;
  };
  std::unique_ptr<Shared, Unmap> shared;
  std::shared_ptr<const int> owned;

  SharedMemory(Shared *shared, std::shared_ptr<const int> owned)
      : shared(shared), owned(std::move(owned)) {}
  static Expected<SharedMemory> map(int file, std::shared_ptr<const int> owned);
};

} // namespace treadle::sandbox
