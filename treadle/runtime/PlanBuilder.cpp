// Steps common to both layouts: what each node is, its kernel, and the order of execution.
#include "treadle/runtime/PlanBuilder.h"

#include "treadle/ops/OpTable.h"
#include "treadle/runtime/Execution.h"
#include "treadle/runtime/Variable.h"

#include <algorithm>
#include <new>
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
    return NodeKind::Switch;
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
  // With a control input it may be dead or late, so it runs like any other node.
  if (node.op == "Const" && node.controls.empty())
    return NodeKind::Constant;
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

Error lacksPython(const NodeSpec &spec) {
  std::string token = spec.attrs.getOr("token", std::string());
  return unimplemented("the Python function of token '", token,
                       "' isn't here, and no file holds it; run the graph in Python, and call "
                       "treadle.register_op('",
                       token, "', fn) before the session is made");
}

Expected<BoundKernel> bindFromRegistry(const NodeSpec &spec, const PlanOptions &options) {
  const KernelRegistry::Bind *bind = options.kernels->find(spec.op);
  const OpDef *def = lookupOp(spec.op);
  if (!bind && def && def->facts().runsPython)
    return Unexpected(lacksPython(spec));
  if (!bind)
    return Unexpected(
        unimplemented("op '", spec.op, "' is not known here; register a kernel for it"));
  std::vector<DType> inputs, outputs;
  for (ValueType type : spec.inputTypes)
    inputs.push_back(type.dtype);
  for (ValueType type : spec.outputTypes)
    outputs.push_back(type.dtype);
  return (*bind)(BindContext{spec.name, spec.op, spec.attrs, inputs, outputs, spec.device});
}

Expected<BoundKernel> bindRead() {
  return BoundKernel{[](OpContext &ctx) { ctx.setOutput(0, ctx.takeInput(0)); }};
}

// A kernel that wants values where its inputs are references: reads the variables when it runs.
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

