// Nodes that depend on variables alone are computed once, and every write to a variable is
// observed.
#include "treadle/testing/NodeText.h"
#include "treadle/treadle.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

namespace treadle {
namespace {

std::string variable(std::string_view name) {
  return node(name, "VarHandleOp", {},
              typed("dtype", "DT_INT32") + " attr { key: 'shape' value { shape {} } }" +
                  str(" attr { key: 'shared_name' value { s: '", name, "' } }"));
}

std::string read(std::string_view name, std::string handle) {
  return node(name, "ReadVariableOp", {std::move(handle)}, typed("dtype", "DT_INT32"));
}

/// y = x - (v * v), and ops that write v.
std::string graphText() {
  std::string ofDtype = typed("dtype", "DT_INT32");
  return placeholder("x", "DT_INT32") + variable("v") + constant("one", 1) + read("read", "v") +
         node("square", "Mul", {"read", "read"}) + node("y", "Sub", {"x", "square"}) +
         node("set", "AssignVariableOp", {"v", "x"}, ofDtype) +
         node("add", "AssignAddVariableOp", {"v", "one"}, ofDtype) +
         node("destroy", "DestroyResourceOp", {"v"}, "") +
         node("later", "ReadVariableOp", {"v", "^add"}, ofDtype) +
         node("after", "Sub", {"x", "later"});
}

Session open(const std::string &text, SessionOptions options = {}) {
  Expected<Graph> graph = Graph::fromBytes(text);
  if (!graph)
    throw std::runtime_error(graph.error().message);
  Expected<Session> session = Session::create(*graph, std::move(options));
  if (!session)
    throw std::runtime_error(session.error().message);
  return *session;
}

Tensor i32(int32_t value) { return Tensor::scalar(DType::Int32, value); }

int32_t valueOf(const Expected<std::vector<Tensor>> &out) {
  if (!out)
    throw std::runtime_error(out.error().message);
  return (*out)[0].scalarValue<int32_t>();
}

int32_t fetch(Session &session, const std::string &name, int32_t x) {
  return valueOf(session.run({name}, {{"x:0", i32(x)}}));
}

void set(Session &session, int32_t value) {
  auto done = session.run({}, {{"x:0", i32(value)}}, {"set"});
  ASSERT_TRUE(done) << done.error().message;
}

/// Number of executions of nodes with this op.
int64_t runsOf(const Session &session, std::string_view op) {
  for (const Profile::Row &row : session.profile()->ops())
    if (row.op == op)
      return row.calls;
  return 0;
}

TEST(CachedPrefixTest, IsComputedOnce) {
  SessionOptions options;
  options.trace = true;
  Session session = open(graphText(), options);
  set(session, 3);
  for (int32_t x = 0; x < 10; ++x)
    EXPECT_EQ(fetch(session, "y:0", x), x - 9);
  EXPECT_EQ(runsOf(session, "Sub"), 10);
  EXPECT_EQ(runsOf(session, "Mul"), 2); // once in the first run, and once for all later runs
}

TEST(CachedPrefixTest, SeesEachWrite) {
  Session session = open(graphText());
  for (int32_t value = 1; value < 10; ++value) {
    set(session, value);
    for (int i = 0; i < 4; ++i)
      EXPECT_EQ(fetch(session, "y:0", 100), 100 - value * value);
    ASSERT_TRUE(session.run({}, {}, {"add"}));
    EXPECT_EQ(fetch(session, "y:0", 100), 100 - (value + 1) * (value + 1));
    ASSERT_TRUE(session.setVariable("v", i32(-1)));
    EXPECT_EQ(fetch(session, "y:0", 100), 99);
  }
}

TEST(CachedPrefixTest, LeavesPlansThatWriteAsTheyAre) {
  Session session = open(graphText());
  set(session, 0);
  for (int32_t i = 1; i < 10; ++i)
    EXPECT_EQ(fetch(session, "after:0", 0), -i);
}

TEST(CachedPrefixTest, AResultMayBeOfThePart) {
  Session session = open(graphText());
  set(session, 5);
  for (int i = 0; i < 5; ++i) {
    auto out = session.run({"square:0", "y:0", "read:0", "square:0"}, {{"x:0", i32(1)}});
    ASSERT_TRUE(out) << out.error().message;
    EXPECT_EQ((*out)[0].scalarValue<int32_t>(), 25);
    EXPECT_EQ((*out)[1].scalarValue<int32_t>(), -24);
    EXPECT_EQ((*out)[2].scalarValue<int32_t>(), 5);
    EXPECT_EQ((*out)[3].scalarValue<int32_t>(), 25);
  }
}

TEST(CachedPrefixTest, AnErrorOfThePartStaysTheNodes) {
  Session session = open(graphText());
  for (int i = 0; i < 5; ++i) {
    auto out = session.run({"y:0"}, {{"x:0", i32(1)}});
    ASSERT_FALSE(out);
    EXPECT_NE(out.error().message.find("node 'read' (ReadVariableOp)"), std::string::npos)
        << out.error().message;
  }
  set(session, 2);
  EXPECT_EQ(fetch(session, "y:0", 0), -4);
}

TEST(CachedPrefixTest, EndsWithItsVariable) {
  Session session = open(graphText());
  set(session, 2);
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(fetch(session, "y:0", 0), -4);
  ASSERT_TRUE(session.run({}, {}, {"destroy"}));
  EXPECT_FALSE(session.run({"y:0"}, {{"x:0", i32(0)}}));
  set(session, 3);
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(fetch(session, "y:0", 0), -9);
}

// A function receives different variables from its callers.
TEST(CachedPrefixTest, IsOfTheVariablesThatAreGiven) {
  std::string function = R"(library { function {
    signature { name: 'f'
      input_arg { name: 'handle' type: DT_RESOURCE } input_arg { name: 'x' type: DT_INT32 }
      output_arg { name: 'y' type: DT_INT32 } }
    node_def { name: 'read' op: 'ReadVariableOp' input: 'handle'
      attr { key: 'dtype' value { type: DT_INT32 } } }
    node_def { name: 'square' op: 'Mul' input: 'read:value:0' input: 'read:value:0'
      attr { key: 'T' value { type: DT_INT32 } } }
    node_def { name: 'sub' op: 'Sub' input: 'x' input: 'square:z:0'
      attr { key: 'T' value { type: DT_INT32 } } }
    ret { key: 'y' value: 'sub:z:0' } } })";
  auto call = [](std::string_view name, std::string handle) {
    return node(name, "StatefulPartitionedCall", {std::move(handle), "x"},
                " attr { key: 'Tin' value { list { type: [DT_RESOURCE, DT_INT32] } } }"
                " attr { key: 'Tout' value { list { type: DT_INT32 } } }"
                " attr { key: 'f' value { func { name: 'f' } } }");
  };
  Session session = open(placeholder("x", "DT_INT32") + variable("v") + variable("w") +
                         call("of_v", "v") + call("of_w", "w") + function);
  ASSERT_TRUE(session.setVariable("v", i32(2)));
  ASSERT_TRUE(session.setVariable("w", i32(3)));
  for (int i = 0; i < 8; ++i) {
    EXPECT_EQ(fetch(session, "of_v:0", 0), -4);
    EXPECT_EQ(fetch(session, "of_w:0", 0), -9);
  }
  for (int i = 0; i < 8; ++i)
    EXPECT_EQ(fetch(session, "of_v:0", 0), -4);
}

// A run sees values that were written before it began, regardless of other threads.
TEST(CachedPrefixTest, SeesWritesOfOtherThreads) {
  SessionOptions options;
  options.threads = 1;
  Session session = open(graphText(), options);
  set(session, 0);
  std::atomic<int32_t> written{0};
  std::atomic<bool> isRight{true};
  auto reader = [&] {
    for (int i = 0; i < 2000; ++i) {
      int32_t least = written;
      isRight = isRight && -fetch(session, "y:0", 0) >= least * least;
    }
  };
  std::thread first(reader), second(reader);
  for (int32_t value = 1; value < 40; ++value) {
    set(session, value);
    written = value;
    std::this_thread::yield();
  }
  first.join();
  second.join();
  EXPECT_TRUE(isRight);
  EXPECT_EQ(fetch(session, "y:0", 0), -39 * 39);
}

} // namespace
} // namespace treadle
