// The schedules of a run, by the reference machine.
#include "treadle/Explore.h"
#include "treadle/analysis/effects/Effects.h"
#include "treadle/graph/GraphImpl.h"
#include "treadle/kernels/text/TensorText.h"
#include "treadle/lowering/Functions.h"
#include "treadle/reference/Explorer.h"
#include "treadle/reference/KernelOps.h"
#include "treadle/runtime/Variable.h"
#include "treadle/session/SessionFiles.h"
#include "treadle/session/SessionResources.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/xxhash.h"

#include <algorithm>

namespace treadle {

namespace {

/// Of values with more elements the text has their hash.
constexpr int64_t mostShown = 1000;

std::string valueText(const Tensor &t) {
  if (!t)
    return "no value";
  if (t.isRef())
    return valueText(refVariable(t).read());
  if (t.count() > mostShown && isPlain(t.dtype())) {
    llvm::ArrayRef<uint8_t> bytes(t.data<uint8_t>(), t.count() * dtypeSize(t.dtype()));
    return str(tensorTypeText(t), " with hash ", llvm::utohexstr(llvm::xxh3_64bits(bytes)));
  }
  return str(tensorTypeText(t), " = ", nestedText(t, -1));
}

std::string firingText(const GraphSpec &graph, const reference::Instance &instance) {
  std::string text = graph.nodes[static_cast<size_t>(instance.node)].name;
  for (const auto &[frame, iteration] : instance.tag)
    text += str("@", iteration);
  return text;
}

/// Which pairs of a graph's nodes conflict.
class Conflicts {
public:
  Conflicts(const ModuleIndex &index, mlir::ModuleOp module, const GraphSpec &graph)
      : analysis(module) {
    for (const NodeSpec &node : graph.nodes) {
      tfg::Node source = index.node(node.name);
      bool isNode = source && node.op != "_Arg";
      effects.push_back(isNode ? analysis.of(source) : llvm::ArrayRef<tfg::Effect>());
    }
    // What conflicts with nothing can take place any time.
    auto size = static_cast<int32_t>(graph.nodes.size());
    for (int32_t a = 0; a < size; ++a) {
      bool matters = false;
      for (int32_t b = 0; b < size && !matters; ++b)
        matters = of(a, b);
      isOrdered.push_back(matters);
    }
  }

  bool of(int32_t a, int32_t b) const {
    for (tfg::Effect x : effects[static_cast<size_t>(a)])
      for (tfg::Effect y : effects[static_cast<size_t>(b)])
        if (analysis.conflict(x, y))
          return true;
    return false;
  }
  const std::vector<bool> &ordered() const { return isOrdered; }
  bool writes(size_t node) const {
    return llvm::any_of(effects[node], [](tfg::Effect effect) { return effect.writes; });
  }

private:
  tfg::EffectAnalysis analysis;
  std::vector<llvm::ArrayRef<tfg::Effect>> effects; // by node
  std::vector<bool> isOrdered;                      // by node: its order to some other matters
};

/// Runs of one request, each from the same state.
class RunExperiment final : public reference::Experiment {
public:
  RunExperiment(const ModuleIndex &index, GraphSpec graph, GraphSpec setup, Conflicts conflicts,
                std::vector<Tensor> args, std::optional<Graph> model, FileAccess files)
      : graph(std::move(graph)), setup(std::move(setup)), conflicts(std::move(conflicts)),
        args(std::move(args)), model(std::move(model)), files(std::move(files)),
        functions(index, builtinKernels(), /*rewrite=*/nullptr), ops(builtinKernels(), &functions) {
  }

  reference::Machine &begin() override {
    makeResources();
    run = std::make_unique<RunState>(*resources, nullptr);
    run->files = &files;
    printed.clear();
    run->print = [this](std::string_view line, std::string_view) { printed += line; };
    runSetup();
    ops.begin(*run);
    stepsLeft = mostSteps;
    machine =
        std::make_unique<reference::Machine>(wiring, conflicts.ordered(), args, ops, stepsLeft);
    return *machine;
  }

  bool conflict(int32_t a, int32_t b) const override { return conflicts.of(a, b); }

  bool goesOn(size_t firings) override {
    constexpr std::string_view advice = "; explore a smaller part of it, or fewer iterations";
    if (error)
      return false;
    if (stepsLeft < 0)
      error = resourceExhausted("a run of the graph takes more than ", mostSteps, " steps", advice);
    else if (firings > mostFirings)
      error = resourceExhausted("a run of the graph runs nodes with effects more than ",
                                mostFirings, " times", advice);
    return !error;
  }

  std::string outcome() override {
    if (!machine->failures().empty()) { // others may or may not have run
      lastFailure = machine->failures().front().second;
      return "the run fails";
    }
    std::string text;
    for (size_t r = 0; r < graph.results.size(); ++r) {
      std::string values;
      for (const auto &[path, value] : machine->results()[r]) {
        values += values.empty() ? "" : ", ";
        for (int64_t iteration : path)
          values += str("@", iteration, " ");
        values += valueText(value);
      }
      text += str(graph.results[r].name, ": ", values.empty() ? "dead" : values, "\n");
    }
    for (const auto &[name, resource] : resources->all())
      if (resource->kind() == Variable::kindName)
        text += str("variable '", name,
                    "': ", valueText(static_cast<const Variable &>(*resource).read()), "\n");
    if (!printed.empty())
      text += "printed:\n" + printed;
    while (text.ends_with('\n'))
      text.pop_back();
    return text;
  }

