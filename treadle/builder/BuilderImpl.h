// Internal to the builder folder: the module in the making, its open bodies, and how a node gets
// into them.
#pragma once

#include "treadle/Builder.h"
#include "treadle/graph/EditIndex.h"
#include "treadle/ops/OpTable.h"
#include "treadle/rewriting/Outline.h"
#include "treadle/shapes/Shape.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/MapVector.h"

#include <deque>

namespace treadle::builder {

/// The graph, or a function in the making.
struct Body {
  enum class Kind { Graph, Condition, LoopBody, Branch, Function };

  Body(Kind kind, Body *parent, std::string title)
      : kind(kind), parent(parent), title(std::move(title)) {}

  Kind kind;
  Body *parent; // where it began; null of the graph
  std::string title;
  std::string way;                       // how its values get out: `loop.NAME = value`
  std::unique_ptr<tfg::Outline> outline; // null of the graph
  mlir::Block *block = nullptr;
  llvm::StringSet<> names;
  llvm::StringMap<unsigned> suffixes;
  /// Values from outside, and the arguments that they are here, in the order of the arguments.
  llvm::MapVector<uint32_t, uint32_t> captures;
  std::vector<std::string> scopes;
  std::vector<llvm::SmallVector<mlir::Value>> waits; // a stack of lists of tokens
  /// Tokens of the parent that the node which calls this body waits for.
  llvm::SmallVector<mlir::Value> waitsOutside;
  std::vector<std::string> functions; // that are called from here alone
  bool isStateful = false, isEnded = false;
};

/// A value that users can name.
struct Slot {
  mlir::Value value; // not to be looked at after its body has ended
  Body *body;
  std::string name;
  DType dtype;
  KnownValue known;
  Operation node = {}; // empty of an argument
};

struct OperationSlot {
  std::string name;
  Body *body;
  mlir::Value token;
  std::vector<Output> outputs;
};

struct VariableSlot {
  std::string name;
  DType dtype;
  PartialShape shape;
  Output handle;
  bool isAssigned; // by `init`, or by a node
};

/// A node whose inputs are of the body that it is added to.
struct NodeRequest {
  llvm::StringRef op;
  std::string name; // whole, and free
  AttrMap attrs = {};
  llvm::SmallVector<Output> inputs = {};
  std::vector<DType> outputs = {};
  /// Of its results, where the caller knows better than the op's shape function.
  std::optional<std::vector<KnownValue>> known = {};
  llvm::SmallVector<mlir::Value> waits = {};
};

PartialShape partial(const Shape &shape);

class BuilderImpl {
public:
  BuilderImpl();

  // --- Builder.cpp: errors, values, names
  template <typename T> T orFail(Expected<T> value) {
    if (value)
      return std::move(*value);
    fail(std::move(value.error()));
    return {};
  }
  void orFail(Expected<void> done) {
    if (!done)
      fail(std::move(done.error()));
  }
  void fail(Error error) {
    if (!firstError)
      firstError = std::move(error);
  }
  static Slot &slot(const Output &value) { return value.impl->slots[value.id]; }
  static OperationSlot &slot(const Operation &node) { return node.impl->operations[node.id]; }
  static VariableSlot &slot(const Variable &v) { return v.impl->variables[v.id]; }
  static BuilderImpl *of(const Output &value) { return value.impl; }
  static BuilderImpl *of(const Operation &node) { return node.impl; }
  static BuilderImpl *of(const Variable &variable) { return variable.impl; }
  /// The builder of an input that has one.
  static BuilderImpl *of(const Input &input);
  static bool isEmpty(const Input &input);

  Output newOutput(Slot slot);
  std::string typeText(const Output &value) const; // `float32[2,?]`
  std::string typeText(DType dtype, const Shape &shape) const;

  /// `name` in the scope of the body, which is to be free; or one made from `base`.
  Expected<std::string> nodeName(std::string_view name, std::string_view base);
  std::string uniqueName(Body &body, const std::string &base);

