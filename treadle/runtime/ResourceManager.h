// A session's named resources: variables, queues, tables. Found by container, name and kind.
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

/// Named resources with identity across runs. Thread-safe.
class ResourceManager {
public:
  /// The resource of that kind (T::kindName), made by `make` if there is none yet.
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
  /// Forgets a resource (handles to it stay valid); false if it isn't here.
  bool remove(const Resource *resource);
  /// Forgets all.
  void clear();
  /// Changes whenever something is forgotten: a cached reference from before is stale.
  uint64_t generation() const { return generationCount.load(std::memory_order_acquire); }
  /// All resources with their container and name, in order of name.
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
