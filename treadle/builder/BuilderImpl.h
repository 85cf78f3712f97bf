// Internal to treadle/builder: the module under construction, its open bodies, and insertion of
// nodes.
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

/// The graph, or a function under construction.
struct BodyState {
  enum class Kind { Graph, Condition, LoopBody, Branch, Function };

  BodyState(Kind kind, BodyState *parent, std::string title)
      : kind(kind), parent(parent), title(std::move(title)) {}

  Kind kind;
  BodyState *parent; // enclosing body; null for the graph
  std::string title;
  std::string resultHint;                // hint for messages: `loop.NAME = value`
  std::unique_ptr<tfg::Outline> outline; // null for the graph
  mlir::Block *block = nullptr;
  llvm::StringSet<> names;
  llvm::StringMap<unsigned> nextSuffix;
  /// Captured outer values and the arguments for them, in argument order.
  llvm::MapVector<uint32_t, uint32_t> captures;
  std::vector<std::string> scopes;
  std::vector<llvm::SmallVector<mlir::Value>> waits; // stack of lists of tokens to wait for
  /// Tokens of the parent body that the node calling this body waits for.
  llvm::SmallVector<mlir::Value> outerTokens;
  std::vector<std::string> functions; // functions called from this body only
  bool isStateful = false, isEnded = false;
};

/// A value that the user has a handle of (Output).
struct ValueSlot {
  mlir::Value value; // dangling after its body has ended
  BodyState *body;
  std::string name;
  DType dtype;
  KnownValue known;
  Operation node = {}; // empty for an argument
};

struct OperationSlot {
  std::string name;
  BodyState *body;
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

/// A request to add a node; inputs must be values of the current body.
struct NodeRequest {
  llvm::StringRef op;
  std::string name; // full and unique
  AttrMap attrs = {};
  llvm::SmallVector<Output> inputs = {};
  std::vector<DType> outputs = {};
  /// Static knowledge of the results, if the caller knows more than the op's shape function infers.
  std::optional<std::vector<KnownValue>> known = {};
  llvm::SmallVector<mlir::Value> waits = {};
};

PartialShape partial(const Shape &shape);

class BuilderImpl {
public:
  BuilderImpl();

  // --- Builder.cpp: errors, values, names
  template <typename T> T unwrapOrRecord(Expected<T> value) {
    if (value)
      return std::move(*value);
    fail(std::move(value.error()));
    return {};
  }
  void unwrapOrRecord(Expected<void> done) {
    if (!done)
      fail(std::move(done.error()));
  }
  void fail(Error error) {
    if (!firstError)
      firstError = std::move(error);
  }
  static ValueSlot &slot(const Output &value) { return value.impl->slots[value.id]; }
  static OperationSlot &slot(const Operation &node) { return node.impl->operations[node.id]; }
  static VariableSlot &slot(const Variable &v) { return v.impl->variables[v.id]; }
  static BuilderImpl *of(const Output &value) { return value.impl; }
  static BuilderImpl *of(const Operation &node) { return node.impl; }
  static BuilderImpl *of(const Variable &variable) { return variable.impl; }
  /// Returns the builder of an input that has one, or null.
  static BuilderImpl *of(const Input &input);
  static bool isEmpty(const Input &input);

  Output newOutput(ValueSlot slot);
  std::string typeText(const Output &value) const; // `float32[2,?]`
  std::string typeText(DType dtype, const Shape &shape) const;

  /// Returns `name` in the body's scope if it is free, or a free name derived from `base`.
  Expected<std::string> nodeName(std::string_view name, std::string_view base);
  std::string uniqueName(BodyState &body, const std::string &base);

  // --- Nodes.cpp
  Expected<Operation> add(Builder::Node node);
  Expected<Operation> emit(NodeRequest request);
  /// Returns the value of an input outside of a node request. `want` is the dtype for a number.
  Expected<Output> value(const Input &input, DType want, const std::string &name,
                         const std::string &subject);
  Expected<Output> constant(const Tensor &value, const std::string &name);
  Expected<void> checkInputs(const OpDef &def, const std::string &subject,
                             llvm::ArrayRef<Output> inputs, const AttrMap &attrs);
  class Initialization;
  Expected<Variable> variable(std::string_view name, const std::function<Input()> &init);
  Variable addVariable(const std::string &name, DType dtype, PartialShape shape);
  Expected<Output> read(const Variable &variable);
  /// Divides in floating point.
  Expected<Output> divide(const Input &x, const Input &y);
  Expected<Operation> assign(const Variable &variable, llvm::StringRef op, const Input &value);

  // --- Bodies.cpp
  /// Opens a function as the current body, to which nodes are added.
  BodyState &open(BodyState::Kind kind, std::string_view functionName, std::string title,
                  std::string resultHint);
  /// Closes the innermost body without creating its function yet.
  void close();
  Output addArgument(BodyState &body, std::string_view name, DType dtype, KnownValue known);
  /// Returns the value in the innermost body; captures it in all bodies between if it is an outer
  /// one's.
  Expected<Output> resolve(const Output &value, const std::string &subject);
  Expected<mlir::Value> resolveToken(const Operation &node, const std::string &subject);
  /// Adds missing captures as arguments of `body`.
  void capture(BodyState &body, llvm::ArrayRef<uint32_t> ids);
  Output captured(BodyState &body, uint32_t id);
  tfg::FuncOp finish(BodyState &body, llvm::ArrayRef<Output> results,
                     llvm::ArrayRef<std::string> resultNames);
  /// Discards a body that no node calls, with all open bodies in it and their functions.
  void discard(BodyState &body);
  bool isOpen(const BodyState *body) const;
  Error notInnermostError(const std::string &subject) const;

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
  /// Replaces the module by a copy of itself. No function may be open.
  void replaceModuleByCopy();
  /// Updates the values of the innermost body by name, after its nodes were replaced.
  void refreshValues();
  Output gradientOutput(mlir::Value value, const Shape &shape);

  // --- Build.cpp
  Expected<Graph> build();

  Graph graph;
  std::unique_ptr<EditIndex> index;
  mlir::ModuleOp module;
  std::unique_ptr<tfg::FunctionNames> functionNames;
  std::vector<std::unique_ptr<BodyState>> bodies;
  BodyState *root = nullptr, *current = nullptr;
  std::deque<ValueSlot> slots;
  std::deque<OperationSlot> operations;
  std::deque<VariableSlot> variables;

  bool isBroken = false;       // an error has left the module inconsistent
  bool isInitializing = false; // new nodes run with `init`
  llvm::StringSet<> initNodes;
  std::vector<std::string> initializers; // nodes that `init` waits for
  std::vector<std::string> effectsNodes; // nodes that wait for all earlier effects
  std::optional<Error> firstError;
};

} // namespace treadle::builder
