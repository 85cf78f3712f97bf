// Builds graphs in C++. Nodes with side effects run in the order in which they are added, in loops,
// conditionals and functions too.
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
// Shapes and dtypes are checked as nodes are added. An invalid call returns an empty value, which
// later calls accept without another error; `error()` and `build()` return the first error. These
// classes are not thread-safe; values are valid as long as their builder.
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

/// A value of a graph under construction: an output of a node, or an argument of a body.
class Output {
public:
  Output() = default;
  explicit operator bool() const { return impl; }

  const std::string &name() const; // `x:0`; for an argument its name only
  DType dtype() const;
  PartialShape shape() const; // as far as known; unknown rank and sizes are allowed

private:
  friend class BuilderImpl;
  Output(BuilderImpl *impl, uint32_t id) : impl(impl), id(id) {}
  BuilderImpl *impl = nullptr;
  uint32_t id = 0;
};

/// A node, for control dependencies and for its outputs. A node with one output converts to that
/// value as an Input.
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

/// A resource variable. It is read where a value is expected.
class Variable {
public:
  Variable() = default;
  explicit operator bool() const { return impl; }

  const std::string &name() const;
  DType dtype() const;
  PartialShape shape() const;
  /// The resource handle, for ops that take one.
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

/// An input of an op: a value; a variable, which is read unless the op takes a handle; a tensor,
/// which becomes a constant; or a number, which becomes a constant of the dtype that the op's other
/// inputs require, and otherwise of int32 or float32.
class Input {
public:
  /// Makes the constant; `want` is Invalid if any dtype is accepted.
  using Literal = std::function<Expected<Tensor>(DType want)>;

  Input(Output value) : value(value) {}
  /// The output of a node that has one; otherwise the call that uses the input fails.
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

/// A while loop. Nodes added before `condition` are evaluated before each iteration, nodes added
/// after it form the body. The body can't use values of the condition.
class Loop {
public:
  Loop() = default;
  explicit operator bool() const { return state != nullptr; }

  /// Returns the value of the loop variable at this point; after the loop, its final value.
  Output operator[](std::string_view name) const;
  /// In the body: sets the value of the variable from here on.
  void set(std::string_view name, const Input &value);
  /// Sets the condition, a scalar bool: whether another iteration runs.
  void condition(const Input &value);
  void end();
  /// Discards the loop, with everything added since it began.
  void abandon();

private:
  friend class BuilderImpl;
  struct State;
  std::shared_ptr<State> state;
};

/// A conditional, or a choice among several branches, of which one runs. All branches must set the
/// same results with the same dtypes.
class Branches {
public:
  Branches() = default;
  explicit operator bool() const { return state != nullptr; }

  /// Begins the next branch; the branches of a conditional are first true, then false.
  void begin();
  /// In a branch: returns the value set there. After the branches: returns the result of the branch
  /// that ran.
  Output operator[](std::string_view name) const;
  void set(std::string_view name, const Input &value);
  /// Ends the current branch.
  void endBranch();
  void end();
  void abandon();

private:
  friend class BuilderImpl;
  struct State;
  std::shared_ptr<State> state;
};

/// A function of the graph's library. Outer values that its body uses are passed with each call.
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

  /// Adds a variable that the node `init` initializes.
  Variable variable(std::string_view name, const Input &init);
  /// Adds a variable whose initial value is computed by nodes that `init` adds, which run with the
  /// node `init` only.
  Variable variable(std::string_view name, const std::function<Input()> &init);
  /// Adds a variable that must be assigned before it is read.
  Variable variable(std::string_view name, DType dtype, PartialShape shape);
  /// The name of the node that initializes all variables; it exists once there is a variable with
  /// an initial value.
  static constexpr std::string_view initName = "init";

  struct Node {
    std::string op;
    std::vector<Input> inputs = {};
    /// Attributes that the inputs determine may be omitted.
    AttrMap attrs = {};
    /// The name within the scope; derived from the op if empty. AlreadyExists if it is taken.
    std::string name = {};
    /// The dtypes of the outputs, for ops without a definition.
    std::vector<DType> outputs = {};
  };
  Operation op(Node node);

  Output cast(const Input &value, DType dtype);
  /// Stacks values of one shape along a new first axis.
  Output pack(const std::vector<Input> &values, std::string_view name = {});
  /// Computes x / y in floating point; integers are converted as TensorFlow does.
  Output divide(const Input &x, const Input &y);

  struct LoopVariable {
    std::string name;
    Input init;
    /// A shape that fits all values of the variable; by default the shape of `init`.
    std::optional<PartialShape> shape = {};
  };
  struct LoopSpec {
    std::string name;
    std::vector<LoopVariable> variables;
    int64_t parallelIterations = 10;
  };
  Loop whileLoop(LoopSpec spec);
  /// Adds two branches, of which `predicate` (a scalar bool) selects one.
  Branches cond(const Input &predicate, std::string_view name = {});
  /// Adds branches selected by `index` (a scalar int32); the last one also runs for indices out of
  /// range.
  Branches switchCase(const Input &index, std::string_view name = {});

  struct Argument {
    std::string name;
    DType dtype;
    PartialShape shape = {};
  };
  /// Begins the body of a function; nodes added up to its `end` are in the body.
  Function function(std::string_view name, const std::vector<Argument> &arguments);
  Operation call(const Function &function, const std::vector<Input> &inputs,
                 std::string_view name = {});

  /// Adds the gradients of the sum of all ys with respect to each x, through calls, conditionals
  /// and loops; an entry is empty if no y depends on that x. A variable as x means all reads of it.
  /// `gradYs`: the gradient of each y, with its shape and dtype; ones if empty. If a gradient fails
  /// inside of a body, the builder can't be used any more.
  std::vector<Output> gradients(const std::vector<Input> &ys, const std::vector<Input> &xs,
                                const std::vector<Input> &gradYs = {});

  /// Adds a node without effects that runs after these.
  Operation group(const std::vector<Operation> &operations, std::string_view name = {});
  /// Adds a node that runs after all earlier nodes with side effects.
  Operation effects(std::string_view name = {});

  /// Prefixes node names with `scope/` up to the matching pop.
  void pushScope(std::string_view name);
  void popScope();
  /// Adds control dependencies on these to all nodes up to the matching pop.
  void pushControl(const std::vector<Operation> &operations);
  void popControl();
  /// Returns the node that produces the value.
  Operation operationOf(const Output &value);

  /// The first error since the last call of `takeError`.
  const std::optional<Error> &error() const;
  std::optional<Error> takeError();

  /// Builds the graph, with its side effects ordered. The builder can still be used. Returns the
  /// first error, if there is one.
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
