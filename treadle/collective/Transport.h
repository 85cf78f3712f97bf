// How ranks of a run on several processes reach each other.
#pragma once

#include "treadle/tensor/Tensor.h"

#include <functional>
#include <string>

namespace treadle {

/// A value on its way from one rank to another; the key says what it is for.
struct Message {
  int from = 0;
  std::string key;
  Tensor value;
};

/// Carries messages between the ranks of one world, which are numbered from 0. What one rank sends
/// another comes in that order, once; nothing is known of when. Thread-safe.
class Transport {
public:
  using Take = std::function<void(Message)>;

  virtual ~Transport() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  /// Hands over a value of a plain dtype, which nobody changes any more, and returns at once. `to`
  /// is another rank.
  virtual void send(int to, std::string key, Tensor value) = 0;
  /// `take` is called for each message that comes, one at a time, on a thread of the transport's.
  /// Called once.
  virtual void listen(Take take) = 0;
  /// After it returns `take` isn't called any more. What was sent before still goes out.
  virtual void close() = 0;
};

} // namespace treadle
