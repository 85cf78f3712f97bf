#include "treadle/codegen/Clusters.h"
#include "treadle/codegen/Cluster.h"
#include "treadle/codegen/CodeCache.h"
#include "treadle/codegen/FunctionalForm.h"
#include "treadle/codegen/HeldVariables.h"
#include "treadle/ops/OpTable.h"
#include "treadle/runtime/Execution.h"
#include "treadle/runtime/FunctionOps.h"
#include "treadle/runtime/Trace.h"
#include "treadle/transforms/outline_clusters/ClusterFinder.h"

#include "mlir/IR/SymbolTable.h"

#include <algorithm>
#include <optional>

namespace treadle::codegen {

/// The class of one argument in a word: its rank, and which of its dimensions are 1.
static uint64_t classOf(const Tensor &tensor) {
  uint64_t word = tensor.rank();
  for (int i = 0; i < std::min(tensor.rank(), 56); ++i)
    word |= uint64_t(tensor.dim(i) == 1) << (8 + i);
  return word;
}

namespace {

std::vector<int> handlesAmong(const NodeSpec &call) {
  std::vector<int> handles;
  for (size_t i = 0; i < call.inputTypes.size(); ++i)
    if (call.inputTypes[i].dtype == DType::Resource && !call.inputTypes[i].isRef)
      handles.push_back(static_cast<int>(i));
  return handles;
}

/// A class of argument shapes, and what came of compiling for it. The compile thread may have it as
/// well.
struct Variant {
  std::vector<uint64_t> key;
  std::vector<ArgumentClass> classes;
  bool isExact = false; // for one shape of each argument

  Variant *next = nullptr;

  /// Made: `made` is written. Settled: `code` is as it stays.
  enum class Stage : uint8_t { Compiling, Made, Settled };
  std::atomic<Stage> stage{Stage::Compiling};
  Expected<LinkedCluster> made = LinkedCluster();
  std::shared_ptr<const CompiledCluster> owned; // written once, before `code`
  std::atomic<const CompiledCluster *> code{nullptr};
  std::atomic<uint32_t> bails{0};
  /// The shapes of the arguments of late, as a number, and how often they came in a row.
  std::atomic<uint64_t> lastShapes{0};
  std::atomic<uint32_t> repeats{0};

  bool fits(OpContext &ctx, const HeldVariables &variables) const {
    for (size_t i = 0; i < variables.size(); ++i)
      if (!classes[variables.input(i)].variable->fits(variables.value(i)))
        return false;
    for (int i = 0; i < ctx.numInputs(); ++i)
      if (classOf(ctx.input(i)) != key[i])
        return false;
    for (int i = 0; isExact && i < ctx.numInputs(); ++i)
      for (int dim = 0; dim < ctx.input(i).rank(); ++dim)
        if (int64_t size = classes[i].sizes[dim];
            size != ArgumentClass::any && size != ctx.input(i).dim(dim))
          return false;
    return true;
  }
};

/// The nodes of a body and of the functions that it calls, but constants.
void collect(const ModuleIndex &index, mlir::Block &body, std::vector<tfg::Node> &nodes,
             llvm::DenseSet<mlir::Block *> &seen) {
  seen.insert(&body);
  for (mlir::Operation &op : body) {
    if (!tfg::Node::isNode(&op))
      continue;
    tfg::Node node(&op);
    auto callee = node.attr<tf_type::FuncAttr>("f");
    tfg::FuncOp called = opKind(node.opType()) == OpKind::Call && callee
                             ? index.function(callee.getName().getRootReference())
                             : tfg::FuncOp();
    if (called && !called.isExternal() && !seen.contains(&called.getEntry()))
      collect(index, called.getEntry(), nodes, seen);
    else if (node.opType() != "Const")
      nodes.push_back(node);
  }
}

/// A cluster, and what it is compiled from: made by the first who compiles it.
struct Compilation {
  std::shared_ptr<ClusterSource> source; // its lock guards `form`; its context outlives the others
  std::shared_ptr<const tfg::OutlinedCluster> cluster;
  std::optional<Expected<mlir::OwningOpRef<mlir::ModuleOp>>> form = std::nullopt;

