// Internal to this folder: delivery of sent values to receivers by key.
#pragma once

#include "treadle/collective/Communicator.h"
#include "treadle/runtime/Kernel.h"
#include "treadle/runtime/ResourceManager.h"
#include "treadle/tensor/BudgetedMemory.h"

#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace treadle {

/// Converts a received value to the op's outputs, or returns why it is invalid. The op's node must
/// outlive it.
using ConvertReceived = std::function<Expected<std::vector<Tensor>>(Tensor)>;

/// Sent values and waiting receivers of all runs of a session. Thread-safe.
class Rendezvous final : public Resource {
public:
  static constexpr std::string_view kindName = "rendezvous";
  std::string_view kind() const override { return kindName; }

  /// Returns the session's rendezvous, created on first use.
  static Ref<Rendezvous> of(OpContext &ctx);

  void send(OpContext &ctx, const std::string &key, Tensor value);
  /// Sets the op's outputs, at once or when a value is sent under the key.
  void receive(OpContext &ctx, const std::string &key, ConvertReceived open);

private:
  struct Receiver {
    Ref<Suspension> suspension;
    ConvertReceived open;
  };
  // One of the two queues is empty.
  struct KeyQueue {
    explicit KeyQueue(const MemoryShare &share) : values(share) {}
    std::deque<Tensor, BudgetedAllocator<Tensor>> values;
    std::deque<Receiver> waiting;
    bool isEmpty() const { return values.empty() && waiting.empty(); }
  };
  using Key = std::pair<uint64_t, std::string>; // run number, name

  void dropOldest();

  const MemoryShare share;
  std::mutex mutex;
  std::map<Key, KeyQueue, std::less<>, BudgetedAllocator<std::pair<const Key, KeyQueue>>> lines{
      share};
};

/// Suspends the op until another rank's value arrives; traces show it as communication.
Communicator::Done suspendUntilReceived(OpContext &ctx, std::string_view node, std::string_view op,
                                        ConvertReceived open);

} // namespace treadle
