// Steps shared by both plan layouts: node kinds, kernel binding and execution order.
#include "treadle/runtime/PlanBuilder.h"

#include "treadle/ops/OpTable.h"
#include "treadle/runtime/Execution.h"
#include "treadle/runtime/Variable.h"

#include <algorithm>
#include <new>
#include <numeric>
#include <queue>
#include <stdexcept>

namespace treadle {
namespace plan {

NodeKind classify(const NodeSpec &node) {
  if (node.cluster)
    return NodeKind::Kernel;
  if (node.isFunctionCall)
    return NodeKind::Call;
  switch (opKind(node.op)) {
  case OpKind::Argument:
    return NodeKind::Arg;
  case OpKind::NoOp:
    return NodeKind::NoOp;
  case OpKind::Switch:
    return node.op == "_SwitchN" ? NodeKind::SwitchN : NodeKind::Switch;
  case OpKind::Merge:
    return NodeKind::Merge;
  case OpKind::Enter:
    return NodeKind::Enter;
  case OpKind::Exit:
    return NodeKind::Exit;
  case OpKind::NextIteration:
    return NodeKind::NextIteration;
  case OpKind::Call:
  case OpKind::If:
  case OpKind::Case:
  case OpKind::OtherCall:
  case OpKind::HigherOrder:
    return NodeKind::Call;
  case OpKind::While:
    return NodeKind::While;
  case OpKind::For:
    return NodeKind::For;
  case OpKind::OtherV1:
  case OpKind::Placeholder:
  case OpKind::Plain:
    break;
  }
  return NodeKind::Kernel;
}

BoundKernel failingKernel(Error error) {
  return boundWith<Error>([](OpContext &ctx) { ctx.fail(ctx.state<Error>()); }, std::move(error));
}

namespace {

Expected<BoundKernel> bindConst(const NodeSpec &spec) {
  Expected<Tensor> value = spec.attrs.get<Tensor>("value");
  if (!value)
    return Unexpected(std::move(value.error()));
  if (!spec.outputTypes.empty() && value->dtype() != spec.outputTypes[0].dtype)
    return Unexpected(invalidArgument("its value is ", tensorTypeText(*value),
                                      ", but its dtype is ", dtypeName(spec.outputTypes[0].dtype)));
  return boundWith<Tensor>([](OpContext &ctx) { ctx.setOutput(0, ctx.state<Tensor>()); },
                           std::move(*value));
}

Error missingPythonFunction(const NodeSpec &spec) {
  std::string token = spec.attrs.getOr("token", std::string());
  return unimplemented(
      "the Python function of token '", token,
      "' isn't registered, and no file holds it; run the graph in Python, and call "
      "treadle.register_op('",
      token, "', fn) before creating the session");
}

Expected<BoundKernel> bindFromRegistry(const NodeSpec &spec, const PlanOptions &options) {
  const KernelRegistry::Bind *bind = options.kernels->find(spec.op);
  const OpDef *def = lookupOp(spec.op);
  if (!bind && def && def->facts().runsPython)
    return Unexpected(missingPythonFunction(spec));
  if (!bind)
    return Unexpected(unimplemented("op '", spec.op, "' is unknown; register a kernel for it"));
  std::vector<DType> inputs, outputs;
  for (ValueType type : spec.inputTypes)
    inputs.push_back(type.dtype);
  for (ValueType type : spec.outputTypes)
    outputs.push_back(type.dtype);
  return (*bind)(BindContext{.node = spec.name,
                             .op = spec.op,
                             .attrs = spec.attrs,
                             .inputTypes = inputs,
                             .outputTypes = outputs,
                             .device = spec.device,
                             .outputNames = spec.outputNames});
}

Expected<BoundKernel> bindRead() {
  return BoundKernel{[](OpContext &ctx) { ctx.setOutput(0, ctx.takeInput(0)); }};
}

// Wraps a kernel that takes values: reads the variables behind reference inputs when it runs.
struct Dereferenced {
  InnerKernel inner;
};

void runDereferenced(OpContext &context) {
  Execution &ctx = Execution::of(context);
  const auto &self = ctx.state<Dereferenced>();
  std::vector<Tensor> inputs(ctx.inputCount);
  for (int i = 0; i < ctx.numInputs(); ++i) {
    const Tensor &input = ctx.input(i);
    if (!input || !input.isRef()) {
      inputs[i] = ctx.takeInput(i);
      continue;
    }
    Variable &variable = refVariable(input);
    inputs[i] = variable.read();
    if (!inputs[i])
      return ctx.fail(uninitialized(variable));
  }
  self.inner.run(ctx, inputs);
}

BoundKernel dereferencing(const BoundKernel &inner, size_t numInputs) {
  BoundKernel outer = boundWith(runDereferenced, Dereferenced{InnerKernel(inner, numInputs)});
  outer.isExpensive = inner.isExpensive;
  outer.mayBlock = inner.mayBlock;
  return outer;
}

Expected<BoundKernel> bindByOp(const NodeSpec &spec, const PlanOptions &options) {
  if (spec.problem)
    return Unexpected(*spec.problem);
  if (spec.op == "Const" || spec.op == "HostConst")
    return bindConst(spec);
  if (spec.op == "_Read")
    return bindRead();
  if (spec.cluster)
    return options.clusters->bind(spec);
  return bindFromRegistry(spec, options);
}

// Binds a kernel. Attributes may determine the lengths of its lists, so running out of memory is an
// error.
Expected<BoundKernel> bindWithinMemory(const NodeSpec &spec, const PlanOptions &options) {
  constexpr const char *what = "its attributes require more memory than is available";
  try {
    return bindByOp(spec, options);
  } catch (const std::bad_alloc &) {
    return Unexpected(resourceExhausted(what));
  } catch (const std::length_error &) {
    return Unexpected(resourceExhausted(what));
  }
}

} // namespace

void bindNode(const NodeSpec &spec, const PlanOptions &options, PlanNode &node, NodeInfo &info) {
  Expected<BoundKernel> kernel = bindWithinMemory(spec, options);
  if (!kernel) {
    kernel = failingKernel(std::move(kernel.error()));
    info.isUnbound = true;
  }
  bool hasRefInputs = std::any_of(spec.inputTypes.begin(), spec.inputTypes.end(),
                                  [](ValueType t) { return t.isRef; });
  if (hasRefInputs && !kernel->takesRefs && !info.isUnbound)
    kernel = dereferencing(std::move(*kernel), spec.inputs.size());
  info.isCluster = spec.cluster != nullptr;
  node.fn = kernel->fn;
  node.state = kernel->state.get();
  node.isExpensive = kernel->isExpensive;
  node.mayBlock = kernel->mayBlock;
  info.state = std::move(kernel->state);
}

std::vector<FunctionRef> calledFunctions(const NodeSpec &spec) {
  std::vector<FunctionRef> functions;
  if (spec.isFunctionCall)
    functions.push_back({spec.op, nullptr});
  for (const auto &[name, value] : spec.attrs) {
    if (const auto *f = std::get_if<FunctionRef>(&value))
      functions.push_back(*f);
    if (const auto *list = std::get_if<std::vector<FunctionRef>>(&value))
      functions.insert(functions.end(), list->begin(), list->end());
  }
  return functions;
}

// Inserts reads so that nodes of the executor and functions receive values, except for the ops made
// for references.
Expected<void> readReferencesAtBorders(GraphSpec &graph) {
  size_t n = graph.nodes.size();
  for (size_t i = 0; i < n; ++i)
    for (size_t k = 0; k < graph.nodes[i].inputs.size(); ++k) {
      NodeSpec &node = graph.nodes[i];
      if (!node.inputTypes[k].isRef)
        continue;
      NodeKind kind = classify(node);
      bool isBorder = kind != NodeKind::Kernel && kind != NodeKind::NoOp;
      bool isPredicate = kind == NodeKind::Switch && k == 1;
      if (!isBorder || (node.op.starts_with("Ref") && !isPredicate))
        continue;
      if (classify(graph.nodes[node.inputs[k].node]) == NodeKind::NextIteration)
        return Unexpected(unimplemented("it reads a reference from the previous iteration; "
                                        "use RefMerge")
                              .atNode(node.name, node.op));
      NodeSpec read;
      read.name = node.name;
      read.op = "_Read";
      read.inputs = {node.inputs[k]};
      if (kind != NodeKind::Merge) // a Merge may have dead control inputs
        read.controls = node.controls;
      read.inputTypes = {node.inputTypes[k]};
      node.inputTypes[k].isRef = false;
      read.outputTypes = {node.inputTypes[k]};
      node.inputs[k] = {static_cast<int32_t>(graph.nodes.size()), 0};
      graph.nodes.push_back(std::move(read)); // invalidates `node`
    }
  return {};
}

static Expected<void> planLoops(GraphSpec &graph, const PlanOptions &options) {
  auto planned = [&](const GraphSpec &part, ArgMode mode) -> Expected<std::shared_ptr<const Plan>> {
    PlanOptions partOptions = options;
    partOptions.argMode = mode;
    std::unique_ptr<Plan> plan = TREADLE_TRY(buildPlan(part, partOptions));
    return std::shared_ptr<const Plan>(std::move(plan));
  };
  for (NodeSpec &node : graph.nodes) {
    if (!node.loop)
      continue;
    auto plans = std::make_shared<LoopPlans>();
    plans->cond = TREADLE_TRY(planned(node.loop->cond, ArgMode::Borrowed));
    plans->body = TREADLE_TRY(planned(node.loop->body, ArgMode::LoopBody));
    node.plans = std::move(plans);
  }
  return {};
}

// --- order -------------------------------------------------------------------------------------

namespace {

template <typename Visit> void forEachSource(const NodeSpec &node, Visit visit) {
  for (Endpoint e : node.inputs)
    visit(e.node);
  for (int32_t c : node.controls)
    visit(c);
}

bool isInOrder(const GraphSpec &graph, const std::vector<SoftEdge> &soft) {
  if (std::ranges::any_of(soft, [](SoftEdge edge) { return edge.from > edge.to; }))
    return false;
  for (int32_t i = 0; i < static_cast<int32_t>(graph.nodes.size()); ++i) {
    bool ok = true;
    forEachSource(graph.nodes[i], [&](int32_t source) {
      ok &= source < i || isBackEdge(graph.nodes[i], graph.nodes[source]);
    });
    if (!ok)
      return false;
  }
  return true;
}

Error cycleError(const GraphSpec &graph, const std::vector<int32_t> &pending) {
  // In a cycle, following waiting sources from any waiting node must eventually repeat one.
  auto waitingSource = [&](int32_t node) {
    int32_t found = -1;
    forEachSource(graph.nodes[node], [&](int32_t s) {
      if (pending[s] > 0)
        found = s;
    });
    return found;
  };
  int32_t at = static_cast<int32_t>(
      std::find_if(pending.begin(), pending.end(), [](int32_t p) { return p > 0; }) -
      pending.begin());
  std::vector<bool> seen(graph.nodes.size());
  while (!seen[at]) {
    seen[at] = true;
    at = waitingSource(at);
  }
  std::string path = graph.nodes[at].name;
  int length = 0;
  for (int32_t n = waitingSource(at); n != at && ++length < 8; n = waitingSource(n))
    path = str(graph.nodes[n].name, " -> ", path);
  return invalidArgument("the graph has a cycle outside a loop: ",
                         length < 8 ? graph.nodes[at].name : std::string("..."), " -> ", path,
                         "; a cycle must go through NextIteration to a Merge");
}

} // namespace

bool isBackEdge(const NodeSpec &node, const NodeSpec &source) {
  return opKind(node.op) == OpKind::Merge && opKind(source.op) == OpKind::NextIteration;
}

Expected<std::vector<int32_t>> executionOrder(const GraphSpec &graph,
                                              const std::vector<SoftEdge> &soft) {
  int32_t n = static_cast<int32_t>(graph.nodes.size());
  std::vector<int32_t> order;
  order.reserve(n);
  if (isInOrder(graph, soft)) {
    for (int32_t i = 0; i < n; ++i)
      order.push_back(i);
    return order;
  }
  std::vector<SoftEdge> edges = soft;
  for (int32_t i = 0; i < n; ++i)
    forEachSource(graph.nodes[i], [&](int32_t source) {
      if (!isBackEdge(graph.nodes[i], graph.nodes[source]))
        edges.push_back({source, i});
    });
  std::vector<int32_t> pending(n), begin(n + 1), successors(edges.size());
  for (SoftEdge edge : edges) {
    ++begin[edge.from + 1];
    ++pending[edge.to];
  }
  std::partial_sum(begin.begin(), begin.end(), begin.begin());
  std::vector<int32_t> fill(begin.begin(), begin.end() - 1);
  for (SoftEdge edge : edges)
    successors[fill[edge.from]++] = edge.to;
  std::priority_queue<int32_t, std::vector<int32_t>, std::greater<>> ready;
  for (int32_t i = 0; i < n; ++i)
    if (!pending[i])
      ready.push(i);
  while (!ready.empty()) {
    int32_t i = ready.top();
    ready.pop();
    order.push_back(i);
    for (int32_t k = begin[i]; k < begin[i + 1]; ++k)
      if (--pending[successors[k]] == 0)
        ready.push(successors[k]);
  }
  if (static_cast<int32_t>(order.size()) < n)
    return Unexpected(cycleError(graph, pending));
  return order;
}

// --- binding all nodes -------------------------------------------------------------------------

namespace {

// The GraphDef importer rejects such nodes, but MLIR text may contain them.
Expected<void> checkArity(const NodeSpec &node, NodeKind kind) {
  struct Arity {
    size_t minInputs, maxInputs, minOutputs, maxOutputs;
  };
  constexpr size_t any = SIZE_MAX;
  auto [minInputs, maxInputs, minOutputs, maxOutputs] =
      kind == NodeKind::NoOp      ? Arity{0, 0, 0, 0}
      : kind == NodeKind::Switch  ? Arity{2, 2, 2, 2}
      : kind == NodeKind::SwitchN ? Arity{2, 2, 1, any}
      : kind == NodeKind::Merge   ? Arity{1, any, 2, 2}
      : isFrameBorder(kind)       ? Arity{1, 1, 1, 1}
                                  : Arity{0, any, 0, any};
  size_t inputs = node.inputs.size(), outputs = node.outputTypes.size();
  if (inputs < minInputs || inputs > maxInputs || outputs < minOutputs || outputs > maxOutputs)
    return Unexpected(invalidArgument("it has ", inputs, " inputs and ", outputs,
                                      " outputs, which its op doesn't allow")
                          .atNode(node.name, node.op));
  return {};
}

bool isConstant(const NodeSpec &node) {
  const auto *value = node.op == "Const" && !node.outputTypes.empty()
                          ? std::get_if<Tensor>(node.attrs.find("value"))
                          : nullptr;
  return value && value->dtype() == node.outputTypes[0].dtype;
}

bool isAlias(const NodeSpec &node) {
  bool hands = node.op == "Identity" || node.op == "StopGradient" || node.op == "PreventGradient";
  return hands && node.inputs.size() == 1 && !node.inputTypes[0].isRef &&
         !node.outputTypes.empty() && node.inputTypes[0].dtype == node.outputTypes[0].dtype;
}

/// Simplifies nodes that a sequential plan needn't run. With dead branches, control inputs may make
/// them dead, so they are kept.
NodeKind simplifiedKind(const NodeSpec &node, bool hasDeadness) {
  if (isConstant(node) && (!hasDeadness || node.controls.empty()))
    return NodeKind::Constant;
  return isAlias(node) && !hasDeadness ? NodeKind::Alias : NodeKind::Kernel;
}

/// Marks whether the node, or a function that it calls, waits. Returns true if the graph needs a
/// dataflow plan.
bool markWaiting(const NodeSpec &spec, const PlanOptions &options, PlanNode &node) {
  if (!callsFunctions(node.kind)) {
    const OpTraits *traits =
        options.traits && node.kind == NodeKind::Kernel
            ? options.traits->find(spec.op, spec.attrs.getOr<std::string>("token", ""))
            : nullptr;
    node.waits = traits && traits->waits;
    return node.mayBlock;
  }
  bool mayBlock = spec.plans && (spec.plans->cond->mayBlock || spec.plans->body->mayBlock);
  if (options.functions)
    for (const FunctionRef &f : calledFunctions(spec)) {
      mayBlock |= options.functions->mayBlock(f.name);
      node.waits |= options.functions->waits(f.name);
    }
  // Kernels that call functions themselves block their thread.
  node.mayBlock |= mayBlock && !options.kernels->findFunctionKernel(spec.op);
  return mayBlock;
}

} // namespace

Expected<BoundGraph> bindNodes(GraphSpec &graph, const PlanOptions &options) {
  size_t n = graph.nodes.size();
  BoundGraph bound{.graph = graph,
                   .options = options,
                   .nodes = std::vector<PlanNode>(n),
                   .infos = std::vector<NodeInfo>(n)};
  for (size_t i = 0; i < n; ++i) {
    const NodeSpec &spec = graph.nodes[i];
    PlanNode &node = bound.nodes[i];
    node.kind = classify(spec);
    TREADLE_TRY(checkArity(spec, node.kind));
    node.inputCount = static_cast<uint32_t>(spec.inputs.size());
    node.outputCount = static_cast<uint32_t>(spec.outputTypes.size());
    node.info = static_cast<uint32_t>(i);
    bound.hasDeadness |= isBranching(node.kind);
    bound.needsDataflow |= isFrameBorder(node.kind);
  }
  for (size_t i = 0; i < n; ++i) {
    const NodeSpec &spec = graph.nodes[i];
    PlanNode &node = bound.nodes[i];
    if (node.kind == NodeKind::Kernel)
      node.kind = simplifiedKind(spec, bound.hasDeadness);
    if (node.kind == NodeKind::Kernel)
      bindNode(spec, options, node, bound.infos[i]);
    else if (callsFunctions(node.kind))
      bindFunctionNode(spec, options, node, bound.infos[i]);
    else
      node.fn = controlKernel(node.kind);
    node.runsDead = spec.op == "ControlTrigger";
    bound.needsDataflow |= markWaiting(spec, options, node);
  }
  return bound;
}

void setSignature(Plan &plan, GraphSpec &graph) {
  plan.name = graph.name;
  for (Endpoint arg : graph.args)
    plan.argTypes.push_back(graph.nodes[arg.node].outputTypes[0]);
  for (const ResultSpec &result : graph.results)
    plan.resultTypes.push_back(graph.nodes[result.from.node].outputTypes[result.from.output]);
  plan.results = std::move(graph.results);
}

} // namespace plan

/// Checks that the graph fits the index types of a plan, which are narrower than size_t.
static Expected<void> checkSize(const GraphSpec &graph) {
  size_t inputs = 0, outputs = graph.nodes.size();
  for (const NodeSpec &node : graph.nodes) {
    inputs += node.inputs.size() + node.controls.size();
    outputs += node.outputTypes.size();
    if (inputs > InputIndex::maxValues || outputs > InputIndex::maxValues)
      return Unexpected(resourceExhausted("up to this node, the graph has ", inputs, " inputs and ",
                                          outputs, " values, expected at most ",
                                          InputIndex::maxValues)
                            .atNode(node.name, node.op));
  }
  return {};
}

Expected<std::unique_ptr<Plan>> buildPlan(GraphSpec graph, const PlanOptions &options) {
  TREADLE_TRY(checkSize(graph));
  plan::expandBatchFunctions(graph);
  TREADLE_TRY(plan::readReferencesAtBorders(graph));
  TREADLE_TRY(plan::planLoops(graph, options));
  plan::BoundGraph bound = TREADLE_TRY(plan::bindNodes(graph, options));
  return bound.needsDataflow ? plan::buildDataflow(std::move(bound))
                             : plan::buildSequential(std::move(bound));
}

} // namespace treadle
