// Named resources of a session: variables, queues, tables. Keyed by container, name and kind.
#pragma once

#include "treadle/tensor/Error.h"
#include "treadle/tensor/Resource.h"

#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace treadle {

/// Named resources that persist across runs. Thread-safe.
class ResourceManager {
public:
  /// Returns the resource of this kind (T::kindName); `make` creates it if there is none.
  template <typename T>
  Ref<T> lookupOrCreate(std::string_view container, std::string_view name,
                        const std::function<Ref<T>()> &make) {
    Ref<Resource> found =
        lookupOrCreateErased(container, name, T::kindName, [&] { return Ref<Resource>(make()); });
    return Ref<T>::adopt(static_cast<T *>(found.take()));
  }
  /// The resource, or null.
  template <typename T> Ref<T> lookup(std::string_view container, std::string_view name) const {
    return Ref<T>::adopt(static_cast<T *>(lookupErased(container, name, T::kindName).take()));
  }
  /// Removes a resource; existing handles stay valid. Returns false if it isn't registered.
  bool remove(const Resource *resource);
  /// Removes all resources.
  void clear();
  /// Changes whenever a resource is removed, which invalidates cached references.
  uint64_t generation() const { return generationCount.load(std::memory_order_acquire); }
  /// Returns all resources with their container and name, sorted by name.
  std::vector<std::pair<std::string, Ref<Resource>>> all() const;

private:
  using Key = std::tuple<std::string, std::string, std::string>; // kind, container, name
  Ref<Resource> lookupOrCreateErased(std::string_view container, std::string_view name,
                                     std::string_view kind,
                                     const std::function<Ref<Resource>()> &make);
  Ref<Resource> lookupErased(std::string_view container, std::string_view name,
                             std::string_view kind) const;

  mutable std::mutex mutex;
  std::map<Key, Ref<Resource>> resources;
  std::atomic<uint64_t> generationCount{0};
};

} // namespace treadle
