#include "treadle/runtime/Trace.h"

#include <tuple>

namespace treadle {

const std::string *Trace::kept(std::string_view text) {
  auto it = texts.find(text);
  if (it == texts.end())
    it = texts.emplace(text).first;
  return &*it;
}

void Trace::append(Slice slice) {
  if (list.size() == maxSlices) {
    ++dropped;
    return;
  }
  auto next = static_cast<int>(threads.size());
  slice.thread = threads.try_emplace(std::this_thread::get_id(), next).first->second;
  list.push_back(slice);
  list.back().cost = Clock::now() - slice.end;
}

void Trace::add(std::string_view name, std::string_view op, std::string_view where,
                Clock::time_point begin, Work work, const TracedIteration *iteration) {
  Clock::time_point end = Clock::now();
  std::lock_guard lock(mutex);
  Slice slice{kept(name), kept(op), 0, begin, end};
  slice.bytes = work.bytes;
  slice.waited = work.waited;
  slice.where = where.empty() ? nullptr : kept(where);
  if (iteration) {
    slice.iteration = iteration->number;
    slice.loop = kept(iteration->loop);
    slice.maxConcurrent = iteration->maxConcurrent;
  }
  if (!clusters.empty())
    if (auto noted = clusters.extract(std::this_thread::get_id()))
      std::tie(slice.cluster, slice.isCompiled) = noted.mapped();
  append(slice);
}

void Trace::noteCluster(std::string_view contents, bool isCompiled) {
  std::lock_guard lock(mutex);
  clusters[std::this_thread::get_id()] = {kept(contents), isCompiled};
}

void Trace::addWait(std::string_view name, std::string_view op, Clock::time_point begin,
                    int64_t bytes) {
  Clock::time_point end = Clock::now();
  std::lock_guard lock(mutex);
  Waits &waits = allWaits[{std::string(name), std::string(op)}];
  waits.time += end - begin;
  waits.bytes += bytes;
  if (waitList.size() < maxSlices)
    waitList.push_back({kept(name), kept(op), begin, end});
}

std::vector<Trace::Wait> Trace::eachWait() const {
  std::lock_guard lock(mutex);
  return waitList;
}

void Trace::addRun(Clock::time_point begin) {
  Clock::time_point end = Clock::now();
  std::lock_guard lock(mutex);
  ++allRuns.number;
  allRuns.time += end - begin;
}

void Trace::clear() {
  std::lock_guard lock(mutex);
  list.clear();
  allWaits.clear();
  waitList.clear();
  allRuns = {};
  dropped = 0;
}

void Trace::addIteration(int64_t number, Clock::time_point begin) {
  Clock::time_point end = Clock::now();
  std::lock_guard lock(mutex);
  append({nullptr, nullptr, 0, begin, end, number});
}

std::vector<Trace::Slice> Trace::slices() const {
  std::lock_guard lock(mutex);
  return list;
}

int64_t Trace::numDropped() const {
  std::lock_guard lock(mutex);
  return dropped;
}

std::map<std::pair<std::string, std::string>, Trace::Waits> Trace::waits() const {
  std::lock_guard lock(mutex);
  return allWaits;
}

Trace::Runs Trace::runs() const {
  std::lock_guard lock(mutex);
  return allRuns;
}

} // namespace treadle
