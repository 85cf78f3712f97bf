// For tests of the runtime: hand-built graphs, kernels over int32 scalars, functions, and runs.
#pragma once

#include "treadle/runtime/Plan.h"
#include "treadle/runtime/PlanBuilder.h"
#include "treadle/runtime/Run.h"
#include "treadle/runtime/ThreadPool.h"

#include <map>
#include <mutex>

namespace treadle::test {

inline constexpr ValueType i32{DType::Int32};
inline constexpr ValueType f32{DType::Float32};
inline constexpr ValueType i1{DType::Bool};

/// Kernels over int32 scalars, unless stated otherwise:
///   Add, Sub, Mul (all wrap), Less, NotEqual (bool), Not (bool), Identity, LoopCond, ToFloat;
///   SlowAdd: marked as expensive; WaitAdd: suspends, and another thread completes it;
///   Refuse: fails if its input equals attribute `value`, else returns it;
///   ReadVar, AddToVar(x): the variable named by attribute `var`, initially 0;
///   RefVar: a reference to it; Never: suspends and is never completed;
///   Refs: returns its inputs, including references.
const KernelRegistry &kernels();

/// Converts `value` to an int32 scalar, and back.
inline Tensor scalar(int32_t value) { return Tensor::scalar(DType::Int32, value); }
inline int32_t value(const Tensor &tensor) { return tensor.scalarValue<int32_t>(); }

/// Builds a graph node by node. Inputs of {-1, 0} are set later.
class GraphMaker {
public:
  explicit GraphMaker(std::string name = "graph") { graph.name = std::move(name); }

  int add(std::string name, std::string op, std::vector<Endpoint> inputs,
          std::vector<ValueType> outputs, std::vector<int32_t> controls = {});
  int constant(int32_t value, std::vector<int32_t> controls = {});
  int boolean(bool value);
  int arg(ValueType type = i32);
  int enter(Endpoint from, const std::string &frame, bool isConstant = false,
            int64_t parallelIterations = 10);
  /// Adds `Enter -> Merge`; `close` sets the second input of the Merge.
  int loopVariable(Endpoint from, const std::string &frame, int64_t parallelIterations = 10);
  void close(int merge, Endpoint next);
  int switchOn(Endpoint value, Endpoint predicate);
  int merge(std::vector<Endpoint> inputs, std::vector<int32_t> controls = {});
  int identity(Endpoint from, std::vector<int32_t> controls = {});
  int call(std::string function, std::vector<Endpoint> inputs, std::vector<ValueType> outputs);
  void result(Endpoint from, std::vector<IterationSelector> iterations = {});
  template <typename T> void attr(int node, std::string_view name, T value) {
    graph.nodes[node].attrs.set(name, std::move(value));
  }
  ValueType typeOf(Endpoint e) const;

  GraphSpec graph;

private:
  std::string fresh(std::string_view stem) const;
};

enum class Layout : uint8_t { Chosen, Dataflow };

/// Functions by name; plans are built at first use.
class Functions final : public FunctionLibrary {
public:
  Functions() = default;
  /// Copies the bodies, without the plans.
  explicit Functions(const std::map<std::string, GraphSpec> &bodies) : bodies(bodies) {}
  Functions copy() const { return Functions(bodies); }
  void add(GraphSpec body) { bodies[body.name] = std::move(body); }
  const GraphSpec *body(const std::string &name) const;
  Expected<const Plan *> plan(const FunctionRef &function, ArgMode mode) override;
  bool mayBlock(const std::string &function) override;
  Layout layout = Layout::Chosen;

private:
  bool mayBlock(const std::string &function, std::vector<std::string> &asked);
  std::map<std::string, GraphSpec> bodies;
  std::mutex mutex;
  std::map<std::pair<std::string, ArgMode>, std::unique_ptr<Plan>> plans;
};

/// Builds the plan of a graph; a dataflow plan if `layout` asks for one.
Expected<std::unique_ptr<Plan>> build(GraphSpec graph, const PlanOptions &options, Layout layout);
Expected<std::unique_ptr<Plan>> build(GraphSpec graph, FunctionLibrary *functions = nullptr,
                                      Layout layout = Layout::Chosen);

/// Builds and runs a graph once, with its own resources.
Expected<std::vector<Tensor>> run(GraphSpec graph, std::vector<Tensor> args = {},
                                  FunctionLibrary *functions = nullptr,
                                  Layout layout = Layout::Chosen, ThreadPool *pool = nullptr);

} // namespace treadle::test
