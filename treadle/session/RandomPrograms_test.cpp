// Runs random programs before and after each pass: with the reference interpreter under a random
// schedule, and with the executor on one and eight threads. All outcomes must equal that of direct
// evaluation. TREADLE_STRESS_PROGRAMS sets the number of programs; TREADLE_STRESS_SEED the first
// seed, to repeat a failure.
#include "treadle/analysis/effects/Effects.h"
#include "treadle/dialect/TfExecutor.h"
#include "treadle/graph/SharedContext.h"
#include "treadle/kernels/Families.h"
#include "treadle/lowering/Functions.h"
#include "treadle/reference/KernelOps.h"
#include "treadle/runtime/Run.h"
#include "treadle/runtime/ThreadPool.h"
#include "treadle/runtime/Variable.h"
#include "treadle/testing/RandomProgram.h"
#include "treadle/testing/TestStress.h"
#include "treadle/transforms/Passes.h"
#include "treadle/transforms/PlanRewrites.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OperationSupport.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"

#include <gtest/gtest.h>

#include <atomic>
#include <fstream>
#include <map>
#include <mutex>
#include <set>
#include <thread>

using namespace mlir;

namespace treadle::test {
namespace {

// --- passes --------------------------------------------------------------------------------------

/// Pipelines for graphs whose effects aren't ordered by edges. Effects in a function have the order
/// of its nodes, while most passes preserve only edges; therefore tfg-order comes first. Pipelines
/// that leave the executable form return to it.
constexpr const char *anyOrder[] = {
    "tfg-order",
    "tfg-toposort",
    "tfg-verify",
    "tfg-order,tfg-inline,tfg-functional-to-v1,tfg-inline",
    "tfg-order,tfg-inline,tfg-deps-to-chains,tfg-overlap-loops{all=true}",
    "tfg-order,tfg-inline,tfg-functional-to-v1,tfg-inline,tfg-deps-to-chains",
    "tfg-functional-to-region,tfg-region-to-functional",
    "tfg-to-tf-executor,tf-executor-to-tfg",
    "tfg-deps-to-chains",
    "tfg-deps-to-chains{only-gaining=true},tfg-overlap-loops",
    "tfg-deps-to-chains{loop-overlap=on},tfg-overlap-loops{all=true}",
};
constexpr const char *ordered[] = {
    "tfg-cse{keep=call}",
    "tfg-prune{fetches=call:0,call:1,call:2,call:3,call:4}",
    "tfg-prune-arguments{keep=call}",
    "tfg-dedupe-constants{keep=call}",
    "tfg-deps-to-chains,tfg-overlap-loops{all=true}",
    "tfg-functional-to-region,tfg-deps-to-chains,tfg-region-to-functional",
    "tfg-functional-to-v1,tfg-deps-to-chains",
    "tfg-name-compress{keep=call}",
    "tfg-inline",
    "tfg-shape-inference",
    "tfg-hoist-loop-invariants",
    "tfg-outline-clusters{fetches=call}",
    "tfg-remap{keep=call}",
    "tfg-channels-last",
    "tfg-fuse-kernels{keep=call}",
    "tfg-remove-quantization",
    "tfg-place{rules=\"VarHandleOp=/cpu:0\"}",
    "tfg-constant-folding",
    "tfg-functional-to-v1",
    "tfg-functional-to-v1,tfg-hoist-loop-invariants",
    "tfg-functional-to-v1,tfg-v1-to-functional",
    "tfg-functional-to-v1,tfg-structure-loops,tfg-region-to-functional",
    "tfg-functional-to-v1,tfg-inline",
    "tfg-functional-to-region,tfg-cf-sink,tfg-region-to-functional",
    "tfg-expand-symbolic-gradients",
    "tfg-expand-programs",
    "tfg-specialize-functions",
    "tfg-specialize-functions{shapes=true constants=true}",
    "tfg-lift-graph-to-func{fetches=call:0,call:1,call:2,call:3,call:4},tfg-lower-func-to-graph",
    "tfg-lift-legacy-call",
    "tfg-select-implementations",
    "tfg-inline,tfg-preserve-order{after=call/n2:call/n1}",
    "tfg-inline,tfg-preserve-order{after=call/n2:call/n1 soft=true},tfg-functional-to-v1",
    "tfg-schedule-communication",
    "tfg-partition{ranks=2 fetches=call:0,call:1,call:2,call:3,call:4}",
    "tfg-consolidate-attrs",
    "tfg-consolidate-attrs,tfg-prepare-attrs-export",
    "tfg-default{fetches=call:0,call:1,call:2,call:3,call:4}",
};

/// A context with its pass managers.
class PassRunner {
public:
  PassRunner() : context(MLIRContext::Threading::DISABLED) {
    static const bool isRegistered = (registerTreadlePasses(), registerTreadlePipelines(), true);
    (void)isRegistered;
    context.loadDialect<tfg::TfgDialect, tf_type::TfTypeDialect, func::FuncDialect,
                        tf_executor::TfExecutorDialect, tf::TfDialect>();
    share(context);
  }

