// `treadle bench`: the latency of runs as percentiles after a warm-up, and their throughput with
// several clients.
#include "treadle/tools/cli/Progress.h"
#include "treadle/tools/cli/Request.h"

#include <algorithm>
#include <atomic>
#include <barrier>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <numeric>
#include <system_error>
#include <thread>
#include <tuple>

namespace treadle::cli {

using Clock = std::chrono::steady_clock;

static double milliseconds(Clock::duration time) {
  return std::chrono::duration<double, std::milli>(time).count();
}

struct Times {
  double warmUp = 0;          // ms, the first run, which includes planning
  double total = 0;           // ms, from the first measured run to the end of the last one
  std::vector<double> sorted; // ms

  double percentile(double share) const {
    return sorted[static_cast<size_t>(std::lround(share * static_cast<double>(sorted.size() - 1)))];
  }
  double mean() const {
    return std::accumulate(sorted.begin(), sorted.end(), 0.0) / static_cast<double>(sorted.size());
  }
  double perSecond() const { return static_cast<double>(sorted.size()) / total * 1000; }
};

static Expected<double> timeRun(const Request &request, const Runner &runner) {
  Clock::time_point start = Clock::now();
  Expected<std::vector<Tensor>> values = request.run(runner);
  double time = milliseconds(Clock::now() - start);
  return values.map([&](const auto &) { return time; });
}

/// Runs until caches and pools are warm: one run that plans, then more for at least 3 runs and 100
/// ms, and for up to 10 s until background compilation is done. Returns the time of the first run.
static Expected<double> warmUp(const Request &request, const Runner &runner) {
  double first = 0, total = 0;
  for (int runs = 0; runs < 3 || (total < 100 && runs < 1000) || isCompiling(runner); ++runs) {
    double time = TREADLE_TRY(timeRun(request, runner));
    total += time;
    if (runs == 0)
      first = time;
    if (total > (isCompiling(runner) ? 10'000 : 2000))
      break;
  }
  return first;
}

// --- clients -------------------------------------------------------------------------------------

/// Clients of one session, one thread each. They start together, and each continues until all have
/// completed their runs, so that the number of concurrent clients is constant. Runs that end later
/// are not counted.
class Clients {
public:
  Clients(const Request &request, const Runner &runner, int64_t count, int64_t repeat)
      : request(request), runner(runner), repeat(repeat), left(count), start(count),
        clients(static_cast<size_t>(count)) {}

  Expected<Times> measure(Progress &progress) {
    std::vector<std::thread> threads;
    threads.reserve(clients.size());
    try {
      for (Client &client : clients)
        threads.emplace_back([&] { call(client, progress); });
    } catch (const std::system_error &error) {
      hasFailed = true;
      clients[threads.size()].outcome = Unexpected(resourceExhausted(
          "can't create a thread for client ", threads.size() + 1, ": ", error.what()));
      std::ignore = start.arrive(std::ssize(clients) - std::ssize(threads));
    }
    for (std::thread &thread : threads)
      thread.join();
    for (Client &client : clients)
      if (!client.outcome)
        return Unexpected(std::move(client.outcome.error()));
    return times();
  }

private:
  struct Run {
    Clock::time_point begin, end;
  };
  /// The results of one client's thread; no two share a cache line.
  struct alignas(64) Client {
    std::vector<Run> runs;
    Expected<void> outcome;
  };

  void call(Client &client, Progress &progress) {
    auto check = [&](Expected<void> outcome) {
      hasFailed = hasFailed || !outcome;
      client.outcome = std::move(outcome);
    };
    Expected<Request> own = prepared();
    check(own.and_then([&](const Request &own) { return warmUp(own, runner).map([](double) {}); }));
    start.arrive_and_wait();
    if (!hasFailed)
      check(runUntilAllDone(*own, client, progress));
  }

  /// Returns the request with its own copies of the inputs.
  Expected<Request> prepared() const {
    Request own = request;
    for (auto &[name, value] : own.feeds) {
      Tensor copy = TREADLE_TRY(value.clone());
      value = std::move(copy);
    }
    return own;
  }

  Expected<void> runUntilAllDone(const Request &own, Client &client, Progress &progress) {
    client.runs.reserve(static_cast<size_t>(std::min<int64_t>(repeat, 1 << 20)));
    for (int64_t i = 0; left.load(std::memory_order_relaxed) > 0 && !hasFailed; ++i) {
      Clock::time_point begin = Clock::now();
      TREADLE_TRY(own.run(runner));
      client.runs.push_back({begin, Clock::now()});
      if (i + 1 == repeat)
        --left;
      if (&client == clients.data())
        progress.set(static_cast<double>(i + 1) / static_cast<double>(repeat));
    }
    return {};
  }

  Times times() const {
    Clock::time_point begin = Clock::time_point::max(), end = Clock::time_point::min();
    for (const Client &client : clients) {
      begin = std::min(begin, client.runs.front().begin);
      end = std::max(end, client.runs[static_cast<size_t>(repeat - 1)].end);
    }
    Times times;
    for (const Client &client : clients)
      for (const Run &run : client.runs)
        if (run.end <= end)
          times.sorted.push_back(milliseconds(run.end - run.begin));
    std::sort(times.sorted.begin(), times.sorted.end());
    times.total = milliseconds(end - begin);
    return times;
  }

  const Request &request;
  const Runner &runner;
  const int64_t repeat;
  std::atomic<int64_t> left; // clients that have not completed their runs
  std::atomic<bool> hasFailed{false};
  std::barrier<> start;
  std::vector<Client> clients;
};

static Expected<Times> measure(const Request &request, int64_t clients, int64_t repeat) {
  Runner runner = TREADLE_TRY(request.makeRunner());
  Progress progress("measuring");
  double first = TREADLE_TRY(warmUp(request, runner));
  return Clients(request, runner, clients, repeat).measure(progress).map([&](Times times) {
    times.warmUp = first;
    return times;
  });
}

static void printTimes(const Times &times, int64_t clients) {
  std::printf("runs %lld after a warm-up, clients %lld, %.1f calls a second, first %.4g ms\n"
              "min %.4g ms  p50 %.4g ms  p90 %.4g ms  p99 %.4g ms  mean %.4g ms\n",
              static_cast<long long>(times.sorted.size()), static_cast<long long>(clients),
              times.perSecond(), times.warmUp, times.sorted[0], times.percentile(0.5),
              times.percentile(0.9), times.percentile(0.99), times.mean());
}

static json::Object jsonOf(const Times &times, int64_t clients) {
  return object("runs", times.sorted.size(), "clients", clients, "calls_per_second",
                times.perSecond(), "first_ms", times.warmUp, "min_ms", times.sorted[0], "p50_ms",
                times.percentile(0.5), "p90_ms", times.percentile(0.9), "p99_ms",
                times.percentile(0.99), "mean_ms", times.mean());
}

static json::Object jsonOf(const SandboxStatus &status) {
  return object("landlock", status.landlock, "start_ms", status.startSeconds * 1000, "load_ms",
                status.loadSeconds * 1000);
}

static int bench(const Arguments &args) {
  constexpr int64_t maxClients = 1024;
  int64_t repeat = TREADLE_OR_REPORT(args.integer("--repeat", 100, 1));
  int64_t clients = TREADLE_OR_REPORT(args.integer("--clients", 1, 1));
  if (clients > maxClients)
    return report(
        UsageError{str("option '--clients' is '", clients, "', expected at most ", maxClients)});
  int status = 0;
  std::optional<Request> request = makeRequest(args, {}, status);
  if (!request)
    return status;
  Times times = TREADLE_OR_REPORT(measure(*request, clients, repeat));
  std::optional<SandboxStatus> sandbox;
  if (request->sandbox)
    sandbox = request->sandbox->status();
  if (args.has("--json")) {
    json::Object out = jsonOf(times, clients);
    if (sandbox)
      out["sandbox"] = jsonOf(*sandbox);
    printJson(std::move(out));
    return 0;
  }
  printTimes(times, clients);
  if (sandbox)
    print(str("sandbox: ", sandbox->text(), "\n"));
  return 0;
}

static constexpr OptionRow options[] = {
    TREADLE_RUN_OPTIONS,
    sandboxOption,
    {"--repeat", "N", "number of measured runs of each client; default: 100"},
    {"--clients", "N", "number of concurrent clients, each with its own inputs; default: 1"},
    {"--json", "", "print one JSON object"},
};

const Command benchCommand = {
    "bench",
    "measure the latency and throughput of runs",
    "MODEL",
    1,
    options,
    "  treadle bench examples/countdown.pbtxt --fetch count:0 --input start=1000 --repeat 50\n"
    "  runs 50 after a warm-up, clients 1, 7700.0 calls a second, first 0.31 ms\n"
    "  min 0.12 ms  p50 0.13 ms  p90 0.13 ms  p99 0.15 ms  mean 0.13 ms\n",
    bench,
};

} // namespace treadle::cli
