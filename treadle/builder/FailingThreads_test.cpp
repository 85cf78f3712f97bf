// Processes in which thread creation fails, at each thread that loading and running create: work
// continues with fewer threads or returns one error, and the session stays usable.
#include "treadle/Builder.h"
#include "treadle/kernels/Families.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <condition_variable>
#include <dlfcn.h>
#include <mutex>
#include <pthread.h>

namespace {

/// Number of threads before one fails to start; negative: none fails.
std::atomic<int> untilFailure{-1};
std::atomic<int> numRefused{0};
/// Whether all later threads fail to start too.
std::atomic<bool> endsForGood{false};

bool isRefused() {
  if (untilFailure.load() < 0)
    return false;
  int left = untilFailure.fetch_sub(1);
  if (left > 0)
    return false;
  if (endsForGood)
    untilFailure = 0;
  ++numRefused;
  return true;
}

} // namespace

extern "C" int pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                              void *(*run)(void *), void *argument) noexcept {
  using Create = int (*)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
  static const auto create = reinterpret_cast<Create>(dlsym(RTLD_NEXT, "pthread_create"));
  return isRefused() ? EAGAIN : create(thread, attributes, run, argument);
}

namespace treadle {
namespace {

using namespace builder;

Expected<Graph> graphOf() {
  Builder g;
  Output x = g.placeholder("x", DType::Float32, PartialShape::ranked({-1}));
  Loop loop = g.whileLoop({"loop", {{"i", 0}, {"v", x}}});
  loop.condition(loop["i"] < 50);
  loop.set("v", loop["v"] * 1.0001);
  loop.set("i", loop["i"] + 1);
  loop.end();
  Output column = g.op({"ExpandDims", {x, 1}}), row = g.op({"ExpandDims", {x, 0}});
  Output product = g.op({"MatMul", {column, row}});
  g.op({"AddV2", {g.op({"Sum", {product, 0}}), 0.0}});
  g.op({"AddV2", {loop["v"], g.op({"Sum", {g.op({"Softmax", {product}}), 1}})}, {}, "y"});
  return g.build();
}

struct Case {
  Tier tier;
  int threads;
  double timeout;
};

class FailingThreads : public testing::TestWithParam<std::tuple<Case, bool>> {
protected:
  void SetUp() override { endsForGood = std::get<1>(GetParam()); }
  void TearDown() override { untilFailure = -1; }
};

TEST_P(FailingThreads, AreFewerOrAnErrorEachTime) {
  const Case &tried = std::get<0>(GetParam());
  Expected<Graph> graph = graphOf();
  ASSERT_TRUE(graph) << graph.error().message;
  Tensor x = *Tensor::make(DType::Float32, {200});
  std::fill_n(x.data<float>(), 200, 0.5f);
  for (int n = 0;; ++n) {
    numRefused = 0;
    untilFailure = n;
    SessionOptions options;
    options.threads = tried.threads;
    options.tier = tried.tier;
    options.timeout = tried.timeout;
    Expected<Session> session = Session::create(*graph, options);
    for (int i = 0; session && i < 3; ++i)
      if (auto result = session->run({"y:0"}, {{"x:0", x}}); !result)
        EXPECT_EQ(result.error().code, Code::ResourceExhausted) << result.error().message;
    untilFailure = -1;
    ASSERT_TRUE(session) << n << ": " << session.error().message;
    auto after = session->run({"y:0"}, {{"x:0", x}});
    ASSERT_TRUE(after) << n << ": " << after.error().message;
    if (numRefused == 0)
      break;
    ASSERT_LT(n, 1000);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Cases, FailingThreads,
    testing::Combine(testing::Values(Case{Tier::Interpret, 4, 0}, Case{Tier::Interpret, 4, 100},
                                     Case{Tier::Auto, 2, 0}, Case{Tier::Jit, 3, 0}),
                     testing::Bool()));

/// Custom ops that wait for each other, with a timeout.
class Meeting {
public:
  Meeting() {
    kernels.add("Meet", [this](const BindContext &) {
      return Expected<BoundKernel>(boundWith(meet, this));
    });
    traits.add("Meet", {{{"nothing", false}}, /*touchesWorld=*/false, /*waits=*/true});
  }

  Expected<Session> session() {
    SessionOptions options;
    options.threads = 1;
    options.kernels = &kernels;
    options.traits = &traits;
    return Graph::fromBytes(graph).and_then(
        [&](Graph read) { return Session::create(std::move(read), options); });
  }

private:
  static constexpr int numOps = 3;
  static constexpr std::string_view graph = R"(
    node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_INT32 } } }
    node { name: "in" op: "Enter" input: "x" attr { key: "T" value { type: DT_INT32 } }
           attr { key: "frame_name" value { s: "frame" } } }
    node { name: "out" op: "Exit" input: "in" attr { key: "T" value { type: DT_INT32 } } }
    node { name: "a" op: "Meet" input: "out" }
    node { name: "b" op: "Meet" input: "out" }
    node { name: "c" op: "Meet" input: "out" }
  )";

  static void meet(OpContext &ctx) {
    Meeting &own = *ctx.state<Meeting *>();
    std::unique_lock lock(own.mutex);
    uint64_t round = own.rounds;
    if (++own.here == numOps) {
      own.here = 0;
      ++own.rounds;
      own.changed.notify_all();
      return;
    }
    // A run with too few threads doesn't start all of the ops.
    if (!own.changed.wait_for(lock, std::chrono::milliseconds(300),
                              [&] { return own.rounds != round; }))
      --own.here;
  }

  KernelRegistry kernels{&builtinKernels()};
  OpTraitsTable traits;
  std::mutex mutex;
  std::condition_variable changed;
  int here = 0;
  uint64_t rounds = 0;
};

TEST(FailingThreadsOfOps, ThatWaitForEachOther) {
  Meeting meeting;
  Expected<Session> session = meeting.session();
  ASSERT_TRUE(session) << session.error().message;
  Session::Feeds feeds = {{"x:0", Tensor::scalar(DType::Int32, 1)}};
  auto run = [&] { return session->run({}, feeds, {"a", "b", "c"}); };
  endsForGood = true;
  untilFailure = 0;
  auto refused = run();
  untilFailure = -1;
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::ResourceExhausted);
  EXPECT_NE(refused.error().message.find("can't start a thread"), std::string::npos)
      << refused.error().message;
  auto after = run();
  EXPECT_TRUE(after) << after.error().message;
}

} // namespace
} // namespace treadle