  OwningOpRef<ModuleOp> parse(const std::string &text) {
    return parseSourceString<ModuleOp>(text, &context);
  }
  /// Returns a transformed copy; null if the passes fail.
  OwningOpRef<ModuleOp> run(ModuleOp module, const std::string &pipeline) {
    std::unique_ptr<PassManager> &passes = managers[pipeline];
    if (!passes) {
      passes = std::make_unique<PassManager>(&context, ModuleOp::getOperationName());
      passes->enableVerifier(false); // one verification at the end suffices
      EXPECT_TRUE(succeeded(parsePassPipeline(pipeline, *passes))) << pipeline;
    }
    OwningOpRef<ModuleOp> copy(module.clone());
    bool isRight = succeeded(passes->run(*copy)) && succeeded(verify(*copy));
    return isRight ? std::move(copy) : OwningOpRef<ModuleOp>();
  }

private:
  MLIRContext context;
  std::map<std::string, std::unique_ptr<PassManager>> managers;
};

/// Splits off the last pass of a pipeline. Options may contain commas.
std::pair<std::string, std::string> splitLast(const std::string &pipeline) {
  size_t comma = pipeline.npos;
  int depth = 0;
  for (size_t i = 0; i < pipeline.size(); ++i) {
    depth += pipeline[i] == '{' ? 1 : pipeline[i] == '}' ? -1 : 0;
    if (pipeline[i] == ',' && depth == 0)
      comma = i;
  }
  return comma == pipeline.npos ? std::pair(std::string(), pipeline)
                                : std::pair(pipeline.substr(0, comma), pipeline.substr(comma + 1));
}

/// A program after each pipeline. Common prefixes of pipelines run once.
class TransformedPrograms {
public:
  TransformedPrograms(PassRunner &compiler, OwningOpRef<ModuleOp> original) : compiler(compiler) {
    made[""] = std::move(original);
  }
  /// Returns null if the passes fail.
  ModuleOp after(const std::string &pipeline) {
    OwningOpRef<ModuleOp> &module = made[pipeline];
    if (module || failed.contains(pipeline))
      return module.get();
    auto [before, last] = splitLast(pipeline);
    if (ModuleOp from = after(before))
      module = compiler.run(from, last);
    if (!module)
      failed.insert(pipeline);
    return module.get();
  }

private:
  PassRunner &compiler;
  std::map<std::string, OwningOpRef<ModuleOp>> made;
  std::set<std::string> failed;
};

bool areEqual(ModuleOp a, ModuleOp b) {
  return OperationEquivalence::isEquivalentTo(a, b, OperationEquivalence::IgnoreLocations);
}

// --- runs ----------------------------------------------------------------------------------------

/// Mostly short, but sometimes long enough for other ops to overtake.
void delay() {
  thread_local std::minstd_rand random(
      static_cast<unsigned>(std::hash<std::thread::id>()(std::this_thread::get_id())));
  if (unsigned r = random() % 16; r == 0)
    std::this_thread::sleep_for(std::chrono::microseconds(20));
  else if (r < 8)
    std::this_thread::yield();
}

const KernelRegistry &kernels() {
  static const KernelRegistry *registry = [] {
    auto *made = new KernelRegistry(&builtinKernels());
    made->add("Delay", [](const BindContext &) {
      return Expected<BoundKernel>(BoundKernel{[](OpContext &ctx) {
        delay();
        ctx.setOutput(0, ctx.takeInput(0));
      }});
    });
    return made;
  }();
  return *registry;
}

const OpTraitsTable &traits() {
  static const OpTraitsTable *table = [] {
    auto *made = new OpTraitsTable;
    made->add("Delay", {{}, /*touchesWorld=*/false, /*waits=*/true});
    return made;
  }();
  return *table;
}

/// The state that a run changes, and its output.
struct RunEnvironment {
  explicit RunEnvironment(ThreadPool *pool) : run(resources, pool) {
    run.print = [this](std::string_view line, std::string_view) {
      std::lock_guard lock(mutex);
      printed += line;
    };
  }
  ~RunEnvironment() { resources.clear(); }