  // --- Nodes.cpp
  Expected<Operation> add(Builder::Node node);
  Expected<Operation> emit(NodeRequest request);
  /// The value of an input that stands alone. `want`: the dtype of a number.
  Expected<Output> value(const Input &input, DType want, const std::string &name,
                         const std::string &subject);
  Expected<Output> constant(const Tensor &value, const std::string &name);
  Expected<void> checkInputs(const OpDef &def, const std::string &subject,
                             llvm::ArrayRef<Output> inputs, const AttrMap &attrs);
  class Initialization;
  Expected<Variable> variable(std::string_view name, const std::function<Input()> &init);
  Variable addVariable(const std::string &name, DType dtype, PartialShape shape);
  Expected<Output> read(const Variable &variable);
  /// In floating point.
  Expected<Output> divide(const Input &x, const Input &y);
  Expected<Operation> assign(const Variable &variable, llvm::StringRef op, const Input &value);

  // --- Bodies.cpp
  /// A function, which becomes the body that nodes are added to.
  Body &open(Body::Kind kind, std::string_view functionName, std::string title, std::string way);
  /// Closes the innermost body, without making a function of it yet.
  void close();
  Output addArgument(Body &body, std::string_view name, DType dtype, KnownValue known);
  /// The value as it is in the innermost body, captured on the way where it is of an outer one.
  Expected<Output> resolve(const Output &value, const std::string &subject);
  Expected<mlir::Value> resolveToken(const Operation &node, const std::string &subject);
  /// Makes the arguments of `body` those captures that it lacks.
  void capture(Body &body, llvm::ArrayRef<uint32_t> ids);
  Output captured(Body &body, uint32_t id);
  tfg::FuncOp finish(Body &body, llvm::ArrayRef<Output> results,
                     llvm::ArrayRef<std::string> resultNames);
  /// Drops a body that no node calls, with all that are open in it, and their functions.
  void discard(Body &body);
  bool isOpen(const Body *body) const;
  Error notInnermost(const std::string &subject) const;

  // --- Loops.cpp, Branches.cpp, Functions.cpp
  Expected<Loop> beginLoop(Builder::LoopSpec spec);
  static Expected<Output> get(Loop::State &loop, std::string_view name);
  static Expected<void> set(Loop::State &loop, std::string_view name, const Input &value);
  static Expected<void> condition(Loop::State &loop, const Input &value);
  static Expected<void> end(Loop::State &loop);

  Expected<Branches> beginBranches(bool isCond, const Input &selector, std::string_view name);
  static Expected<void> begin(Branches::State &branches);
  static Expected<Output> get(Branches::State &branches, std::string_view name);
  static Expected<void> set(Branches::State &branches, std::string_view name, const Input &value);
  static Expected<void> endBranch(Branches::State &branches);
  static Expected<void> end(Branches::State &branches);

  Expected<Function> beginFunction(std::string_view name, std::vector<Builder::Argument> arguments);
  static Expected<void> end(Function::State &function, const std::vector<Input> &results);
  Expected<Operation> call(const Function &function, const std::vector<Input> &inputs,
                           std::string_view name);

  // --- Gradients.cpp
  Expected<std::vector<Output>> gradients(const std::vector<Input> &ys,
                                          const std::vector<Input> &xs,
                                          const std::vector<Input> &dys);
  /// Lets a copy of the module take its place; no function is open.
  void useCopy();
  /// Looks up the values of the innermost body by their names: its nodes may be others now.
  void findAgain();
  Output gradientOutput(mlir::Value value, const Shape &shape);

  // --- Build.cpp
  Expected<Graph> build();

  Graph graph;
  std::unique_ptr<EditIndex> index;
  mlir::ModuleOp module;
  std::unique_ptr<tfg::FunctionNames> functionNames;
  std::vector<std::unique_ptr<Body>> bodies;
  Body *root = nullptr, *current = nullptr;
  std::deque<Slot> slots;
  std::deque<OperationSlot> operations;
  std::deque<VariableSlot> variables;

  bool isBroken = false;       // an error has left the module in pieces
  bool isInitializing = false; // what is added runs with `init`
  llvm::StringSet<> initNodes;
  std::vector<std::string> initializers; // nodes that `init` waits for
  std::vector<std::string> effectsNodes; // that wait for all effects before them
  std::optional<Error> firstError;
};

} // namespace treadle::builder
