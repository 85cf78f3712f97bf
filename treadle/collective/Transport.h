// The transport interface between the ranks of a distributed run.
#pragma once

#include "treadle/tensor/Tensor.h"

#include <functional>
#include <string>

namespace treadle {

/// A value sent from one rank to another; the key identifies its purpose.
struct Message {
  int from = 0;
  std::string key;
  Tensor value;
};

/// Carries messages between the ranks of one world, numbered from 0. Messages between two ranks are
/// delivered once and in order, with no bound on the delay. Thread-safe.
class Transport {
public:
  using Take = std::function<void(Message)>;

  virtual ~Transport() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  /// Sends a value of a plain dtype, which must not change afterwards. Doesn't block. `to` is
  /// another rank.
  virtual void send(int to, std::string key, Tensor value) = 0;
  /// Registers `take`, which is called for each message, one at a time, on a thread of the
  /// transport. Must be called once.
  virtual void listen(Take take) = 0;
  /// After it returns, `take` isn't called any more. Messages sent before are still delivered.
  virtual void close() = 0;
};

} // namespace treadle
