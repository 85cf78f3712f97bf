// What will be there, or be done, some time.
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

/// Something that happens once, well or with an error. Thread-safe.
class Completion {
public:
  /// Is given what went wrong; null: nothing.
  using Callback = std::function<void(const Error *)>;

  void succeed() { finish(std::nullopt); }
  void fail(Error error) { finish(std::move(error)); }
  bool isDone() const { return done.load(std::memory_order_acquire); }
  /// Waits, and gives what went wrong; null: nothing. It lives as long as this.
  const Error *wait();
  /// Calls now, if it is done, or on the thread that it is done by.
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

/// The elements of a buffer, which may be computed yet.
class Content : public Completion {
public:
  void hold(Tensor value) {
    tensor = std::move(value);
    succeed();
  }
  /// Where it was held.
  const Tensor &value() const { return tensor; }
  /// For the only user that is left.
  Tensor take() { return std::move(tensor); }

private:
  Tensor tensor;
};

} // namespace treadle::pjrt

struct PJRT_Event { // NOLINT(readability-identifier-naming)
  std::shared_ptr<treadle::pjrt::Completion> state;
};

namespace treadle::pjrt {

/// An event that has happened.
inline PJRT_Event *doneEvent() {
  auto state = std::make_shared<Completion>();
  state->succeed();
  return new PJRT_Event{std::move(state)};
}

} // namespace treadle::pjrt
