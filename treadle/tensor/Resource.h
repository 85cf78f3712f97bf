// Elements of resource and variant tensors: references to objects with state (variables, queues,
// tensor arrays) and to values that aren't arrays (tensor lists, optionals).
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace treadle {

/// Base class of reference-counted objects. Starts with one reference.
class RefCounted {
public:
  RefCounted() = default;
  RefCounted(const RefCounted &) = delete;
  RefCounted &operator=(const RefCounted &) = delete;
  virtual ~RefCounted() = default;

  void retain() const { references.fetch_add(1, std::memory_order_relaxed); }
  void release() const {
    if (references.fetch_sub(1, std::memory_order_acq_rel) == 1)
      delete this;
  }
  bool isUnique() const { return references.load(std::memory_order_acquire) == 1; }

private:
  mutable std::atomic<uint32_t> references{1};
};

/// A smart pointer to a RefCounted object.
template <typename T> class Ref {
public:
  Ref() = default;
  Ref(std::nullptr_t) {}
  /// Takes over the initial reference of `object`.
  static Ref adopt(T *object) {
    Ref ref;
    ref.object = object;
    return ref;
  }
  static Ref share(T *object) {
    if (object)
      object->retain();
    return adopt(object);
  }
  Ref(const Ref &other) : Ref(share(other.object)) {}
  Ref(Ref &&other) noexcept : object(std::exchange(other.object, nullptr)) {}
  template <typename U>
    requires std::is_convertible_v<U *, T *>
  Ref(const Ref<U> &other) : Ref(share(other.get())) {}
  template <typename U>
    requires std::is_convertible_v<U *, T *>
  Ref(Ref<U> &&other) : Ref(adopt(other.take())) {}
  Ref &operator=(Ref other) noexcept {
    std::swap(object, other.object);
    return *this;
  }
  ~Ref() {
    if (object)
      object->release();
  }

  T *get() const { return object; }
  T *take() { return std::exchange(object, nullptr); }
  T *operator->() const { return object; }
  T &operator*() const { return *object; }
  explicit operator bool() const { return object != nullptr; }
  friend bool operator==(const Ref &a, const Ref &b) { return a.object == b.object; }

private:
  T *object = nullptr;
};

template <typename T, typename... Args> Ref<T> makeRef(Args &&...args) {
  return Ref<T>::adopt(new T(std::forward<Args>(args)...));
}

/// An object with state and identity: a variable, a queue, a tensor array, a mutex, ...
/// Implementations are thread-safe.
class Resource : public RefCounted {
public:
  /// Returns the noun for messages: `variable`, `queue`, ...
  virtual std::string_view kind() const = 0;
};

/// An element of a tensor of dtype resource.
struct ResourceHandle {
  Ref<Resource> resource;
};

/// A value that isn't an array: a tensor list, an optional, ... Values are immutable once shared;
/// an op that holds the only reference may change the value in place.
class VariantObject : public RefCounted {
public:
  virtual std::string_view kind() const = 0;
};

/// An element of a variant tensor; empty if it was never assigned.
struct Variant {
  Ref<VariantObject> object;
};

} // namespace treadle
