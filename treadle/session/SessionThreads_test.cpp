// One session used by many threads: different requests at once, plans built meanwhile, and
// cancellation.
#include "treadle/treadle.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <latch>
#include <thread>

namespace treadle {
namespace {

// Counts x up to 20 in a v1 loop, adds it to a variable, and feeds it through a conditional.
constexpr const char *graphText = R"(
node { name: 'x' op: 'Placeholder' attr { key: 'dtype' value { type: DT_INT32 } } }
node { name: 'one' op: 'Const' attr { key: 'dtype' value { type: DT_INT32 } }
  attr { key: 'value' value { tensor { dtype: DT_INT32 tensor_shape {} int_val: 1 } } } }
node { name: 'limit' op: 'Const' attr { key: 'dtype' value { type: DT_INT32 } }
  attr { key: 'value' value { tensor { dtype: DT_INT32 tensor_shape {} int_val: 20 } } } }
node { name: 'enter' op: 'Enter' input: 'x' attr { key: 'T' value { type: DT_INT32 } }
  attr { key: 'frame_name' value { s: 'loop' } } }
node { name: 'enter_one' op: 'Enter' input: 'one' attr { key: 'T' value { type: DT_INT32 } }
  attr { key: 'frame_name' value { s: 'loop' } } attr { key: 'is_constant' value { b: true } } }
node { name: 'enter_limit' op: 'Enter' input: 'limit' attr { key: 'T' value { type: DT_INT32 } }
  attr { key: 'frame_name' value { s: 'loop' } } attr { key: 'is_constant' value { b: true } } }
node { name: 'merge' op: 'Merge' input: 'enter' input: 'next'
  attr { key: 'T' value { type: DT_INT32 } } attr { key: 'N' value { i: 2 } } }
node { name: 'less' op: 'Less' input: 'merge' input: 'enter_limit'
  attr { key: 'T' value { type: DT_INT32 } } }
node { name: 'cond' op: 'LoopCond' input: 'less' }
node { name: 'switch' op: 'Switch' input: 'merge' input: 'cond'
  attr { key: 'T' value { type: DT_INT32 } } }
node { name: 'add' op: 'AddV2' input: 'switch:1' input: 'enter_one'
  attr { key: 'T' value { type: DT_INT32 } } }
node { name: 'next' op: 'NextIteration' input: 'add' attr { key: 'T' value { type: DT_INT32 } } }
node { name: 'exit' op: 'Exit' input: 'switch' attr { key: 'T' value { type: DT_INT32 } } }
node { name: 'v' op: 'VarHandleOp' attr { key: 'dtype' value { type: DT_INT32 } }
  attr { key: 'shape' value { shape {} } } attr { key: 'shared_name' value { s: 'v' } } }
node { name: 'init' op: 'AssignVariableOp' input: 'v' input: 'x'
  attr { key: 'dtype' value { type: DT_INT32 } } }
node { name: 'bump' op: 'AssignAddVariableOp' input: 'v' input: 'one'
  attr { key: 'dtype' value { type: DT_INT32 } } }
node { name: 'read' op: 'ReadVariableOp' input: 'v' attr { key: 'dtype' value { type: DT_INT32 } } }
node { name: 'negative' op: 'Neg' input: 'x' attr { key: 'T' value { type: DT_INT32 } } }
node { name: 'is_big' op: 'Less' input: 'one' input: 'x' attr { key: 'T' value { type: DT_INT32 } } }
node { name: 'choose' op: 'Switch' input: 'x' input: 'is_big'
  attr { key: 'T' value { type: DT_INT32 } } }
node { name: 'small' op: 'Neg' input: 'choose' attr { key: 'T' value { type: DT_INT32 } } }
node { name: 'joined' op: 'Merge' input: 'small' input: 'choose:1'
  attr { key: 'T' value { type: DT_INT32 } } attr { key: 'N' value { i: 2 } } }
node { name: 'zero' op: 'Sub' input: 'one' input: 'one' attr { key: 'T' value { type: DT_INT32 } } }
node { name: 'forever' op: 'Enter' input: 'zero' attr { key: 'T' value { type: DT_INT32 } }
  attr { key: 'frame_name' value { s: 'forever' } } }
node { name: 'forever_limit' op: 'Enter' input: 'one' attr { key: 'T' value { type: DT_INT32 } }
  attr { key: 'frame_name' value { s: 'forever' } } attr { key: 'is_constant' value { b: true } } }
node { name: 'forever_merge' op: 'Merge' input: 'forever' input: 'forever_next'
  attr { key: 'T' value { type: DT_INT32 } } attr { key: 'N' value { i: 2 } } }
node { name: 'forever_less' op: 'Less' input: 'forever_merge' input: 'forever_limit'
  attr { key: 'T' value { type: DT_INT32 } } }
node { name: 'forever_cond' op: 'LoopCond' input: 'forever_less' }
node { name: 'forever_switch' op: 'Switch' input: 'forever_merge' input: 'forever_cond'
  attr { key: 'T' value { type: DT_INT32 } } }
node { name: 'forever_same' op: 'Identity' input: 'forever_switch:1'
  attr { key: 'T' value { type: DT_INT32 } } }
node { name: 'forever_next' op: 'NextIteration' input: 'forever_same'
  attr { key: 'T' value { type: DT_INT32 } } }
node { name: 'never' op: 'Exit' input: 'forever_switch' attr { key: 'T' value { type: DT_INT32 } } }
)";

Tensor i32(int32_t value) { return Tensor::scalar(DType::Int32, value); }

Session open(double timeout = 0) {
  SessionOptions options;
  options.threads = 3;
  options.timeout = timeout;
  Expected<Graph> graph = Graph::fromBytes(graphText);
  if (!graph)
    throw std::runtime_error(graph.error().message);
  Expected<Session> session = Session::create(*graph, options);
  if (!session)
    throw std::runtime_error(session.error().message);
  return *session;
}

// The work of one thread: sends different requests in turn, so that plans are built and reused.
void useSession(Session session, int32_t x, int times, std::atomic<int> &bumps) {
  Session::Feeds feeds = {{"x:0", i32(x)}};
  for (int i = 0; i < times; ++i) {
    auto counted = session.run({"exit:0", "negative"}, feeds);
    ASSERT_TRUE(counted) << counted.error().message;
    EXPECT_EQ((*counted)[0].scalarValue<int32_t>(), std::max(20, x));
    EXPECT_EQ((*counted)[1].scalarValue<int32_t>(), -x);
    auto lookedInto = session.run({"add:0@*", "exit:0"}, feeds);
    ASSERT_TRUE(lookedInto) << lookedInto.error().message;
    EXPECT_EQ((*lookedInto)[0].count(), 20 - x);
    auto joined = session.run({"joined"}, feeds);
    ASSERT_TRUE(joined) << joined.error().message;
    EXPECT_EQ((*joined)[0].scalarValue<int32_t>(), x > 1 ? x : -x);
    ASSERT_TRUE(session.run({}, {}, {"bump"}));
    ++bumps;
    auto wrong = session.run({"nonsense"}, feeds);
    EXPECT_FALSE(wrong);
  }
}

TEST(SessionThreads, RunsOfOneSessionDoNotMeet) {
  Session session = open();
  ASSERT_TRUE(session.run({}, {{"x:0", i32(0)}}, {"init"}));
  std::atomic<int> bumps = 0;
  std::vector<std::thread> threads;
  for (int32_t x = 0; x < 6; ++x)
    threads.emplace_back([&, x] { useSession(session, x, 10, bumps); });
  for (std::thread &t : threads)
    t.join();
  auto read = session.run({"read"});
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ((*read)[0].scalarValue<int32_t>(), bumps);
}

TEST(SessionThreads, CancelEndsTheRunsInProgressOnly) {
  Session session = open();
  for (int i = 0; i < 10; ++i) {
    std::atomic<int> ended = 0;
    std::vector<std::thread> threads;
    for (int k = 0; k < 3; ++k)
      threads.emplace_back([&] {
        auto out = session.run({"never"});
        ++ended;
        ASSERT_FALSE(out);
        EXPECT_EQ(out.error().code, Code::Cancelled);
      });
    while (ended < 3) { // a run that hasn't begun yet isn't cancelled
      session.cancel();
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    for (std::thread &t : threads)
      t.join();
    auto after = session.run({"exit:0"}, {{"x:0", i32(0)}});
    ASSERT_TRUE(after) << after.error().message;
  }
}

TEST(SessionThreads, TimeoutsOfRunsAtOnceEndEach) {
  Session session = open(0.03);
  std::vector<std::thread> threads;
  for (int k = 0; k < 4; ++k)
    threads.emplace_back([&, k] {
      auto out = session.run({k % 2 ? "never" : "forever_same:0@last"});
      ASSERT_FALSE(out);
      EXPECT_EQ(out.error().code, Code::DeadlineExceeded) << out.error().message;
    });
  for (std::thread &t : threads)
    t.join();
}

TEST(SessionThreads, SessionsOfOneGraphShareNothingElse) {
  Expected<Graph> graph = Graph::fromBytes(graphText);
  ASSERT_TRUE(graph) << graph.error().message;
  std::vector<std::thread> threads;
  for (int32_t x = 0; x < 4; ++x)
    threads.emplace_back([&, x] {
      auto session = Session::create(*graph);
      ASSERT_TRUE(session) << session.error().message;
      ASSERT_TRUE(session->run({}, {{"x:0", i32(x)}}, {"init"}));
      ASSERT_TRUE(session->run({}, {}, {"bump"}));
      auto read = session->run({"read"});
      ASSERT_TRUE(read) << read.error().message;
      EXPECT_EQ((*read)[0].scalarValue<int32_t>(), x + 1);
    });
  for (std::thread &t : threads)
    t.join();
}

// --- background compilation ----------------------------------------------------------------------

Session openCounting() {
  SessionOptions options;
  options.threads = 2;
  options.statistics = true;
  Expected<Graph> graph = Graph::fromBytes(graphText);
  if (!graph)
    throw std::runtime_error(graph.error().message);
  return *Session::create(*graph, options);
}

void count(Session &session, int32_t x) {
  auto out = session.run({"exit:0"}, {{"x:0", i32(x)}});
  ASSERT_TRUE(out) << out.error().message;
  EXPECT_EQ((*out)[0].scalarValue<int32_t>(), std::max(20, x));
}

// Building a plan with fused nodes creates attributes in the graph's context, here the same ones.
TEST(SessionThreads, PlansOfOneGraphAreMadeAtOnce) {
  constexpr int numChains = 2000, numThreads = 4;
  const std::string type = " attr { key: 'T' value { type: DT_FLOAT } }";
  std::string text =
      "node { name: 'x' op: 'Placeholder' attr { key: 'dtype' value { type: DT_FLOAT } } }";
  std::vector<std::string> fetches;
  for (int i = 0; i < numChains; ++i) {
    std::string number = std::to_string(i), product = "p" + number;
    text += "node { name: '" + product + "' op: 'MatMul' input: 'x' input: 'x'" + type + " }";
    text += "node { name: 'r" + number + "' op: 'LeakyRelu' input: '" + product + "'" + type +
            " attr { key: 'alpha' value { f: " + number + " } } }";
    fetches.push_back("r" + number);
  }
  Tensor x = *Tensor::make(DType::Float32, {2, 2});
  for (int i = 0; i < 4; ++i)
    x.data<float>()[i] = std::array{1.0F, 2.0F, -3.0F, 0.0F}[i]; // x * x begins with -5
  for (int repeat = 0; repeat < 4; ++repeat) {
    Graph graph = *Graph::fromBytes(text);
    std::atomic<int> wrong{0};
    std::latch start(numThreads);
    std::vector<std::thread> threads;
    for (int t = 0; t < numThreads; ++t)
      threads.emplace_back([&] {
        Session session = *Session::create(graph);
        start.arrive_and_wait();
        std::vector<Tensor> values = session.run(fetches, {{"x", x}}).value();
        for (int i = 0; i < numChains; ++i)
          wrong += values[i].data<float>()[0] != -5.0F * static_cast<float>(i);
      });
    for (std::thread &thread : threads)
      thread.join();
    EXPECT_EQ(wrong, 0);
  }
}

TEST(SessionThreads, CodeComesWhileManyThreadsRun) {
  Session session = openCounting();
  std::vector<std::thread> threads;
  std::atomic<bool> isOver{false};
  for (int32_t x = 0; x < 4; ++x)
    threads.emplace_back([&, x]() mutable {
      while (!isOver)
        count(session, x);
      count(session, x);
    });
  auto end = std::chrono::steady_clock::now() + std::chrono::minutes(5);
  while (!session.statistics()->compiledCalls && std::chrono::steady_clock::now() < end)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  isOver = true;
  for (std::thread &t : threads)
    t.join();
  Session::Statistics statistics = *session.statistics();
  EXPECT_GT(statistics.compiledCalls, 0);
  EXPECT_EQ(statistics.compilations + statistics.memoryHits + statistics.diskHits, 1);
  EXPECT_EQ(statistics.failedCompilations, 0) << statistics.lastFailure;
}

TEST(SessionThreads, TheFirstRunCompilesNothingAndLaterOnesAreWarm) {
  Session session = openCounting();
  count(session, 3);
  EXPECT_FALSE(session.isCompiling());
  EXPECT_EQ(session.statistics()->compilations, 0);
  count(session, 3);
  while (session.isCompiling())
    count(session, 3);
  int64_t before = session.statistics()->compiledCalls;
  count(session, 3);
  EXPECT_EQ(session.statistics()->compiledCalls, before + 1);
}

TEST(SessionThreads, SessionsMayGoWhileTheirLoopsAreCompiled) {
  std::vector<std::thread> threads;
  for (int k = 0; k < 3; ++k)
    threads.emplace_back([k] {
      for (int i = 0; i < 20; ++i) {
        Session session = openCounting();
        for (int run = 0; run < 2 + (i + k) % 4; ++run)
          count(session, run);
        std::this_thread::sleep_for(std::chrono::microseconds(i * 300));
        count(session, 2);
      }
    });
  for (std::thread &t : threads)
    t.join();
}

} // namespace
} // namespace treadle
