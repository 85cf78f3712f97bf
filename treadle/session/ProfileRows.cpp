#include "treadle/session/ProfileRows.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace treadle {
namespace {

using Duration = Trace::Clock::duration;
/// Name and op.
using Key = std::pair<std::string_view, std::string_view>;

double seconds(Duration time) { return std::chrono::duration<double>(time).count(); }

/// The nodes that ran inside a node, with their total times.
using Contents = std::map<Key, Duration>;

std::string contentsText(const Contents &contents) {
  constexpr size_t maxNamed = 3;
  std::vector<std::pair<Duration, Key>> inside;
  for (const auto &[key, time] : contents)
    inside.emplace_back(time, key);
  std::ranges::stable_sort(inside, std::greater(), &std::pair<Duration, Key>::first);
  std::string text;
  for (size_t i = 0; i < std::min(inside.size(), maxNamed); ++i)
    text += str(i ? ", " : "", "'", inside[i].second.first, "' (", inside[i].second.second, ")");
  return inside.size() > maxNamed ? str(text, " and ", inside.size() - maxNamed, " more") : text;
}

class Collector {
public:
  explicit Collector(const Trace &trace) : slices(trace.slices()) {
    std::ranges::stable_sort(slices, [](const Trace::Slice &a, const Trace::Slice &b) {
      return std::tuple(a.thread, a.begin, b.end) < std::tuple(b.thread, b.begin, a.end);
    });
  }

  Profile collect(const Trace &trace) {
    Duration measuring{};
    for (const Trace::Slice &slice : slices) {
      measuring += slice.cost;
      add(slice);
    }
    while (!open.empty())
      close();
    for (const auto &[key, waits] : trace.waits()) {
      Profile::Row &row = rowOf({key.first, key.second});
      row.wait += seconds(waits.time);
      row.all += seconds(waits.time);
      row.bytes += waits.bytes;
    }
    Profile profile;
    Trace::Runs runs = trace.runs();
    profile.runs = runs.number;
    profile.seconds = seconds(runs.time);
    profile.measuring = seconds(measuring);
    profile.leftOut = trace.numDropped();
    for (auto &[key, row] : rows) {
      if (auto inside = contents.find(key); inside != contents.end() && row.contents.empty())
        row.contents = contentsText(inside->second);
      profile.nodes.push_back(std::move(row));
    }
    sortRows(profile.nodes, Profile::Sort::Own);
    return profile;
  }

private:
  /// A slice that is still open and may contain others.
  struct OpenSlice {
    const Trace::Slice *slice;
    Duration inside{}, cost{}; // total time and recording cost of the slices inside it
  };

  static Key keyOf(const Trace::Slice &slice) { return {*slice.name, *slice.op}; }

  Profile::Row &rowOf(Key key) {
    Profile::Row &row = rows[{std::string(key.first), std::string(key.second)}];
    row.name = key.first;
    row.op = key.second;
    return row;
  }

  void add(const Trace::Slice &slice) {
    while (!open.empty() &&
           (open.back().slice->thread != slice.thread || open.back().slice->end <= slice.begin))
      close();
    for (OpenSlice &outer : open)
      outer.cost += slice.cost;
    bool isIteration = !slice.op; // its contents belong to the loop
    if (!open.empty())
      open.back().inside += slice.cost + (isIteration ? Duration{} : slice.end - slice.begin);
    if (isIteration)
      return;
    if (!open.empty()) {
      Key outer = keyOf(*open.back().slice);
      contents[{std::string(outer.first), std::string(outer.second)}][keyOf(slice)] +=
          slice.end - slice.begin;
    }
    open.push_back({&slice});
    if (slice.loop)
      addToFrame(slice);
  }

  void close() {
    const auto [slice, inside, cost] = open.back();
    open.pop_back();
    Profile::Row &row = rowOf(keyOf(*slice));
    Duration all = slice->end - slice->begin;
    ++row.calls;
    // A recursive call's time is included in that of the outer call.
    if (std::ranges::none_of(
            open, [&](const OpenSlice &outer) { return keyOf(*outer.slice) == keyOf(*slice); }))
      row.all += seconds(all - cost);
    row.wait += seconds(slice->waited);
    row.own += seconds(std::max(all - inside - slice->waited, Duration{}));
    row.bytes += slice->bytes;
    if (slice->cluster) {
      row.isCluster = true;
      row.compiledCalls += slice->isCompiled;
      row.contents = *slice->cluster;
    }
  }

  /// A loop with overlapping iterations has no slice of its own: its ops are recorded side by side.
  /// Its most frequent op tells the number of iterations.
  void addToFrame(const Trace::Slice &slice) {
    std::string_view frame = *slice.loop;
    frame = frame.substr(0, frame.find(" in "));
    Profile::Row &row = rowOf({frame, "frame"});
    row.calls = std::max(row.calls, ++callsInFrames[{row.name, keyOf(slice)}]);
    row.all += seconds(slice.end - slice.begin);
    contents[{std::string(frame), "frame"}][keyOf(slice)] += slice.end - slice.begin;
  }

  std::vector<Trace::Slice> slices; // grouped by thread, ordered by start, outer ones first
  std::vector<OpenSlice> open;      // each nested in the one before
  std::map<std::pair<std::string, std::string>, Profile::Row> rows;
  std::map<std::pair<std::string, std::string>, Contents> contents;
  std::map<std::pair<std::string, Key>, int64_t> callsInFrames;
};

} // namespace

Profile profileOf(const Trace &trace) { return Collector(trace).collect(trace); }

} // namespace treadle
