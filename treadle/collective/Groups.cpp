// Groups of ranks: their members are the ranks that use the same key.
#include "treadle/collective/CommunicatorImpl.h"

#include <algorithm>
#include <numeric>

namespace treadle {

using namespace collective;

namespace {

/// Returns the ranks in the order of their positions.
std::vector<int> membersOf(const Group &group) {
  std::vector<std::pair<int32_t, int>> order;
  order.reserve(group.announced.size());
  for (auto [rank, announcement] : group.announced)
    order.emplace_back(announcement.place, rank);
  std::ranges::sort(order);
  std::vector<int> members;
  members.reserve(order.size());
  for (auto [place, rank] : order)
    members.push_back(rank);
  return members;
}

std::vector<int> ranksOf(const Group &group) {
  std::vector<int> ranks;
  ranks.reserve(group.announced.size());
  for (auto [rank, announcement] : group.announced)
    ranks.push_back(rank);
  return ranks;
}

/// Returns an error if the ranks that use the key can't form a group; nullopt if more may arrive,
/// or all have.
std::optional<Error> contradictionIn(const Group &group, int key) {
  auto [first, said] = *group.announced.begin();
  for (auto [rank, announcement] : group.announced)
    if (announcement.size != said.size)
      return invalidArgument("group ", key, " has ", said.size, " ranks on rank ", first, ", but ",
                             announcement.size, " on rank ", rank,
                             "; give it the same size on all of its ranks");
  if (group.announced.size() > static_cast<size_t>(said.size))
    return invalidArgument("group ", key, " has ", said.size, " ranks, but ",
                           rankList(ranksOf(group)), " use its key; give each group its own key");
  return std::nullopt;
}

} // namespace

std::string collective::rankList(const std::vector<int> &ranks) {
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (size_t i = 0; i < ranks.size(); ++i)
    text += str(i == 0 ? "" : i + 1 == ranks.size() ? " and " : ", ", ranks[i]);
  return text;
}

// A group smaller than the world consists of the ranks that announced it: each sends its
// announcement to all ranks when it first uses the group's key.
void Communicator::Impl::whenGroupKnown(const Collective &call, const std::string &what,
                                        Group::Then then) {
  int size = transport->size(), key = call.groupKey;
  if (call.groupSize == size && call.place < 0) {
    std::vector<int> all(static_cast<size_t>(size));
    std::iota(all.begin(), all.end(), 0);
    return then(std::move(all));
  }
  Announcement announcement{call.groupSize, call.place};
  bool announces = false;
  {
    std::unique_lock lock(mutex);
    if (std::optional<Error> failed = failure ? failure : startWatcher()) {
      lock.unlock();
      return then(Unexpected(std::move(*failed)));
    }
    Group &group = groups[key];
    announces = group.announced.try_emplace(transport->rank(), announcement).second;
    group.waiting.push_back(std::move(then));
    if (!group.awaited && !group.isComplete) {
      group.awaited = makeExchange(call, 0, [this, key](const auto &result) {
        if (!result)
          failGroup(key, result.error());
      });
      group.awaited->what = str(what, ": ", call.groupSize, " ranks make this group");
      group.awaited->missing.push_back(anyRank);
      await(group.awaited);
    }
  }
  if (announces)
    for (int to = 0; to < size; ++to)
      if (to != transport->rank())
        transport->send(to, str(groupPrefix, key),
                        Tensor::vector<int32_t>(DType::Int32,
                                                std::array{announcement.size, announcement.place}));
  {
    std::unique_lock lock(mutex);
    completeGroup(key, lock);
  }
  failGroupsWithLostMembers();
}

/// Whether members are missing that have left, so that the group can't be completed.
bool Communicator::Impl::hasLostMembers(const Group &group) const {
  int possible = 0;
  for (int rank = 0; rank < transport->size(); ++rank)
    possible += group.announced.contains(rank) || !departed.contains(rank);
  return group.awaited && possible < group.announced.begin()->second.size;
}

void Communicator::Impl::failGroupsWithLostMembers() {
  std::vector<std::pair<int, Error>> ended;
  {
    std::lock_guard lock(mutex);
    for (const auto &[key, group] : groups)
      if (hasLostMembers(group)) {
        ended.emplace_back(key, unavailable(group.awaited->what, ": ", group.awaited->arrivedText,
                                            ", and ", rankList({departed.begin(), departed.end()}),
                                            departed.size() == 1 ? " has ended" : " have ended"));
        forget(group.awaited);
      }
  }
  for (auto &[key, error] : ended)
    failGroup(key, error);
}

void Communicator::Impl::failGroup(int key, const Error &error) {
  std::deque<Group::Then> waiting;
  {
    std::lock_guard lock(mutex);
    waiting.swap(groups[key].waiting);
    groups[key].awaited.reset();
  }
  for (auto &next : waiting)
    next(Unexpected(error));
}

/// Continues the collectives that wait for the group if it is complete or can't be completed.
void Communicator::Impl::completeGroup(int key, std::unique_lock<std::mutex> &lock) {
  Group &group = groups[key];
  std::optional<Error> error = contradictionIn(group, key);
  if (!error &&
      group.announced.size() < static_cast<size_t>(group.announced.begin()->second.size)) {
    if (group.awaited)
      group.awaited->arrivedText = str("so far ", rankList(ranksOf(group)), " arrived");
    return;
  }
  group.isComplete = !error;
  if (group.awaited)
    forget(group.awaited);
  group.awaited.reset();
  std::deque<Group::Then> waiting;
  waiting.swap(group.waiting);
  std::vector<int> members = membersOf(group);
  lock.unlock();
  for (auto &next : waiting)
    next(error ? Expected<std::vector<int>>(Unexpected(*error)) : members);
}

void Communicator::Impl::announced(int key, int from, Announcement announcement) {
  std::unique_lock lock(mutex);
  Group &group = groups[key];
  group.announced.try_emplace(from, announcement);
  if (!group.waiting.empty())
    return completeGroup(key, lock);
  // Ranks may have seen different members, so the error applies to all.
  std::optional<Error> error = contradictionIn(group, key);
  bool isMember = group.announced.contains(transport->rank());
  lock.unlock();
  if (error && isMember)
    abort(*error);
}

} // namespace treadle
