#include "treadle/runtime/ResourceManager.h"

namespace treadle {

Ref<Resource> ResourceManager::lookupOrCreateErased(std::string_view container,
                                                    std::string_view name, std::string_view kind,
                                                    const std::function<Ref<Resource>()> &make) {
  std::lock_guard lock(mutex);
  Ref<Resource> &slot = resources[Key(kind, container, name)];
  if (!slot)
    slot = make();
  return slot;
}

Ref<Resource> ResourceManager::lookupErased(std::string_view container, std::string_view name,
                                            std::string_view kind) const {
  std::lock_guard lock(mutex);
  auto it = resources.find(Key(kind, container, name));
  return it == resources.end() ? Ref<Resource>() : it->second;
}

bool ResourceManager::remove(const Resource *resource) {
  std::lock_guard lock(mutex);
  for (auto it = resources.begin(); it != resources.end(); ++it)
    if (it->second.get() == resource) {
      generationCount.fetch_add(1, std::memory_order_acq_rel);
      resources.erase(it);
      return true;
    }
  return false;
}

void ResourceManager::clear() {
  std::lock_guard lock(mutex);
  generationCount.fetch_add(1, std::memory_order_acq_rel);
  resources.clear();
}

std::vector<std::pair<std::string, Ref<Resource>>> ResourceManager::all() const {
  std::lock_guard lock(mutex);
  std::vector<std::pair<std::string, Ref<Resource>>> out;
  for (const auto &[key, resource] : resources)
    out.emplace_back(std::get<1>(key).empty() ? std::get<2>(key)
                                              : std::get<1>(key) + "/" + std::get<2>(key),
                     resource);
  return out;
}

} // namespace treadle
