// Sessions over small graphs: values, and a test for each invalid request.
#include "treadle/testing/NodeText.h"
#include "treadle/treadle.h"

#include "treadle/lowering/Lowering.h"
#include "treadle/testing/TestExpected.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

namespace treadle {
namespace {

// --- making graphs -----------------------------------------------------------------------------

std::string countdown(int64_t parallelIterations = 10) {
  std::string enter =
      typed("T", "DT_INT32") + " attr { key: 'frame_name' value { s: 'loop' } }" +
      str(" attr { key: 'parallel_iterations' value { i: ", parallelIterations, " } }");
  std::string constantEnter = enter + " attr { key: 'is_constant' value { b: true } }";
  return constant("start", 32) + constant("step", -1) + constant("zero", 0) +
         node("enter", "Enter", {"start"}, enter) +
         node("enter_step", "Enter", {"step"}, constantEnter) +
         node("enter_zero", "Enter", {"zero"}, constantEnter) +
         node("merge", "Merge", {"enter", "next"},
              typed("T", "DT_INT32") + " attr { key: 'N' value { i: 2 } }") +
         node("more", "NotEqual", {"merge", "enter_zero"}) +
         node("cond", "LoopCond", {"more"}, "") + node("switch", "Switch", {"merge", "cond"}) +
         node("dec", "AddV2", {"switch:1", "enter_step"}) + node("next", "NextIteration", {"dec"}) +
         node("exit", "Exit", {"switch"});
}

Session open(const std::string &pbtxt, SessionOptions options = {}) {
  Expected<Graph> graph = Graph::fromBytes(pbtxt);
  if (!graph)
    throw std::runtime_error(graph.error().message);
  Expected<Session> session = Session::create(*graph, std::move(options));
  if (!session)
    throw std::runtime_error(session.error().message);
  return *session;
}

Tensor i32(int32_t value) { return Tensor::scalar(DType::Int32, value); }

using Values = Expected<std::vector<Tensor>>;

// --- values ------------------------------------------------------------------------------------

TEST(SessionTest, AddsWhatIsFed) {
  Session s =
      open(placeholder("x", "DT_INT32") + constant("two", 2) + node("y", "AddV2", {"x", "two"}));
  Values out = s.run({"y:0", "x"}, {{"x:0", i32(5)}});
  ASSERT_TRUE(out) << out.error().message;
  EXPECT_EQ((*out)[0].scalarValue<int32_t>(), 7);
  EXPECT_EQ((*out)[1].scalarValue<int32_t>(), 5);
}

TEST(SessionTest, CountsDownAndShowsItsIterations) {
  Session s = open(countdown());
  Values out = s.run({"exit:0", "dec:0", "dec:0@3", "dec:0@last", "dec:0@*"});
  ASSERT_TRUE(out) << out.error().message;
  EXPECT_EQ((*out)[0].scalarValue<int32_t>(), 0);
  EXPECT_EQ((*out)[1].scalarValue<int32_t>(), 31);
  EXPECT_EQ((*out)[2].scalarValue<int32_t>(), 28);
  EXPECT_EQ((*out)[3].scalarValue<int32_t>(), 0);
  EXPECT_EQ((*out)[4].count(), 32);
}

TEST(SessionTest, AnIntermediateValueMayBeFed) {
  Session s = open(constant("a", 1) + node("b", "Neg", {"a"}) + node("c", "Neg", {"b"}));
  Values out = s.run({"c"}, {{"b:0", i32(9)}});
  ASSERT_TRUE(out) << out.error().message;
  EXPECT_EQ((*out)[0].scalarValue<int32_t>(), -9);
}

// A v1 variable that is 2 after `init`, and `square`, which assigns its square to it.
std::string squaredVariable() {
  std::string type = typed("dtype", "DT_INT32");
  return node("v", "VariableV2", {}, type + " attr { key: 'shape' value { shape {} } }") +
         constant("two", 2) + node("init", "Assign", {"v", "two"}) +
         node("read", "Identity", {"v"}) + node("product", "Mul", {"read", "read"}) +
         node("square", "Assign", {"v", "product"}) + node("after", "Neg", {"read", "^square"});
}

TEST(SessionTest, WhoReadAV1VariableSeesWhatIsAssignedLater) {
  Session s = open(squaredVariable());
  ASSERT_TRUE(s.run({}, {}, {"init"}));
  Values out = s.run({"after"});
  ASSERT_TRUE(out) << out.error().message;
  EXPECT_EQ((*out)[0].scalarValue<int32_t>(), -4);
}

TEST(SessionTest, WhatWasFetchedOfAV1VariableStays) {
  Session s = open(squaredVariable());
  Values before = s.run({"init"});
  ASSERT_TRUE(before) << before.error().message;
  ASSERT_TRUE(s.run({}, {}, {"square"}));
  EXPECT_EQ((*before)[0].scalarValue<int32_t>(), 2);
  EXPECT_EQ((*s.run({"two"}))[0].scalarValue<int32_t>(), 2) << "a constant was written into";
  EXPECT_EQ((*s.run({"v"}))[0].scalarValue<int32_t>(), 4);
}

TEST(SessionTest, AV1VariableIsAssignedWhatAnotherHolds) {
  auto variable = [](std::string_view name) {
    return node(name, "VariableV2", {},
                typed("dtype", "DT_STRING") + " attr { key: 'shape' value { shape {} } }");
  };
  auto assign = [](std::string_view name, std::string to, std::string from) {
    return node(name, "Assign", {to, from}, typed("T", "DT_STRING"));
  };
  Session s =
      open(variable("v") + variable("w") + placeholder("x", "DT_STRING") +
           assign("init", "w", "x") + assign("copy", "v", "init") + assign("early", "v", "w"));
  EXPECT_FALSE(s.run({"early"}));
  Values out = s.run({"copy"}, {{"x", Tensor::scalarString("a long text that has memory")}});
  ASSERT_TRUE(out) << out.error().message;
  EXPECT_EQ((*out)[0].scalarValue<std::string>(), "a long text that has memory");
}

// A conditional with two results, each of which depends on the assignment of a different variable.
std::string twoAssignments(bool isDissolved) {
  std::string dtype = typed("dtype", "DT_INT32");
  auto variable = [&](std::string_view name) {
    return node(name, "VarHandleOp", {},
                str(dtype,
                    " attr { key: 'shape' value { shape {} } } attr { key: 'shared_name' "
                    "value { s: '",
                    name, "' } }"));
  };
  std::string branch =
      "library { function { signature { name: 'f' is_stateful: true "
      "input_arg { name: 'a' type: DT_RESOURCE } input_arg { name: 'b' type: DT_RESOURCE } "
      "output_arg { name: 'x' type: DT_INT32 } output_arg { name: 'y' type: DT_INT32 } } ";
  for (std::string_view which : {"a", "b"}) {
    branch += str("node_def { name: 'one_", which, "' op: 'Const'", dtype,
                  " attr { key: 'value' value { tensor { dtype: DT_INT32 tensor_shape {} int_val: "
                  "1 } } } } node_def { name: 'set_",
                  which, "' op: 'AssignVariableOp' input: '", which, "' input: 'one_", which,
                  ":output:0'", dtype, " } node_def { name: 'out_", which,
                  "' op: 'Identity' input: 'one_", which, ":output:0' input: '^set_", which, "'",
                  typed("T", "DT_INT32"), " } ");
  }
  branch += "ret { key: 'x' value: 'out_a:output:0' } ret { key: 'y' value: 'out_b:output:0' } } }";
  std::string attrs = str(typed("Tcond", "DT_BOOL"),
                          " attr { key: 'Tin' value { list { type: [DT_RESOURCE, DT_RESOURCE] } } }"
                          " attr { key: 'Tout' value { list { type: [DT_INT32, DT_INT32] } } }"
                          " attr { key: 'then_branch' value { func { name: 'f' } } }"
                          " attr { key: 'else_branch' value { func { name: 'f' } } }"
                          " attr { key: '_lower_using_switch_merge' value { b: ",
                          isDissolved, " } }");
  return variable("a") + variable("b") + placeholder("p", "DT_BOOL") +
         node("if", "If", {"p", "a", "b"}, attrs) +
         node("second", "Identity", {"if:1"}, typed("T", "DT_INT32")) +
         node("has_a", "VarIsInitializedOp", {"a"}, "") +
         node("has_b", "VarIsInitializedOp", {"b"}, "") + branch;
}

// Returns whether each of the variables was assigned when the second result was fetched.
std::vector<bool> assignedBy(bool isDissolved, std::string_view passes = "tfg-verify") {
  Expected<Graph> graph = Graph::fromBytes(twoAssignments(isDissolved));
  EXPECT_TRUE(graph) << graph.error().message;
  Expected<Graph> changed = graph->runPasses(passes);
  EXPECT_TRUE(changed) << changed.error().message;
  Session s = *Session::create(*changed);
  Values out = s.run({"second"}, {{"p", Tensor::scalar(DType::Bool, true)}});
  EXPECT_TRUE(out) << out.error().message;
  Values has = s.run({"has_a", "has_b"});
  EXPECT_TRUE(has) << has.error().message;
  return {(*has)[0].scalarValue<bool>(), (*has)[1].scalarValue<bool>()};
}

TEST(SessionTest, AConditionalRunsItsBranchAsAWhole) {
  EXPECT_EQ(assignedBy(false), std::vector<bool>({true, true}));
}

TEST(SessionTest, ADissolvedConditionalRunsWhatItsWantedResultsNeed) {
  for (std::string_view passes :
       {"tfg-verify", "tfg-functional-to-v1", "tfg-functional-to-v1,tfg-inline"})
    EXPECT_EQ(assignedBy(true, passes), std::vector<bool>({false, true})) << passes;
}

// --- invalid requests --------------------------------------------------------------------------

TEST(SessionErrorTest, FetchThatDoesNotExist) {
  Session s = open(constant("counter", 1));
  EXPECT_FAILS(s.run({"countre:0"}), InvalidArgument, "did you mean 'counter'");
}

TEST(SessionErrorTest, FetchOfAnOutputThatDoesNotExist) {
  Session s = open(constant("counter", 1));
  EXPECT_FAILS(s.run({"counter:3"}), InvalidArgument, "has 1 output");
}

TEST(SessionErrorTest, FetchThatIsNoName) {
  Session s = open(constant("a", 1));
  EXPECT_FAILS(s.run({"a:b"}), InvalidArgument, "after the colon");
  EXPECT_FAILS(s.run({""}), InvalidArgument, "has no node name");
  EXPECT_FAILS(s.run({"a:0@first"}), InvalidArgument, "iteration 'first'");
}

TEST(SessionErrorTest, TargetThatDoesNotExist) {
  Session s = open(constant("a", 1));
  EXPECT_FAILS(s.run({}, {}, {"init"}), InvalidArgument, "target 'init'");
}

TEST(SessionErrorTest, FeedOfWrongDType) {
  Session s = open(placeholder("x", "DT_FLOAT"));
  EXPECT_FAILS(s.run({"x"}, {{"x:0", i32(1)}}), InvalidArgument, "expects float32");
}

TEST(SessionErrorTest, FeedOfWrongShape) {
  Session s = open(placeholder("x", "DT_INT32", "dim { size: 2 } dim { size: -1 }"));
  EXPECT_FAILS(s.run({"x"}, {{"x:0", i32(1)}}), InvalidArgument, "[2,?]");
}

TEST(SessionErrorTest, FeedOfWrongName) {
  Session s = open(placeholder("inputs", "DT_INT32"));
  EXPECT_FAILS(s.run({"inputs"}, {{"input:0", i32(1)}}), InvalidArgument, "did you mean 'inputs'");
}

TEST(SessionErrorTest, FeedTwice) {
  Session s = open(placeholder("x", "DT_INT32"));
  EXPECT_FAILS(s.run({"x"}, {{"x:0", i32(1)}, {"x:0", i32(2)}}), InvalidArgument, "fed twice");
}

TEST(SessionErrorTest, PlaceholderThatIsNotFed) {
  Session s = open(placeholder("x", "DT_INT32"));
  EXPECT_FAILS(s.run({"x"}), InvalidArgument, "node 'x' (Placeholder)");
}

TEST(SessionErrorTest, UnknownOpFailsWhenItIsReached) {
  Session s = open(constant("a", 1) + node("strange", "Frobnicate", {"a"}, ""));
  EXPECT_TRUE(s.run({"a"}));
  EXPECT_FAILS(s.run({}, {}, {"strange"}), Unimplemented, "node 'strange' (Frobnicate)");
}

TEST(SessionErrorTest, ArgumentOutsideOfFunctions) {
  Session s = open(
      node("arg", "_Arg", {}, typed("T", "DT_INT32") + " attr { key: 'index' value { i: 5 } }") +
      node("sum", "AddV2", {"arg", "arg"}));
  EXPECT_FAILS(s.run({"sum"}), InvalidArgument, "node 'arg' (_Arg): this argument has no value");
  Values fed = s.run({"sum"}, {{"arg", i32(3)}});
  ASSERT_TRUE(fed) << fed.error().message;
  EXPECT_EQ((*fed)[0].scalarValue<int32_t>(), 6);
}

TEST(SessionErrorTest, ParallelIterationsOfZero) {
  Session s = open(countdown(0));
  EXPECT_FAILS(s.run({"exit"}), InvalidArgument, "parallel_iterations is 0");
}

TEST(SessionErrorTest, IterationThatNeverRan) {
  Session s = open(countdown());
  EXPECT_FAILS(s.run({"dec:0@99"}), OutOfRange, "dec:0@99");
}

TEST(SessionErrorTest, FunctionThatCallsItselfWithoutEnd) {
  std::string body =
      "library { function { signature { name: 'f' input_arg { name: 'x' type: DT_INT32 }"
      " output_arg { name: 'y' type: DT_INT32 } }"
      " node_def { name: 'again' op: 'f' input: 'x' }"
      " ret { key: 'y' value: 'again:y:0' } } }\n";
  Session s = open(constant("a", 1) + node("call", "f", {"a"}, "") + body);
  EXPECT_FAILS(s.run({"call"}), ResourceExhausted, "infinitely");
}

TEST(SessionErrorTest, TimeoutEndsALoop) {
  // Counts up from 33 and never reaches 0 again.
  std::string endless = countdown();
  endless.replace(endless.find("int_val: 32"), 11, "int_val: -1");
  SessionOptions options;
  options.timeout = 0.05;
  Session s = open(endless, options);
  EXPECT_FAILS(s.run({"exit"}), DeadlineExceeded, "timeout");
  EXPECT_FAILS(s.run({"exit"}), DeadlineExceeded, "timeout"); // and the session remains usable
}

TEST(SessionErrorTest, CancelEndsALoop) {
  std::string endless = countdown();
  endless.replace(endless.find("int_val: 32"), 11, "int_val: -1");
  Session s = open(endless);
  Values out;
  std::atomic<bool> isDone = false;
  std::thread runner([&] {
    out = s.run({"exit"});
    isDone = true;
  });
  while (!isDone) { // a cancellation may come before the run has begun
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    s.cancel();
  }
  runner.join();
  EXPECT_FAILS(out, Cancelled, "cancelled");
}

TEST(SessionErrorTest, OptionsOutOfRange) {
  Graph graph = *Graph::fromBytes(constant("a", 1));
  SessionOptions options;
  options.threads = -1;
  EXPECT_FAILS(Session::create(graph, options), InvalidArgument, "threads is -1");
}

TEST(SessionErrorTest, FeedOfNoDType) {
  Session s = open(node("p", "Placeholder", {}, typed("dtype", "DT_INVALID")) +
                   node("y", "Neg", {"p"}, typed("T", "DT_FLOAT")));
  Expected<Tensor> value = Tensor::make(DType::Invalid, {2});
  if (value)
    EXPECT_FAILS(s.run({"y:0"}, {{"p:0", *value}}), InvalidArgument, "feed 'p:0' has no dtype");
}

TEST(SessionErrorTest, TensorTooLargeForTheMachine) {
  std::string dims =
      "attr { key: 'value' value { tensor { dtype: DT_INT32 tensor_shape { dim { size: 2 } }"
      " tensor_content: '\\377\\377\\377\\177\\377\\377\\377\\177' } } }";
  Session s = open("node { name: 'dims' op: 'Const'" + typed("dtype", "DT_INT32") + dims + " }\n" +
                   constant("one", 1) +
                   node("big", "Fill", {"dims", "one"},
                        typed("T", "DT_INT32") + typed("index_type", "DT_INT32")));
  EXPECT_FAILS(s.run({"big"}), ResourceExhausted, "bytes");
}

TEST(SessionErrorTest, AttributeTooLargeForTheMachine) {
  std::vector<std::string_view> counts = {"4611686018427387904"};
#if !__has_feature(address_sanitizer) && !__has_feature(thread_sanitizer)
  counts.push_back("1125899906842624"); // under a sanitizer, `new` ends the process instead of
                                        // throwing
#endif
  for (std::string_view count : counts) {
    auto integer = [](std::string_view name, std::string_view value) {
      return str(" attr { key: '", name, "' value { i: ", value, " } }");
    };
    Session s = open(placeholder("x", "DT_INT64") +
                     node("draw", "FixedUnigramCandidateSampler", {"x"},
                          integer("num_true", "1") + integer("num_sampled", "1") +
                              integer("range_max", count) + integer("num_reserved_ids", count) +
                              " attr { key: 'unique' value { b: false } }"
                              " attr { key: 'unigrams' value { list { f: 1 f: 1 } } }"));
    EXPECT_FAILS(s.run({"draw"}, {{"x:0", *Tensor::make(DType::Int64, {1, 1})}}), ResourceExhausted,
                 "node 'draw' (FixedUnigramCandidateSampler)");
  }
}

} // namespace
} // namespace treadle
