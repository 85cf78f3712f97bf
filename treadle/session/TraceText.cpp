#include "treadle/session/TraceText.h"

#include "treadle/runtime/Error.h"
#include "treadle/session/JsonText.h"

#include <algorithm>
#include <cstdio>

namespace treadle {
namespace {

// The viewers' processes: groups of tracks.
constexpr int opTracks = 1, iterationTracks = 2;

class Writer {
public:
  explicit Writer(const Trace &trace) : slices(trace.slices()) {
    for (const Trace::Slice &slice : slices)
      start = std::min(start, slice.begin);
  }

  std::string write(int64_t dropped) {
    nameTrack("process_name", opTracks, 0, "ops by thread");
    int threads = 0;
    for (const Trace::Slice &slice : slices)
      threads = std::max(threads, slice.thread + 1);
    for (int i = 0; i < threads; ++i)
      nameTrack("thread_name", opTracks, i, str("thread ", i));
    for (const Trace::Slice &slice : slices)
      writeSlice(slice);
    writeIterations();
    return str("{\"displayTimeUnit\":\"ns\",\"otherData\":{\"slices left out\":\"", dropped,
               "\"},\"traceEvents\":[\n", events, "\n]}\n");
  }

private:
  using Time = Trace::Clock::time_point;
  struct Span {
    Time begin, end;
  };
  struct Loop {
    std::map<int64_t, Span> iterations;
    int32_t mostAtOnce = 1;
  };

  void add(const std::string &event) { events += (events.empty() ? "{" : ",\n{") + event + "}"; }

  void nameTrack(std::string_view what, int process, int track, std::string_view name) {
    add(str("\"ph\":\"M\",\"pid\":", process, ",\"tid\":", track, ",\"name\":", jsonText(what),
            ",\"args\":{\"name\":", jsonText(name), "}"));
  }

  static std::string microseconds(Trace::Clock::duration time) {
    char text[32];
    auto ns = std::chrono::duration_cast<std::chrono::nanoseconds>(time).count();
    std::snprintf(text, sizeof text, "%lld.%03lld", static_cast<long long>(ns / 1000),
                  static_cast<long long>(ns % 1000));
    return text;
  }

  void addSlice(int process, int track, std::string_view name, Span span, const std::string &args) {
    add(str("\"ph\":\"X\",\"pid\":", process, ",\"tid\":", track, ",\"name\":", jsonText(name),
            ",\"ts\":", microseconds(span.begin - start),
            ",\"dur\":", microseconds(span.end - span.begin), ",\"args\":{", args, "}"));
  }

  void writeSlice(const Trace::Slice &slice) {
    Span span{slice.begin, slice.end};
    if (!slice.op)
      return addSlice(opTracks, slice.thread, str("iteration ", slice.iteration), span, "");
    std::string args = "\"op\":" + jsonText(*slice.op);
    if (slice.loop) {
      args += str(",\"loop\":", jsonText(*slice.loop), ",\"iteration\":", slice.iteration);
      Loop &loop = loops[*slice.loop];
      loop.mostAtOnce = slice.mostAtOnce;
      auto [it, isNew] = loop.iterations.try_emplace(slice.iteration, span);
      it->second = {std::min(it->second.begin, span.begin), std::max(it->second.end, span.end)};
    }
    addSlice(opTracks, slice.thread, *slice.name, span, args);
  }

  // From the begin of an iteration's first op to the end of its last. Number i + mostAtOnce begins
  // when number i has ended, so these share a track.
  void writeIterations() {
    if (!loops.empty())
      nameTrack("process_name", iterationTracks, 0, "iterations");
    int track = 0;
    for (const auto &[name, loop] : loops) {
      int64_t tracks = std::clamp<int64_t>(std::ssize(loop.iterations), 1, loop.mostAtOnce);
      for (int64_t i = 0; i < tracks; ++i)
        nameTrack("thread_name", iterationTracks, track + static_cast<int>(i),
                  tracks == 1 ? name : str(name, ": ", i, ", ", i + tracks, ", ..."));
      for (const auto &[number, span] : loop.iterations)
        addSlice(iterationTracks, track + static_cast<int>(number % tracks),
                 str("iteration ", number), span, "");
      track += static_cast<int>(tracks);
    }
  }

  const std::vector<Trace::Slice> slices;
  Time start = Time::max();
  std::map<std::string, Loop> loops;
  std::string events;
};

} // namespace

std::string traceText(const Trace &trace) { return Writer(trace).write(trace.numDropped()); }

} // namespace treadle
