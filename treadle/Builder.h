// Graphs made in a program: nodes are added in the order in which they are meant to run, and what
// has effects runs in that order, in loops, conditionals and functions as well.
//
//     using namespace treadle::builder;
//     Builder g;
//     Output x = g.placeholder("x", treadle::DType::Float32);
//     Variable v = g.variable("v", 0.0);
//     Loop loop = g.whileLoop({"loop", {{"i", 0}, {"total", x}}});
//     loop.condition(loop["i"] < 10);
//     v.assignAdd(1.0);
//     loop.set("i", loop["i"] + 1);
//     loop.set("total", loop["total"] * 2.0);
//     loop.end();
//     treadle::Expected<treadle::Graph> graph = g.build();
//
// A call that can't be right is remembered and gives an empty value, which later calls take in
// silence: `error()` and `build()` give the first error. Shapes and dtypes are checked as nodes are
// added. None of these classes is thread-safe; values are of use as long as their builder lives.
#pragma once

#include "treadle/treadle.h"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace treadle::builder {

class BuilderImpl;

/// A value of a graph in the making: an output of a node, or an argument of a body.
class Output {
public:
  Output() = default;
  explicit operator bool() const { return impl; }

  const std::string &name() const; // `x:0`; of an argument its name alone
  DType dtype() const;
  PartialShape shape() const; // as far as it is known

private:
  friend class BuilderImpl;
  Output(BuilderImpl *impl, uint32_t id) : impl(impl), id(id) {}
  BuilderImpl *impl = nullptr;
  uint32_t id = 0;
};

/// A node: to be waited for, and for its outputs. A node of one output can stand for it.
class Operation {
public:
  Operation() = default;
  explicit operator bool() const { return impl; }

  const std::string &name() const;
  const std::vector<Output> &outputs() const;
  Output output(size_t index) const;
  operator Output() const { return output(0); }

private:
  friend class BuilderImpl;
  Operation(BuilderImpl *impl, uint32_t id) : impl(impl), id(id) {}
  BuilderImpl *impl = nullptr;
  uint32_t id = 0;
};

class Input;

/// A resource variable. Where a value is wanted it is read.
class Variable {
public:
  Variable() = default;
  explicit operator bool() const { return impl; }

  const std::string &name() const;
  DType dtype() const;
  PartialShape shape() const;
  /// What ops on resources take.
  Output handle() const;

  Output read() const;
  Operation assign(const Input &value) const;
  Operation assignAdd(const Input &value) const;
  Operation assignSub(const Input &value) const;

private:
  friend class BuilderImpl;
  Variable(BuilderImpl *impl, uint32_t id) : impl(impl), id(id) {}
  BuilderImpl *impl = nullptr;
  uint32_t id = 0;
};

/// What an op is given: a value; a variable, which is read unless the op wants a handle; a tensor,
/// which becomes a constant; or a number, which becomes a constant of the dtype that the op's other
/// inputs ask for, else of int32 or float32.
class Input {
public:
  /// Makes the constant; `want` is Invalid where no dtype is asked for.
  using Literal = std::function<Expected<Tensor>(DType want)>;

  Input(Output value) : value(value) {}
  /// Of one output.
  Input(const Operation &node);
  Input(Variable variable) : variable(variable) {}
  Input(Tensor tensor);
  Input(double number);
  Input(int number) : Input(static_cast<int64_t>(number)) {}
  Input(int64_t number);
  Input(bool value);
  Input(const char *text);
  Input(Literal literal) : literal(std::move(literal)) {}

private:
  friend class BuilderImpl;
  Output value;
  Variable variable;
  Literal literal;
};

/// A while loop. What is called before `condition` is evaluated before each iteration, what is
/// called after it is the body. Values of the condition are no values of the body.
class Loop {
public:
  Loop() = default;
  explicit operator bool() const { return state != nullptr; }

  /// The loop variable as it is here; after the loop, as it was left.
  Output operator[](std::string_view name) const;
  /// In the body: what the variable is from here on.
  void set(std::string_view name, const Input &value);
  /// A scalar bool: whether there is another iteration.
  void condition(const Input &value);
  void end();
  /// Leaves the loop out, with all that was called since it began.
  void abandon();

private:
  friend class BuilderImpl;
  struct State;
  std::shared_ptr<State> state;
};

/// A conditional, or a choice among several branches, of which one runs. All branches set the same
/// results, each of one dtype.
class Branches {
public:
  Branches() = default;
  explicit operator bool() const { return state != nullptr; }

