// Tests of the dataflow executor: deadness, frames, results inside loops, suspended ops and early
// ends.
#include "treadle/runtime/Dataflow.h"

#include "treadle/runtime/Variable.h"
#include "treadle/testing/TestGraph.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

namespace treadle::test {
namespace {

constexpr IterationSelector all{IterationSelector::All}, last{IterationSelector::Last};
IterationSelector at(int64_t iteration) { return {IterationSelector::At, iteration}; }

std::vector<int32_t> values(const Tensor &t) {
  auto span = t.values<int32_t>();
  return {span.begin(), span.end()};
}

/// Both plan layouts must agree on graphs that both can run.
class Deadness : public testing::TestWithParam<Layout> {
protected:
  Expected<std::vector<Tensor>> go() { return run(g.graph, {}, nullptr, GetParam()); }
  void expect(std::vector<int32_t> expected) {
    auto out = go();
    ASSERT_TRUE(out) << out.error().message;
    for (size_t i = 0; i < expected.size(); ++i)
      EXPECT_EQ(value((*out)[i]), expected[i]) << "result " << i;
  }
  void expectError(std::string_view part) {
    auto out = go();
    ASSERT_FALSE(out);
    EXPECT_NE(out.error().message.find(part), std::string::npos) << out.error().message;
  }
  GraphMaker g;
  Endpoint one{g.constant(1), 0}, two{g.constant(2), 0};
  Endpoint yes{g.boolean(true), 0}, no{g.boolean(false), 0};
  int chosen = g.switchOn(two, yes); // output 0 is dead, output 1 alive
  Endpoint dead{chosen, 0}, alive{chosen, 1};
};

TEST_P(Deadness, OneDeadInputIsEnough) {
  int sum = g.add("sum", "Add", {one, dead}, {i32});
  g.result({g.merge({{sum, 0}, alive}), 0});
  expect({2});
}

TEST_P(Deadness, MergeSaysWhichInputItTook) {
  int m = g.merge({dead, alive});
  g.result({m, 0});
  g.result({m, 1});
  expect({2, 1});
}

TEST_P(Deadness, MergeOfDeadInputsIsDead) {
  int m = g.merge({dead, {g.identity(dead), 0}});
  g.result({g.merge({{m, 0}, alive}), 1});
  expect({1});
}

TEST_P(Deadness, GoesThroughControlEdges) {
  int pivot = g.identity(dead);
  int constant = g.constant(7, {pivot});
  g.result({g.merge({{constant, 0}, alive}), 1});
  expect({1});
}

TEST_P(Deadness, GoesThroughNodesWithoutOutputs) {
  int nothing = g.add("nothing", "NoOp", {}, {}, {g.identity(dead)});
  int constant = g.constant(7, {nothing});
  g.result({g.merge({{constant, 0}, alive}), 1});
  expect({1});
}

TEST_P(Deadness, EndsAtAControlTrigger) {
  int trigger = g.add("trigger", "ControlTrigger", {}, {}, {g.identity(dead)});
  g.result({g.constant(7, {trigger}), 0});
  expect({7});
}

TEST_P(Deadness, OfAControlInputDoesNotKillAMerge) {
  g.result({g.merge({dead, alive}, {g.identity(dead)}), 0});
  expect({2});
}

TEST_P(Deadness, OfASwitchsPredicateKillsBothSides) {
  int deadPredicate = g.switchOn(yes, no);
  int s = g.switchOn(one, {deadPredicate, 1});
  g.result({g.merge({{s, 0}, alive}), 1});
  g.result({g.merge({{s, 1}, alive}), 1});
  expect({1, 1});
}

TEST_P(Deadness, OfAWholeLoopMakesItsExitDead) {
  int merge = g.loopVariable(dead, "loop");
  int less = g.add("less", "Less", {{merge, 0}, {g.enter(one, "loop", true), 0}}, {i1});
  int cond = g.add("cond", "LoopCond", {{less, 0}}, {i1});
  int branch = g.switchOn({merge, 0}, {cond, 0});
  g.close(merge, {g.identity({branch, 1}), 0});
  int exit = g.add("exit", "Exit", {{branch, 0}}, {i32});
  g.result({g.merge({{exit, 0}, alive}), 1});
  int after = g.constant(7, {exit});
  g.result({g.merge({{after, 0}, alive}), 1});
  expect({1, 1});
}

TEST_P(Deadness, OfAResultIsAnError) {
  g.result(dead);
  expectError("has no value: it is on a branch that was not taken");
}

TEST_P(Deadness, SkipsErrors) {
  int refuse = g.add("refuse", "Refuse", {dead}, {i32});
  g.attr(refuse, "value", int64_t{2});
  g.result({g.merge({{refuse, 0}, alive}), 1});
  expect({1});
}

TEST_P(Deadness, APredicateMustBeABoolScalar) {
  int s = g.add("choose", "Switch", {one, {g.add("f", "ToFloat", {one}, {f32}), 0}}, {i32, i32});
  g.result({s, 0});
  expectError("node 'choose' (Switch): the predicate must be a bool scalar, found float");
}

INSTANTIATE_TEST_SUITE_P(, Deadness, testing::Values(Layout::Chosen, Layout::Dataflow),
                         [](const auto &info) {
                           return info.param == Layout::Chosen ? "Slots" : "Counters";
                         });

// --- frames ------------------------------------------------------------------------------------

/// Counts a variable from 0 to a limit. The parameter is the number of iterations in flight.
class Loops : public testing::TestWithParam<int64_t> {
protected:
  struct Loop {
    int counter, cond, branch, step, exit;
  };
  int loopVariable(Endpoint from, const std::string &frame) {
    return g.loopVariable(from, frame, GetParam());
  }
  Endpoint constantEnter(Endpoint from, const std::string &frame) {
    return {g.enter(from, frame, true, GetParam()), 0};
  }
  Loop loop(Endpoint from, Endpoint limit, const std::string &frame,
            const std::function<Endpoint(Loop &)> &inBody = nullptr) {
    Loop l{};
    l.counter = loopVariable(from, frame);
    Endpoint bound = constantEnter(limit, frame);
    int less = g.add(frame + "/less", "Less", {{l.counter, 0}, bound}, {i1});
    l.cond = g.add(frame + "/cond", "LoopCond", {{less, 0}}, {i1});
    l.branch = g.switchOn({l.counter, 0}, {l.cond, 0});
    int one = g.constant(1, {g.identity({l.branch, 1})});
    l.step = g.add(frame + "/step", "Add", {{l.branch, 1}, {one, 0}}, {i32});
    g.close(l.counter, inBody ? inBody(l) : Endpoint{l.step, 0});
    l.exit = g.add(frame + "/exit", "Exit", {{l.branch, 0}}, {i32});
    return l;
  }
  std::vector<Tensor> go() {
    auto out = run(g.graph, {}, nullptr, Layout::Dataflow);
    EXPECT_TRUE(out) << out.error().message;
    return out ? std::move(*out) : std::vector<Tensor>(g.graph.results.size(), scalar(-99));
  }
  GraphMaker g;
  Endpoint zero{g.constant(0), 0}, three{g.constant(3), 0};
};

INSTANTIATE_TEST_SUITE_P(InFlight, Loops, testing::Values(1, 2, 10));

TEST_P(Loops, LookedInto) {
  Loop l = loop(zero, three, "loop");
  g.result({l.exit, 0});
  g.result({l.step, 0});
  g.result({l.step, 0}, {at(1)});
  g.result({l.step, 0}, {last});
  g.result({l.step, 0}, {all});
  g.result({l.counter, 0}, {all}); // one iteration more than the body
  std::vector<Tensor> out = go();
  EXPECT_EQ(value(out[0]), 3);
  EXPECT_EQ(value(out[1]), 1);
  EXPECT_EQ(value(out[2]), 2);
  EXPECT_EQ(value(out[3]), 3);
  EXPECT_EQ(values(out[4]), (std::vector<int32_t>{1, 2, 3}));
  EXPECT_EQ(values(out[5]), (std::vector<int32_t>{0, 1, 2, 3}));
}

TEST_P(Loops, AnIterationThatWasNotIsOutOfRange) {
  Loop l = loop(zero, three, "loop");
  g.result({l.step, 0}, {at(3)});
  auto out = run(g.graph, {}, nullptr, Layout::Dataflow);
  ASSERT_FALSE(out);
  EXPECT_EQ(out.error().code, Code::OutOfRange);
  EXPECT_NE(out.error().message.find("'loop/step' has no value in the requested iteration"),
            std::string::npos);
}

TEST_P(Loops, ALoopOfNoIterationsGivesWhatEntered) {
  Loop l = loop(three, zero, "loop");
  g.result({l.exit, 0});
  EXPECT_EQ(value(go()[0]), 3);
}

TEST_P(Loops, ConstantsEnterEveryIterationOthersTheFirst) {
  Endpoint constant = constantEnter(three, "loop");
  Endpoint once{g.enter(three, "loop", false, GetParam()), 0};
  int everyTime = -1, firstTime = -1;
  Loop l = loop(zero, three, "loop", [&](Loop &loop) {
    everyTime = g.add("every", "Add", {{loop.branch, 1}, constant}, {i32});
    firstTime = g.add("first", "Add", {{loop.branch, 1}, once}, {i32});
    return Endpoint{loop.step, 0};
  });
  g.result({l.exit, 0});
  g.result({everyTime, 0}, {all});
  g.result({firstTime, 0}, {all});
  std::vector<Tensor> out = go();
  EXPECT_EQ(values(out[1]), (std::vector<int32_t>{3, 4, 5}));
  EXPECT_EQ(values(out[2]), (std::vector<int32_t>{3}));
}

TEST_P(Loops, NestedFramesTakeOneSelectorEach) {
  Loop inner{};
  Loop outer = loop(zero, three, "outer", [&](Loop &l) {
    inner = loop({g.identity({l.branch, 1}), 0}, constantEnter(three, "outer"), "inner");
    return Endpoint{l.step, 0};
  });
  g.result({outer.exit, 0});
  g.result({inner.step, 0}, {at(1), all}); // counted from 1: 2, 3
  g.result({inner.step, 0}, {all, last});
  g.result({inner.step, 0}, {last, at(0)});
  g.result({inner.exit, 0}, {all});
  std::vector<Tensor> out = go();
  EXPECT_EQ(value(out[0]), 3);
  EXPECT_EQ(values(out[1]), (std::vector<int32_t>{2, 3}));
  EXPECT_EQ(values(out[2]), (std::vector<int32_t>{3, 3, 3}));
  EXPECT_EQ(value(out[3]), 3);
  EXPECT_EQ(values(out[4]), (std::vector<int32_t>{3, 3, 3}));
}

TEST_P(Loops, RaggedIterationsCannotBeStacked) {
  Loop inner{};
  loop(zero, three, "outer", [&](Loop &l) {
    inner = loop({g.identity({l.branch, 1}), 0}, constantEnter(three, "outer"), "inner");
    return Endpoint{l.step, 0};
  });
  g.result({inner.step, 0}, {all, all}); // 3, 2 and 1 values
  auto out = run(g.graph, {}, nullptr, Layout::Dataflow);
  ASSERT_FALSE(out);
  EXPECT_NE(out.error().message.find("can't be stacked"), std::string::npos);
}

// An Exit fed by the Merge itself has a value in each iteration; only one leaves the loop.
TEST_P(Loops, AValueLeavesOnce) {
  Loop l = loop(zero, three, "loop");
  int early = g.add("early", "Exit", {{l.counter, 0}}, {i32});
  int count = g.add("count", "AddToVar", {{g.constant(1), 0}}, {i32}, {early});
  g.attr(count, "var", std::string("v"));
  g.result({early, 0});
  g.result({l.exit, 0});
  auto plan = build(g.graph, nullptr, Layout::Dataflow);
  ASSERT_TRUE(plan);
  ResourceManager resources;
  RunState state(resources, nullptr);
  auto out = (*plan)->run({}, state);
  ASSERT_TRUE(out) << out.error().message;
  EXPECT_EQ(value((*out)[0]), 0);
  EXPECT_EQ(value((*out)[1]), 3);
  EXPECT_EQ(value(resources.lookup<Variable>("", "v")->read()), 1) << "what follows it runs once";
}

TEST_P(Loops, AnErrorInsideEndsTheRunAndNamesItsNode) {
  Loop l = loop(zero, three, "loop", [&](Loop &loop) {
    int refuse = g.add("loop/refuse", "Refuse", {{loop.step, 0}}, {i32});
    g.attr(refuse, "value", int64_t{2});
    return Endpoint{refuse, 0};
  });
  g.result({l.exit, 0});
  for (Layout layout : {Layout::Chosen, Layout::Dataflow}) {
    auto out = run(g.graph, {}, nullptr, layout);
    ASSERT_FALSE(out);
    EXPECT_EQ(out.error().code, Code::InvalidArgument);
    EXPECT_EQ(out.error().message, "node 'loop/refuse' (Refuse): refuses 2");
  }
}

/// Ops that suspend; they are completed together once no more of them arrive.
class Gate {
public:
  static KernelFn kernel() {
    return [](OpContext &ctx) {
      Gate &gate = *ctx.state<Gate *>();
      std::lock_guard lock(gate.mutex);
      gate.waiting.emplace_back(ctx.suspend(), value(ctx.input(0)));
    };
  }
  size_t maxAtOnce() const { return most; }
  void openUntil(const std::atomic<bool> &isOver) {
    for (size_t before = 0; !isOver;) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      std::lock_guard lock(mutex);
      if (waiting.size() != before) {
        before = waiting.size();
        continue;
      }
      most = std::max(most, waiting.size());
      for (auto &[suspension, v] : waiting)
        if (suspension->claim())
          suspension->complete({scalar(v)});
      waiting.clear();
      before = 0;
    }
  }

private:
  std::mutex mutex;
  std::vector<std::pair<Ref<Suspension>, int32_t>> waiting;
  size_t most = 0;
};

TEST_P(Loops, IterationsInFlightStayWithinTheLimit) {
  Gate gate;
  KernelRegistry registry(&kernels());
  registry.add("Gate", [&](const BindContext &) {
    BoundKernel bound = boundWith<Gate *>(Gate::kernel(), &gate);
    bound.mayBlock = true;
    return Expected<BoundKernel>(bound);
  });
  int slow = -1;
  Loop l = loop(zero, {g.constant(12), 0}, "loop", [&](Loop &inside) {
    slow = g.add("gate", "Gate", {{inside.step, 0}}, {i32});
    return Endpoint{inside.step, 0};
  });
  g.result({l.exit, 0});
  g.result({slow, 0}, {all});
  auto plan = buildPlan(g.graph, {&registry, nullptr, ArgMode::Owned});
  ASSERT_TRUE(plan) << plan.error().message;
  ResourceManager resources;
  RunState state(resources, nullptr);
  std::atomic<bool> isOver = false;
  std::thread opener([&] { gate.openUntil(isOver); });
  auto out = (*plan)->run({}, state);
  isOver = true;
  opener.join();
  ASSERT_TRUE(out) << out.error().message;
  EXPECT_EQ(value((*out)[0]), 12);
  EXPECT_EQ((*out)[1].count(), 12);
  EXPECT_EQ(gate.maxAtOnce(), static_cast<size_t>(GetParam()));
}

// A loop ends if the value for its Enter died in the first iteration and never arrives again.
TEST_P(Loops, AFrameThatAValueNeverReachesEnds) {
  Endpoint no{g.boolean(false), 0};
  Endpoint dead{g.switchOn(three, no), 1};
  int dying = loopVariable(dead, "outer");
  Loop outer = loop(zero, three, "outer", [&](Loop &l) {
    int branch = g.switchOn({dying, 0}, {l.cond, 0});
    int inside = loopVariable({g.identity({l.branch, 1}), 0}, "inner");
    int entered = loopVariable({g.identity({branch, 1}), 0}, "inner");
    g.close(inside, {inside, 0});
    g.close(entered, {entered, 0});
    g.graph.nodes[inside].inputs.pop_back(); // no back edge: one iteration
    g.graph.nodes[inside].inputTypes.pop_back();
    g.close(dying, {branch, 1});
    return Endpoint{l.step, 0};
  });
  g.result({outer.exit, 0});
  EXPECT_EQ(value(go()[0]), 3);
}

// --- references --------------------------------------------------------------------------------

/// A reference `v` to a variable that holds 5, and a predicate that is true.
class References : public testing::TestWithParam<Layout> {
protected:
  References() {
    g.attr(v.node, "var", std::string("v"));
    g.attr(set, "var", std::string("v"));
    g.graph.nodes[v.node].controls = {set};
  }
  void expect(int32_t expected) {
    if (GetParam() == Layout::Dataflow)
      ASSERT_TRUE(plan::readReferencesAtBorders(g.graph));
    functions.layout = GetParam();
    auto out = run(g.graph, {}, &functions, GetParam());
    ASSERT_TRUE(out) << out.error().message;
    ASSERT_FALSE((*out)[0].isRef());
    EXPECT_EQ(value((*out)[0]), expected);
  }
  Functions functions;
  GraphMaker g;
  Endpoint yes{g.boolean(true), 0};
  int set = g.add("set", "AddToVar", {{g.constant(5), 0}}, {i32});
  static constexpr ValueType v5{DType::Int32, true};
  Endpoint v{g.add("v", "RefVar", {}, {v5}), 0};
};

INSTANTIATE_TEST_SUITE_P(, References, testing::Values(Layout::Chosen, Layout::Dataflow),
                         [](const auto &info) {
                           return info.param == Layout::Chosen ? "Chosen" : "Counters";
                         });

TEST_P(References, KernelsReadThem) {
  g.result({g.add("sum", "Add", {v, v}, {i32}), 0});
  expect(10);
}

TEST_P(References, ASwitchHandsOnTheValue) {
  int s = g.add("switch", "Switch", {v, yes}, {i32, i32});
  g.result({g.add("sum", "Add", {{s, 1}, {s, 1}}, {i32}), 0});
  expect(10);
}

TEST_P(References, ARefSwitchHandsOnTheReference) {
  int s = g.add("switch", "RefSwitch", {v, yes}, {v5, v5});
  int same = g.add("same", "Refs", {{s, 1}}, {v5});
  g.result({g.add("sum", "Add", {{same, 0}, {same, 0}}, {i32}), 0});
  expect(10);
}

TEST_P(References, AMergeHandsOnTheValue) {
  int m = g.add("merge", "Merge", {v}, {i32, i32});
  g.result({g.add("sum", "Add", {{m, 0}, {m, 0}}, {i32}), 0});
  expect(10);
}

TEST_P(References, AnEnterHandsOnTheValue) {
  int in = g.add("in", "Enter", {v}, {i32});
  g.attr(in, "frame_name", std::string("loop"));
  int sum = g.add("sum", "Add", {{in, 0}, {in, 0}}, {i32});
  g.result({g.add("out", "Exit", {{sum, 0}}, {i32}), 0});
  expect(10);
}

TEST_P(References, FunctionsGetAndGiveValues) {
  GraphMaker f("f");
  int x = f.arg();
  int inner = f.add("inner", "RefVar", {}, {v5});
  f.attr(inner, "var", std::string("v"));
  f.result({f.add("sum", "Add", {{x, 0}, {x, 0}}, {i32}), 0});
  f.result({inner, 0});
  functions.add(std::move(f.graph));
  int call = g.call("f", {v}, {i32, i32});
  g.result({g.add("all", "Add", {{call, 0}, {call, 1}}, {i32}), 0});
  expect(15);
}

TEST_P(References, AConditionIsRead) {
  GraphMaker then("then"), otherwise("else");
  then.arg();
  then.result({then.constant(1), 0});
  otherwise.arg();
  otherwise.result({otherwise.constant(2), 0});
  functions.add(std::move(then.graph));
  functions.add(std::move(otherwise.graph));
  int node = g.add("if", "If", {v, v}, {i32});
  g.attr(node, "then_branch", FunctionRef{"then", nullptr});
  g.attr(node, "else_branch", FunctionRef{"else", nullptr});
  g.result({node, 0});
  expect(1);
}

// --- suspended ops, threads, and early ends ----------------------------------------------------

TEST(Waiting, OpsWaitWithoutHoldingBackOthers) {
  GraphMaker g;
  Endpoint one{g.constant(1), 0};
  std::vector<Endpoint> sums;
  sums.reserve(100);
  for (int i = 0; i < 100; ++i)
    sums.push_back({g.add(str("wait", i), "WaitAdd", {one, one}, {i32}), 0});
  Endpoint total = sums[0];
  for (int i = 1; i < 100; ++i)
    total = {g.add(str("sum", i), "Add", {total, sums[i]}, {i32}), 0};
  g.result(total);
  auto out = run(g.graph);
  ASSERT_TRUE(out) << out.error().message;
  EXPECT_EQ(value((*out)[0]), 200);
}

TEST(Waiting, AKernelThatWaitsUnannouncedStillWorks) {
  KernelRegistry registry(&kernels());
  registry.add("Sly", [](const BindContext &node) {
    return (*kernels().find("WaitAdd"))(node).map([](BoundKernel bound) {
      bound.mayBlock = false;
      return bound;
    });
  });
  GraphMaker g;
  Endpoint one{g.constant(1), 0};
  g.result({g.add("sly", "Sly", {one, one}, {i32}), 0});
  auto plan = buildPlan(g.graph, {&registry, nullptr, ArgMode::Owned});
  ASSERT_TRUE(plan);
  ResourceManager resources;
  RunState state(resources, nullptr);
  auto out = (*plan)->run({}, state);
  ASSERT_TRUE(out) << out.error().message;
  EXPECT_EQ(value((*out)[0]), 2);
}

TEST(Waiting, AnErrorElsewhereEndsAnOpThatWaitsForever) {
  GraphMaker g;
  Endpoint one{g.constant(1), 0};
  g.result({g.add("never", "Never", {one}, {i32}), 0});
  int refuse = g.add("refuse", "Refuse", {one}, {i32});
  g.attr(refuse, "value", int64_t{1});
  g.result({refuse, 0});
  auto out = run(g.graph);
  ASSERT_FALSE(out);
  EXPECT_EQ(out.error().message, "node 'refuse' (Refuse): refuses 1");
}

TEST(Threads, TheFirstErrorInTheProgramsOrderIsToldOfThoseReached) {
  GraphMaker g;
  Endpoint one{g.constant(1), 0};
  for (std::string name : {"first", "second"}) {
    int refuse = g.add(name, "Refuse", {one}, {i32});
    g.attr(refuse, "value", int64_t{1});
    g.result({refuse, 0});
  }
  for (Layout layout : {Layout::Chosen, Layout::Dataflow})
    EXPECT_EQ(run(g.graph, {}, nullptr, layout).error().message,
              "node 'first' (Refuse): refuses 1");
}

/// Stops a run after a delay.
class Stopping : public testing::TestWithParam<Layout> {
protected:
  Expected<std::vector<Tensor>> runStopped(GraphSpec graph, Functions *functions = nullptr) {
    auto plan = TREADLE_TRY(build(std::move(graph), functions, GetParam()));
    ResourceManager resources;
    ThreadPool pool(1);
    RunState state(resources, &pool);
    std::thread stopper([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      state.stop(deadlineExceeded("the run took too long"));
    });
    auto out = plan->run({}, state);
    stopper.join();
    return out;
  }
  void expectStopped(const Expected<std::vector<Tensor>> &out) {
    ASSERT_FALSE(out);
    EXPECT_EQ(out.error().code, Code::DeadlineExceeded);
    EXPECT_EQ(out.error().message, "the run took too long");
  }
};

INSTANTIATE_TEST_SUITE_P(, Stopping, testing::Values(Layout::Chosen, Layout::Dataflow),
                         [](const auto &info) {
                           return info.param == Layout::Chosen ? "Chosen" : "Counters";
                         });

TEST_P(Stopping, EndsALoopWithoutEnd) {
  GraphMaker g;
  int merge = g.loopVariable({g.constant(1), 0}, "loop");
  int differs = g.add("ne", "NotEqual", {{merge, 0}, {g.enter({0, 0}, "loop", true), 0}}, {i1});
  int forever = g.add("not", "Not", {{differs, 0}}, {i1});
  int cond = g.add("cond", "LoopCond", {{forever, 0}}, {i1});
  int branch = g.switchOn({merge, 0}, {cond, 0});
  g.close(merge, {g.identity({branch, 1}), 0});
  g.result({g.add("exit", "Exit", {{branch, 0}}, {i32}), 0});
  expectStopped(runStopped(g.graph));
}

TEST_P(Stopping, EndsAWhileWithoutEnd) {
  Functions functions;
  functions.layout = GetParam();
  GraphMaker cond("cond"), body("body"), g;
  cond.arg();
  cond.result({cond.boolean(true), 0});
  body.result({body.identity({body.arg(), 0}), 0});
  functions.add(cond.graph);
  functions.add(body.graph);
  int loop = g.add("loop", "While", {{g.constant(1), 0}}, {i32});
  g.attr(loop, "cond", FunctionRef{"cond", nullptr});
  g.attr(loop, "body", FunctionRef{"body", nullptr});
  g.result({loop, 0});
  expectStopped(runStopped(g.graph, &functions));
}

TEST_P(Stopping, EndsAnOpThatWaits) {
  GraphMaker g;
  g.result({g.add("never", "Never", {{g.constant(1), 0}}, {i32}), 0});
  expectStopped(runStopped(g.graph));
}

TEST_P(Stopping, BeforeTheStartRunsNothing) {
  GraphMaker g;
  int count = g.add("count", "AddToVar", {{g.constant(1), 0}}, {i32});
  g.attr(count, "var", std::string("v"));
  g.result({count, 0});
  auto plan = build(g.graph, nullptr, GetParam());
  ASSERT_TRUE(plan);
  ResourceManager resources;
  RunState state(resources, nullptr);
  state.stop(cancelled("never mind"));
  auto out = (*plan)->run({}, state);
  ASSERT_FALSE(out);
  EXPECT_EQ(out.error().code, Code::Cancelled);
  EXPECT_TRUE(resources.all().empty());
}

} // namespace
} // namespace treadle::test
