// Tests of loops with overlapping iterations and user-defined ops: effects keep their order, and
// independent ops run concurrently.
#include "treadle/kernels/Families.h"
#include "treadle/treadle.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <mutex>
#include <numeric>
#include <thread>

namespace treadle {
namespace {

/// Sends i through StageA, StageB and StageC, for i from 0 to 12. StageB and StageC take the output
/// of the stage before.
constexpr const char *pipeline = R"(
tfg.graph #tf_type.version<producer = 1482, min_consumer = 12> {
  %zero, %0 = Const name("zero") {dtype = i32, value = dense<0> : tensor<i32>} : () -> (tensor<i32>)
  %w:2, %1 = While(%zero, %zero) name("while") {T = [i32, i32], body = #tf_type.func<@body, {}>,
      cond = #tf_type.func<@cond, {}>, parallel_iterations = 4 : i64}
      : (tensor<i32>, tensor<i32>) -> (tensor<i32>, tensor<i32>)
}
tfg.func @cond(%i: tensor<i32> {tfg.name = "i"}, %s: tensor<i32> {tfg.name = "s"})
    -> (tensor<i1> {tfg.name = "more"}) {
  %n, %0 = Const name("n") {dtype = i32, value = dense<12> : tensor<i32>} : () -> (tensor<i32>)
  %less, %1 = Less(%i, %n) name("less") {T = i32} : (tensor<i32>, tensor<i32>) -> (tensor<i1>)
  return(%less) : tensor<i1>
}
tfg.func @body(%i: tensor<i32> {tfg.name = "i"}, %s: tensor<i32> {tfg.name = "s"})
    -> (tensor<i32> {tfg.name = "next"}, tensor<i32> {tfg.name = "sum"}) {
  %one, %0 = Const name("one") {dtype = i32, value = dense<1> : tensor<i32>} : () -> (tensor<i32>)
  %a, %1 = StageA(%i) name("a") : (tensor<i32>) -> (tensor<i32>)
  %b, %2 = StageB(%a) name("b") : (tensor<i32>) -> (tensor<i32>)
  %c, %3 = StageC(%b) name("c") : (tensor<i32>) -> (tensor<i32>)
  %sum, %4 = AddV2(%s, %c) name("sum") {T = i32} : (tensor<i32>, tensor<i32>) -> (tensor<i32>)
  %next, %5 = AddV2(%i, %one) name("next") {T = i32} : (tensor<i32>, tensor<i32>) -> (tensor<i32>)
  return(%next, %sum) : tensor<i32>, tensor<i32>
}
)";
constexpr int32_t iterations = 12;

/// Three ops that record the numbers that pass through them.
class Stages {
public:
  /// `resources`: the resources that StageA, StageB and StageC write.
  explicit Stages(std::array<std::string, 3> resources) {
    for (int stage = 0; stage < 3; ++stage) {
      std::string op = std::string("Stage") + "ABC"[stage];
      kernels.add(op, [this, stage](const BindContext &) {
        return Expected<BoundKernel>(boundWith(runStage, State{this, stage}));
      });
      traits.add(op, {{{resources[stage], true}}, /*touchesWorld=*/false, /*waits=*/true});
    }
  }

  Expected<std::vector<Tensor>> run(LoopOverlap mode, int threads) {
    order.clear();
    maxAtOnce = 0;
    SessionOptions options;
    options.threads = threads;
    options.loopOverlap = mode;
    options.kernels = &kernels;
    options.traits = &traits;
    return Graph::fromBytes(pipeline)
        .and_then([&](const Graph &graph) { return Session::create(graph, options); })
        .and_then([](Session session) { return session.run({"while:0", "while:1"}); });
  }

  /// Returns the numbers that went through a stage.
  std::vector<int32_t> through(int stage) const {
    std::vector<int32_t> out;
    for (auto [s, value] : order)
      if (s == stage)
        out.push_back(value);
    return out;
  }