  std::string outcome(const std::vector<Tensor> &results) {
    std::vector<int32_t> log(results[1].data<int32_t>(),
                             results[1].data<int32_t>() + results[1].count());
    std::array<int32_t, numVariables> variables{};
    for (int i = 0; i < numVariables; ++i)
      variables[i] = results[2 + i].scalarValue<int32_t>();
    return outcomeText(results[0].scalarValue<int32_t>(), log, variables, printed);
  }

  ResourceManager resources;
  RunState run;
  std::mutex mutex;
  std::string printed;
};

Expected<GraphSpec> lowered(const ModuleIndex &index, const Rewrite &rewrite,
                            FunctionLibrary &functions) {
  const Request request{{}, {"call:0", "call:1", "call:2", "call:3", "call:4"}, {}};
  return prunedSubgraph(index, request).and_then([&](PrunedSubgraph part) {
    if (rewrite)
      rewrite(part, index, functions);
    return lower(index, part);
  });
}

class Executable {
public:
  explicit Executable(ModuleOp module)
      : index(module), functions(index, kernels(), rewrite, LoopOverlap::Auto, &traits()) {
    Expected<GraphSpec> graph = lowered(index, rewrite, functions);
    if (!graph) {
      error = graph.error().message;
      return;
    }
    auto built = buildPlan(std::move(*graph),
                           {&kernels(), &functions, ArgMode::Owned, LoopOverlap::Auto, &traits()});
    if (built)
      plan = std::move(*built);
    else
      error = built.error().message;
  }

  std::string run(ThreadPool *pool) {
    if (!plan)
      return "no plan: " + error;
    RunEnvironment world(pool);
    auto results = plan->run({}, world.run);
    return results ? world.outcome(*results) : "error: " + results.error().message;
  }

private:
  const ModuleIndex index;
  const Rewrite rewrite = planRewrites({.fuses = true});
  ModuleFunctions functions;
  std::unique_ptr<Plan> plan;
  std::string error;
};

/// Runs the module with the reference interpreter under a random schedule.
std::string byReference(ModuleOp module, unsigned seed) {
  ModuleIndex index(module);
  ModuleFunctions functions(index, kernels(), /*rewrite=*/nullptr);
  Expected<GraphSpec> graph = lowered(index, /*rewrite=*/nullptr, functions);
  if (!graph)
    return "no graph: " + graph.error().message;
  tfg::EffectAnalysis effects(module);
  std::vector<bool> hasEffects;
  for (const NodeSpec &node : graph->nodes) {
    tfg::Node source = index.node(node.name);
    hasEffects.push_back(source && !effects.of(source).empty());
  }
  reference::KernelOps ops(kernels(), &functions);
  RunEnvironment world(nullptr);
  ops.begin(world.run);
  std::mt19937 random(seed);
  int64_t stepsLeft = 1000000;
  reference::Wiring wiring(*graph);
  reference::Interpreter machine(wiring, hasEffects, {}, ops, stepsLeft, &random);
  while (!machine.ready().empty()) {
    auto next = machine.ready().begin();
    std::advance(next, random() % machine.ready().size());
    machine.fire(reference::Instance(next->first));
  }
  if (!machine.failures().empty())
    return "error: " + machine.failures().front().second.message;
  std::vector<Tensor> results;
  for (const reference::Interpreter::Values &values : machine.results()) {
    if (values.size() != 1)
      return str("result ", results.size(), values.empty() ? " is dead" : " has several values");
    results.push_back(values.begin()->second);
  }
  return world.outcome(results);
}

// --- the test ------------------------------------------------------------------------------------

struct Tally {
  std::atomic<int64_t> programs = 0;
  std::mutex mutex;
  std::map<std::string, int64_t> changed; // by pipeline
};

class Trial {
public:
  Trial(PassRunner &compiler, Tally &tally, unsigned seed, ThreadPool &pool)
      : compiler(compiler), tally(tally), seed(seed), pool(pool) {}

