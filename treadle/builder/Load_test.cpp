// Stress test: many threads load, run, compile, cancel, time out and drop a few models at once.
// Results are correct, only provoked errors occur, and all calls return.
//
// Takes 3 s. TREADLE_LOAD_SECONDS=600 makes it run longer, for use with the thread sanitizer:
//
//     TREADLE_LOAD_SECONDS=600 build/tsan/bin/load_test
#include "treadle/Builder.h"
#include "treadle/tensor/Trim.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <mutex>
#include <optional>
#include <random>
#include <thread>

namespace treadle {
namespace {

using namespace builder;
using Clock = std::chrono::steady_clock;
using Random = std::mt19937;

constexpr int numCallers = 16;

int pick(Random &random, int below) {
  return static_cast<int>(random() % static_cast<unsigned>(below));
}

Tensor ones(int64_t count) {
  Tensor x = *Tensor::make(DType::Float32, {count});
  std::fill_n(x.data<float>(), count, 1.0f);
  return x;
}

/// A graph, and a call of a session of it. The call returns the run's error, or whether the result
/// is correct.
struct Kind {
  const char *name;
  Expected<Graph> (*graph)();
  Expected<bool> (*call)(Session &session, Random &random);
};

Expected<Graph> countdown() { return Graph::fromFile(COUNTDOWN); }
Expected<bool> callCountdown(Session &session, Random &random) {
  Tensor start = Tensor::scalar(DType::Int32, std::array{3, 100, 5000}[pick(random, 3)]);
  std::vector<Tensor> out = TREADLE_TRY(session.run({"count:0"}, {{"start:0", start}}));
  return out[0].scalarValue<int32_t>() == 0;
}

/// A loop over a vector, which is compiled for each class of shapes.
Expected<Graph> doubling() {
  Builder g;
  Output x = g.placeholder("x", DType::Float32, PartialShape::ranked({-1}));
  Loop loop = g.whileLoop({"loop", {{"i", 0}, {"v", x}}});
  loop.condition(loop["i"] < 10);
  loop.set("v", loop["v"] + loop["v"]);
  loop.set("i", loop["i"] + 1);
  loop.end();
  g.op({"Identity", {loop["v"]}, {}, "y"});
  return g.build();
}
Expected<bool> callDoubling(Session &session, Random &random) {
  int64_t count = std::array{1, 7, 5000}[pick(random, 3)];
  std::vector<Tensor> out = TREADLE_TRY(session.run({"y:0"}, {{"x:0", ones(count)}}));
  return out[0].count() == count && out[0].data<float>()[count - 1] == 1024;
}

/// Elementwise ops and a matrix product on the session's threads.
Expected<Graph> products() {
  Builder g;
  Output x = g.placeholder("x", DType::Float32, PartialShape::ranked({-1}));
  Output column = g.op({"ExpandDims", {x, 1}}), row = g.op({"ExpandDims", {x, 0}});
  Output product = g.op({"MatMul", {column, row}});
  Output sum = product + 1.0 - 0.5 + product * 2.0 - 1.5;
  g.op({"Sum", {sum, 0}, {}, "y"});
  return g.build();
}
Expected<bool> callProducts(Session &session, Random &random) {
  int64_t count = std::array{2, 64, 200}[pick(random, 3)];
  std::vector<Tensor> out = TREADLE_TRY(session.run({"y:0"}, {{"x:0", ones(count)}}));
  return out[0].count() == count && out[0].data<float>()[0] == 2.0f * static_cast<float>(count);
}

/// State that all callers of a session share.
Expected<Graph> counter() {
  Builder g;
  Variable v = g.variable("v", 0.0);
  v.assignAdd(1.0);
  g.op({"Identity", {v.read()}, {}, "y"});
  return g.build();
}
Expected<bool> callCounter(Session &session, Random &) {
  TREADLE_TRY(session.run({}, {}, {"init"}));
  std::vector<Tensor> out = TREADLE_TRY(session.run({"y:0"}));
  return out[0].scalarValue<float>() >= 0;
}

AttrMap types(std::initializer_list<std::string_view> names) {
  AttrMap map;
  for (std::string_view name : names)
    map.set(name, TypeAttr{DType::Int64});
  return map;
}

Expected<Graph> table() {
  Builder g;
  Output handle = g.op({"MutableHashTableV2", {}, types({"key_dtype", "value_dtype"}), "table"});
  Output x = g.placeholder("x", DType::Int64, PartialShape::ranked({-1}));
  Output none = g.op({"Cast", {0}, types({"DstT"})});
  g.op({"LookupTableInsertV2", {handle, x, x}, {}, "insert"});
  g.op({"LookupTableFindV2", {handle, x, none}, {}, "y"});
  return g.build();
}
Expected<bool> callTable(Session &session, Random &random) {
  std::vector<int64_t> keys(100);
  for (int64_t &key : keys)
    key = 1 + pick(random, 1000);
  Session::Feeds feeds = {{"x:0", Tensor::vector<int64_t>(DType::Int64, keys)}};
  TREADLE_TRY(session.run({}, feeds, {"insert"}));
  std::vector<Tensor> out = TREADLE_TRY(session.run({"y:0"}, feeds));
  return std::ranges::equal(out[0].values<int64_t>(), keys);
}

constexpr Kind kinds[] = {
    {"countdown", countdown, callCountdown},
    {"doubling", doubling, callDoubling},
    {"products", products, callProducts},
    {"counter", counter, callCounter},
    {"table", table, callTable},
};

SessionOptions someOptions(Random &random) {
  SessionOptions options;
  options.threads = 1 + pick(random, 3);
  options.tier = std::array{Tier::Interpret, Tier::Auto, Tier::Jit}[pick(random, 3)];
  options.timeout = std::array{0.0, 0.0, 0.0005, 10.0}[pick(random, 4)];
  options.memory = std::array{int64_t{0}, int64_t{256} << 20}[pick(random, 2)];
  return options;
}

class Load {
public:
  explicit Load(double seconds)
      : end(Clock::now() +
            std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds))) {}

