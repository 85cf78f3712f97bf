#include "treadle/session/TraceText.h"

#include "treadle/tensor/Error.h"

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <cstdio>
#include <set>
#include <tuple>

namespace treadle {
namespace {

// The processes that viewers show: groups of tracks.
constexpr int opTracks = 1, iterationTracks = 2, exchangeTracks = 3, waitTracks = 4;

using Time = Trace::Clock::time_point;
using Duration = Trace::Clock::duration;

struct Span {
  Time begin, end;
};

/// Merges overlapping spans; the result is sorted.
std::vector<Span> mergedSpans(std::vector<Span> spans) {
  std::ranges::sort(spans, {}, &Span::begin);
  std::vector<Span> out;
  for (Span span : spans)
    if (!out.empty() && span.begin <= out.back().end)
      out.back().end = std::max(out.back().end, span.end);
    else
      out.push_back(span);
  return out;
}

Duration sum(const std::vector<Span> &spans) {
  Duration time{};
  for (Span span : spans)
    time += span.end - span.begin;
  return time;
}

/// Duration of the intersection of two lists of merged spans.
Duration overlapOf(const std::vector<Span> &a, const std::vector<Span> &b) {
  Duration time{};
  for (size_t i = 0, k = 0; i < a.size() && k < b.size();) {
    Time begin = std::max(a[i].begin, b[k].begin), end = std::min(a[i].end, b[k].end);
    time += std::max(end - begin, Duration{});
    ++(a[i].end < b[k].end ? i : k);
  }
  return time;
}

/// Returns when any thread computed, without ops that only run others or wait for exchanges.
std::vector<Span> computing(std::vector<Trace::Slice> slices,
                            const std::vector<LoggedExchange> &exchanges) {
  std::set<std::string_view> waiting;
  for (const LoggedExchange &exchange : exchanges)
    waiting.insert(exchange.op);
  std::ranges::sort(slices, [](const Trace::Slice &a, const Trace::Slice &b) {
    return std::tuple(a.thread, a.begin, b.end) < std::tuple(b.thread, b.begin, a.end);
  });
  std::vector<Span> spans;
  for (size_t i = 0; i < slices.size(); ++i) {
    const Trace::Slice &slice = slices[i];
    bool runsOthers = i + 1 < slices.size() && slices[i + 1].thread == slice.thread &&
                      slices[i + 1].end <= slice.end;
    if (slice.op && !runsOthers && !waiting.contains(*slice.op))
      spans.push_back({slice.begin, slice.end});
  }
  return mergedSpans(std::move(spans));
}

/// Assigns spans, sorted by start, to as few tracks as possible.
class Tracks {
public:
  int take(Span span) {
    auto track = std::ranges::find_if(busyUntil, [&](Time end) { return end <= span.begin; });
    if (track == busyUntil.end())
      track = busyUntil.insert(track, Time());
    *track = span.end;
    return static_cast<int>(track - busyUntil.begin());
  }
  int number() const { return static_cast<int>(busyUntil.size()); }

private:
  std::vector<Time> busyUntil;
};

class Writer {
public:
  Writer(const Trace &trace, const std::vector<LoggedExchange> &exchanges)
      : slices(trace.slices()), waits(trace.eachWait()), exchanges(exchanges) {
    for (const Trace::Slice &slice : slices)
      start = std::min(start, slice.begin);
    for (const Trace::Wait &wait : waits)
      start = std::min(start, wait.begin);
    for (const LoggedExchange &exchange : exchanges)
      start = std::min(start, exchange.begin);
  }

  std::string write(int64_t dropped) {
    json.object([&] {
      json.attribute("displayTimeUnit", "ns");
      json.attributeArray("traceEvents", [&] { writeEvents(); });
      json.attributeObject("otherData", [&] {
        json.attribute("slices left out", std::to_string(dropped));
        for (const auto &[name, value] : facts)
          json.attribute(name, value);
      });
    });
    return std::move(text);
  }

private:
  struct Loop {
    std::map<int64_t, Span> iterations;
    int32_t maxConcurrent = 1;
  };

  void writeEvents() {
    nameTrack("process_name", opTracks, 0, "ops by thread");
    int threads = 0;
    for (const Trace::Slice &slice : slices)
      threads = std::max(threads, slice.thread + 1);
    for (int i = 0; i < threads; ++i)
      nameTrack("thread_name", opTracks, i, str("thread ", i));
    for (const Trace::Slice &slice : slices)
      writeSlice(slice);
    writeIterations();
    writeWaits();
    if (!exchanges.empty())
      writeExchanges();
  }

  void writeEvent(llvm::StringRef kind, int process, int track, llvm::StringRef name,
                  llvm::function_ref<void()> writeRest) {
    json.object([&] {
      json.attribute("ph", kind);
      json.attribute("pid", process);
      json.attribute("tid", track);
      json.attribute("name", name);
      writeRest();
    });
  }

  void nameTrack(llvm::StringRef what, int process, int track, llvm::StringRef name) {
    writeEvent("M", process, track, what,
               [&] { json.attributeObject("args", [&] { json.attribute("name", name); }); });
  }

  static std::string microseconds(Trace::Clock::duration time) {
    char text[32];
    auto ns = std::chrono::duration_cast<std::chrono::nanoseconds>(time).count();
    std::snprintf(text, sizeof text, "%lld.%03lld", static_cast<long long>(ns / 1000),
                  static_cast<long long>(ns % 1000));
    return text;
  }