// Attributes may say how long a kernel's lists are.
Expected<BoundKernel> bindWithinMemory(const NodeSpec &spec, const PlanOptions &options) {
  constexpr const char *what = "its attributes ask for more memory than there is";
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

bool mayBlock(const NodeSpec &spec, const PlanNode &node, const PlanOptions &options) {
  if (node.mayBlock)
    return true;
  if (spec.plans)
    return spec.plans->cond->mayBlock || spec.plans->body->mayBlock;
  if (node.kind != NodeKind::Call && node.kind != NodeKind::While && node.kind != NodeKind::For)
    return false;
  if (options.kernels->findFunctionKernel(spec.op))
    return false; // holds its thread
  for (const FunctionRef &f : calledFunctions(spec))
    if (options.functions && options.functions->mayBlock(f.name))
      return true;
  return false;
}

bool waits(const NodeSpec &spec, const PlanNode &node, const PlanOptions &options) {
  if (node.kind == NodeKind::Kernel) {
    const OpTraits *traits =
        options.traits ? options.traits->find(spec.op, spec.attrs.getOr<std::string>("token", ""))
                       : nullptr;
    return traits && traits->waits;
  }
  return options.functions && std::ranges::any_of(calledFunctions(spec), [&](const FunctionRef &f) {
           return options.functions->waits(f.name);
         });
}

// The importer of GraphDefs can't make such nodes, but MLIR text can.
static Expected<void> checkArity(const GraphSpec &graph) {
  struct Arity {
    size_t minInputs, maxInputs, minOutputs, maxOutputs;
  };
  constexpr size_t any = SIZE_MAX;
  auto arityOf = [](const NodeSpec &node) -> Arity {
    switch (classify(node)) {
    case NodeKind::NoOp:
      return {0, 0, 0, 0};
    case NodeKind::Switch:
      return node.op == "_SwitchN" ? Arity{2, 2, 1, any} : Arity{2, 2, 2, 2};
    case NodeKind::Merge:
      return {1, any, 2, 2};
    case NodeKind::Enter:
    case NodeKind::Exit:
    case NodeKind::NextIteration:
      return {1, 1, 1, 1};
    default:
      return {0, any, 0, any};
    }
  };
  for (const NodeSpec &node : graph.nodes) {
    auto [minInputs, maxInputs, minOutputs, maxOutputs] = arityOf(node);
    size_t inputs = node.inputs.size(), outputs = node.outputTypes.size();
    if (inputs < minInputs || inputs > maxInputs || outputs < minOutputs || outputs > maxOutputs)
      return Unexpected(invalidArgument("it has ", inputs, " inputs and ", outputs,
                                        " outputs, which its op can't have")
                            .atNode(node.name, node.op));
  }
  return {};
}

// What the executor itself moves, and functions get, is a value, except in the ops made for
// references.
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
        return Unexpected(
            unimplemented("it reads a reference that comes from the iteration before; "
                          "use RefMerge")
                .atNode(node.name, node.op));
      NodeSpec read;
      read.name = node.name;
      read.op = "_Read";
      read.inputs = {node.inputs[k]};
      if (kind != NodeKind::Merge) // whose control inputs may be dead
        read.controls = node.controls;
      read.inputTypes = {node.inputTypes[k]};
      node.inputTypes[k].isRef = false;
      read.outputTypes = {node.inputTypes[k]};
      node.inputs[k] = {static_cast<int32_t>(graph.nodes.size()), 0};
      graph.nodes.push_back(std::move(read)); // `node` is gone
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

bool isMerge(const NodeSpec &node) { return node.op == "Merge" || node.op == "RefMerge"; }
bool isNextIteration(const NodeSpec &node) {
  return node.op == "NextIteration" || node.op == "RefNextIteration";
}

bool isInOrder(const GraphSpec &graph, const std::vector<SoftEdge> &soft) {
  if (std::ranges::any_of(soft, [](SoftEdge edge) { return edge.from > edge.to; }))
    return false;
  for (int32_t i = 0; i < static_cast<int32_t>(graph.nodes.size()); ++i) {
    bool ok = true;
    forEachSource(graph.nodes[i], [&](int32_t source) {
      ok &= source < i || (isMerge(graph.nodes[i]) && isNextIteration(graph.nodes[source]));
    });
    if (!ok)
      return false;
  }
  return true;
}

Error cycleError(const GraphSpec &graph, const std::vector<int32_t> &pending) {
  // From any waiting node, going to a waiting source again and again must come around.
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
  std::vector<int32_t> pending(n), begin(n + 1), successors;
  auto counts = [&](int32_t node, int32_t source) {
    return !(isMerge(graph.nodes[node]) && isNextIteration(graph.nodes[source]));
  };
  for (int32_t i = 0; i < n; ++i)
    forEachSource(graph.nodes[i], [&](int32_t s) {
      if (counts(i, s)) {
        ++begin[s + 1];
        ++pending[i];
      }
    });
  for (SoftEdge edge : soft) {
    ++begin[edge.from + 1];
    ++pending[edge.to];
  }
  for (int32_t i = 0; i < n; ++i)
    begin[i + 1] += begin[i];
  successors.resize(begin[n]);
  std::vector<int32_t> fill(begin.begin(), begin.end() - 1);
  for (int32_t i = 0; i < n; ++i)
    forEachSource(graph.nodes[i], [&](int32_t s) {
      if (counts(i, s))
        successors[fill[s]++] = i;
    });
  for (SoftEdge edge : soft)
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

} // namespace plan

/// Everything that a plan counts has room in it: its numbers are narrower than a size_t.
static Expected<void> checkSize(const GraphSpec &graph) {
  size_t inputs = 0, outputs = graph.nodes.size();
  for (const NodeSpec &node : graph.nodes) {
    inputs += node.inputs.size() + node.controls.size();
    outputs += node.outputTypes.size();
    if (inputs > InputIndex::maxValues || outputs > InputIndex::maxValues)
      return Unexpected(resourceExhausted("with it the graph has ", inputs, " inputs and ", outputs,
                                          " values, expected at most ", InputIndex::maxValues)
                            .atNode(node.name, node.op));
  }
  return {};
}

Expected<std::unique_ptr<Plan>> buildPlan(GraphSpec graph, const PlanOptions &options) {
  TREADLE_TRY(checkSize(graph));
  TREADLE_TRY(plan::checkArity(graph));
  plan::expandBatchFunctions(graph);
  TREADLE_TRY(plan::readReferencesAtBorders(graph));
  TREADLE_TRY(plan::planLoops(graph, options));
  bool needsDataflow = false;
  for (const NodeSpec &node : graph.nodes) {
    NodeKind kind = plan::classify(node);
    needsDataflow |=
        kind == NodeKind::Enter || kind == NodeKind::NextIteration || kind == NodeKind::Exit;
    if (kind == NodeKind::Call || kind == NodeKind::While || kind == NodeKind::For)
      for (const FunctionRef &f : plan::calledFunctions(node))
        needsDataflow |= options.functions && options.functions->mayBlock(f.name);
  }
  if (needsDataflow)
    return plan::buildDataflow(graph, options);
  Expected<std::unique_ptr<Plan>> sequential = plan::buildSequential(graph, options);
  // Only binding tells whether a kernel waits.
  if (sequential && (*sequential)->mayBlock)
    return plan::buildDataflow(graph, options);
  return sequential;
}

} // namespace treadle