  Expected<TensorProgram> translate(const Variant &variant, const TranslationOptions &options);
};

Expected<TensorProgram> Compilation::translate(const Variant &variant,
                                               const TranslationOptions &options) {
  if (!form)
    CompileClient::betweenForks([&] { form = functionalForm(cluster->function(), source->index); });
  if (!*form)
    return Unexpected(form->error());
  if (!source->code)
    source->code = std::make_unique<mlir::MLIRContext>(mlir::MLIRContext::Threading::DISABLED);
  mlir::ModuleOp module = form->value().get();
  mlir::SymbolTable functions(module);
  auto find = [&](llvm::StringRef name) { return functions.lookup<tfg::FuncOp>(name); };
  return codegen::translate(*module.getOps<tfg::FuncOp>().begin(), variant.classes, find,
                            *source->code, options);
}

void make(Variant &variant, Compilation &compilation, CompileBudget &budget, bool fastMath,
          LinkOptions options) {
  TranslationOptions translation;
  translation.fastMath = fastMath;
  translation.metered = options.metered.get();
  if (options.metered)
    options.cache = nullptr;
  {
    std::lock_guard compiling(compilation.source->compiling);
    CompileBudget::Scope time(budget);
    variant.made =
        budget.check()
            .and_then([&] { return compilation.translate(variant, translation); })
            .and_then([&](TensorProgram program) { return link(std::move(program), options); });
  }
  variant.stage.store(Variant::Stage::Made, std::memory_order_release);
}

/// While it lives, nothing that this thread calls is compiled anew.
class PendingScope {
public:
  explicit PendingScope(bool isPending) : before(current) { current |= isPending; }
  ~PendingScope() { current = before; }
  PendingScope(const PendingScope &) = delete;
  PendingScope &operator=(const PendingScope &) = delete;
  static bool isInside() { return current; }

private:
  const bool before;
  static thread_local bool current;
};
thread_local bool PendingScope::current = false;

/// `'loop' (While), 'y' (Mul) and 3 more`: loops first.
std::string contentsOf(const ModuleIndex &index, tfg::FuncOp function) {
  constexpr size_t mostNamed = 3;
  std::vector<tfg::Node> nodes;
  llvm::DenseSet<mlir::Block *> seen;
  collect(index, function.getEntry(), nodes, seen);
  std::ranges::stable_partition(
      nodes, [](tfg::Node node) { return node->getNumRegions() || isLoop(opKind(node.opType())); });
  std::string text;
  for (size_t i = 0; i < std::min(nodes.size(), mostNamed); ++i)
    text += str(i ? ", " : "", "'", nodes[i].name().str(), "' (",
                nodes[i]->getNumRegions() ? "While" : nodes[i].opType().str(), ")");
  return nodes.size() > mostNamed ? str(text, " and ", nodes.size() - mostNamed, " more") : text;
}

} // namespace

/// One cluster of a plan, with the code for each class of shapes that came.
class ClusterSite {
public:
  ClusterSite(Clusters &owner, const NodeSpec &spec)
      : owner(owner), node(spec.name), op(spec.op),
        cluster(std::static_pointer_cast<const tfg::OutlinedCluster>(spec.cluster)),
        compilation(std::make_shared<Compilation>(owner.source, cluster)),
        numResults(spec.outputTypes.size()), handles(handlesAmong(spec)) {
    tfg::FuncOp function = cluster->function();
    for (unsigned i = 0; i < function.getNumDataArguments(); ++i) {
      auto type = mlir::dyn_cast<mlir::RankedTensorType>(function.getDataArgument(i).getType());
      isOpen.push_back(!type || !type.hasStaticShape());
    }
    if (llvm::none_of(isOpen, [](bool open) { return open; }))
      exactLeft = 0;
  }

  void run(OpContext &ctx);

private:
  /// More classes than these are interpreted.
  static constexpr unsigned maxVariants = 16;
  /// Shapes that come so often in a row have code of their own: a few of them, so that a thousand
  /// shapes aren't a thousand compilations.
  static constexpr uint32_t manyRepeats = 16;
  static constexpr int maxExact = 2;
  /// So often compiled code may leave it to the interpreter before it isn't asked any more.
  static constexpr uint32_t maxBails = 8;
  /// So often a call begins anew whose variables another run changed.
  static constexpr int maxRepeats = 4;

  /// Overtaken: another run changed a variable. Left: the interpreter is to run the call.
  enum class Outcome : uint8_t { Done, NoCode, Overtaken, Left };

