#include "treadle/runtime/Cores.h"

#include "treadle/tensor/ThreadSlots.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sched.h>
#include <thread>

namespace treadle {

// --- core counts ---------------------------------------------------------------------------------

std::vector<int> allowedCores() {
  std::vector<int> cores;
  for (int bits = 1024; bits <= 1 << 20; bits *= 2) { // grows until it holds the kernel's mask
    cpu_set_t *set = CPU_ALLOC(bits);
    size_t bytes = CPU_ALLOC_SIZE(bits);
    bool isKnown = set && sched_getaffinity(0, bytes, set) == 0;
    for (int core = 0; isKnown && core < bits; ++core)
      if (CPU_ISSET_S(core, bytes, set))
        cores.push_back(core);
    CPU_FREE(set);
    if (isKnown)
      break;
  }
  return cores;
}

bool pinThisThread(const std::vector<int> &cores) {
  int count = cores.empty() ? 0 : std::ranges::max(cores) + 1;
  cpu_set_t *set = count > 0 && std::ranges::min(cores) >= 0 ? CPU_ALLOC(count) : nullptr;
  if (!set)
    return false;
  size_t bytes = CPU_ALLOC_SIZE(count);
  CPU_ZERO_S(bytes, set);
  for (int core : cores)
    CPU_SET_S(core, bytes, set);
  bool isDone = sched_setaffinity(0, bytes, set) == 0;
  CPU_FREE(set);
  return isDone;
}

static std::string textOf(const std::vector<int> &numbers) {
  std::string text;
  for (int number : numbers)
    text += str(text.empty() ? "" : ",", number);
  return text;
}

Expected<void> checkCores(const std::vector<int> &cores) {
  const std::vector<int> allowed = allowedCores();
  for (auto core = cores.begin(); core != cores.end(); ++core) {
    if (!std::ranges::binary_search(allowed, *core))
      return Unexpected(invalidArgument(
          "cores has ", *core, ", expected cores that this process may use: ", textOf(allowed)));
    if (std::find(cores.begin(), core, *core) != core)
      return Unexpected(invalidArgument("cores has ", *core, " twice"));
  }
  return {};
}

static std::string contentsOf(const std::string &path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

static std::optional<double> parseNumber(std::string_view &text) {
  text.remove_prefix(std::min(text.find_first_not_of(" \n"), text.size()));
  double number = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc())
    return std::nullopt;
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  return number;
}

/// Parses `QUOTA PERIOD`, both in microseconds. A quota that is negative or not a number means no
/// limit.
static std::optional<double> coresOfQuota(std::string_view text) {
  std::optional<double> quota = parseNumber(text);
  std::optional<double> period = quota ? parseNumber(text) : quota;
  if (!period || !(*quota > 0) || !(*period > 0))
    return std::nullopt;
  return *quota / *period;
}

/// Returns the limit of one control group, in the format of cgroups v1 or v2.
static std::optional<double> coresOfGroup(const std::string &folder) {
  return coresOfQuota(contentsOf(folder + "/cpu.max") + " " +
                      contentsOf(folder + "/cpu.cfs_quota_us") + " " +
                      contentsOf(folder + "/cpu.cfs_period_us"));
}

/// Returns the smallest limit of a control group and its ancestors.
static std::optional<double> coresBelow(const std::filesystem::path &mount,
                                        std::string_view group) {
  std::optional<double> least;
  std::filesystem::path path(group);
  for (path = path.relative_path();; path = path.parent_path()) {
    std::optional<double> cores = coresOfGroup((mount / path).string());
    if (cores && (!least || *cores < *least))
      least = cores;
    if (path.empty())
      return least;
  }
}

std::optional<double> coresOfGroups(std::string_view membership, const std::string &mount) {
  std::optional<double> least;
  while (!membership.empty()) { // lines `NUMBER:CONTROLLERS:PATH`
    std::string_view line = membership.substr(0, membership.find('\n'));
    membership.remove_prefix(std::min(line.size() + 1, membership.size()));
    size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == line.npos || second == line.npos)
      continue;
    std::string_view controllers = line.substr(first + 1, second - first - 1);
    bool isUnified = controllers.empty();
    std::string folder = isUnified ? mount : mount + "/" + std::string(controllers);
    std::optional<double> cores = coresBelow(folder, line.substr(second + 1));
    if (cores && (!least || *cores < *least))
      least = cores;
  }
  return least;
}

int availableCores() {
  static const int count = [] {
    int cores = static_cast<int>(std::ssize(allowedCores()));
    if (cores == 0)
      cores = static_cast<int>(std::thread::hardware_concurrency());
    std::optional<double> limit = coresOfGroups(contentsOf("/proc/self/cgroup"), "/sys/fs/cgroup");
    if (limit && *limit < cores)
      cores = static_cast<int>(std::ceil(*limit));
    return std::max(cores, 1);
  }();
  return count;
}

// --- computing threads ---------------------------------------------------------------------------

namespace {

/// One counter per thread number, so that runs that begin or end don't contend for a cache line.
struct alignas(64) Count {
  std::atomic<int> computing{0}; // threads with this number that compute
};
constinit std::array<Count, maxThreadSlots> counts{};
constinit std::atomic<int> numUsed{0}; // counters in use are those below this index

/// Number of nested scopes in which this thread computes; 0 while it waits.
thread_local constinit int depth = 0;

void change(int by) {
  int number = threadNumber();
  counts[static_cast<size_t>(number)].computing.fetch_add(by, std::memory_order_relaxed);
  int known = numUsed.load(std::memory_order_relaxed);
  while (known <= number &&
         !numUsed.compare_exchange_weak(known, number + 1, std::memory_order_relaxed))
    ;
}

} // namespace

ComputeScope::ComputeScope() {
  if (depth++ == 0)
    change(1);
}

ComputeScope::~ComputeScope() {
  if (--depth == 0)
    change(-1);
}

int ComputeScope::others(int most) {
  int number = depth > 0 ? threadNumber() : -1, sum = 0;
  for (int i = 0, end = numUsed.load(std::memory_order_relaxed); i < end && sum < most; ++i)
    sum += counts[static_cast<size_t>(i)].computing.load(std::memory_order_relaxed) - (i == number);
  return std::min(sum, most);
}

WaitScope::WaitScope() : depthBefore(depth) {
  if (depth > 0)
    change(-1);
  depth = 0;
}

WaitScope::~WaitScope() {
  depth = depthBefore;
  if (depth > 0)
    change(1);
}

} // namespace treadle
