// Variables, of both kinds: behind a resource handle, and behind a v1 reference.
#pragma once

#include "treadle/tensor/Resource.h"
#include "treadle/tensor/Tensor.h"

#include <atomic>
#include <mutex>

namespace treadle {

/// A variable: a tensor that can be replaced. Uninitialised while the tensor is empty.
/// `mutex` guards `value`; a reader takes a share of the tensor, a writer that finds it unique may
/// write in place. The dtype never changes.
class Variable final : public Resource {
public:
  static constexpr std::string_view kindName = "variable";
  /// The name under which TensorFlow asks for a variable that nobody else can find.
  static constexpr std::string_view anonymousName = "cd2c89b7-88b7-44c8-ad83-06c2a9158347";
  std::string_view kind() const override { return kindName; }

  Variable(std::string name, DType dtype) : name(std::move(name)), dtype(dtype) {}
  const std::string name;
  const DType dtype;

  Tensor read() const {
    std::lock_guard lock(mutex);
    return value;
  }
  void assign(Tensor newValue) {
    std::lock_guard lock(mutex);
    willWrite();
    std::swap(value, newValue);
  } // the old value is let go of after the lock
  /// Guards `value` for read-modify-write.
  mutable std::mutex mutex;
  Tensor value;

  /// Whoever writes `value`, or its elements, says so beforehand, holding the mutex.
  void willWrite() { writes.fetch_add(1, std::memory_order_release); }
  /// How often it was written: what was read after this number was is the value as long as the
  /// number stays.
  uint64_t version() const { return writes.load(std::memory_order_acquire); }

private:
  std::atomic<uint64_t> writes{0};
};

/// A tensor that refers to a v1 variable. Consumers that want a value read the variable when they
/// run; consumers that want the reference (Assign, RefSwitch, ...) get it as it is.
Tensor makeRefTensor(Ref<Variable> variable);

/// What to say of a v1 variable that is read before it has a value.
Error uninitialized(const Variable &variable);

/// The variable behind a reference tensor (`tensor.isRef()`).
Variable &refVariable(const Tensor &tensor);

/// The variable behind a handle; null if it is an empty tensor, or a handle to something else.
Variable *handledVariable(const Tensor &handle);

} // namespace treadle