  void writeTime(llvm::StringRef key, Duration time) {
    json.attributeBegin(key);
    json.rawValue(microseconds(time));
    json.attributeEnd();
  }

  void addSlice(
      int process, int track, llvm::StringRef name, Span span,
      llvm::function_ref<void()> writeArgs = [] {}) {
    writeEvent("X", process, track, name, [&] {
      writeTime("ts", span.begin - start);
      writeTime("dur", span.end - span.begin);
      json.attributeObject("args", writeArgs);
    });
  }

  void writeSlice(const Trace::Slice &slice) {
    Span span{slice.begin, slice.end};
    if (!slice.op)
      return addSlice(opTracks, slice.thread, str("iteration ", slice.iteration), span);
    if (slice.loop) {
      Loop &loop = loops[*slice.loop];
      loop.maxConcurrent = slice.maxConcurrent;
      auto [it, isNew] = loop.iterations.try_emplace(slice.iteration, span);
      it->second = {std::min(it->second.begin, span.begin), std::max(it->second.end, span.end)};
    }
    addSlice(opTracks, slice.thread, *slice.name, span, [&] {
      json.attribute("op", *slice.op);
      if (slice.where)
        json.attribute("function", *slice.where);
      if (slice.waited > Duration{})
        writeTime("waited_us", slice.waited);
      if (slice.loop) {
        json.attribute("loop", *slice.loop);
        json.attribute("iteration", slice.iteration);
      }
    });
  }

  // An iteration lasts from the start of its first op to the end of its last. Iteration i +
  // maxConcurrent starts after iteration i has ended, so both share a track.
  void writeIterations() {
    if (!loops.empty())
      nameTrack("process_name", iterationTracks, 0, "iterations");
    int track = 0;
    for (const auto &[name, loop] : loops) {
      int64_t tracks = std::clamp<int64_t>(std::ssize(loop.iterations), 1, loop.maxConcurrent);
      for (int64_t i = 0; i < tracks; ++i)
        nameTrack("thread_name", iterationTracks, track + static_cast<int>(i),
                  tracks == 1 ? name : str(name, ": ", i, ", ", i + tracks, ", ..."));
      for (const auto &[number, span] : loop.iterations)
        addSlice(iterationTracks, track + static_cast<int>(number % tracks),
                 str("iteration ", number), span);
      track += static_cast<int>(tracks);
    }
  }

  // Writes ops that waited without a thread, from start to resumption. Exchanges have tracks of
  // their own.
  void writeWaits() {
    std::set<std::string_view> exchanged;
    for (const LoggedExchange &exchange : exchanges)
      exchanged.insert(exchange.op);
    std::erase_if(waits, [&](const Trace::Wait &wait) { return exchanged.contains(*wait.op); });
    std::ranges::sort(waits, {}, &Trace::Wait::begin);
    Tracks tracks;
    for (const Trace::Wait &wait : waits) {
      Span span{wait.begin, wait.end};
      addSlice(waitTracks, tracks.take(span), *wait.name, span,
               [&] { json.attribute("op", *wait.op); });
    }
    if (!waits.empty())
      nameTrack("process_name", waitTracks, 0, "waits without a thread");
    for (int i = 0; i < tracks.number(); ++i)
      nameTrack("thread_name", waitTracks, i, "waits");
  }

  // Writes exchanges from their start to the arrival of their result, on as few tracks as possible.
  void writeExchanges() {
    std::vector<Span> compute = computing(slices, exchanges), spans;
    std::vector<LoggedExchange> ordered = exchanges;
    std::ranges::sort(ordered, {}, &LoggedExchange::begin);
    Tracks tracks;
    for (const LoggedExchange &exchange : ordered) {
      Span span{exchange.begin, exchange.end};
      spans.push_back(span);
      addSlice(exchangeTracks, tracks.take(span), exchange.name, span, [&] {
        json.attribute("op", exchange.op);
        json.attribute("exchange", true);
        writeTime("hidden_us", overlapOf({span}, compute));
      });
    }
    std::vector<Span> communication = mergedSpans(std::move(spans));
    Duration most = std::min(sum(communication), sum(compute)),
             hidden = overlapOf(communication, compute);
    char share[16];
    std::snprintf(share, sizeof share, "%.0f%%",
                  most > Duration{} ? 100.0 * static_cast<double>(hidden.count()) /
                                          static_cast<double>(most.count())
                                    : 100.0);
    nameTrack("process_name", exchangeTracks, 0,
              str("exchanges: ", share, " hidden of what could be"));
    for (int i = 0; i < tracks.number(); ++i)
      nameTrack("thread_name", exchangeTracks, i, "exchanges");
    facts = {{"computing_us", microseconds(sum(compute))},
             {"communication_us", microseconds(sum(communication))},
             {"hidden_us", microseconds(hidden)},
             {"hidden of what could be", share}};
  }

  const std::vector<Trace::Slice> slices;
  std::vector<Trace::Wait> waits;
  const std::vector<LoggedExchange> &exchanges;
  Time start = Time::max();
  std::map<std::string, Loop> loops;
  std::vector<std::pair<std::string_view, std::string>> facts; // about the whole trace
  std::string text;
  llvm::raw_string_ostream stream{text};
  llvm::json::OStream json{stream};
};

} // namespace

std::string traceText(const Trace &trace, const std::vector<LoggedExchange> &exchanges) {
  return Writer(trace, exchanges).write(trace.numDropped());
}

} // namespace treadle