  /// The first that came.
  std::string failure() override {
    return machine->failures().empty() ? "" : machine->failures().front().second.message;
  }

  const GraphSpec &spec() const { return graph; }
  /// Of the setup, where it failed, or of a run that takes too long.
  std::optional<Error> error;
  /// Of a run that failed.
  std::optional<Error> lastFailure;

private:
  /// Those of a model are as it is loaded.
  void makeResources() {
    if (!model) {
      own = std::make_unique<ResourceManager>();
      resources = own.get();
      return;
    }
    SessionOptions options;
    options.threads = 1;
    Expected<Model> loaded = Model::create(*model, options);
    if (!loaded) { // as it could be loaded before, so that files changed
      error = std::move(loaded.error());
      own = std::make_unique<ResourceManager>();
      resources = own.get();
      return;
    }
    session = loaded->session();
    resources = &resourcesOf(*session);
  }

  void runSetup() {
    auto plan = buildPlan(setup, {&builtinKernels(), &functions});
    Expected<std::vector<Tensor>> done =
        plan ? runPlan(**plan, {}, *run) : Unexpected(std::move(plan.error()));
    if (!done)
      error = std::move(done.error());
  }

  static constexpr int64_t mostSteps = 1000000;
  static constexpr size_t mostFirings = 5000;

  const GraphSpec graph, setup;
  const reference::Wiring wiring{graph};
  const Conflicts conflicts;
  const std::vector<Tensor> args;
  const std::optional<Graph> model;
  const FileAccess files;
  ModuleFunctions functions;
  reference::KernelOps ops;
  std::unique_ptr<ResourceManager> own;
  std::optional<Session> session; // of the model
  ResourceManager *resources = nullptr;
  std::unique_ptr<RunState> run;
  int64_t stepsLeft = 0;
  std::unique_ptr<reference::Machine> machine;
  std::string printed;
};

} // namespace

/// Where a run writes again what its setup wrote, every run begins anew.
static std::vector<std::string> repeatedSetup(const GraphSpec &graph, const GraphSpec &setup,
                                              const Conflicts &conflicts) {
  llvm::StringSet<> prepared;
  for (const NodeSpec &node : setup.nodes)
    prepared.insert(node.name);
  std::vector<std::string> notes;
  for (auto [i, node] : llvm::enumerate(graph.nodes))
    if (prepared.contains(node.name) && conflicts.writes(i))
      notes.push_back(str("the run itself runs '", node.name,
                          "', which the setup ran before: whatever a run before this one wrote "
                          "there is lost"));
  return notes;
}

/// `model`: the graph, if it is a model's, whose state each schedule begins with.
static Expected<Exploration> exploreGraph(const Graph &whole, const ExploreRequest &request,
                                          std::optional<Graph> model) {
  // As one graph of frames: what could take place at once is then there to see.
  Graph flat = TREADLE_TRY(
      whole.runPasses("tfg-region-to-functional,tfg-order,tfg-functional-to-v1,tfg-inline"));
  const ModuleIndex &index = flat.impl->index();
  Request asked{{}, request.fetches, request.targets};
  std::vector<Tensor> args;
  for (const auto &[name, value] : request.feeds) {
    asked.feeds.push_back(name);
    args.push_back(value);
  }
  auto lowered = [&](const Request &asked) {
    return neededPart(index, asked).and_then([&](const NeededPart &part) {
      return lower(index, part);
    });
  };
  Expected<GraphSpec> graph = lowered(asked);
  Expected<GraphSpec> setup = lowered({{}, {}, request.setup});
  if (!graph || !setup)
    return Unexpected(std::move(graph ? setup.error() : graph.error()));
  Conflicts conflicts(index, *flat.impl->module, *graph);
  std::vector<std::string> notes = repeatedSetup(*graph, *setup, conflicts);
  RunExperiment experiment(index, std::move(*graph), std::move(*setup), std::move(conflicts),
                           std::move(args), std::move(model), filesFor(whole, {}));
  reference::Findings found = reference::explore(experiment, request.limit);
  if (experiment.error)
    return Unexpected(std::move(*experiment.error));
  if (experiment.lastFailure && found.isComplete && found.difference.empty()) // all of them fail
    return Unexpected(std::move(*experiment.lastFailure));
  Exploration out{found.schedules, found.isComplete, found.isAmbiguous, found.isRandom, {}, notes};
  for (const reference::Schedule &schedule : found.difference) {
    Exploration::Schedule &text = out.difference.emplace_back();
    text.outcome = schedule.outcome;
    if (!schedule.failure.empty())
      text.outcome += ": " + schedule.failure;
    for (const reference::Instance &instance : schedule.instances)
      text.firings.push_back(firingText(experiment.spec(), instance));
  }
  return out;
}

Expected<Exploration> explore(const Graph &graph, const ExploreRequest &request) {
  if (!graph.impl)
    return Unexpected(invalidArgument("the graph is empty; read one with Graph::fromFile"));
  if (request.fetches.empty() && request.targets.empty())
    return Unexpected(invalidArgument("there is nothing to run: name fetches or targets"));
  if (!graph.isSavedModel())
    return exploreGraph(graph, request, std::nullopt);
  SessionOptions options;
  options.threads = 1;
  return Model::create(graph, options).and_then([&](const Model &model) {
    Graph chosen = model.session().graph(); // of several meta graphs
    return exploreGraph(chosen, request, chosen);
  });
}

} // namespace treadle
