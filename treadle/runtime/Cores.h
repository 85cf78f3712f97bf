// The cores that this process may use, and the number of threads that compute on them.
#pragma once

#include "treadle/tensor/Error.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace treadle {

/// Returns the ids of the cores that the process may run on, in ascending order.
std::vector<int> allowedCores();

/// Returns InvalidArgument if a core isn't among the allowed ones, or occurs twice.
Expected<void> checkCores(const std::vector<int> &cores);

/// Restricts this thread, and the threads that it starts from now on, to these cores. Returns false
/// if the system refuses.
bool pinThisThread(const std::vector<int> &cores);

/// Number of threads that can compute at the same time, at least 1: the number of allowed cores, or
/// fewer if the container's CPU quota is lower. Read once.
int availableCores();

/// Returns the CPU quota, in cores, of the control groups that `membership` (the text of
/// /proc/self/cgroup) names and of their ancestors below `mount`. Returns nullopt if none has a
/// limit.
std::optional<double> coresOfGroups(std::string_view membership, const std::string &mount);

/// A scope in which the current thread computes, or is ready to compute. Scopes may nest.
class ComputeScope {
public:
  ComputeScope();
  ~ComputeScope();
  ComputeScope(const ComputeScope &) = delete;
  ComputeScope &operator=(const ComputeScope &) = delete;

  /// Number of other threads of the process that compute now, counted up to `most`.
  static int others(int most);
};

/// A scope, within one that computes, in which the current thread waits for others.
class WaitScope {
public:
  WaitScope();
  ~WaitScope();
  WaitScope(const WaitScope &) = delete;
  WaitScope &operator=(const WaitScope &) = delete;

private:
  const int depthBefore;
};

} // namespace treadle
