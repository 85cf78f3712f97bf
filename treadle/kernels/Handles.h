// How ops name the objects they work on. Newer ops pass a tensor of dtype resource; older ones a
// string [container, name], often through a v1 reference. Both give the same object here.
#pragma once

#include "treadle/kernels/Element.h"
#include "treadle/runtime/Run.h"
#include "treadle/tensor/ThreadSlots.h"

#include <mutex>

namespace treadle {

/// A scalar handle to `resource`.
Tensor makeHandle(Ref<Resource> resource);

/// The attributes `container` and `shared_name` of an op that makes a named resource.
struct ResourceName {
  std::string container, name;
  static ResourceName of(const BindContext &node);
  /// The same; where no name is stated, the node's own.
  static ResourceName ofOrNode(const BindContext &node);
};

/// A handle in whichever form an output has: a resource, a string [container, name], or a reference
/// to one. The object lives as long as the tensor's elements.
Tensor makeHandleFor(DType dtype, bool isRef, Ref<Resource> resource, const ResourceName &name);
/// The same for an object that nobody else can name.
Tensor makeHandleFor(DType dtype, bool isRef, Ref<Resource> resource, std::string_view prefix);

/// The object behind input `i`, alive as long as the input; null, having failed, where there is
/// none.
Resource *resourceInput(OpContext &ctx, int i);

/// The error of a handle to something else.
Error wrongKind(const Resource &found, std::string_view expected);

/// The object of that class behind input `i`; null, having failed.
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

/// A handle to the same object that is counted in another place; the same one where there is no
/// such.
Tensor anotherHandle(const Tensor &handle);

/// The handle that an op gives in every run of a session, looked up only once by each thread: for
/// the state of ops such as VarHandleOp. Thread-safe.
class CachedHandle {
public:
  CachedHandle() = default;
  CachedHandle(CachedHandle &&) noexcept {} // before its first use only

  /// The handle made by `make`, for this session and until something is removed from it.
  template <typename Make> Tensor get(const ResourceManager &manager, Make &&make) const {
    if (auto own = slots.tryTake(); own && own->isGood(manager))
      return own->handle;
    Known found = find(manager, make);
    if (!found.handle)
      return {};
    found.handle = anotherHandle(found.handle);
    if (auto own = slots.tryTake())
      *own = found;
    return found.handle;
  }

private:
  struct Known {
    Tensor handle;
    const ResourceManager *owner = nullptr;
    uint64_t generation = 0;

    bool isGood(const ResourceManager &manager) const {
      return handle && owner == &manager && generation == manager.generation();
    }
  };

  template <typename Make> Known find(const ResourceManager &manager, Make &&make) const {
    std::lock_guard lock(mutex);
    uint64_t now = manager.generation();
    if (!known.isGood(manager))
      known = {make(), &manager, now};
    return known;
  }

  ThreadSlots<Known> slots;
  mutable std::mutex mutex;
  mutable Known known;
};

} // namespace treadle
