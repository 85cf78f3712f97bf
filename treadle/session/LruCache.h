// Internal to the session folder: a cache that drops what hasn't been used for longest.
#pragma once

#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

namespace treadle {

/// Keeps values within a limit of bytes, and at least the latest one. Holders of a value keep
/// it alive. Thread-safe.
template <typename Key, typename Value> class LruCache {
public:
  explicit LruCache(size_t maxBytes) : maxBytes(maxBytes) {}

  /// Null if there is none.
  std::shared_ptr<const Value> find(const Key &key) {
    std::lock_guard lock(mutex);
    auto found = entries.find(key);
    if (found == entries.end())
      return nullptr;
    uses.splice(uses.begin(), uses, found->second.use);
    return found->second.value;
  }

  /// Returns the value of the key: this one, unless another thread was faster.
  std::shared_ptr<const Value> add(const Key &key, std::shared_ptr<const Value> value,
                                   size_t bytes) {
    std::vector<std::shared_ptr<const Value>> dropped; // destroyed without the lock
    std::lock_guard lock(mutex);
    auto [place, isNew] = entries.try_emplace(key, Entry{std::move(value), bytes, {}});
    if (!isNew)
      return place->second.value;
    uses.push_front(&place->first);
    place->second.use = uses.begin();
    total += bytes;
    for (; total > maxBytes && uses.size() > 1; uses.pop_back()) {
      auto oldest = entries.find(*uses.back());
      total -= oldest->second.bytes;
      dropped.push_back(std::move(oldest->second.value));
      entries.erase(oldest);
    }
    return place->second.value;
  }

private:
  struct Entry {
    std::shared_ptr<const Value> value;
    size_t bytes;
    std::list<const Key *>::iterator use;
  };

  const size_t maxBytes;
  std::mutex mutex; // guards the following members
  std::map<Key, Entry> entries;
  std::list<const Key *> uses; // the latest first
  size_t total = 0;
};

} // namespace treadle
