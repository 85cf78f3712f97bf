// The cores that this process may use, and how many threads compute on them now.
#pragma once

#include "treadle/tensor/Error.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace treadle {

/// The numbers of the cores that the process may run on, in order.
std::vector<int> allowedCores();

/// InvalidArgument where one isn't among these, or comes twice.
Expected<void> checkCores(const std::vector<int> &cores);

/// Lets this thread, and those that it starts from now on, run on these cores only. False where the
/// system doesn't.
bool moveThisThreadTo(const std::vector<int> &cores);

/// How many threads can compute at the same time, at least 1: the cores that the process may run
/// on, or fewer where its container gets less time than these have. Read once.
int availableCores();

/// Cores' worth of time that control groups allow: those that `membership`, the text of
/// /proc/self/cgroup, says that a process belongs to, and those around them, as they lie below
/// `mount`. Nothing where none has a limit.
std::optional<double> coresOfGroups(std::string_view membership, const std::string &mount);

/// While one lives, its thread computes, or waits in vain for a core to do so. They may nest.
class Computing {
public:
  Computing();
  ~Computing();
  Computing(const Computing &) = delete;
  Computing &operator=(const Computing &) = delete;

  /// The other threads of the process that compute now: how many, counted up to `most`.
  static int others(int most);
};

/// While one lives, its thread waits for others, and computes nothing.
class Resting {
public:
  Resting();
  ~Resting();
  Resting(const Resting &) = delete;
  Resting &operator=(const Resting &) = delete;

private:
  const int depthBefore;
};

} // namespace treadle
