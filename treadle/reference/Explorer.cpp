#include "treadle/reference/Explorer.h"

#include <algorithm>
#include <ranges>

namespace treadle::reference {
namespace {

/// A firing in the current schedule.
struct Event {
  Instance instance;
  History clock; // events that precede it in every equivalent schedule, including itself
};

/// A choice between instances.
struct Choice {
  std::set<Instance> enabled, wanted, sleepSet;
  Instance chosen;
};

class Search {
public:
  Search(Experiment &experiment, int64_t limit) : experiment(experiment), limit(limit) {}

  Findings run() {
    runSchedule();
    if (!isStopped && isRandom())
      findings.isRandom = true;
    else
      while (!isStopped && findings.isComplete && nextChoice())
        runSchedule();
    return std::move(findings);
  }

private:
  void runSchedule();
  void addEvent(const Instance &instance, const History &past);
  void requireReversal(size_t earlier, const Event &late);
  void finish();
  bool isRandom();
  bool nextChoice();
  bool conflict(const Instance &a, const Instance &b) const {
    return experiment.conflict(a.node, b.node);
  }

  Experiment &experiment;
  int64_t limit;
  std::vector<Choice> choices;
  std::vector<Event> events;
  std::vector<Schedule> seen; // some of each outcome
  Findings findings;
  bool isStopped = false; // by the experiment
};

// Replays the choices made so far, then runs to the end.
void Search::runSchedule() {
  if (findings.schedules == limit) {
    findings.isComplete = false;
    return;
  }
  Interpreter &machine = experiment.begin();
  events.clear();
  for (size_t depth = 0; !machine.ready().empty(); ++depth) {
    isStopped = !experiment.shouldContinue(depth);
    if (isStopped)
      return;
    if (depth == choices.size()) {
      Choice choice;
      for (const auto &[instance, past] : machine.ready())
        choice.enabled.insert(instance);
      if (depth > 0)
        for (const Instance &sleeper : choices[depth - 1].sleepSet)
          if (!conflict(sleeper, choices[depth - 1].chosen))
            choice.sleepSet.insert(sleeper);
      auto awake = std::ranges::find_if(
          choice.enabled, [&](const Instance &i) { return !choice.sleepSet.contains(i); });
      if (awake == choice.enabled.end())
        return; // equivalent to an explored schedule
      choice.chosen = *awake;
      choice.wanted.insert(*awake);
      choices.push_back(std::move(choice));
    }
    Instance chosen = choices[depth].chosen;
    addEvent(chosen, machine.ready().at(chosen));
    machine.fire(chosen);
  }
  isStopped = !experiment.shouldContinue(events.size());
  if (isStopped)
    return;
  findings.isAmbiguous |= machine.isAmbiguous();
  finish();
}

// Appends the event of a firing. Event i is the interpreter's i-th firing.
void Search::addEvent(const Instance &instance, const History &past) {
  size_t at = events.size();
  Event event{instance, {}};
  event.clock.add(at);
  std::vector<size_t> conflicting; // with no event in between that orders the two
  for (size_t i = at; i-- > 0;) {
    if (event.clock.contains(i))
      continue; // already ordered before this event, as are its predecessors
    bool isCause = past.contains(i);
    if (!isCause && !conflict(events[i].instance, instance))
      continue;
    event.clock.addAll(events[i].clock);
    if (!isCause)
      conflicting.push_back(i);
  }
  events.push_back(std::move(event));
  for (size_t i : std::views::reverse(conflicting))
    requireReversal(i, events.back());
}

// The later event could precede the earlier one: some schedule must begin with the events that lead
// to it.
void Search::requireReversal(size_t earlier, const Event &late) {
  std::vector<size_t> others;
  for (size_t m = earlier + 1; m < events.size(); ++m)
    if (!events[m].clock.contains(earlier) || &events[m] == &events.back())
      others.push_back(m);
  Choice &choice = choices[earlier];
  std::optional<Instance> first;
  for (size_t m : others) {
    bool isInitial = std::ranges::none_of(
        others, [&](size_t before) { return before < m && events[m].clock.contains(before); });
    if (!isInitial || !choice.enabled.contains(events[m].instance))
      continue;
    if (choice.wanted.contains(events[m].instance))
      return;
    if (!first)
      first = events[m].instance;
  }
  if (first)
    choice.wanted.insert(*first);
}

void Search::finish() {
  ++findings.schedules;
  Schedule schedule;
  for (const Event &event : events)
    schedule.instances.push_back(event.instance);
  schedule.outcome = experiment.outcome();
  schedule.failure = experiment.failure();
  auto between = [](const Schedule &a, const Schedule &b) {
    size_t n = std::min(a.instances.size(), b.instances.size()), prefix = 0, suffix = 0;
    while (prefix < n && a.instances[prefix] == b.instances[prefix])
      ++prefix;
    while (suffix < n - prefix && a.instances[a.instances.size() - 1 - suffix] ==
                                      b.instances[b.instances.size() - 1 - suffix])
      ++suffix;
    return a.instances.size() + b.instances.size() - 2 * (prefix + suffix);
  };
  std::vector<Schedule> &best = findings.difference;
  for (const Schedule &other : seen) {
    if (other.outcome == schedule.outcome)
      continue;
    if (best.empty() || between(other, schedule) < between(best[0], best[1]))
      best = {other, schedule};
  }
  constexpr size_t maxSeen = 2000;
  auto isNew = [&] {
    return std::ranges::none_of(seen,
                                [&](const Schedule &s) { return s.outcome == schedule.outcome; });
  };
  if (seen.size() < maxSeen || isNew())
    seen.push_back(std::move(schedule));
}

/// Whether a second run of the first schedule has a different outcome.
bool Search::isRandom() {
  if (seen.empty())
    return false;
  Interpreter &machine = experiment.begin();
  for (const Instance &instance : seen.front().instances)
    if (machine.ready().contains(instance))
      machine.fire(instance);
  return experiment.outcome() != seen.front().outcome;
}

bool Search::nextChoice() {
  while (!choices.empty()) {
    Choice &choice = choices.back();
    choice.sleepSet.insert(choice.chosen);
    auto next = std::ranges::find_if(
        choice.wanted, [&](const Instance &i) { return !choice.sleepSet.contains(i); });
    if (next != choice.wanted.end()) {
      choice.chosen = *next;
      return true;
    }
    choices.pop_back();
  }
  return false;
}

} // namespace

Findings explore(Experiment &experiment, int64_t limit) { return Search(experiment, limit).run(); }

} // namespace treadle::reference
