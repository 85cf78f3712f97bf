// Handles to the resources that ops use. Newer ops pass a tensor of dtype resource, older ones a
// string [container, name], often through a v1 reference. Both refer to the same object here.
#pragma once

#include "treadle/kernels/Element.h"
#include "treadle/runtime/Run.h"
#include "treadle/tensor/ThreadSlots.h"

#include <mutex>

namespace treadle {

/// Returns a scalar handle to `resource`.
Tensor makeHandle(Ref<Resource> resource);

/// The attributes `container` and `shared_name` of an op that creates a named resource.
struct ResourceName {
  std::string container, name;
  static ResourceName of(const BindContext &node);
  /// Like `of`, but with the node's name if no name is given.
  static ResourceName ofOrNode(const BindContext &node);
};

/// Returns a handle in the form that an output has: a resource, a string [container, name], or a
/// reference to one. The object lives as long as the tensor's elements.
Tensor makeHandleFor(DType dtype, bool isRef, Ref<Resource> resource, const ResourceName &name);
/// Like the overload above, but for an object with a generated, unique name.
Tensor makeHandleFor(DType dtype, bool isRef, Ref<Resource> resource, std::string_view prefix);

/// Returns the object that input `i` refers to, alive as long as the input; null, with ctx failed,
/// if there is none.
Resource *resourceInput(OpContext &ctx, int i);

/// The error for a handle to a resource of another kind.
Error wrongKind(const Resource &found, std::string_view expected);

/// Returns the object of class T that input `i` refers to; null, with ctx failed, if it is of
/// another class.
template <typename T> T *resourceInput(OpContext &ctx, int i) {
  Resource *resource = resourceInput(ctx, i);
  if (!resource)
    return nullptr;
  if (resource->kind() != T::kindName) {
    ctx.fail(wrongKind(*resource, T::kindName));
    return nullptr;
  }
  return static_cast<T *>(resource);
}

/// Returns a handle to the same object with a reference count of its own; `handle` itself if it is
/// a string.
Tensor shareHandle(const Tensor &handle);

/// The handle that an op returns in every run of a session, looked up only once per thread: state
/// of ops such as VarHandleOp. Thread-safe.
class CachedHandle {
public:
  CachedHandle() = default;
  CachedHandle(CachedHandle &&) noexcept {} // only before the first use

  /// Returns the handle made by `make`, cached for this session until a resource is removed from
  /// it.
  template <typename Make> Tensor get(const ResourceManager &manager, Make &&make) const {
    if (auto own = slots.tryTake(); own && own->isCurrent(manager))
      return own->handle;
    Known found = find(manager, make);
    if (!found.handle)
      return {};
    found.handle = shareHandle(found.handle);
    if (auto own = slots.tryTake())
      *own = found;
    return found.handle;
  }

private:
  struct Known {
    Tensor handle;
    const ResourceManager *owner = nullptr;
    uint64_t generation = 0;

    bool isCurrent(const ResourceManager &manager) const {
      return handle && owner == &manager && generation == manager.generation();
    }
  };

  template <typename Make> Known find(const ResourceManager &manager, Make &&make) const {
    std::lock_guard lock(mutex);
    uint64_t now = manager.generation();
    if (!known.isCurrent(manager))
      known = {make(), &manager, now};
    return known;
  }

  ThreadSlots<Known> slots;
  mutable std::mutex mutex;
  mutable Known known;
};

} // namespace treadle