  Variant *find(OpContext &ctx, const HeldVariables &variables);
  Variant *add(OpContext &ctx, const HeldVariables &variables, bool isExact = false);
  ArgumentClass::Variable classFor(int handle, const Tensor &value) const;
  uint64_t openShapes(OpContext &ctx) const;
  void noteShapes(Variant &variant, OpContext &ctx, const HeldVariables &variables);
  void compileVariant(const std::shared_ptr<Variant> &variant);
  void settle(Variant &variant);
  const CompiledCluster *codeFor(Variant *variant);
  static bool mayHaveCode(const Variant &variant);
  Outcome attempt(OpContext &ctx, Variant *&variant);
  bool runCode(const CompiledCluster &code, OpContext &ctx, HeldVariables &variables);
  Expected<const Plan *> plan();
  bool mayCompile();
  void interpret(OpContext &ctx, std::span<Tensor> arguments);
  void note(Trace &trace, bool isCompiled);

  Clusters &owner;
  const std::string node, op;
  const std::shared_ptr<const tfg::OutlinedCluster> cluster;
  const std::shared_ptr<Compilation> compilation;
  const size_t numResults;
  const std::vector<int> handles; // inputs
  std::once_flag isDescribed;
  std::string contents; // for people who trace
  std::atomic<bool> wasCalled{false};
  std::atomic<Variant *> newest{nullptr};
  std::atomic<const Plan *> interpreted{nullptr};
  std::mutex mutex;                  // guards what follows, and adding and settling
  std::unique_ptr<const Plan> owned; // what `interpreted` is then
  std::vector<std::shared_ptr<Variant>> variants;
  std::string obstacle;
  std::vector<bool> isOpen;             // by input: the graph doesn't tell its sizes
  std::atomic<int> exactLeft{maxExact}; // shapes that may still have code of their own
};

/// Code for this shape rather than for its class.
Variant *ClusterSite::find(OpContext &ctx, const HeldVariables &variables) {
  Variant *serving = nullptr;
  for (Variant *variant = newest.load(std::memory_order_acquire); variant;
       variant = variant->next) {
    if (!variant->fits(ctx, variables))
      continue;
    if (!variant->isExact)
      serving = variant;
    else if (variant->stage.load(std::memory_order_acquire) == Variant::Stage::Made ||
             (variant->code.load(std::memory_order_acquire) &&
              variant->bails.load(std::memory_order_relaxed) < maxBails))
      return variant;
  }
  return serving;
}

/// Variables keep their sizes, mostly: those that differ from the last code's are left open.
ArgumentClass::Variable ClusterSite::classFor(int handle, const Tensor &value) const {
  ArgumentClass::Variable exact{value.dtype(), {value.dims().begin(), value.dims().end()}};
  return variants.empty() ? exact : variants.back()->classes[handle].variable->with(value);
}

/// Null if there are too many.
Variant *ClusterSite::add(OpContext &ctx, const HeldVariables &variables, bool isExact) {
  auto variant = std::make_shared<Variant>();
  {
    std::lock_guard lock(mutex);
    if (Variant *other = find(ctx, variables); other && !isExact)
      return other; // another thread was faster
    if (variants.size() == maxVariants || !obstacle.empty())
      return nullptr;
    variant->isExact = isExact;
    for (int i = 0; i < ctx.numInputs(); ++i) {
      const Tensor &input = ctx.input(i);
      variant->key.push_back(classOf(input));
      variant->classes.push_back(ArgumentClass::of(input, isExact));
    }
    for (size_t i = 0; i < variables.size(); ++i)
      variant->classes[handles[i]].variable = classFor(handles[i], variables.value(i));
    variant->next = newest.load();
    variants.push_back(variant);
    newest.store(variant.get(), std::memory_order_release);
  }
  compileVariant(variant);
  return variant.get();
}

/// Of the arguments whose sizes the graph doesn't tell, as a number; 0 if all are scalars.
uint64_t ClusterSite::openShapes(OpContext &ctx) const {
  uint64_t shapes = 0;
  for (int i = 0; i < ctx.numInputs(); ++i)
    if (const Tensor &input = ctx.input(i); isOpen[i])
      for (int64_t dim : input.dims())
        shapes = (shapes + static_cast<uint64_t>(dim + 1) + static_cast<uint64_t>(i)) *
                 0x9e3779b97f4a7c15;
  return shapes;
}

/// After a call that code for a class ran.
void ClusterSite::noteShapes(Variant &variant, OpContext &ctx, const HeldVariables &variables) {
  uint64_t shapes = openShapes(ctx);
  if (!shapes)
    return;
  if (variant.lastShapes.load(std::memory_order_relaxed) != shapes) {
    variant.lastShapes.store(shapes, std::memory_order_relaxed);
    variant.repeats.store(0, std::memory_order_relaxed);
  } else if (variant.repeats.load(std::memory_order_relaxed) < manyRepeats && // else only read
             variant.repeats.fetch_add(1, std::memory_order_relaxed) + 1 == manyRepeats &&
             exactLeft.fetch_sub(1, std::memory_order_relaxed) > 0) {
    add(ctx, variables, /*isExact=*/true);
  }
}

void ClusterSite::compileVariant(const std::shared_ptr<Variant> &variant) {
  const Clusters::Options &options = owner.options;
  const std::shared_ptr<CompileCounters> &counters = options.counters;
  std::shared_ptr<MeteredCode> metered =
      counters && counters->meter ? counters->meter->add(node) : nullptr;
  if (!options.client)
    return make(*variant, *compilation, *options.budget, options.fastMath,
                {counters.get(), nullptr, CodeCache::ofProcess(), metered});
  // The site and its owner may be gone by the time.
  options.client->submit([variant, metered, counters, compilation = compilation,
                          budget = options.budget,
                          fastMath = options.fastMath](CompileClient &client) {
    make(*variant, *compilation, *budget, fastMath,
         {counters.get(), &client.isCancelled(), CodeCache::ofProcess(), metered});
  });
}

/// The code is charged to the budget of whoever runs; without room for it, it isn't there.
static Expected<std::shared_ptr<const CompiledCluster>> bindCharged(LinkedCluster cluster,
                                                                    const KernelRegistry &kernels) {
  try {
    return treadle::codegen::bind(std::move(cluster), kernels);
  } catch (const OverBudget &over) {
    return Unexpected(resourceExhausted("machine code of ", over.bytes,
                                        " bytes is more than is left of the ", over.limit,
                                        " that the session may take"));
  }
}

/// Kernels are bound by those who run: whoever registered them expects no other thread.
void ClusterSite::settle(Variant &variant) {
  std::lock_guard lock(mutex);
  if (variant.stage.load(std::memory_order_relaxed) == Variant::Stage::Settled)
    return;
  Expected<std::shared_ptr<const CompiledCluster>> bound =
      std::move(variant.made).and_then([&](LinkedCluster cluster) {
        return bindCharged(std::move(cluster), owner.options.kernels);
      });
  if (bound) {
    variant.owned = std::move(*bound);
    variant.code.store(variant.owned.get(), std::memory_order_release);
  } else if (obstacle.empty() && !variant.isExact) { // else code for the class goes on
    obstacle = bound.error().message;
    if (owner.options.counters)
      owner.options.counters->addFailure(obstacle);
  }
  variant.stage.store(Variant::Stage::Settled, std::memory_order_release);
}

/// Null where the interpreter is to run the call.
const CompiledCluster *ClusterSite::codeFor(Variant *variant) {
  if (!variant)
    return nullptr;
  if (variant->stage.load(std::memory_order_acquire) == Variant::Stage::Made)
    settle(*variant);
  return variant->bails.load(std::memory_order_relaxed) < maxBails
             ? variant->code.load(std::memory_order_acquire)
             : nullptr;
}

/// Whether there is code, or it may still come.
bool ClusterSite::mayHaveCode(const Variant &variant) {
  if (variant.stage.load(std::memory_order_acquire) != Variant::Stage::Settled)
    return true;
  return variant.code.load(std::memory_order_acquire) &&
         variant.bails.load(std::memory_order_relaxed) < maxBails;
}

Expected<const Plan *> ClusterSite::plan() {
  if (const Plan *known = interpreted.load(std::memory_order_acquire))
    return known;
  std::unique_ptr<const Plan> made =
      TREADLE_TRY(owner.functions.planOf(cluster->function(), owner.options.rewrite));
  std::lock_guard lock(mutex);
  if (!owned) { // else another thread was faster
    owned = std::move(made);
    interpreted.store(owned.get(), std::memory_order_release);
  }
  return owned.get();
}

void ClusterSite::interpret(OpContext &ctx, std::span<Tensor> arguments) {
  Expected<const Plan *> known = plan();
  if (!known)
    return ctx.fail(std::move(known.error()).atNode(node, op));
  callFunction(**known, arguments, {&ctx.output(0), numResults}, ctx);
}

void ClusterSite::note(Trace &trace, bool isCompiled) {
  std::call_once(isDescribed,
                 [&] { contents = contentsOf(owner.source->index, cluster->function()); });
  trace.noteCluster(contents, isCompiled);
}

/// False where the code left, or another run changed a variable.
bool ClusterSite::runCode(const CompiledCluster &code, OpContext &ctx, HeldVariables &variables) {
  size_t numInputs = ctx.numInputs(), numVariables = variables.size();
  std::vector<Tensor> arguments(numInputs + numVariables);
  for (size_t i = 0; i < numInputs; ++i)
    arguments[i] = ctx.input(static_cast<int>(i));
  for (size_t i = 0; i < numVariables; ++i)
    arguments[numInputs + i] = variables.value(i);
  ClusterCounters *counters = owner.options.counters.get();
  std::span outputs(Execution::of(ctx).outputs, numResults);
  if (!numVariables)
    return code.run(arguments, outputs, ctx.run(), counters);
  std::vector<Tensor> results(numResults + numVariables);
  if (!code.run(arguments, results, ctx.run(), counters, variables.watched()) ||
      !variables.write(std::span(results).subspan(numResults)))
    return false;
  std::move(results.begin(), results.begin() + static_cast<ptrdiff_t>(numResults), outputs.begin());
  return true;
}

/// Runs the code for what the call is given now, if there is some; `variant` becomes what that is
/// of.
ClusterSite::Outcome ClusterSite::attempt(OpContext &ctx, Variant *&variant) {
  HeldVariables variables(ctx, handles);
  variant = variables.isComplete() ? find(ctx, variables) : nullptr;
  if (!variant && variables.isComplete() && mayCompile())
    variant = add(ctx, variables);
  const CompiledCluster *code = codeFor(variant);
  if (!code)
    return Outcome::NoCode;
  if (runCode(*code, ctx, variables)) {
    if (!variant->isExact && exactLeft.load(std::memory_order_relaxed) > 0)
      noteShapes(*variant, ctx, variables);
    return Outcome::Done;
  }
  if (ctx.run().isStopped())
    return Outcome::Left;
  if (!variables.areUnchanged())
    return Outcome::Overtaken;
  variant->bails.fetch_add(1, std::memory_order_relaxed);
  return Outcome::Left;
}

/// Where the calls don't wait for code, the first one doesn't ask for it; nor does one inside of
/// a cluster whose own code may still come.
bool ClusterSite::mayCompile() {
  return !PendingScope::isInside() &&
         (!owner.options.client || wasCalled.load(std::memory_order_relaxed));
}

void ClusterSite::run(OpContext &ctx) {
  bool isFirst = owner.options.client && !wasCalled.load(std::memory_order_relaxed);
  Variant *variant = nullptr;
  Outcome outcome = attempt(ctx, variant);
  for (int i = 0; outcome == Outcome::Overtaken && i < maxRepeats; ++i)
    outcome = attempt(ctx, variant);
  if (isFirst)
    wasCalled.store(true, std::memory_order_relaxed);
  bool isDone = outcome == Outcome::Done;
  if (ClusterCounters *counters = owner.options.counters.get())
    ClusterCounters::add(isDone                       ? counters->calls
                         : outcome == Outcome::NoCode ? counters->interpreted
                                                      : counters->bails);
  if (Trace *trace = ctx.run().trace; trace && isDone) [[unlikely]]
    note(*trace, /*isCompiled=*/true);
  if (isDone)
    return;
  std::vector<Tensor> arguments(ctx.numInputs());
  for (size_t i = 0; i < arguments.size(); ++i)
    arguments[i] = ctx.takeInput(static_cast<int>(i));
  {
    PendingScope scope(isFirst || (variant && mayHaveCode(*variant)));
    interpret(ctx, arguments);
  }
  if (Trace *trace = ctx.run().trace) [[unlikely]]
    note(*trace, /*isCompiled=*/false);
}

BoundKernel Clusters::bind(const NodeSpec &node) {
  BoundKernel kernel;
  kernel.fn = [](OpContext &ctx) { ctx.state<std::shared_ptr<ClusterSite>>()->run(ctx); };
  kernel.state = std::make_shared<const std::shared_ptr<ClusterSite>>(
      std::make_shared<ClusterSite>(*this, node));
  kernel.isExpensive = true;
  return kernel;
}

} // namespace treadle::codegen
