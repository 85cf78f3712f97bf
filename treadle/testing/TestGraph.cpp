#include "treadle/testing/TestGraph.h"

#include "treadle/runtime/Variable.h"

#include <algorithm>

namespace treadle::test {
namespace {

// --- kernels -----------------------------------------------------------------------------------

int32_t add(uint32_t a, uint32_t b) { return static_cast<int32_t>(a + b); }
int32_t sub(uint32_t a, uint32_t b) { return static_cast<int32_t>(a - b); }
int32_t mul(uint32_t a, uint32_t b) { return static_cast<int32_t>(a * b); }

uint32_t operand(const OpContext &ctx, int i) { return static_cast<uint32_t>(value(ctx.input(i))); }

template <int32_t (*op)(uint32_t, uint32_t)> void binary(OpContext &ctx) {
  ctx.setOutput(0, scalar(op(operand(ctx, 0), operand(ctx, 1))));
}

void less(OpContext &ctx) {
  ctx.setOutput(0, Tensor::scalar(DType::Bool, value(ctx.input(0)) < value(ctx.input(1))));
}

void notEqual(OpContext &ctx) {
  ctx.setOutput(0, Tensor::scalar(DType::Bool, value(ctx.input(0)) != value(ctx.input(1))));
}

void logicalNot(OpContext &ctx) {
  ctx.setOutput(0, Tensor::scalar(DType::Bool, !ctx.input(0).scalarValue<bool>()));
}

void toFloat(OpContext &ctx) {
  ctx.setOutput(0, Tensor::scalar(DType::Float32, static_cast<float>(value(ctx.input(0)))));
}

void identity(OpContext &ctx) { ctx.setOutput(0, ctx.takeInput(0)); }

void waitAdd(OpContext &ctx) {
  static ThreadPool elsewhere(2);
  int32_t sum = add(operand(ctx, 0), operand(ctx, 1));
  elsewhere.schedule([suspension = ctx.suspend(), sum] {
    if (sum % 3 == 0)
      std::this_thread::yield();
    if (suspension->claim())
      suspension->complete({scalar(sum)});
  });
}

void never(OpContext &ctx) { ctx.suspend(); }

void refuse(OpContext &ctx) {
  if (value(ctx.input(0)) == ctx.state<int64_t>())
    return ctx.fail(invalidArgument("refuses ", ctx.state<int64_t>()));
  ctx.setOutput(0, ctx.takeInput(0));
}

Expected<BoundKernel> bindRefuse(const BindContext &node) {
  return node.attrs.get<int64_t>("value").map(
      [](int64_t value) { return boundWith<int64_t>(refuse, value); });
}

Ref<Variable> variable(OpContext &ctx) {
  const auto &name = ctx.state<std::string>();
  return ctx.run().resources.lookupOrCreate<Variable>("", name, [&] {
    auto made = makeRef<Variable>(name, DType::Int32);
    made->value = scalar(0);
    return made;
  });
}

void readVar(OpContext &ctx) { ctx.setOutput(0, variable(ctx)->read()); }

void refVar(OpContext &ctx) { ctx.setOutput(0, makeRefTensor(variable(ctx))); }

void addToVar(OpContext &ctx) {
  Ref<Variable> v = variable(ctx);
  std::lock_guard lock(v->mutex);
  v->value = scalar(add(static_cast<uint32_t>(value(v->value)), operand(ctx, 0)));
  ctx.setOutput(0, v->value);
}

template <KernelFn fn> Expected<BoundKernel> bind(const BindContext &) { return BoundKernel{fn}; }

template <KernelFn fn> Expected<BoundKernel> bindVar(const BindContext &node) {
  return node.attrs.get<std::string>("var").map(
      [](std::string name) { return boundWith<std::string>(fn, std::move(name)); });
}

Expected<BoundKernel> bindSlowAdd(const BindContext &) {
  return BoundKernel{.fn = binary<add>, .isExpensive = true};
}

template <KernelFn fn> Expected<BoundKernel> bindWaiting(const BindContext &) {
  return BoundKernel{.fn = fn, .mayBlock = true};
}

Expected<BoundKernel> bindRefs(const BindContext &) {
  return BoundKernel{.fn = identity, .takesRefs = true};
}

const KernelEntry table[] = {
    {"Add", bind<binary<add>>},
    {"Sub", bind<binary<sub>>},
    {"Mul", bind<binary<mul>>},
    {"Less", bind<less>},
    {"NotEqual", bind<notEqual>},
    {"Not", bind<logicalNot>},
    {"Identity", bind<identity>},
    {"LoopCond", bind<identity>},
    {"ToFloat", bind<toFloat>},
    {"SlowAdd", bindSlowAdd},
    {"WaitAdd", bindWaiting<waitAdd>},
    {"Never", bindWaiting<never>},
    {"Refuse", bindRefuse},
    {"ReadVar", bindVar<readVar>},
    {"AddToVar", bindVar<addToVar>},
    {"Refs", bindRefs},
    {"RefVar", bindVar<refVar>},
};

} // namespace

const KernelRegistry &kernels() {
  static const KernelRegistry *registry = [] {
    auto *made = new KernelRegistry;
    made->add(table);
    return made;
  }();
  return *registry;
}

// --- graphs ------------------------------------------------------------------------------------

std::string GraphMaker::fresh(std::string_view stem) const {
  return str(stem, "_", graph.nodes.size());
}

ValueType GraphMaker::typeOf(Endpoint e) const {
  return e.node < 0 ? i32 : graph.nodes[e.node].outputTypes[e.output];
}

int GraphMaker::add(std::string name, std::string op, std::vector<Endpoint> inputs,
                    std::vector<ValueType> outputs, std::vector<int32_t> controls) {
  NodeSpec node;
  node.name = std::move(name);
  node.op = std::move(op);
  for (Endpoint e : inputs)
    node.inputTypes.push_back(typeOf(e));
  node.inputs = std::move(inputs);
  node.controls = std::move(controls);
  node.outputTypes = std::move(outputs);
  graph.nodes.push_back(std::move(node));
  return static_cast<int>(graph.nodes.size()) - 1;
}

int GraphMaker::constant(int32_t v, std::vector<int32_t> controls) {
  int node = add(fresh("const"), "Const", {}, {i32}, std::move(controls));
  attr(node, "value", scalar(v));
  return node;
}

int GraphMaker::boolean(bool v) {
  int node = add(fresh("bool"), "Const", {}, {i1});
  attr(node, "value", Tensor::scalar(DType::Bool, v));
  return node;
}

int GraphMaker::arg(ValueType type) {
  int node = add(fresh("arg"), "_Arg", {}, {type});
  graph.args.push_back({node, 0});
  return node;
}

int GraphMaker::enter(Endpoint from, const std::string &frame, bool isConstant,
                      int64_t parallelIterations) {
  int node = add(fresh("enter"), "Enter", {from}, {typeOf(from)});
  attr(node, "frame_name", frame);
  attr(node, "is_constant", isConstant);
  attr(node, "parallel_iterations", parallelIterations);
  return node;
}

int GraphMaker::loopVariable(Endpoint from, const std::string &frame, int64_t parallelIterations) {
  return merge({{enter(from, frame, false, parallelIterations), 0}, {-1, 0}});
}

void GraphMaker::close(int merge, Endpoint next) {
  int node = add(fresh("next"), "NextIteration", {next}, {typeOf(next)});
  graph.nodes[merge].inputs[1] = {node, 0};
}

int GraphMaker::switchOn(Endpoint v, Endpoint predicate) {
  return add(fresh("switch"), "Switch", {v, predicate}, {typeOf(v), typeOf(v)});
}

int GraphMaker::merge(std::vector<Endpoint> inputs, std::vector<int32_t> controls) {
  ValueType type = typeOf(inputs[0]);
  return add(fresh("merge"), "Merge", std::move(inputs), {type, i32}, std::move(controls));
}

int GraphMaker::identity(Endpoint from, std::vector<int32_t> controls) {
  return add(fresh("identity"), "Identity", {from}, {typeOf(from)}, std::move(controls));
}

int GraphMaker::call(std::string function, std::vector<Endpoint> inputs,
                     std::vector<ValueType> outputs) {
  int node = add(fresh("call"), std::move(function), std::move(inputs), std::move(outputs));
  graph.nodes[node].isFunctionCall = true;
  return node;
}

void GraphMaker::result(Endpoint from, std::vector<IterationSelector> iterations) {
  graph.results.push_back({from, graph.nodes[from.node].name, std::move(iterations)});
}

// --- functions and runs ------------------------------------------------------------------------

const GraphSpec *Functions::body(const std::string &name) const {
  auto it = bodies.find(name);
  return it == bodies.end() ? nullptr : &it->second;
}

Expected<std::unique_ptr<Plan>> build(GraphSpec graph, const PlanOptions &options, Layout layout) {
  if (layout == Layout::Chosen)
    return buildPlan(std::move(graph), options);
  return plan::bindNodes(graph, options).and_then([](plan::BoundGraph bound) {
    return plan::buildDataflow(std::move(bound));
  });
}

Expected<const Plan *> Functions::plan(const FunctionRef &function, ArgMode mode) {
  const GraphSpec *spec = body(function.name);
  if (!spec)
    return Unexpected(notFound("there is no function '", function.name, "'"));
  std::lock_guard lock(mutex);
  std::unique_ptr<Plan> &plan = plans[{function.name, mode}];
  if (!plan) {
    auto made = TREADLE_TRY(
        build(*spec, {.kernels = &kernels(), .functions = this, .argMode = mode}, layout));
    plan = std::move(made);
  }
  return plan.get();
}

bool Functions::mayBlock(const std::string &function) {
  std::vector<std::string> asked;
  return mayBlock(function, asked);
}

bool Functions::mayBlock(const std::string &function, std::vector<std::string> &asked) {
  const GraphSpec *spec = body(function);
  if (!spec || std::find(asked.begin(), asked.end(), function) != asked.end())
    return false;
  asked.push_back(function);
  return std::any_of(spec->nodes.begin(), spec->nodes.end(), [&](const NodeSpec &node) {
    if (node.op == "WaitAdd" || node.op == "Never")
      return true;
    std::vector<FunctionRef> called = plan::calledFunctions(node);
    return std::any_of(called.begin(), called.end(),
                       [&](const FunctionRef &f) { return mayBlock(f.name, asked); });
  });
}

Expected<std::unique_ptr<Plan>> build(GraphSpec graph, FunctionLibrary *functions, Layout layout) {
  return build(std::move(graph), {.kernels = &kernels(), .functions = functions}, layout);
}

Expected<std::vector<Tensor>> run(GraphSpec graph, std::vector<Tensor> args,
                                  FunctionLibrary *functions, Layout layout, ThreadPool *pool) {
  std::unique_ptr<Plan> plan = TREADLE_TRY(build(std::move(graph), functions, layout));
  ResourceManager resources;
  RunState state(resources, pool);
  return plan->run(std::move(args), state);
}

} // namespace treadle::test