  void run() {
    GeneratedProgram program = randomProgram(seed);
    std::optional<std::string> meaning = program.meaning();
    if (!meaning)
      return;
    expected = *meaning;
    ++tally.programs;
    text = program.text();
    OwningOpRef<ModuleOp> module = compiler.parse(text);
    ASSERT_TRUE(module) << text;
    check(*module, "no pass", 4);
    TransformedPrograms versions(compiler, std::move(module));
    for (const char *pipeline : anyOrder)
      tryPass(versions, "", pipeline);
    for (const char *pipeline : ordered)
      tryPass(versions, "tfg-order", pipeline);
  }

private:
  void check(ModuleOp module, const std::string &passes, int runs = 1) {
    Executable executable(module);
    expect(executable.run(nullptr), passes + ", 1 thread");
    for (int i = 0; i < runs; ++i)
      expect(executable.run(&pool), passes + ", 8 threads");
  }

  void tryPass(TransformedPrograms &versions, const std::string &first,
               const std::string &pipeline) {
    std::string whole = first.empty() ? pipeline : first + "," + pipeline;
    ModuleOp before = versions.after(first), changed = versions.after(whole);
    if (!changed)
      return expect("the pass fails", whole);
    if (areEqual(before, changed))
      return;
    {
      std::lock_guard lock(tally.mutex);
      ++tally.changed[pipeline];
    }
    // Different pipelines may produce the same module.
    if (llvm::any_of(checked, [&](ModuleOp other) { return areEqual(other, changed); }))
      return;
    checked.push_back(changed);
    check(changed, whole);
    // The reference interpreter explores frames, but not functions.
    if (pipeline.starts_with("tfg-order,tfg-inline,"))
      expect(byReference(changed, seed), whole + ", by the reference");
  }

  void expect(const std::string &found, const std::string &where) {
    EXPECT_EQ(found, expected) << "seed " << seed << ": " << where
                               << (isShown ? std::string() : "\n" + text);
    isShown |= found != expected;
  }

  PassRunner &compiler;
  Tally &tally;
  const unsigned seed;
  ThreadPool &pool;
  std::string expected, text;
  std::vector<ModuleOp> checked; // the distinct versions
  bool isShown = false;
};

TEST(RandomPrograms, GiveTheSameAfterEveryPass) {
  int64_t count = numPrograms(800, 60);
  ThreadPool pool(7);
  Tally tally;
  std::atomic<int64_t> next = 0;
  auto work = [&] {
    std::unique_ptr<PassRunner> compiler;
    constexpr int whileOneServes = 100; // programs per context: contexts never shrink
    for (int served = 0; !HasFailure(); ++served) {
      int64_t i = next++;
      if (i >= count)
        return;
      if (served % whileOneServes == 0)
        compiler = std::make_unique<PassRunner>();
      Trial(*compiler, tally, firstSeed() + static_cast<unsigned>(i), pool).run();
    }
  };
  std::vector<std::thread> workers(std::max(1u, std::thread::hardware_concurrency()));
  for (std::thread &worker : workers)
    worker = std::thread(work);
  for (std::thread &worker : workers)
    worker.join();
  EXPECT_GT(tally.programs, count / 2);
  for (const auto &[pipeline, changed] : tally.changed)
    RecordProperty(pipeline, changed);
}

// Add a new pass to one of the lists above.
TEST(RandomPrograms, TryEveryPass) {
  std::ifstream file(PASSES_TD);
  ASSERT_TRUE(file) << PASSES_TD;
  std::string tried;
  for (const char *pipeline : anyOrder)
    tried += str(pipeline, ",");
  for (const char *pipeline : ordered)
    tried += str(pipeline, ",");
  int count = 0;
  std::string line;
  for (std::string_view opening = ": Pass<\""; std::getline(file, line);) {
    size_t begin = line.find(opening);
    if (begin == line.npos)
      continue;
    begin += opening.size();
    std::string pass = line.substr(begin, line.find('"', begin) - begin);
    EXPECT_TRUE(tried.find(pass + ",") != tried.npos || tried.find(pass + "{") != tried.npos)
        << pass;
    ++count;
  }
  EXPECT_GT(count, 20);
}

} // namespace
} // namespace treadle::test