  /// Begins the next branch: of a conditional first that for true, then that for false.
  void begin();
  /// In a branch: what it gives; after the branches, what the one that ran gave.
  Output operator[](std::string_view name) const;
  void set(std::string_view name, const Input &value);
  /// Ends the branch.
  void endBranch();
  void end();
  void abandon();

private:
  friend class BuilderImpl;
  struct State;
  std::shared_ptr<State> state;
};

/// A function of the graph's library. Values from outside that its body uses go in with each call.
class Function {
public:
  Function() = default;
  explicit operator bool() const { return state != nullptr; }

  const std::string &name() const;
  const std::vector<Output> &arguments() const;
  void end(const std::vector<Input> &results);
  void abandon();

private:
  friend class BuilderImpl;
  struct State;
  std::shared_ptr<State> state;
};

class Builder {
public:
  Builder();
  Builder(Builder &&) noexcept;
  Builder &operator=(Builder &&) noexcept;
  ~Builder();

  Output placeholder(std::string_view name, DType dtype, PartialShape shape = {});
  Output constant(Tensor value, std::string_view name = {});

  /// A variable that the node `init` gives its first value.
  Variable variable(std::string_view name, const Input &init);
  /// The same with what `init` makes of nodes that run with `init` alone.
  Variable variable(std::string_view name, const std::function<Input()> &init);
  /// A variable that is assigned to before it is read.
  Variable variable(std::string_view name, DType dtype, PartialShape shape);
  /// The node that gives all variables their first values; it is there once there is one.
  static constexpr std::string_view initName = "init";

  struct Node {
    std::string op;
    std::vector<Input> inputs = {};
    /// Those that the inputs tell needn't be there.
    AttrMap attrs = {};
    /// Within the scope; made from the op where it is empty. AlreadyExists if it is taken.
    std::string name = {};
    /// Of an op that nobody knows.
    std::vector<DType> outputs = {};
  };
  Operation op(Node node);

  Output cast(const Input &value, DType dtype);
  /// The values, of one shape, along a new first axis.
  Output pack(const std::vector<Input> &values, std::string_view name = {});
  /// x / y, in floating point: integers are converted as TensorFlow does.
  Output divide(const Input &x, const Input &y);

  struct LoopVariable {
    std::string name;
    Input init;
    /// What all its values have in common; that of `init` where it isn't given.
    std::optional<PartialShape> shape = {};
  };
  struct LoopSpec {
    std::string name;
    std::vector<LoopVariable> variables;
    int64_t parallelIterations = 10;
  };
  Loop whileLoop(LoopSpec spec);
  /// Two branches, one of which `predicate` (a scalar bool) chooses.
  Branches cond(const Input &predicate, std::string_view name = {});
  /// Branches by number; the last one for every other number as well.
  Branches switchCase(const Input &index, std::string_view name = {});

  struct Argument {
    std::string name;
    DType dtype;
    PartialShape shape = {};
  };
  /// Begins the body of a function; what is called next is in it, up to its `end`.
  Function function(std::string_view name, const std::vector<Argument> &arguments);
  Operation call(const Function &function, const std::vector<Input> &inputs,
                 std::string_view name = {});

  /// The gradients of the sum of all ys with respect to each x, through calls, conditionals and
  /// loops; empty where no y depends on an x. An x that is a variable stands for all that is read
  /// of it. `gradYs`: what flows from each y, ones if there are none. Where a gradient fails in a
  /// body, the builder can't go on.
  std::vector<Output> gradients(const std::vector<Input> &ys, const std::vector<Input> &xs,
                                const std::vector<Input> &gradYs = {});

  /// A node that does nothing once these have run.
  Operation group(const std::vector<Operation> &operations, std::string_view name = {});
  /// A node that does nothing once all that has effects and was called before has run.
  Operation effects(std::string_view name = {});

  /// Nodes are named `scope/name` from here to the matching pop.
  void pushScope(std::string_view name);
  void popScope();
  /// Nodes wait for these from here to the matching pop.
  void pushControl(const std::vector<Operation> &operations);
  void popControl();
  /// The node that gives the value.
  Operation operationOf(const Output &value);

  /// The first error since the last call of `takeError`.
  const std::optional<Error> &error() const;
  std::optional<Error> takeError();

  /// The graph as it is now, with its effects ordered. The builder can go on.
  Expected<Graph> build();

private:
  std::unique_ptr<BuilderImpl> impl;
};

Output operator+(const Input &x, const Input &y);
Output operator-(const Input &x, const Input &y);
Output operator*(const Input &x, const Input &y);
Output operator/(const Input &x, const Input &y);
Output operator<(const Input &x, const Input &y);
Output operator<=(const Input &x, const Input &y);
Output operator>(const Input &x, const Input &y);
Output operator>=(const Input &x, const Input &y);

} // namespace treadle::builder

namespace treadle {
using builder::Builder;
} // namespace treadle