  std::vector<std::pair<int, int32_t>> order; // pairs of stage and number
  std::atomic<int> maxAtOnce = 0;
  int32_t refused = -1;

private:
  struct State {
    Stages *stages;
    int stage;
  };
  static void runStage(OpContext &ctx) {
    const auto &state = ctx.state<State>();
    state.stages->pass(state.stage, ctx);
  }
  void pass(int stage, OpContext &ctx) {
    int now = ++atOnce;
    for (int most = maxAtOnce; most < now && !maxAtOnce.compare_exchange_weak(most, now);) {
    }
    auto value = ctx.input(0).scalarValue<int32_t>();
    std::this_thread::sleep_for(std::chrono::microseconds(500 + 500 * ((value + stage) % 4)));
    {
      std::lock_guard lock(mutex);
      order.emplace_back(stage, value);
    }
    --atOnce;
    if (stage == 1 && value == refused)
      return ctx.fail(invalidArgument("StageB takes no ", value));
    ctx.setOutput(0, ctx.takeInput(0));
  }

  KernelRegistry kernels{&builtinKernels()};
  OpTraitsTable traits;
  std::atomic<int> atOnce = 0;
  std::mutex mutex;
};

class LoopOverlapTest : public testing::TestWithParam<std::tuple<LoopOverlap, int>> {
protected:
  LoopOverlap mode() const { return std::get<0>(GetParam()); }
  int threads() const { return std::get<1>(GetParam()); }
  bool overlaps() const { return mode() != LoopOverlap::Off; }
};

std::vector<int32_t> upTo(int32_t end) {
  std::vector<int32_t> out(end);
  std::iota(out.begin(), out.end(), 0);
  return out;
}

TEST_P(LoopOverlapTest, StagesOfThreeResourcesRunAtOnceEachInOrder) {
  Stages stages({"a", "b", "c"});
  auto results = stages.run(mode(), threads());
  ASSERT_TRUE(results) << results.error().message;
  EXPECT_EQ((*results)[1].scalarValue<int32_t>(), iterations * (iterations - 1) / 2);
  for (int stage = 0; stage < 3; ++stage)
    EXPECT_EQ(stages.through(stage), upTo(iterations));
  // A waiting op holds no thread: one thread serves several at once.
  if (overlaps())
    EXPECT_GT(stages.maxAtOnce, 1);
  else
    EXPECT_EQ(stages.maxAtOnce, 1);
  EXPECT_LE(stages.maxAtOnce, 3);
}

TEST_P(LoopOverlapTest, StagesOfOneResourceRunInTurns) {
  Stages stages({"all", "all", "all"});
  auto results = stages.run(mode(), threads());
  ASSERT_TRUE(results) << results.error().message;
  EXPECT_EQ(stages.maxAtOnce, 1);
  std::vector<std::pair<int, int32_t>> inTurns;
  for (int32_t i = 0; i < iterations; ++i)
    for (int stage = 0; stage < 3; ++stage)
      inTurns.emplace_back(stage, i);
  EXPECT_EQ(stages.order, inTurns);
}

TEST_P(LoopOverlapTest, NothingThatDependsOnAFailureRuns) {
  Stages stages({"a", "b", "c"});
  stages.refused = 5;
  auto results = stages.run(mode(), threads());
  ASSERT_FALSE(results);
  EXPECT_NE(results.error().message.find("StageB takes no 5"), std::string::npos)
      << results.error().message;
  EXPECT_EQ(stages.through(1), upTo(6));
  std::vector<int32_t> last = stages.through(2);
  EXPECT_LE(last.size(), 5u);
  EXPECT_EQ(last, upTo(static_cast<int32_t>(last.size())));
}

std::string nameOf(const testing::TestParamInfo<std::tuple<LoopOverlap, int>> &info) {
  static constexpr const char *modes[] = {"off", "auto", "on"};
  return modes[static_cast<int>(std::get<0>(info.param))] + std::to_string(std::get<1>(info.param));
}

INSTANTIATE_TEST_SUITE_P(, LoopOverlapTest,
                         testing::Combine(testing::Values(LoopOverlap::Off, LoopOverlap::Auto,
                                                          LoopOverlap::On),
                                          testing::Values(1, 2, 8)),
                         nameOf);

} // namespace
} // namespace treadle
