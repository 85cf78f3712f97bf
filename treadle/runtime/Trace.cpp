#include "treadle/runtime/Trace.h"

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
}

void Trace::add(std::string_view name, std::string_view op, Clock::time_point begin,
                const TracedIteration *iteration) {
  Clock::time_point end = Clock::now();
  std::lock_guard lock(mutex);
  Slice slice{kept(name), kept(op), 0, begin, end};
  if (iteration) {
    slice.iteration = iteration->number;
    slice.loop = kept(iteration->loop);
    slice.mostAtOnce = iteration->mostAtOnce;
  }
  append(slice);
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

} // namespace treadle
