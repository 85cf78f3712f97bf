// Tests of calls, conditionals and loops over functions, in sequential and dataflow plans.
#include "treadle/runtime/FunctionOps.h"

#include "treadle/runtime/Variable.h"
#include "treadle/testing/TestGraph.h"

#include <gtest/gtest.h>

namespace treadle::test {
namespace {

FunctionRef ref(std::string name) { return {std::move(name), nullptr}; }

enum class Kind : uint8_t { Slots, Counters, Waiting };

std::string nameOf(const testing::TestParamInfo<Kind> &info) {
  static constexpr const char *names[] = {"Slots", "Counters", "Waiting"};
  return names[static_cast<int>(info.param)];
}

/// Functions over int32 scalars. The waiting kind contains an op that suspends.
class FunctionOps : public testing::TestWithParam<Kind> {
protected:
  FunctionOps() {
    functions.layout = GetParam() == Kind::Counters ? Layout::Dataflow : Layout::Chosen;
  }
  /// Defines a function; `write` gets the arguments and returns the results.
  void
  define(std::string name, int numArgs,
         const std::function<std::vector<Endpoint>(GraphMaker &, std::vector<Endpoint>)> &write) {
    GraphMaker f(std::move(name));
    std::vector<Endpoint> args;
    args.reserve(static_cast<size_t>(numArgs));
    for (int i = 0; i < numArgs; ++i)
      args.push_back({f.arg(), 0});
    if (GetParam() == Kind::Waiting)
      f.add("wait", "WaitAdd", {{f.constant(0), 0}, {f.constant(0), 0}}, {i32});
    for (Endpoint e : write(f, args))
      f.result(e);
    functions.add(std::move(f.graph));
  }
  void defineAdd(std::string name, int32_t amount) {
    define(std::move(name), 1, [amount](GraphMaker &f, std::vector<Endpoint> args) {
      Endpoint c{f.constant(amount), 0};
      return std::vector<Endpoint>{{f.add("add", "Add", {args[0], c}, {i32}), 0}};
    });
  }
  int op(std::string name, std::vector<Endpoint> inputs, size_t results = 1) {
    return g.add("node", std::move(name), std::move(inputs), std::vector<ValueType>(results, i32));
  }
  Expected<std::vector<Tensor>> go() {
    Layout layout = GetParam() == Kind::Counters ? Layout::Dataflow : Layout::Chosen;
    return run(g.graph, {}, &functions, layout);
  }
  void expect(std::vector<int32_t> expected) {
    auto out = go();
    ASSERT_TRUE(out) << out.error().message;
    ASSERT_EQ(out->size(), expected.size());
    for (size_t i = 0; i < expected.size(); ++i)
      EXPECT_EQ(value((*out)[i]), expected[i]) << "result " << i;
  }
  void expectError(Code code, std::string_view part) {
    auto out = go();
    ASSERT_FALSE(out);
    EXPECT_EQ(out.error().code, code) << out.error().message;
    EXPECT_NE(out.error().message.find(part), std::string::npos) << out.error().message;
  }
  Endpoint constant(int32_t v) { return {g.constant(v), 0}; }

