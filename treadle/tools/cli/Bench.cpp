// `treadle bench`: how long a run takes, as percentiles after a warm-up.
#include "treadle/tools/cli/Progress.h"
#include "treadle/tools/cli/Request.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <numeric>

namespace treadle::cli {

using Clock = std::chrono::steady_clock;

struct Times {
  double warmUp = 0;          // ms, the first run, which plans
  std::vector<double> sorted; // ms

  double percentile(double share) const {
    return sorted[static_cast<size_t>(std::lround(share * static_cast<double>(sorted.size() - 1)))];
  }
  double mean() const {
    return std::accumulate(sorted.begin(), sorted.end(), 0.0) / static_cast<double>(sorted.size());
  }
};

static Expected<double> timeRun(const Request &request, Session &session) {
  Clock::time_point start = Clock::now();
  Expected<std::vector<Tensor>> values = request.run(session);
  double time = std::chrono::duration<double, std::milli>(Clock::now() - start).count();
  return values.map([&](const auto &) { return time; });
}

/// The first run plans; more follow until caches and pools are warm: 3, or 100 ms of them, and
/// until nothing is being compiled, if that ends in 10 s.
static Expected<void> warmUp(const Request &request, Session &session, Times &times) {
  double total = 0;
  for (int runs = 0; runs < 3 || (total < 100 && runs < 1000) || session.isCompiling(); ++runs) {
    double time = TREADLE_TRY(timeRun(request, session));
    total += time;
    if (runs == 0)
      times.warmUp = time;
    if (total > (session.isCompiling() ? 10'000 : 2000))
      break;
  }
  return {};
}

static Expected<Times> measure(const Request &request, int64_t repeat) {
  Session session = TREADLE_TRY(request.makeSession());
  Times times;
  Progress progress("measuring");
  TREADLE_TRY(warmUp(request, session, times));
  for (int64_t i = 0; i < repeat; ++i) {
    double time = TREADLE_TRY(timeRun(request, session));
    times.sorted.push_back(time);
    progress.set(static_cast<double>(i + 1) / static_cast<double>(repeat));
  }
  std::sort(times.sorted.begin(), times.sorted.end());
  return times;
}

static int bench(const Arguments &args) {
  Parsed<int64_t> repeat = args.integer("--repeat", 100, 1);
  if (!repeat)
    return report(repeat.error());
  int status = 0;
  std::optional<Request> request = makeRequest(args, {}, status);
  if (!request)
    return status;
  Expected<Times> times = measure(*request, *repeat);
  if (!times)
    return report(times.error());
  const char *format =
      args.has("--json")
          ? "{\"runs\": %lld, \"first_ms\": %.6f, \"min_ms\": %.6f, \"p50_ms\": %.6f, "
            "\"p90_ms\": %.6f, \"p99_ms\": %.6f, \"mean_ms\": %.6f}\n"
          : "runs %lld after a warm-up, first %.4g ms\n"
            "min %.4g ms  p50 %.4g ms  p90 %.4g ms  p99 %.4g ms  mean %.4g ms\n";
  std::printf(format, static_cast<long long>(*repeat), times->warmUp, times->sorted[0],
              times->percentile(0.5), times->percentile(0.9), times->percentile(0.99),
              times->mean());
  return 0;
}

static constexpr OptionRow options[] = {
    TREADLE_RUN_OPTIONS,
    {"--repeat", "N", "number of runs to measure; 100 by default"},
    {"--json", "", "print one JSON object"},
};

const Command benchCommand = {
    "bench",
    "measure how long a run takes",
    "MODEL",
    1,
    options,
    "  treadle bench examples/countdown.pbtxt --fetch count:0 --input start=1000 --repeat 50\n"
    "  runs 50 after a warm-up, first 0.31 ms\n"
    "  min 0.12 ms  p50 0.13 ms  p90 0.13 ms  p99 0.15 ms  mean 0.13 ms\n",
    bench,
};

} // namespace treadle::cli
