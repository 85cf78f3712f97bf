// Runs random programs with both plan layouts, with and without threads, and compares with a
// reference. TREADLE_STRESS_PROGRAMS sets their number; TREADLE_STRESS_SEED the first seed, to
// repeat a failure.
#include "treadle/testing/TestProgram.h"
#include "treadle/testing/TestReference.h"
#include "treadle/testing/TestStress.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>

namespace treadle::test {
namespace {

constexpr int64_t usually = 200, sanitized = 80;

class RandomPrograms : public testing::TestWithParam<const char *> {
protected:
  ProgramShape shape() const { return ProgramShape::named(GetParam()); }
  // Checks the plans of one program. Returns false if its results are ambiguous.
  bool check(unsigned seed);
  ThreadPool pool{3};
};

bool RandomPrograms::check(unsigned seed) {
  std::mt19937 random(seed);
  RandomGraph program = randomProgram(random, shape());
  Reference reference(program.functions.get(), seed);
  ReferenceOutcome expected = reference.run(program.graph);
  if (expected.isTooLong || expected.isAmbiguous)
    return false;
  for (Layout layout : {Layout::Chosen, Layout::Dataflow}) {
    Functions functions = program.functions->copy();
    functions.layout = layout;
    auto plan = build(program.graph, &functions, layout);
    if (!plan) {
      ADD_FAILURE() << "seed " << seed << ": no plan: " << plan.error().message;
      return true;
    }
    for (ThreadPool *threads : {static_cast<ThreadPool *>(nullptr), &pool})
      for (int again = 0; again < 2; ++again) {
        RunOutcome ran = execute(**plan, threads);
        EXPECT_EQ(difference(ran, expected, reference.variables), "")
            << "seed " << seed << (layout == Layout::Chosen ? "" : ", only dataflow")
            << (threads ? ", with threads" : "");
      }
  }
  return true;
}

TEST_P(RandomPrograms, MeanWhatTheReferenceSays) {
  int64_t count = numPrograms(usually, sanitized);
  std::atomic<int64_t> next = 0, certain = 0;
  auto work = [&] {
    for (int64_t i; !HasFailure() && (i = next++) < count;)
      certain += check(firstSeed() + static_cast<unsigned>(i));
  };
  std::vector<std::thread> workers(std::max(1u, std::thread::hardware_concurrency()));
  for (std::thread &worker : workers)
    worker = std::thread(work);
  for (std::thread &worker : workers)
    worker.join();
  EXPECT_GT(certain, count / 2);
}

INSTANTIATE_TEST_SUITE_P(, RandomPrograms,
                         testing::Values("Plain", "Failures", "Waiting", "Deadness",
                                         "LookingIntoLoops"),
                         [](const auto &info) { return std::string(info.param); });

// --- many runs at once, and runs that end early ------------------------------------------------

/// Number of live counted values, to check that an aborted run leaks none.
std::atomic<int64_t> liveTokens = 0;

struct CountedValue final : VariantObject {
  CountedValue() { ++liveTokens; }
  ~CountedValue() override { --liveTokens; }
  std::string_view kind() const override { return "counted"; }
};

/// `kernels()`, and Token(x): a counted variant; Spend(token, x): x.
const KernelRegistry &countingKernels() {
  static const KernelRegistry *registry = [] {
    auto *made = new KernelRegistry(&kernels());
    made->add("Token", [](const BindContext &) {
      return Expected<BoundKernel>(BoundKernel{[](OpContext &ctx) {
        Tensor token = Tensor::makeScalar(DType::Variant);
        token.data<Variant>()->object = makeRef<CountedValue>();
        ctx.setOutput(0, std::move(token));
      }});
    });
    made->add("Spend", [](const BindContext &) {
      return Expected<BoundKernel>(
          BoundKernel{[](OpContext &ctx) { ctx.setOutput(0, ctx.takeInput(1)); }});
    });
    return made;
  }();
  return *registry;
}

// Holds a counted value across an op every few edges, so that some are alive whenever a run is
// aborted, and delays the end of the program by a loop that runs until it is stopped.
GraphSpec endless(RandomGraph &program, std::mt19937 &random) {
  GraphMaker g;
  g.graph = std::move(program.graph);
  size_t n = g.graph.nodes.size();
  auto isPlain = [&](const NodeSpec &node) {
    return node.op == "Add" || node.op == "Sub" || node.op == "SlowAdd" || node.op == "WaitAdd";
  };
  for (size_t i = 0; i < n; ++i)
    if (isPlain(g.graph.nodes[i]) && random() % 2) {
      Endpoint in = g.graph.nodes[i].inputs[0];
      int token = g.add(str("token", i), "Token", {in}, {ValueType{DType::Variant}});
      int spend = g.add(str("spend", i), "Spend", {{token, 0}, in}, {i32});
      g.graph.nodes[i].inputs[0] = {spend, 0};
    }
  int merge = g.loopVariable({g.constant(1), 0}, "endless");
  int more =
      g.add("more", "Less", {{merge, 0}, {g.enter({g.constant(2), 0}, "endless", true), 0}}, {i1});
  int cond = g.add("goes_on", "LoopCond", {{more, 0}}, {i1});
  int branch = g.switchOn({merge, 0}, {cond, 0});
  int waits = random() % 2;
  int step = g.add("again", waits ? "WaitAdd" : "Identity", {{branch, 1}}, {i32});
  if (waits) {
    int zero = g.constant(0, {branch});
    g.graph.nodes[step].inputs.push_back({zero, 0});
    g.graph.nodes[step].inputTypes.push_back(i32);
  }
  g.close(merge, {step, 0});
  g.result({g.add("end", "Exit", {{branch, 0}}, {i32}), 0});
  return std::move(g.graph);
}

struct Case {
  std::unique_ptr<Functions> functions;
  std::unique_ptr<Plan> plan;
};

Case endlessCase(unsigned seed) {
  std::mt19937 random(seed);
  ProgramShape shape;
  shape.hasWaiting = random() % 2;
  shape.hasFailures = random() % 4 == 0;
  RandomGraph program = randomProgram(random, shape);
  GraphSpec graph = endless(program, random);
  auto plan =
      build(std::move(graph), {.kernels = &countingKernels(), .functions = program.functions.get()},
            random() % 2 ? Layout::Chosen : Layout::Dataflow);
  EXPECT_TRUE(plan) << "seed " << seed << ": " << plan.error().message;
  return {std::move(program.functions), plan ? std::move(*plan) : nullptr};
}

TEST(RunsThatEndEarly, LeaveNothingBehindAndHangNowhere) {
  int64_t count = numPrograms(usually, sanitized) / 4;
  ThreadPool pool(2);
  for (int64_t i = 0; i < count && !testing::Test::HasFailure(); ++i) {
    unsigned seed = firstSeed() + static_cast<unsigned>(i);
    Case c = endlessCase(seed);
    ASSERT_TRUE(c.plan);
    ResourceManager resources;
    RunState state(resources, i % 3 ? &pool : nullptr);
    // Stops the run immediately, while it starts, or in its middle.
    std::thread stopper([&, delay = seed % 5 * 40] {
      std::this_thread::sleep_for(std::chrono::microseconds(delay));
      state.stop(cancelled("enough"));
    });
    auto out = c.plan->run({}, state);
    stopper.join();
    ASSERT_FALSE(out) << "seed " << seed;
    bool isRefusal = out.error().message.find("refuses") != std::string::npos;
    EXPECT_TRUE(isRefusal || out.error().message == "enough")
        << "seed " << seed << ": " << out.error().message;
    EXPECT_EQ(liveTokens, 0) << "seed " << seed;
  }
}

TEST(RunsAtOnce, OfOnePlanDoNotMeet) {
  ThreadPool pool(2);
  int64_t count = std::max<int64_t>(1, numPrograms(usually, sanitized) / 50);
  for (int64_t i = 0; i < count && !testing::Test::HasFailure(); ++i) {
    unsigned seed = firstSeed() + static_cast<unsigned>(i);
    std::mt19937 random(seed);
    ProgramShape shape;
    shape.hasWaiting = seed % 2;
    shape.looksIntoLoops = seed % 3 == 0;
    RandomGraph program = randomProgram(random, shape);
    Reference reference(program.functions.get(), seed);
    ReferenceOutcome expected = reference.run(program.graph);
    if (expected.isTooLong)
      continue;
    auto plan = build(program.graph, program.functions.get());
    ASSERT_TRUE(plan) << "seed " << seed << ": " << plan.error().message;
    std::vector<std::thread> threads;
    threads.reserve(4);
    std::vector<std::string> differences(4);
    for (std::string &d : differences)
      threads.emplace_back([&] {
        for (int again = 0; again < 5 && d.empty(); ++again)
          d = difference(execute(**plan, &pool), expected, reference.variables);
      });
    for (std::thread &t : threads)
      t.join();
    for (const std::string &d : differences)
      EXPECT_EQ(d, "") << "seed " << seed;
  }
}

} // namespace
} // namespace treadle::test