  Functions functions;
  GraphMaker g;
};

INSTANTIATE_TEST_SUITE_P(, FunctionOps, testing::Values(Kind::Slots, Kind::Counters, Kind::Waiting),
                         nameOf);

TEST_P(FunctionOps, CallsByAttributeAndByName) {
  defineAdd("add_ten", 10);
  for (std::string call : {"PartitionedCall", "StatefulPartitionedCall"}) {
    int node = op(call, {constant(1)});
    g.attr(node, "f", ref("add_ten"));
    g.result({node, 0});
  }
  g.result({g.call("add_ten", {constant(2)}, {i32}), 0});
  expect({11, 11, 12});
}

TEST_P(FunctionOps, IfTakesAnyScalarAsItsCondition) {
  defineAdd("then", 10);
  defineAdd("else", 20);
  for (Endpoint condition :
       {Endpoint{g.boolean(true), 0}, Endpoint{g.boolean(false), 0}, constant(0), constant(-3)}) {
    int node = op("If", {condition, constant(1)});
    g.attr(node, "then_branch", ref("then"));
    g.attr(node, "else_branch", ref("else"));
    g.result({node, 0});
  }
  expect({11, 21, 21, 11});
}

// Aliases of If that other frontends use behave in the same way.
TEST_P(FunctionOps, IfByAnotherNameIsOne) {
  defineAdd("then", 10);
  defineAdd("else", 20);
  for (const char *name : {"_If", "XlaIf", "StatefulIf"}) {
    int node = op(name, {Endpoint{g.boolean(false), 0}, constant(1)});
    g.attr(node, "then_branch", ref("then"));
    g.attr(node, "else_branch", ref("else"));
    g.result({node, 0});
  }
  expect({21, 21, 21});
}

TEST_P(FunctionOps, CaseOutOfRangeTakesTheLastBranch) {
  defineAdd("zero", 10);
  defineAdd("one", 20);
  for (int32_t index : {0, 1, 2, -1}) {
    int node = op("Case", {constant(index), constant(1)});
    g.attr(node, "branches", std::vector{ref("zero"), ref("one")});
    g.result({node, 0});
  }
  expect({11, 21, 21, 21});
}

TEST_P(FunctionOps, ABranchThatIsNotTakenNeedNotExist) {
  defineAdd("then", 10);
  int node = op("If", {{g.boolean(true), 0}, constant(1)});
  g.attr(node, "then_branch", ref("then"));
  g.attr(node, "else_branch", ref("nowhere"));
  g.result({node, 0});
  expect({11});
  g.graph.nodes[node].inputs[0] = {g.boolean(false), 0};
  expectError(Code::NotFound, "'nowhere'");
}

TEST_P(FunctionOps, ForGoesUpAndDown) {
  define("body", 2, [](GraphMaker &f, std::vector<Endpoint> args) {
    Endpoint ten{f.constant(10), 0};
    Endpoint shifted{f.add("mul", "Mul", {args[1], ten}, {i32}), 0};
    return std::vector<Endpoint>{{f.add("add", "Add", {shifted, args[0]}, {i32}), 0}};
  });
  struct Range {
    int start, limit, delta;
  };
  for (auto [start, limit, delta] : {Range{1, 4, 1}, {5, 0, -2}, {3, 3, 0}, {1, 2, 5}}) {
    int node = op("For", {constant(start), constant(limit), constant(delta), constant(9)});
    g.attr(node, "body", ref("body"));
    g.result({node, 0});
  }
  expect({9123, 9531, 9, 91});
}

TEST_P(FunctionOps, AForWithoutEndIsAnError) {
  defineAdd("body", 1);
  int node = op("For", {constant(0), constant(5), constant(-1)}, 0);
  g.attr(node, "body", ref("body"));
  g.result({g.constant(1, {node}), 0});
  expectError(Code::InvalidArgument, "never ends");
}

// --- while -------------------------------------------------------------------------------------

class WhileOp : public FunctionOps {
protected:
  /// While i < limit: (i, limit, others...) = body(i, limit, others...)
  int loop(std::vector<Endpoint> variables,
           const std::function<std::vector<Endpoint>(GraphMaker &, std::vector<Endpoint>)> &body) {
    int n = static_cast<int>(variables.size());
    GraphMaker cond("cond");
    std::vector<Endpoint> args;
    args.reserve(variables.size());
    for (int i = 0; i < n; ++i)
      args.push_back({cond.arg(), 0});
    cond.result({cond.add("less", "Less", {args[0], args[1]}, {i1}), 0});
    functions.add(std::move(cond.graph));
    define("body", n, [&](GraphMaker &f, std::vector<Endpoint> a) {
      Endpoint next{f.add("step", "Add", {a[0], {f.constant(1), 0}}, {i32}), 0};
      std::vector<Endpoint> out = {next, a[1]};
      for (Endpoint e : body(f, a))
        out.push_back(e);
      return out;
    });
    int node = op("While", variables, variables.size());
    g.attr(node, "cond", ref("cond"));
    g.attr(node, "body", ref("body"));
    for (int i = 0; i < n; ++i)
      g.result({node, i});
    return node;
  }
};

INSTANTIATE_TEST_SUITE_P(, WhileOp, testing::Values(Kind::Slots, Kind::Counters, Kind::Waiting),
                         nameOf);

TEST_P(WhileOp, CarriesItsVariables) {
  loop({constant(0), constant(5), constant(1)}, [](GraphMaker &f, std::vector<Endpoint> a) {
    return std::vector<Endpoint>{{f.add("double", "Add", {a[2], a[2]}, {i32}), 0}};
  });
  expect({5, 5, 32});
}

TEST_P(WhileOp, VariablesMaySwapPlaces) {
  loop({constant(0), constant(3), constant(7), constant(8)},
       [](GraphMaker &, std::vector<Endpoint> a) { return std::vector<Endpoint>{a[3], a[2]}; });
  expect({3, 3, 8, 7});
}

TEST_P(WhileOp, OneValueMayBecomeTwoVariables) {
  loop({constant(0), constant(2), constant(7), constant(8)},
       [](GraphMaker &f, std::vector<Endpoint> a) {
         Endpoint sum{f.add("sum", "Add", {a[2], a[3]}, {i32}), 0};
         return std::vector<Endpoint>{sum, sum};
       });
  expect({2, 2, 30, 30});
}

TEST_P(WhileOp, WithoutIterationsGivesWhatItGot) {
  loop({constant(5), constant(5), constant(7)},
       [](GraphMaker &, std::vector<Endpoint> a) { return std::vector<Endpoint>{a[2]}; });
  expect({5, 5, 7});
}

TEST_P(WhileOp, LeavesTheValuesThatOthersHoldAlone) {
  Endpoint shared = constant(1);
  int before = g.identity(shared);
  loop({constant(0), constant(5), {before, 0}}, [](GraphMaker &f, std::vector<Endpoint> a) {
    return std::vector<Endpoint>{{f.add("double", "Add", {a[2], a[2]}, {i32}), 0}};
  });
  g.result({g.add("after", "Add", {{before, 0}, shared}, {i32}), 0});
  expect({5, 5, 32, 2});
}

TEST_P(WhileOp, MayHaveItsGraphsWithIt) {
  int node = loop({constant(0), constant(5), constant(1)}, [](GraphMaker &f, auto a) {
    return std::vector<Endpoint>{{f.add("double", "Add", {a[2], a[2]}, {i32}), 0}};
  });
  NodeSpec &spec = g.graph.nodes[node];
  spec.attrs = {};
  spec.loop =
      std::make_shared<LoopSpec>(LoopSpec{*functions.body("cond"), *functions.body("body")});
  auto out = run(g.graph);
  ASSERT_TRUE(out) << out.error().message;
  EXPECT_EQ(value((*out)[2]), 32);
  EXPECT_EQ((*build(g.graph))->isSequential, GetParam() != Kind::Waiting);
}

TEST_P(WhileOp, ManyIterationsNeedNoStack) {
  int32_t n = GetParam() == Kind::Waiting ? 2000 : 20000;
  loop({constant(0), constant(n)},
       [](GraphMaker &, std::vector<Endpoint>) { return std::vector<Endpoint>{}; });
  expect({n, n});
}

// --- errors ------------------------------------------------------------------------------------

TEST_P(FunctionOps, AnErrorInsideNamesTheInnerNode) {
  define("refuse", 1, [](GraphMaker &f, std::vector<Endpoint> args) {
    int node = f.add("inner", "Refuse", args, {i32});
    f.attr(node, "value", int64_t{1});
    return std::vector<Endpoint>{{node, 0}};
  });
  g.result({g.call("refuse", {constant(1)}, {i32}), 0});
  auto out = go();
  ASSERT_FALSE(out);
  EXPECT_EQ(out.error().message, "node 'inner' (Refuse): refuses 1");
}

TEST_P(FunctionOps, RecursionWithoutEndIsAnError) {
  define("forever", 1, [](GraphMaker &f, std::vector<Endpoint> args) {
    return std::vector<Endpoint>{{f.call("forever", args, {i32}), 0}};
  });
  g.result({g.call("forever", {constant(1)}, {i32}), 0});
  expectError(Code::ResourceExhausted, "'forever' is called inside more than 1000 other calls");
}

TEST_P(FunctionOps, RecursionThatEndsIsNone) {
  define("zero", 1, [](GraphMaker &f, std::vector<Endpoint>) {
    return std::vector<Endpoint>{{f.constant(0), 0}};
  });
  define("sum", 1, [](GraphMaker &f, std::vector<Endpoint> args) {
    Endpoint one{f.constant(1), 0};
    Endpoint less{f.add("less", "Sub", {args[0], one}, {i32}), 0};
    return std::vector<Endpoint>{
        {f.add("add", "Add", {{f.call("sum_to", {less}, {i32}), 0}, args[0]}, {i32}), 0}};
  });
  define("sum_to", 1, [](GraphMaker &f, std::vector<Endpoint> args) {
    int node = f.add("if", "If", {args[0], args[0]}, {i32});
    f.attr(node, "then_branch", ref("sum"));
    f.attr(node, "else_branch", ref("zero"));
    return std::vector<Endpoint>{{node, 0}};
  });
  g.result({g.call("sum_to", {constant(100)}, {i32}), 0});
  expect({5050});
}

TEST_P(FunctionOps, ArgumentsAndResultsAreCounted) {
  defineAdd("add", 1);
  g.result({g.call("add", {constant(1), constant(2)}, {i32}), 0});
  expectError(Code::InvalidArgument, "function 'add' takes 1 arguments, but is called with 2");
  g = GraphMaker();
  g.result({g.call("add", {constant(1)}, {i32, i32}), 0});
  expectError(Code::InvalidArgument, "function 'add' returns 1 results, expected 2");
}

TEST_P(FunctionOps, LoopsGiveAsManyValuesAsTheyGet) {
  defineAdd("add", 1);
  int loop = op("While", {constant(1)}, 2);
  g.attr(loop, "cond", ref("add"));
  g.attr(loop, "body", ref("add"));
  g.result({loop, 1});
  expectError(Code::InvalidArgument, "node 'node' (While): it has 1 loop variables and 2 outputs");
  g = GraphMaker();
  loop = op("For", {constant(0), constant(1)}, 1);
  g.attr(loop, "body", ref("add"));
  g.result({loop, 0});
  expectError(Code::InvalidArgument, "node 'node' (For): it has 2 inputs and 1 outputs");
}

TEST_P(FunctionOps, ArgumentsOfAnotherDTypeAreAnError) {
  defineAdd("add", 1);
  int real = g.add("real", "ToFloat", {constant(1)}, {f32});
  g.result({g.call("add", {{real, 0}}, {i32}), 0});
  expectError(Code::InvalidArgument, "argument 0 of function 'add' is float32[], expected int32");
}

TEST_P(FunctionOps, ResultsOfAnotherDTypeAreAnError) {
  define("real", 1, [](GraphMaker &f, std::vector<Endpoint> args) {
    return std::vector<Endpoint>{{f.add("to", "ToFloat", args, {f32}), 0}};
  });
  defineAdd("whole", 1);
  std::string_view message = "function 'real' returns float32 as result 0, expected int32";
  g.result({g.call("real", {constant(1)}, {i32}), 0});
  expectError(Code::InvalidArgument, message);
  g = GraphMaker();
  int node = op("If", {{g.boolean(true), 0}, constant(1)});
  g.attr(node, "then_branch", ref("real"));
  g.attr(node, "else_branch", ref("whole"));
  g.result({node, 0});
  expectError(Code::InvalidArgument, message);
  g = GraphMaker();
  node = op("While", {constant(1)});
  g.attr(node, "cond", ref("whole"));
  g.attr(node, "body", ref("real"));
  g.result({node, 0});
  expectError(Code::InvalidArgument, message);
  g = GraphMaker();
  node = op("For", {constant(0), constant(1), constant(1), constant(1)});
  define("real_body", 2, [](GraphMaker &f, std::vector<Endpoint> args) {
    return std::vector<Endpoint>{{f.add("to", "ToFloat", {args[0]}, {f32}), 0}};
  });
  g.attr(node, "body", ref("real_body"));
  g.result({node, 0});
  expectError(Code::InvalidArgument, "function 'real_body' returns float32");
}

TEST_P(FunctionOps, ADeadResultOfAFunctionIsAnError) {
  define("half", 1, [](GraphMaker &f, std::vector<Endpoint> args) {
    return std::vector<Endpoint>{{f.switchOn(args[0], {f.boolean(true), 0}), 0}};
  });
  g.result({g.call("half", {constant(1)}, {i32}), 0});
  expectError(Code::InvalidArgument, "of function 'half' has no value");
}

// A result inside a loop takes the value of the first iteration, as a fetch does.
TEST_P(FunctionOps, AResultInsideALoopIsItsFirstIteration) {
  define("look", 1, [](GraphMaker &f, std::vector<Endpoint> args) {
    int merge = f.loopVariable(args[0], "loop");
    Endpoint bound{f.enter({f.constant(9), 0}, "loop", true), 0};
    int less = f.add("less", "Less", {{merge, 0}, bound}, {i1});
    int cond = f.add("cond", "LoopCond", {{less, 0}}, {i1});
    int branch = f.switchOn({merge, 0}, {cond, 0});
    int next = f.add("next", "Add", {{branch, 1}, {branch, 1}}, {i32});
    f.close(merge, {next, 0});
    f.add("exit", "Exit", {{branch, 0}}, {i32});
    return std::vector<Endpoint>{{next, 0}};
  });
  g.result({g.call("look", {constant(1)}, {i32}), 0});
  expect({2});
}

} // namespace
} // namespace treadle::test
