// What is said of ops whose kernels users register: what they do besides giving their results.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace treadle {

struct OpTraits {
  struct Effect {
    std::string resource; // a name that all ops share
    bool writes = true;
  };
  /// What its executions see or change besides their inputs.
  std::vector<Effect> effects;
  /// Whether they may see or change anything else: print, call Python, use random numbers.
  bool touchesWorld = true;
  /// Whether they may take long without keeping the machine busy. Loops with such ops are made to
  /// overlap; a kernel that doesn't suspend (BoundKernel::mayBlock) then runs on a thread of its
  /// own, so that it holds none that others need.
  bool waits = true;
};

/// Traits by op; for PyFunc and its like by token. Not thread-safe while adding.
class OpTraitsTable {
public:
  void add(std::string op, OpTraits traits) {
    byName.insert_or_assign(std::move(op), std::move(traits));
  }
  /// Null if nothing is said of it. `token` is that of a PyFunc.
  const OpTraits *find(std::string_view op, std::string_view token = {}) const;
  bool empty() const { return byName.empty(); }

private:
  std::map<std::string, OpTraits, std::less<>> byName;
};

} // namespace treadle
