#include "treadle/explain/RunExperiment.h"

#include "treadle/kernels/text/TensorText.h"
#include "treadle/runtime/Variable.h"
#include "treadle/session/SessionResources.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/xxhash.h"

namespace treadle {

std::string shownValue(const Tensor &value) {
  constexpr int64_t maxShown = 1000;
  if (!value)
    return "no value";
  if (value.isRef())
    return shownValue(refVariable(value).read());
  if (value.count() > maxShown && isPlain(value.dtype())) {
    llvm::ArrayRef<uint8_t> bytes(value.data<uint8_t>(), value.count() * dtypeSize(value.dtype()));
    return str(tensorTypeText(value), " with hash ", llvm::utohexstr(llvm::xxh3_64bits(bytes)));
  }
  return str(tensorTypeText(value), " = ", nestedText(value, -1));
}

// ---- conflicts

Conflicts::Conflicts(const ModuleIndex &index, mlir::ModuleOp module, const GraphSpec &graph)
    : analysis(module) {
  for (const NodeSpec &node : graph.nodes) {
    tfg::Node source = index.node(node.name);
    bool isNode = source && node.op != "_Arg";
    effects.push_back(isNode ? analysis.of(source) : llvm::ArrayRef<tfg::Effect>());
  }
  // Nodes without conflicts may run at any time.
  auto size = static_cast<int32_t>(graph.nodes.size());
  for (int32_t a = 0; a < size; ++a) {
    bool matters = false;
    for (int32_t b = 0; b < size && !matters; ++b)
      matters = of(a, b);
    isOrdered.push_back(matters);
  }
}

bool Conflicts::of(int32_t a, int32_t b) const {
  for (tfg::Effect x : effects[static_cast<size_t>(a)])
    for (tfg::Effect y : effects[static_cast<size_t>(b)])
      if (analysis.conflict(x, y))
        return true;
  return false;
}

bool Conflicts::writes(size_t node) const {
  return llvm::any_of(effects[node], [](tfg::Effect effect) { return effect.writes; });
}

// ---- the experiment

RunExperiment::RunExperiment(Graph flatGraph, GraphSpec graph, GraphSpec setup,
                             std::vector<Tensor> args, std::optional<Graph> model, FileAccess files,
                             double timeout)
    : flat(std::move(flatGraph)), graph(std::move(graph)), setup(std::move(setup)),
      conflicts(flat.impl->index(), *flat.impl->module, this->graph), args(std::move(args)),
      model(std::move(model)), files(std::move(files)),
      functions(flat.impl->index(), builtinKernels(), /*rewrite=*/nullptr),
      ops(builtinKernels(), &functions), timeout(timeout) {
  noteRepeatedSetup();
}

/// If a run writes what its setup wrote, each run repeats the setup.
void RunExperiment::noteRepeatedSetup() {
  llvm::StringSet<> prepared;
  for (const NodeSpec &node : setup.nodes)
    prepared.insert(node.name);
  for (auto [i, node] : llvm::enumerate(graph.nodes))
    if (prepared.contains(node.name) && conflicts.writes(i))
      notes.push_back(
          str("the run itself runs '", node.name,
              "', which the setup ran too: values that earlier runs wrote there are lost"));
}

Expected<std::unique_ptr<RunExperiment>>
RunExperiment::of(const Graph &whole, const ExploreRequest &request, std::optional<Graph> model) {
  Graph flat = TREADLE_TRY(
      whole.runPasses("tfg-region-to-functional,tfg-order,tfg-functional-to-v1,tfg-inline"));
  Request asked{.feeds = {}, .fetches = request.fetches, .targets = request.targets};
  std::vector<Tensor> args;
  for (const auto &[name, value] : request.feeds) {
    asked.feeds.push_back(name);
    args.push_back(value);
  }
  auto lowered = [&](const Request &asked) {
    const ModuleIndex &index = flat.impl->index();
    return prunedSubgraph(index, asked).and_then([&](const PrunedSubgraph &part) {
      return lower(index, part);
    });
  };
  GraphSpec graph = TREADLE_TRY(lowered(asked));
  GraphSpec setup = TREADLE_TRY(lowered({{}, {}, request.setup}));
  std::unique_ptr<RunExperiment> experiment(
      new RunExperiment(std::move(flat), std::move(graph), std::move(setup), std::move(args),
                        std::move(model), filesFor(whole, {}), request.timeout));
  // The machine assumes valid frames; building a plan checks them.
  TREADLE_TRY(buildPlan(experiment->graph, {&builtinKernels(), &experiment->functions}));
  return experiment;
}

Expected<std::unique_ptr<RunExperiment>> RunExperiment::of(const Graph &graph,
                                                           const ExploreRequest &request) {
  if (!graph.impl)
    return Unexpected(invalidArgument("the graph is empty; read one with Graph::fromFile"));
  if (request.fetches.empty() && request.targets.empty())
    return Unexpected(invalidArgument("there is nothing to run; name fetches or targets"));
  if (!graph.isSavedModel())
    return of(graph, request, std::nullopt);
  SessionOptions options;
  options.threads = 1;
  return Model::create(graph, options).and_then([&](const Model &model) {
    Graph chosen = model.session().graph(); // if there are several meta graphs
    return of(chosen, request, chosen);
  });
}

reference::Interpreter &RunExperiment::begin() {
  makeResources();
  deadline.reset();
  run = std::make_unique<RunState>(*resources, nullptr);
  deadline.emplace(*run, timeout);
  run->files = &files;
  printed.clear();
  run->print = [this](std::string_view line, std::string_view) { printed += line; };
  runSetup();
  ops.begin(*run);
  stepsLeft = maxSteps;
  machine =
      std::make_unique<reference::Interpreter>(wiring, conflicts.ordered(), args, ops, stepsLeft,
                                               /*random=*/nullptr, observer);
  return *machine;
}

/// Each run starts with the resources of the loaded model.
void RunExperiment::makeResources() {
  if (!model) {
    own = std::make_unique<ResourceManager>();
    resources = own.get();
    return;
  }
  SessionOptions options;
  options.threads = 1;
  Expected<Model> loaded = Model::create(*model, options);
  if (!loaded) { // it could be loaded before, so files must have changed
    error = std::move(loaded.error());
    own = std::make_unique<ResourceManager>();
    resources = own.get();
    return;
  }
  session = loaded->session();
  resources = &resourcesOf(*session);
}

void RunExperiment::runSetup() {
  auto plan = buildPlan(setup, {&builtinKernels(), &functions});
  Expected<std::vector<Tensor>> done =
      plan ? (*plan)->run({}, *run) : Unexpected(std::move(plan.error()));
  if (!done)
    error = std::move(done.error());
}

bool RunExperiment::shouldContinue(size_t firings) {
  constexpr std::string_view advice = "; explore a smaller part of it, or fewer iterations";
  if (error)
    return false;
  if (run->isStopped())
    error = run->stopReason();
  else if (stepsLeft < 0)
    error = resourceExhausted("a run of the graph takes more than ", maxSteps, " steps", advice);
  else if (firings > mostFirings)
    error = resourceExhausted("a run of the graph runs nodes with effects more than ", mostFirings,
                              " times", advice);
  return !error;
}

std::vector<std::pair<std::string, std::string>> RunExperiment::results() const {
  std::vector<std::pair<std::string, std::string>> out;
  for (size_t r = 0; r < graph.results.size(); ++r) {
    std::string values;
    for (const auto &[path, value] : machine->results()[r]) {
      values += values.empty() ? "" : ", ";
      for (int64_t iteration : path)
        values += str("@", iteration, " ");
      values += shownValue(value);
    }
    out.emplace_back(graph.results[r].name, values.empty() ? "dead" : values);
  }
  return out;
}

std::string RunExperiment::outcome() {
  if (!machine->failures().empty()) { // other nodes may or may not have run
    lastFailure = machine->failures().front().second;
    return "the run fails";
  }
  std::string text;
  for (const auto &[name, value] : results())
    text += str(name, ": ", value, "\n");
  for (const auto &[name, resource] : resources->all())
    if (resource->kind() == Variable::kindName)
      text += str("variable '", name,
                  "': ", shownValue(static_cast<const Variable &>(*resource).read()), "\n");
  if (!printed.empty())
    text += "printed:\n" + printed;
  while (text.ends_with('\n'))
    text.pop_back();
  return text;
}

std::string RunExperiment::failure() {
  return machine->failures().empty() ? "" : machine->failures().front().second.message;
}

} // namespace treadle
