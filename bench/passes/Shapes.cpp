#include "bench/passes/Shapes.h"

#include <algorithm>
#include <initializer_list>
#include <string>

namespace treadle::bench {
namespace {

using Inputs = std::initializer_list<std::string>;

std::string numbered(const char *name, int64_t id) { return name + std::to_string(id); }

/// Nodes of a graph, or of a function's body, whose endpoints are written `name:output:0`.
class Body {
public:
  explicit Body(pb::GraphDef &graph) : graph(&graph) {}
  explicit Body(pb::FunctionDef &function) : function(&function) {}

  int64_t size() const { return graph ? graph->node_size() : function->node_def_size(); }

  pb::NodeDef &node(const std::string &name, const char *op, Inputs inputs = {}) {
    pb::NodeDef &node = graph ? *graph->add_node() : *function->add_node_def();
    node.set_name(name);
    node.set_op(op);
    for (const std::string &input : inputs)
      node.add_input(input);
    return node;
  }
  pb::NodeDef &typed(const std::string &name, const char *op, Inputs inputs = {},
                     pb::DataType type = pb::DT_FLOAT) {
    pb::NodeDef &made = node(name, op, inputs);
    (*made.mutable_attr())["T"].set_type(type);
    return made;
  }
  pb::NodeDef &placeholder(const std::string &name, pb::DataType type = pb::DT_FLOAT) {
    pb::NodeDef &made = node(name, "Placeholder");
    (*made.mutable_attr())["dtype"].set_type(type);
    return made;
  }
  pb::NodeDef &constant(const std::string &name, float value, Inputs inputs = {}) {
    pb::NodeDef &made = node(name, "Const", inputs);
    (*made.mutable_attr())["dtype"].set_type(pb::DT_FLOAT);
    pb::TensorProto &tensor = *(*made.mutable_attr())["value"].mutable_tensor();
    tensor.set_dtype(pb::DT_FLOAT);
    tensor.mutable_tensor_shape();
    tensor.add_float_val(value);
    return made;
  }

private:
  pb::GraphDef *graph = nullptr;
  pb::FunctionDef *function = nullptr;
};

pb::GraphDef emptyGraph() {
  pb::GraphDef graph;
  graph.mutable_versions()->set_producer(1882);
  return graph;
}

void repeatType(pb::NodeDef &node, const char *attr, int64_t count) {
  auto &list = *(*node.mutable_attr())[attr].mutable_list();
  for (int64_t i = 0; i < count; ++i)
    list.add_type(pb::DT_FLOAT);
}

void namesFunction(pb::NodeDef &node, const char *attr, const std::string &function) {
  (*node.mutable_attr())[attr].mutable_func()->set_name(function);
}

pb::FunctionDef &function(pb::GraphDef &graph, const std::string &name, int64_t numArguments) {
  pb::FunctionDef &function = *graph.mutable_library()->add_function();
  function.mutable_signature()->set_name(name);
  for (int64_t i = 0; i < numArguments; ++i) {
    auto &arg = *function.mutable_signature()->add_input_arg();
    arg.set_name(numbered("a", i));
    arg.set_type(pb::DT_FLOAT);
  }
  return function;
}

void returns(pb::FunctionDef &function, const std::string &endpoint,
             pb::DataType type = pb::DT_FLOAT) {
  auto &arg = *function.mutable_signature()->add_output_arg();
  arg.set_name(numbered("r", function.signature().output_arg_size() - 1));
  arg.set_type(type);
  (*function.mutable_ret())[arg.name()] = endpoint;
}

pb::GraphDef chain(int64_t numNodes) {
  pb::GraphDef graph = emptyGraph();
  Body body(graph);
  body.placeholder("x");
  std::string last = "x", constant = "x";
  while (body.size() < numNodes) {
    int64_t id = body.size();
    std::string name = "model/layer_" + std::to_string(id / 100) + "/op_" + std::to_string(id);
    if (id % 10 == 1) {
      body.constant(name, static_cast<float>(id));
      constant = name;
      continue;
    }
    static constexpr const char *ops[] = {"AddV2", "Mul", "Identity", "Neg", "Sub"};
    const char *op = ops[id % 5];
    pb::NodeDef &node = body.typed(name, op, {last});
    if (id % 5 != 2 && id % 5 != 3)
      node.add_input(constant);
    last = name;
  }
  return graph;
}

pb::GraphDef fanOut(int64_t numNodes) {
  pb::GraphDef graph = emptyGraph();
  Body body(graph);
  body.placeholder("x");
  body.constant("c", 2);
  for (int64_t i = 0; i + 5 < numNodes; ++i)
    body.typed(numbered("n", i), i % 2 ? "Mul" : "Maximum", {"x", "c"});
  // Lists of values have at most 65,536.
  constexpr int64_t most = 65'000;
  for (const char *op : {"AddN", "Pack"})
    for (int64_t first = 0; first + 5 < numNodes; first += most) {
      pb::NodeDef &all = body.typed(op + std::to_string(first), op);
      for (int64_t i = first; i < std::min(first + most, numNodes - 5); ++i)
        all.add_input(numbered("n", i));
      (*all.mutable_attr())["N"].set_i(all.input_size());
    }
  pb::NodeDef &barrier = body.node("barrier", "NoOp");
  for (int64_t i = 0; i + 5 < numNodes; ++i)
    barrier.add_input("^" + numbered("n", i));
  return graph;
}

/// `count` nodes of a function that calls `callee`, if there is one, in the middle.
void fillBody(pb::FunctionDef &function, int64_t count, const std::string &callee) {
  Body body(function);
  std::string last = "a0";
  for (int64_t i = 0; i < count; ++i) {
    std::string name = numbered("n", i);
    if (i == count / 2 && !callee.empty()) {
      pb::NodeDef &call = body.node(name, "PartitionedCall", {last, "a1"});
      repeatType(call, "Tin", 2);
      repeatType(call, "Tout", 1);
      namesFunction(call, "f", callee);
      last = name + ":output:0";
    } else {
      body.typed(name, "AddV2", {last, "a1"});
      last = name + ":z:0";
    }
  }
  returns(function, last);
}

pb::GraphDef calls(int64_t numNodes) {
  pb::GraphDef graph = emptyGraph();
  Body body(graph);
  body.placeholder("x");
  body.placeholder("y");
  std::string last = "x";
  // A node of the graph for nine of functions, which call each other ten levels deep.
  for (int64_t i = 0; i < numNodes / 10; ++i) {
    std::string name = numbered("f", i);
    fillBody(function(graph, name, 3), 9, i % 10 ? numbered("f", i - 1) : "");
    if (i % 10 != 9)
      continue;
    pb::NodeDef &call = body.node(numbered("call", i), name.c_str(), {last, "y", "y"});
    last = call.name();
  }
  return graph;
}

pb::GraphDef oneFunction(int64_t numNodes) {
  pb::GraphDef graph = emptyGraph();
  Body body(graph);
  body.placeholder("x");
  fillBody(function(graph, "small", 2), 10, "");
  int64_t count = numNodes / 11;
  for (int64_t i = 0; i < count; ++i)
    body.node(numbered("call", i), "small", {i ? numbered("call", i - 1) : "x", "x"});
  return graph;
}

pb::GraphDef wideCalls(int64_t numNodes) {
  pb::GraphDef graph = emptyGraph();
  Body body(graph);
  int64_t width = numNodes / 4;
  pb::FunctionDef &callee = function(graph, "wide", width);
  Body inner(callee);
  pb::NodeDef call;
  for (int64_t i = 0; i < width; ++i) {
    body.placeholder(numbered("x", i));
    call.add_input(numbered("x", i));
    inner.typed(numbered("n", i), "Neg", {numbered("a", i)});
    returns(callee, i % 3 ? numbered("n", i) + ":y:0" : numbered("a", i));
  }
  call.set_name("call");
  call.set_op("PartitionedCall");
  repeatType(call, "Tin", width);
  repeatType(call, "Tout", width);
  namesFunction(call, "f", "wide");
  *graph.add_node() = call;
  for (int64_t i = 0; i < width; ++i)
    body.typed(numbered("y", i), "Neg", {i ? "call:" + std::to_string(i) : "call"});
  return graph;
}

/// While and If, one after the other, each with functions of its own.
pb::GraphDef functional(int64_t numNodes) {
  pb::GraphDef graph = emptyGraph();
  Body body(graph);
  body.placeholder("x");
  body.placeholder("p", pb::DT_BOOL);
  std::string last = "x";
  for (int64_t i = 0; i < numNodes / 12; ++i) {
    std::string cond = numbered("cond", i), step = numbered("body", i), then = numbered("then", i);
    pb::FunctionDef &test = function(graph, cond, 3);
    Body(test).typed("less", "Less", {"a0", "a1"});
    returns(test, "less:z:0", pb::DT_BOOL);
    pb::FunctionDef &next = function(graph, step, 3);
    Body nextBody(next);
    nextBody.typed("neg", "Neg", {"a1"});
    nextBody.typed("add", "AddV2", {"a0", "neg:y:0"});
    for (const char *result : {"add:z:0", "a1", "a2"})
      returns(next, result);
    for (const char *branch : {"then", "else"}) {
      pb::FunctionDef &made = function(graph, numbered(branch, i), 2);
      Body made2(made);
      made2.typed("m", branch[0] == 't' ? "Mul" : "Sub", {"a0", "a0"});
      made2.typed("n", "Neg", {"m:z:0"});
      returns(made, "n:y:0");
    }
    pb::NodeDef &loop = body.node(numbered("while", i), "StatelessWhile", {last, "x", "x"});
    repeatType(loop, "T", 3);
    namesFunction(loop, "cond", cond);
    namesFunction(loop, "body", step);
    pb::NodeDef &choice = body.node(numbered("if", i), "StatelessIf", {"p", loop.name(), "x"});
    (*choice.mutable_attr())["Tcond"].set_type(pb::DT_BOOL);
    repeatType(choice, "Tin", 2);
    repeatType(choice, "Tout", 1);
    namesFunction(choice, "then_branch", then);
    namesFunction(choice, "else_branch", numbered("else", i));
    last = choice.name();
  }
  return graph;
}

pb::GraphDef conditionals(int64_t numNodes) {
  pb::GraphDef graph = emptyGraph();
  Body body(graph);
  body.placeholder("x");
  body.placeholder("p", pb::DT_BOOL);
  std::string last = "x";
  for (int64_t i = 0; i < numNodes / 5; ++i) {
    std::string s = numbered("switch", i), t = numbered("true", i), f = numbered("false", i);
    body.typed(s, "Switch", {last, "p"});
    body.constant(numbered("c", i), 2, {"^" + t});
    body.typed(t, "Neg", {s + ":1"});
    body.typed(f, "Abs", {s});
    last = numbered("merge", i);
    (*body.typed(last, "Merge", {f, t}).mutable_attr())["N"].set_i(2);
  }
  return graph;
}

pb::GraphDef loops(int64_t numNodes) {
  pb::GraphDef graph = emptyGraph();
  Body body(graph);
  body.placeholder("x");
  std::string last = "x";
  for (int64_t i = 0; i < numNodes / 9; ++i) {
    auto at = [&](const char *name) { return numbered("loop", i) + "/" + name; };
    for (bool isConstant : {false, true}) {
      pb::NodeDef &enter =
          body.typed(at(isConstant ? "limit" : "enter"), "Enter", {isConstant ? "x" : last});
      (*enter.mutable_attr())["frame_name"].set_s(numbered("frame", i));
      (*enter.mutable_attr())["is_constant"].set_b(isConstant);
      (*enter.mutable_attr())["parallel_iterations"].set_i(10);
    }
    pb::NodeDef &merge = body.typed(at("merge"), "Merge", {at("enter"), at("next")});
    (*merge.mutable_attr())["N"].set_i(2);
    body.typed(at("less"), "Less", {at("merge"), at("limit")});
    body.node(at("cond"), "LoopCond", {at("less")});
    body.typed(at("switch"), "Switch", {at("merge"), at("cond")});
    body.typed(at("add"), "AddV2", {at("switch") + ":1", at("limit")});
    body.typed(at("next"), "NextIteration", {at("add")});
    last = body.typed(at("exit"), "Exit", {at("switch")}).name();
  }
  return graph;
}

/// Control edges: to neighbours, and over a NoOp that half of the nodes are before, half after.
pb::GraphDef controls(int64_t numNodes) {
  pb::GraphDef graph = emptyGraph();
  Body body(graph);
  body.placeholder("x");
  int64_t half = numNodes / 2;
  for (int64_t i = 0; i < half; ++i) {
    pb::NodeDef &node = body.typed(numbered("n", i), "Neg", {i ? numbered("n", i - 1) : "x"});
    for (int64_t k : {2, 3, 5, 8})
      if (i >= k)
        node.add_input("^" + numbered("n", i - k));
  }
  pb::NodeDef &hub = body.node("hub", "NoOp");
  for (int64_t i = 0; i < half; ++i)
    hub.add_input("^" + numbered("n", i));
  for (int64_t i = half; i < numNodes; ++i)
    body.typed(numbered("n", i), "Abs", {"x", "^hub"});
  return graph;
}

/// A thousand values, each many times; some wait for the node before.
pb::GraphDef constants(int64_t numNodes) {
  pb::GraphDef graph = emptyGraph();
  Body body(graph);
  body.placeholder("x");
  std::string last = "x";
  for (int64_t i = 0; i < numNodes / 4; ++i) {
    std::string c = numbered("c", i), d = numbered("d", i), k = numbered("k", i);
    body.constant(c, static_cast<float>(i % 1000));
    if (i % 4)
      body.constant(d, static_cast<float>(i % 10));
    else
      body.constant(d, static_cast<float>(i % 10), {"^" + last});
    body.typed(k, "AddV2", {c, d});
    last = body.typed(numbered("n", i), "Mul", {last, k}).name();
  }
  return graph;
}

/// Pairs of equal constants that wait for something, and a barrier that waits for all.
pb::GraphDef waitingConstants(int64_t numNodes) {
  pb::GraphDef graph = emptyGraph();
  Body body(graph);
  body.placeholder("x");
  pb::NodeDef barrier;
  for (int64_t i = 0; i < numNodes / 3; ++i) {
    for (const char *name : {"c", "d"}) {
      body.constant(numbered(name, i), static_cast<float>(i), {"^x"});
      barrier.add_input("^" + numbered(name, i));
    }
    body.typed(numbered("n", i), "AddV2", {numbered("c", i), numbered("d", i)});
  }
  barrier.set_name("barrier");
  barrier.set_op("NoOp");
  *graph.add_node() = barrier;
  return graph;
}

/// Nodes that change nothing, one after the other: what folding takes away one by one.
pb::GraphDef identities(int64_t numNodes) {
  pb::GraphDef graph = emptyGraph();
  Body body(graph);
  body.placeholder("x");
  std::string last = "x", barrier;
  for (int64_t i = 0; body.size() < numNodes; ++i) {
    pb::NodeDef &node = body.typed(numbered("n", i), i % 3 ? "Identity" : "Neg", {last});
    last = node.name();
    if (!barrier.empty())
      node.add_input("^" + barrier);
    if (i % 10 == 0)
      barrier = body.node(numbered("barrier", i), "NoOp", {"^" + last}).name();
  }
  return graph;
}

constexpr Shape all[] = {
    {"chain", "arithmetic, each op on the one before", chain},
    {"fan-out", "two nodes that all use, a few that use all", fanOut},
    {"calls", "many functions that call each other", calls},
    {"one-function", "many calls of one function", oneFunction},
    {"wide-calls", "one function of many arguments and results", wideCalls},
    {"functional", "many While and If", functional},
    {"conditionals", "many Switch and Merge", conditionals},
    {"loops", "many frames", loops},
    {"controls", "many control edges", controls},
    {"constants", "many equal constants, and arithmetic on them", constants},
    {"waiting-constants", "pairs of equal constants with control inputs", waitingConstants},
    {"identities", "nodes that change nothing", identities},
};

} // namespace

std::span<const Shape> shapes() { return all; }

} // namespace treadle::bench
