// Traits of user-defined ops: their effects besides their results.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace treadle {

struct OpTraits {
  struct Effect {
    std::string resource; // ops with the same name share the resource
    bool writes = true;
  };
  /// The resources that the op reads or writes.
  std::vector<Effect> effects;
  /// Whether the op may have other effects: print, call Python, use random numbers.
  bool touchesWorld = true;
  /// Whether the op may take long without using the processor. Loops with such ops overlap their
  /// iterations; a kernel that doesn't suspend (BoundKernel::mayBlock) then runs on a thread of its
  /// own, so that it doesn't block the workers.
  bool waits = true;
};

/// Traits by op, and by token for PyFunc and similar ops. Not thread-safe while traits are added.
class OpTraitsTable {
public:
  void add(std::string op, OpTraits traits) {
    byName.insert_or_assign(std::move(op), std::move(traits));
  }
  /// Returns null if the op has none. `token` is that of a PyFunc.
  const OpTraits *find(std::string_view op, std::string_view token = {}) const;
  bool empty() const { return byName.empty(); }

private:
  std::map<std::string, OpTraits, std::less<>> byName;
};

} // namespace treadle
