// Completions: events and values that become available asynchronously.
#pragma once

#include "treadle/tensor/Tensor.h"

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

namespace treadle::pjrt {

/// An event that occurs once, with success or an error. Thread-safe.
class Completion {
public:
  /// Gets the error; null on success.
  using Callback = std::function<void(const Error *)>;

  void succeed() { finish(std::nullopt); }
  void fail(Error error) { finish(std::move(error)); }
  bool isDone() const { return done.load(std::memory_order_acquire); }
  /// Waits, and returns the error; null on success. The error lives as long as this object.
  const Error *wait();
  /// Calls `callback` immediately if the event has occurred, otherwise on the thread on which it
  /// occurs.
  void whenDone(Callback callback);

private:
  void finish(std::optional<Error> outcome);
  const Error *outcome() const { return error ? &*error : nullptr; }

  std::mutex mutex;
  std::condition_variable changed;
  std::atomic<bool> done{false};
  std::optional<Error> error;
  std::vector<Callback> callbacks;
};

/// The elements of a buffer, which may not be computed yet.
class Content : public Completion {
public:
  void hold(Tensor value) {
    tensor = std::move(value);
    succeed();
  }
  /// Returns the elements; must not be called before they are available.
  const Tensor &value() const { return tensor; }
  /// Moves the elements out; only for the last user.
  Tensor take() { return std::move(tensor); }

private:
  Tensor tensor;
};

} // namespace treadle::pjrt

struct PJRT_Event { // NOLINT(readability-identifier-naming)
  std::shared_ptr<treadle::pjrt::Completion> state;
};

namespace treadle::pjrt {

/// Returns an event that has occurred.
inline PJRT_Event *doneEvent() {
  auto state = std::make_shared<Completion>();
  state->succeed();
  return new PJRT_Event{std::move(state)};
}

} // namespace treadle::pjrt
