// Loops that run Python code, for which these tests have kernels: they are compiled, and no call is
// ever repeated.
#include "treadle/treadle.h"

#include "treadle/kernels/Families.h"
#include "treadle/testing/TestExpected.h"

#include <gtest/gtest.h>

namespace treadle {
namespace {

/// Counts i from 0 to 6. In iteration `at`, `twice` doubles y; in each one, `note` sees i, and z is
/// divided by `divisor` - i.
constexpr std::string_view loop = R"(
  tfg.graph #tf_type.version<producer = 1882, min_consumer = 0> {
    %at, %c0 = Placeholder name("at") {dtype = i32, shape = #tf_type.shape<>} : () -> (tensor<i32>)
    %d, %c1 = Placeholder name("divisor") {dtype = i32, shape = #tf_type.shape<>} : () -> (tensor<i32>)
    %y, %c2 = Placeholder name("y") {dtype = f32, shape = #tf_type.shape<20>} : () -> (tensor<20xf32>)
    %i, %c3 = Const name("i") {dtype = i32, value = dense<0> : tensor<i32>} : () -> (tensor<i32>)
    %z, %c4 = Const name("z") {dtype = i32, value = dense<99> : tensor<i32>} : () -> (tensor<i32>)
    %w:5, %c5 = While(%i, %at, %d, %z, %y) name("while") {T = [i32, i32, i32, i32, f32], body = #tf_type.func<@body, {}>, cond = #tf_type.func<@cond, {}>} : (tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<20xf32>) -> (tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<20xf32>)
    %r, %c6 = Identity(%w#4) name("result") {T = f32} : (tensor<20xf32>) -> (tensor<20xf32>)
    %s, %c7 = Identity(%w#3) name("divided") {T = i32} : (tensor<i32>) -> (tensor<i32>)
  }
  tfg.func @cond(%i: tensor<i32> {tfg.name = "i"}, %at: tensor<i32> {tfg.name = "at"}, %d: tensor<i32> {tfg.name = "d"}, %z: tensor<i32> {tfg.name = "z"}, %y: tensor<20xf32> {tfg.name = "y"}) -> (tensor<i1> {tfg.name = "more"}) {
    %n, %c0 = Const name("n") {dtype = i32, value = dense<6> : tensor<i32>} : () -> (tensor<i32>)
    %m, %c1 = Less(%i, %n) name("less") {T = i32} : (tensor<i32>, tensor<i32>) -> (tensor<i1>)
    return(%m) : tensor<i1>
  }
  tfg.func @body(%i: tensor<i32> {tfg.name = "i"}, %at: tensor<i32> {tfg.name = "at"}, %d: tensor<i32> {tfg.name = "d"}, %z: tensor<i32> {tfg.name = "z"}, %y: tensor<20xf32> {tfg.name = "y"}) -> (tensor<i32> {tfg.name = "i1"}, tensor<i32> {tfg.name = "at1"}, tensor<i32> {tfg.name = "d1"}, tensor<i32> {tfg.name = "z1"}, tensor<20xf32> {tfg.name = "y1"}) attributes {is_stateful} {
    %one, %c0 = Const name("one") {dtype = i32, value = dense<1> : tensor<i32>} : () -> (tensor<i32>)
    %next, %c1 = AddV2(%i, %one) name("next") {T = i32} : (tensor<i32>, tensor<i32>) -> (tensor<i32>)
    NOTE
    %left, %c3 = Sub(%d, %i) [%c2] name("left") {T = i32} : (tensor<i32>, tensor<i32>) -> (tensor<i32>)
    %q, %c4 = TruncateDiv(%z, %left) name("quotient") {T = i32} : (tensor<i32>, tensor<i32>) -> (tensor<i32>)
    %is, %c5 = Equal(%i, %at) name("is_now") {T = i32} : (tensor<i32>, tensor<i32>) -> (tensor<i1>)
    %v, %c6 = If(%is, %y) name("if") {Tcond = i1, Tin = [f32], Tout = [f32], then_branch = #tf_type.func<@call, {}>, else_branch = #tf_type.func<@add, {}>} : (tensor<i1>, tensor<20xf32>) -> (tensor<20xf32>)
    return(%next, %at, %d, %q, %v) [%c2 {tfg.name = "note"}] : tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<20xf32>
  }
  tfg.func @call(%y: tensor<20xf32> {tfg.name = "y"}) -> (tensor<20xf32> {tfg.name = "v"}) {
    %v, %c0 = PyFuncStateless(%y) name("twice") {Tin = [f32], Tout = [f32], token = "twice"} : (tensor<20xf32>) -> (tensor<20xf32>)
    return(%v) : tensor<20xf32>
  }
  tfg.func @add(%y: tensor<20xf32> {tfg.name = "y"}) -> (tensor<20xf32> {tfg.name = "v"}) {
    %one, %c0 = Const name("one") {dtype = f32, value = dense<1.0> : tensor<f32>} : () -> (tensor<f32>)
    %v, %c1 = AddV2(%y, %one) name("plus") {T = f32} : (tensor<20xf32>, tensor<f32>) -> (tensor<20xf32>)
    return(%v) : tensor<20xf32>
  }
)";
constexpr std::string_view noting =
    R"(%c2 = PyFunc(%i) name("note") {Tin = [i32], Tout = [], token = "note"} : tensor<i32>)";
constexpr std::string_view silent = R"(%c2 = NoOp name("note"))";

struct Calls {
  int twice = 0;
  std::vector<int32_t> noted;
  bool fails = false;
  bool operator==(const Calls &) const = default;
};

class PythonCallsTest : public testing::Test {
protected:
  PythonCallsTest() {
    auto bind = [this](KernelFn fn) {
      return
          [this, fn](const BindContext &) { return Expected<BoundKernel>(boundWith(fn, &calls)); };
    };
    kernels.add("PyFunc", bind([](OpContext &ctx) {
                  ctx.state<Calls *>()->noted.push_back(ctx.input(0).scalarValue<int32_t>());
                }));
    kernels.add("PyFuncStateless", bind([](OpContext &ctx) {
                  Calls &calls = *ctx.state<Calls *>();
                  ++calls.twice;
                  if (calls.fails)
                    return ctx.fail(internal("it raises"));
                  Tensor *made = ctx.allocateOutput(0, DType::Float32, ctx.input(0).dims());
                  for (int i = 0; i < 20; ++i)
                    made->data<float>()[i] = 2 * ctx.input(0).data<float>()[i];
                }));
  }

  /// Runs the loop; returns the first element of the result, or the error.
  std::string run(Tier tier, bool notes, int32_t at, int32_t divisor = 99) {
    std::string text(loop);
    text.replace(text.find("NOTE"), 4, notes ? noting : silent);
    SessionOptions options;
    options.tier = tier;
    options.kernels = &kernels;
    options.statistics = true;
    Expected<Graph> graph = Graph::fromBytes(text);
    if (!graph)
      return graph.error().message;
    Expected<Session> session = Session::create(*graph, options);
    if (!session)
      return session.error().message;
    Tensor y = Tensor::make(DType::Float32, Dims({20})).value();
    std::fill_n(y.data<float>(), 20, 1.0F);
    auto out = session->run({"result:0", "divided:0"},
                            {{"at:0", Tensor::scalar(DType::Int32, at)},
                             {"divisor:0", Tensor::scalar(DType::Int32, divisor)},
                             {"y:0", y}});
    statistics = session->statistics().value();
    return out ? str(out->front().data<float>()[0]) : out.error().message;
  }

  /// Runs the loop in both tiers, which must agree on results, errors and calls, and in one call of
  /// compiled code.
  std::string runBoth(bool notes, int32_t at, int32_t divisor = 99) {
    const bool fails = calls.fails;
    calls = {.noted = {}, .fails = fails};
    std::string wanted = run(Tier::Interpret, notes, at, divisor);
    Calls interpreted = std::exchange(calls, {.noted = {}, .fails = fails});
    EXPECT_EQ(run(Tier::Jit, notes, at, divisor), wanted);
    EXPECT_EQ(calls, interpreted);
    EXPECT_EQ(statistics.compiledCalls, 1) << statistics.lastFailure;
    EXPECT_EQ(statistics.bails, 0);
    return wanted;
  }

  Calls calls;
  KernelRegistry kernels{&builtinKernels()};
  Session::Statistics statistics;
};

TEST_F(PythonCallsTest, BranchesAreTakenInAnyIteration) {
  EXPECT_EQ(runBoth(/*notes=*/false, -1), "7");
  EXPECT_EQ(calls.twice, 0);
  EXPECT_EQ(runBoth(/*notes=*/false, 0), "7");
  EXPECT_EQ(runBoth(/*notes=*/false, 3), "10");
  EXPECT_EQ(runBoth(/*notes=*/false, 5), "12");
  EXPECT_EQ(calls.twice, 1);
}

TEST_F(PythonCallsTest, EffectsAreInOrder) {
  EXPECT_EQ(runBoth(/*notes=*/true, 2), "9");
  EXPECT_EQ(calls.noted, (std::vector<int32_t>{0, 1, 2, 3, 4, 5}));
}

TEST_F(PythonCallsTest, CallsThatFailAreNotRepeated) {
  calls.fails = true;
  EXPECT_EQ(runBoth(/*notes=*/true, 3), "node 'twice' (PyFuncStateless): it raises");
  EXPECT_EQ(calls.twice, 1);
  EXPECT_EQ(calls.noted, (std::vector<int32_t>{0, 1, 2, 3}));
}

TEST_F(PythonCallsTest, EffectsAreNotRepeatedAfterAnError) {
  EXPECT_NE(runBoth(/*notes=*/true, -1, /*divisor=*/4).find("integer division by zero"),
            std::string::npos);
  EXPECT_EQ(calls.noted, (std::vector<int32_t>{0, 1, 2, 3, 4}));
}

} // namespace
} // namespace treadle
