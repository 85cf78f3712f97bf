// Tests of the kernel interface: attributes, taking and reusing inputs, errors, suspension.
#include "treadle/runtime/Kernel.h"

#include "treadle/runtime/Run.h"
#include "treadle/runtime/Variable.h"
#include "treadle/testing/TestGraph.h"

#include <gtest/gtest.h>

namespace treadle {
namespace {

using test::scalar;
using test::value;

TEST(AttrMap, GivesValuesOfTheKindAskedFor) {
  AttrMap attrs;
  attrs.set("n", int64_t{3});
  attrs.set("T", TypeAttr{DType::Float32});
  attrs.set("shape", PartialShape::ranked({2, -1}));
  attrs.set("n", int64_t{4}); // replaces the value
  EXPECT_EQ(attrs.size(), 3u);
  EXPECT_EQ(*attrs.get<int64_t>("n"), 4);
  EXPECT_EQ(*attrs.get<DType>("T"), DType::Float32);
  EXPECT_EQ(attrs.getOr<bool>("absent", true), true);
  EXPECT_EQ(attrs.getOr<std::string>("n", "otherwise"), "otherwise");
}

TEST(AttrMap, SaysWhatIsMissingAndWhatIsOfAnotherKind) {
  AttrMap attrs;
  attrs.set("n", std::string("three"));
  Error missing = attrs.get<bool>("flag").error(), other = attrs.get<int64_t>("n").error();
  EXPECT_EQ(missing.code, Code::InvalidArgument);
  EXPECT_EQ(missing.message, "attribute 'flag' is missing; expected a bool");
  EXPECT_EQ(other.message, "attribute 'n' has another kind; expected an int");
}

TEST(AttrMap, AnEmptyListIsAListOfAnything) {
  AttrMap attrs;
  attrs.set("list", std::vector<int64_t>{});
  EXPECT_TRUE(attrs.get<std::vector<std::string>>("list"));
  attrs.set("list", std::vector<int64_t>{1});
  EXPECT_FALSE(attrs.get<std::vector<std::string>>("list"));
}

TEST(PartialShape, AcceptsWhatItDoesNotRuleOut) {
  std::vector<int64_t> matrix = {2, 5}, vector = {2};
  EXPECT_TRUE(PartialShape().accepts(matrix));
  EXPECT_TRUE(PartialShape::ranked({2, -1}).accepts(matrix));
  EXPECT_FALSE(PartialShape::ranked({3, -1}).accepts(matrix));
  EXPECT_FALSE(PartialShape::ranked({2, -1}).accepts(vector));
  EXPECT_EQ(PartialShape::ranked({2, -1}).text(), "[2,?]");
  EXPECT_EQ(PartialShape().text(), "<unknown rank>");
}

/// Runs a function as the kernel of one node.
Expected<std::vector<Tensor>> runKernel(KernelFn fn, std::vector<Tensor> inputs,
                                        bool takesRefs = false) {
  KernelRegistry registry(&test::kernels());
  registry.add("Test", [=](const BindContext &) {
    return Expected<BoundKernel>(BoundKernel{.fn = fn, .takesRefs = takesRefs});
  });
  return runOp(registry, "Test", {}, std::move(inputs), {DType::Int32});
}

void increment(OpContext &ctx) {
  const int32_t *in = ctx.input(0).data<int32_t>();
  const void *before = in;
  Tensor *out = ctx.reuseInputOrAllocate(0, 0, DType::Int32, ctx.input(0).dims());
  if (!out)
    return;
  bool isReused = out->raw() == before;
  for (int64_t i = 0; i < out->count(); ++i)
    out->data<int32_t>()[i] = in[i] + (isReused ? 1 : 100);
}

TEST(OpContext, ReusesAnInputThatNobodyElseHas) {
  std::vector<Tensor> inputs;
  inputs.push_back(scalar(1)); // an initializer list would hold a copy
  EXPECT_EQ(value((*runKernel(increment, std::move(inputs)))[0]), 2);
}

TEST(OpContext, KeepsAnInputThatSomebodyHas) {
  Tensor held = scalar(1);
  EXPECT_EQ(value((*runKernel(increment, {held}))[0]), 101);
  EXPECT_EQ(value(held), 1);
}

TEST(OpContext, AllocationThatFailsFailsTheOp) {
  auto out = runKernel(
      [](OpContext &ctx) {
        EXPECT_EQ(ctx.allocateOutput(0, DType::Int32, {int64_t{1} << 50}), nullptr);
      },
      {});
  ASSERT_FALSE(out);
  EXPECT_EQ(out.error().code, Code::ResourceExhausted);
}

TEST(OpContext, TheFirstErrorStays) {
  auto out = runKernel(
      [](OpContext &ctx) {
        ctx.fail(invalidArgument("first"));
        ctx.fail(internal("second"));
      },
      {});
  ASSERT_FALSE(out);
  EXPECT_EQ(out.error().message, "first");
}

TEST(OpContext, ReferencesAreReadUnlessTheKernelWantsThem) {
  auto variable = makeRef<Variable>("v", DType::Int32);
  variable->assign(scalar(5));
  Tensor reference = makeRefTensor(variable);
  auto isRef = [](OpContext &ctx) { ctx.setOutput(0, scalar(ctx.input(0).isRef())); };
  EXPECT_EQ(value((*runKernel(isRef, {reference}))[0]), 0);
  EXPECT_EQ(value((*runKernel(isRef, {reference}, true))[0]), 1);
}

TEST(Suspension, AnOpThatWaitsAloneHoldsItsThread) {
  auto out = runOp(test::kernels(), "WaitAdd", {}, {scalar(2), scalar(3)}, {DType::Int32});
  ASSERT_TRUE(out) << out.error().message;
  EXPECT_EQ(value((*out)[0]), 5);
}

TEST(Suspension, OnlyOneMayClaimIt) {
  struct Silent final : Suspension {
    void complete(std::vector<Tensor>) override {}
    void fail(Error) override {}
  };
  Ref<Suspension> suspension = makeRef<Silent>();
  EXPECT_TRUE(suspension->claim());
  EXPECT_FALSE(suspension->claim());
}

TEST(KernelRegistry, LooksInItsParentLast) {
  KernelRegistry own(&test::kernels());
  EXPECT_EQ(own.find("Add"), test::kernels().find("Add"));
  own.add("Add", [](const BindContext &) { return Expected<BoundKernel>(BoundKernel{}); });
  EXPECT_NE(own.find("Add"), test::kernels().find("Add"));
  EXPECT_EQ(own.find("Frobnicate"), nullptr);
  EXPECT_EQ(runOp(own, "Frobnicate", {}, {}, {}).error().code, Code::Unimplemented);
}

TEST(RunState, TheFirstReasonStaysAndWakersAreCalledOnce) {
  ResourceManager resources;
  RunState run(resources, nullptr);
  int woken = 0, forgotten = 0;
  run.onStop([&] { ++woken; });
  run.forget(run.onStop([&] { ++forgotten; }));
  EXPECT_FALSE(run.isStopped());
  run.stop(deadlineExceeded("late"));
  run.stop(cancelled("no more"));
  EXPECT_TRUE(run.isStopped());
  EXPECT_EQ(run.stopReason().code, Code::DeadlineExceeded);
  EXPECT_EQ(woken, 1);
  EXPECT_EQ(forgotten, 0);
  run.onStop([&] { ++woken; }); // already stopped: called immediately
  EXPECT_EQ(woken, 2);
}

// After `forget` returns, the waker may be destroyed, even while `stop` is running.
TEST(RunState, AForgottenWakerIsNotCalled) {
  for (int i = 0; i < 200; ++i) {
    ResourceManager resources;
    RunState run(resources, nullptr);
    std::thread stopper([&] { run.stop(cancelled("stop")); });
    {
      auto count = std::make_unique<std::atomic<int>>(0);
      int number = run.onStop([count = count.get()] { ++*count; });
      if (i % 2)
        std::this_thread::yield();
      run.forget(number);
    }
    stopper.join();
  }
}

} // namespace
} // namespace treadle
