// Finds the values of a list of named values by their names.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace treadle {

/// Refers to the list. Of entries with one name, the first is found.
template <typename Value> class ByName {
public:
  using Entries = std::vector<std::pair<std::string, Value>>;

  explicit ByName(const Entries &list) : entries(list) {
    if (entries.size() > few)
      for (const auto &[name, value] : entries)
        table.try_emplace(name, &value);
  }

  /// Null if there is none.
  const Value *find(std::string_view name) const {
    if (entries.size() > few) {
      auto found = table.find(name);
      return found == table.end() ? nullptr : found->second;
    }
    auto found = std::ranges::find(entries, name, &Entries::value_type::first);
    return found == entries.end() ? nullptr : &found->second;
  }

private:
  static constexpr size_t few = 16; // so many are compared faster than hashed

  const Entries &entries;
  std::unordered_map<std::string_view, const Value *> table;
};

} // namespace treadle
