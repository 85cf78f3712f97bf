// Variables of both kinds: behind a resource handle, and behind a v1 reference.
#pragma once

#include "treadle/tensor/Resource.h"
#include "treadle/tensor/Tensor.h"

#include <atomic>
#include <mutex>

namespace treadle {

/// A variable: a tensor that can be replaced. Uninitialized while the tensor is empty. `mutex`
/// guards `value`. Readers share the tensor; a writer that holds the only reference may write in
/// place. The dtype never changes.
class Variable final : public Resource {
public:
  static constexpr std::string_view kindName = "variable";
  /// The name by which TensorFlow refers to anonymous variables.
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
  } // the old value is released after the lock
  /// Guards `value` for read-modify-write.
  mutable std::mutex mutex;
  Tensor value;

  /// Must be called, with the mutex held, before `value` or its elements are written.
  void willWrite() { writes.fetch_add(1, std::memory_order_release); }
  /// Number of writes. A value read after a call of version() is current as long as the number
  /// stays the same.
  uint64_t version() const { return writes.load(std::memory_order_acquire); }

private:
  std::atomic<uint64_t> writes{0};
};

/// Makes a tensor that refers to a v1 variable. Consumers that take a value read the variable when
/// they run; those that take the reference (Assign, RefSwitch, ...) get it unchanged.
Tensor makeRefTensor(Ref<Variable> variable);

/// The error of reading a v1 variable before it is initialized.
Error uninitialized(const Variable &variable);

/// Returns the variable behind a reference tensor (`tensor.isRef()`).
Variable &refVariable(const Tensor &tensor);

/// Returns the variable behind a handle; null if the tensor is empty or a handle to something else.
Variable *variableOfHandle(const Tensor &handle);

} // namespace treadle
