#include "treadle/transforms/schedule_communication/Simulation.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <queue>
#include <random>

namespace treadle::tfg {
namespace {

constexpr double never = std::numeric_limits<double>::infinity();

template <typename T> using Earliest = std::priority_queue<T, std::vector<T>, std::greater<>>;
using Timed = std::pair<double, int32_t>; // a time and an index

/// An event-driven simulation of all ranks and the link.
class EventSimulation {
public:
  EventSimulation(const std::vector<Task> &tasks, size_t count, double jitter)
      : tasks(tasks), after(tasks.size()), jitter(jitter), ranks(count), arrivals(tasks.size()),
        lastArrival(tasks.size()) {
    std::vector<size_t> waiting;
    for (size_t i = 0; i < tasks.size(); ++i) {
      for (int32_t source : tasks[i].before)
        after[source].push_back(static_cast<int32_t>(i));
      waiting.push_back(tasks[i].before.size());
    }
    for (size_t r = 0; r < count; ++r) {
      ranks[r].waiting = waiting;
      ranks[r].random.seed(static_cast<unsigned>(r + 1));
      ranks[r].intervals.resize(r == 0 ? tasks.size() : 0);
      for (size_t i = 0; i < tasks.size(); ++i)
        if (waiting[i] == 0)
          becomeReady(r, static_cast<int32_t>(i), 0);
    }
  }

  // Processes the earliest event: a rank starts a task, or a communication starts or ends.
  void run() {
    while (true) {
      double computes = nextComputing(), begins = nextBeginning();
      double ends = under.empty() ? never : under.top().first;
      if (computes == never && begins == never && ends == never)
        return;
      if (ends <= computes && ends <= begins)
        endExchange();
      else if (computes <= begins)
        computeOne();
      else
        beginExchange(begins);
    }
  }

  const std::vector<Interval> &intervals() const { return ranks[0].intervals; }
  double end = 0;

private:
  struct Rank {
    double clock = 0;
    Earliest<Timed> ready;
    std::vector<size_t> waiting;
    std::vector<Interval> intervals; // for rank 0 only
    std::minstd_rand random;
  };

  void becomeReady(size_t rank, int32_t task, double when) {
    if (!tasks[task].isCommunication) {
      ranks[rank].ready.emplace(when, task);
      working.emplace(std::max(when, ranks[rank].clock), static_cast<int32_t>(rank));
      return;
    }
    lastArrival[task] = std::max(lastArrival[task], when);
    if (++arrivals[task] == ranks.size())
      exchanges.emplace(lastArrival[task], task);
  }

  void finish(size_t rank, int32_t task, double when) {
    end = std::max(end, when);
    for (int32_t next : after[task])
      if (--ranks[rank].waiting[next] == 0)
        becomeReady(rank, next, when);
  }

  double startOf(const Rank &rank) const { return std::max(rank.clock, rank.ready.top().first); }

  // Entries of `working` may be outdated by later tasks of their rank.
  double nextComputing() {
    while (!working.empty()) {
      const Rank &rank = ranks[static_cast<size_t>(working.top().second)];
      if (!rank.ready.empty() && startOf(rank) == working.top().first)
        return working.top().first;
      working.pop();
    }
    return never;
  }

  void computeOne() {
    auto r = static_cast<size_t>(working.top().second);
    Rank &rank = ranks[r];
    double begin = working.top().first;
    working.pop();
    int32_t task = rank.ready.top().second;
    rank.ready.pop();
    std::uniform_real_distribution<double> share(0, jitter);
    rank.clock = begin + tasks[task].seconds * (jitter > 0 ? 1 + share(rank.random) : 1);
    if (r == 0)
      rank.intervals[task] = {begin, rank.clock};
    finish(r, task, rank.clock);
    if (!rank.ready.empty())
      working.emplace(startOf(rank), static_cast<int32_t>(r));
  }

  double nextBeginning() const {
    return exchanges.empty() ? never : std::max(exchanges.top().first, linkFree);
  }

  void beginExchange(double begin) {
    int32_t task = exchanges.top().second;
    exchanges.pop();
    linkFree = begin + tasks[task].seconds;
    ranks[0].intervals[task] = {begin, linkFree};
    under.emplace(linkFree, task);
  }

  void endExchange() {
    auto [when, task] = under.top();
    under.pop();
    for (size_t r = 0; r < ranks.size(); ++r)
      finish(r, task, when);
  }

  const std::vector<Task> &tasks;
  std::vector<std::vector<int32_t>> after;
  const double jitter;
  std::vector<Rank> ranks;
  std::vector<size_t> arrivals;    // by task: the number of ranks that reached it
  std::vector<double> lastArrival; // by task
  Earliest<Timed> working;         // ranks with work, by the time at which they start it
  Earliest<Timed> exchanges;       // reached by all ranks
  Earliest<Timed> under;           // started, by end time
  double linkFree = 0;
};

double overlapOf(const std::vector<Task> &tasks, const std::vector<Interval> &intervals) {
  // Computing intervals of one thread are disjoint.
  std::vector<Interval> busy;
  for (size_t i = 0; i < tasks.size(); ++i)
    if (!tasks[i].isCommunication && intervals[i].end > intervals[i].begin)
      busy.push_back(intervals[i]);
  std::ranges::sort(busy, {}, &Interval::begin);
  double hidden = 0;
  for (size_t i = 0; i < tasks.size(); ++i) {
    if (!tasks[i].isCommunication)
      continue;
    auto at = std::ranges::lower_bound(busy, intervals[i].begin, {}, &Interval::end);
    for (; at != busy.end() && at->begin < intervals[i].end; ++at)
      hidden += std::max(0.0, std::min(at->end, intervals[i].end) -
                                  std::max(at->begin, intervals[i].begin));
  }
  return hidden;
}

} // namespace

Simulation simulate(const std::vector<Task> &tasks, int64_t ranks, double jitter) {
  // Without jitter, all ranks behave the same.
  EventSimulation machine(tasks, jitter > 0 ? static_cast<size_t>(std::max<int64_t>(ranks, 1)) : 1,
                          jitter);
  machine.run();
  Simulation result;
  result.tasks = machine.intervals();
  result.seconds = machine.end;
  for (size_t i = 0; i < tasks.size(); ++i)
    (tasks[i].isCommunication ? result.communication : result.compute) +=
        result.tasks[i].end - result.tasks[i].begin;
  result.hidden = overlapOf(tasks, result.tasks);
  return result;
}

} // namespace treadle::tfg