  void run() {
    std::vector<std::jthread> callers;
    callers.reserve(numCallers);
    for (int i = 0; i < numCallers; ++i)
      callers.emplace_back([this, i] { work(static_cast<unsigned>(i)); });
  }
  std::string failure() const { return failed; }
  int64_t calls() const { return numCalls; }

private:
  static constexpr size_t numPlaces = 2 * std::size(kinds);

  void work(unsigned seed) {
    Random random(seed);
    while (Clock::now() < end && !hasFailed)
      step(random);
  }

  void step(Random &random) {
    auto place = static_cast<size_t>(pick(random, numPlaces));
    const Kind &kind = kinds[place % std::size(kinds)];
    std::optional<Session> session = at(place, random);
    if (!session)
      return;
    int chance = pick(random, 100);
    if (chance < 2)
      session->cancel();
    if (chance == 2)
      trimTensorMemory();
    Expected<bool> done = kind.call(*session, random);
    ++numCalls;
    if (!done && done.error().code != Code::Cancelled &&
        done.error().code != Code::DeadlineExceeded)
      fail(str(kind.name, ": ", done.error().message));
    else if (done && !*done)
      fail(str(kind.name, ": a wrong value"));
  }

  /// Returns the session in `place`; now and then replaces it by a new one. The old session is
  /// freed by its last caller.
  std::optional<Session> at(size_t place, Random &random) {
    bool reloads = pick(random, 50) == 0;
    {
      std::lock_guard lock(mutex);
      if (sessions[place] && !reloads)
        return sessions[place];
    }
    const Kind &kind = kinds[place % std::size(kinds)];
    Expected<Session> made = kind.graph().and_then(
        [&](Graph graph) { return Session::create(std::move(graph), someOptions(random)); });
    if (!made) {
      fail(str(kind.name, ": ", made.error().message));
      return std::nullopt;
    }
    std::optional<Session> old = *made; // freed after unlocking
    std::lock_guard lock(mutex);
    std::swap(old, sessions[place]);
    return *made;
  }

  void fail(const std::string &why) {
    std::lock_guard lock(mutex);
    hasFailed = true;
    if (failed.empty())
      failed = why;
  }

  const Clock::time_point end;
  std::atomic<bool> hasFailed{false};
  std::atomic<int64_t> numCalls{0};
  std::mutex mutex; // guards the members below
  std::string failed;
  std::array<std::optional<Session>, numPlaces> sessions;
};

TEST(Load, ManyCallers) {
  const char *seconds = std::getenv("TREADLE_LOAD_SECONDS");
  Load load(seconds ? std::strtod(seconds, nullptr) : 3);
  load.run();
  EXPECT_EQ(load.failure(), "");
  EXPECT_GT(load.calls(), numCallers);
  RecordProperty("calls", std::to_string(load.calls()));
}

} // namespace
} // namespace treadle
