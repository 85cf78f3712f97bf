// Internal to the folder: values that wait for whoever receives them.
#pragma once

#include "treadle/collective/Communicator.h"
#include "treadle/runtime/Kernel.h"
#include "treadle/runtime/ResourceManager.h"
#include "treadle/tensor/KeptMemory.h"

#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace treadle {

/// What an op that receives gives of the value that comes; or why it isn't what the op expects.
/// The op's node outlives it.
using OpenReceived = std::function<Expected<std::vector<Tensor>>(Tensor)>;

/// Tensors on their way, of all runs of a session. Thread-safe.
class Rendezvous final : public Resource {
public:
  static constexpr std::string_view kindName = "rendezvous";
  std::string_view kind() const override { return kindName; }

  /// The session's, made at the first call.
  static Ref<Rendezvous> of(OpContext &ctx);

  void send(OpContext &ctx, const std::string &key, Tensor value);
  /// Gives the op's outputs, now or once something is sent under the key.
  void receive(OpContext &ctx, const std::string &key, OpenReceived open);

private:
  struct Receiver {
    Ref<Suspension> suspension;
    OpenReceived open;
  };
  // One of the two is empty.
  struct Line {
    explicit Line(const MemoryShare &share) : values(share) {}
    std::deque<Tensor, KeptAllocator<Tensor>> values;
    std::deque<Receiver> waiting;
    bool isEmpty() const { return values.empty() && waiting.empty(); }
  };
  using Key = std::pair<uint64_t, std::string>; // number of the run, name

  void dropOldest();

  const MemoryShare share;
  std::mutex mutex;
  std::map<Key, Line, std::less<>, KeptAllocator<std::pair<const Key, Line>>> lines{share};
};

/// Suspends the op until another rank's value comes, which traces show as an exchange.
Communicator::Done receptionOf(OpContext &ctx, std::string_view node, std::string_view op,
                               OpenReceived open);

} // namespace treadle
