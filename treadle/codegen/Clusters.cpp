#include "treadle/codegen/Clusters.h"
#include "treadle/codegen/Cluster.h"
#include "treadle/codegen/CodeCache.h"
#include "treadle/codegen/FunctionalForm.h"
#include "treadle/codegen/VariableSnapshot.h"
#include "treadle/ops/OpTable.h"
#include "treadle/runtime/DenormalScope.h"
#include "treadle/runtime/Execution.h"
#include "treadle/runtime/FunctionOps.h"
#include "treadle/runtime/Trace.h"
#include "treadle/transforms/outline_clusters/ClusterFinder.h"

#include "mlir/IR/SymbolTable.h"

#include <algorithm>
#include <optional>

namespace treadle::codegen {

/// Encodes the class of one argument in a word: its rank, and which dimensions are 1.
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

/// A class of argument shapes, and the state of its compilation. Shared with the compile thread.
struct Variant {
  std::vector<uint64_t> key;
  std::vector<ArgumentClass> classes;
  bool isExact = false; // specialized for one shape of each argument

  Variant *next = nullptr;

  /// Compiled: `made` has been written. Final: `code` no longer changes.
  enum class Stage : uint8_t { Compiling, Compiled, Final };
  std::atomic<Stage> stage{Stage::Compiling};
  Expected<LinkedCluster> made = LinkedCluster();
  std::shared_ptr<const CompiledCluster> owned; // written once, before `code`
  std::atomic<const CompiledCluster *> code{nullptr};
  std::atomic<uint32_t> bails{0};
  /// A hash of the last argument shapes, and the number of consecutive calls with them.
  std::atomic<uint64_t> lastShapes{0};
  std::atomic<uint32_t> repeats{0};

  bool fits(OpContext &ctx, const VariableSnapshot &variables) const {
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

/// Collects the nodes of a body and of the functions that it calls, except constants.
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

/// A cluster and its functional form, which is created when it is first compiled.
struct Compilation {
  std::shared_ptr<ClusterSource> source; // its mutex guards `form`; its context must outlive the
                                         // other members
  std::shared_ptr<const tfg::OutlinedCluster> cluster;
  std::optional<Expected<mlir::OwningOpRef<mlir::ModuleOp>>> form = std::nullopt;

  Expected<TensorProgram> translate(const Variant &variant, const TranslationOptions &options);
};

Expected<TensorProgram> Compilation::translate(const Variant &variant,
                                               const TranslationOptions &options) {
  if (!form)
    CompileClient::withForksBlocked(
        [&] { form = functionalForm(cluster->function(), source->index); });
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
  // Compilers compute as IEEE 754 has it, whichever thread they run on.
  DenormalScope denormals(Denormals::Keep);
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
  variant.stage.store(Variant::Stage::Compiled, std::memory_order_release);
}

/// A scope in which calls on this thread start no compilations.
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

/// Formats contents like `'loop' (While), 'y' (Mul) and 3 more`, loops first.
std::string contentsOf(const ModuleIndex &index, tfg::FuncOp function) {
  constexpr size_t maxNamed = 3;
  std::vector<tfg::Node> nodes;
  llvm::DenseSet<mlir::Block *> seen;
  collect(index, function.getEntry(), nodes, seen);
  std::ranges::stable_partition(
      nodes, [](tfg::Node node) { return node->getNumRegions() || isLoop(opKind(node.opType())); });
  std::string text;
  for (size_t i = 0; i < std::min(nodes.size(), maxNamed); ++i)
    text += str(i ? ", " : "", "'", nodes[i].name().str(), "' (",
                nodes[i]->getNumRegions() ? "While" : nodes[i].opType().str(), ")");
  return nodes.size() > maxNamed ? str(text, " and ", nodes.size() - maxNamed, " more") : text;
}

} // namespace

/// A cluster of a plan, with a code variant per class of argument shapes.
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
      remainingExact = 0;
  }

  void run(OpContext &ctx);

private:
  /// Further classes are interpreted.
  static constexpr unsigned maxVariants = 16;
  /// The number of consecutive calls with the same shapes after which they get a specialized
  /// variant. At most maxExact of these are compiled, so that varying shapes don't cause many
  /// compilations.
  static constexpr uint32_t repeatsBeforeExact = 16;
  static constexpr int maxExact = 2;
  /// The number of bailouts to the interpreter after which a variant is no longer used.
  static constexpr uint32_t maxBails = 8;
  /// The number of times a call is retried after another run has changed its variables.
  static constexpr int maxRepeats = 4;

  /// VariablesChanged: another run changed a variable. BailedOut: the code bailed out, or the run
  /// was stopped. Failed: the error has been reported.
  enum class Outcome : uint8_t { Done, NoCode, VariablesChanged, BailedOut, Failed };

  Variant *find(OpContext &ctx, const VariableSnapshot &variables);
  Variant *add(OpContext &ctx, const VariableSnapshot &variables, bool isExact = false);
  ArgumentClass::Variable classFor(int handle, const Tensor &value) const;
  uint64_t dynamicShapesHash(OpContext &ctx) const;
  void noteShapes(Variant &variant, OpContext &ctx, const VariableSnapshot &variables);
  void compileVariant(const std::shared_ptr<Variant> &variant);
  void finishVariant(Variant &variant);
  const CompiledCluster *codeFor(Variant *variant);
  static bool mayHaveCode(const Variant &variant);
  Outcome attempt(OpContext &ctx, Variant *&variant);
  Expected<bool> runCode(const CompiledCluster &code, OpContext &ctx, VariableSnapshot &variables);
  Expected<const Plan *> plan();
  bool mayCompile();
  void interpret(OpContext &ctx, std::span<Tensor> arguments);
  void note(Trace &trace, bool isCompiled);

  Clusters &owner;
  const std::string node, op;
  const std::shared_ptr<const tfg::OutlinedCluster> cluster;
  const std::shared_ptr<Compilation> compilation;
  const size_t numResults;
  const std::vector<int> handles; // numbers of the inputs that are variable handles
  std::once_flag isDescribed;
  std::string contents; // for traces
  std::atomic<bool> wasCalled{false};
  std::atomic<Variant *> newest{nullptr};
  std::atomic<const Plan *> interpreted{nullptr};
  std::mutex mutex;                  // guards the following members, and adding and settling
                                     // variants
  std::unique_ptr<const Plan> owned; // owns `interpreted`
  std::vector<std::shared_ptr<Variant>> variants;
  std::string obstacle;
  std::vector<bool> isOpen;                  // by input: its sizes aren't known statically
  std::atomic<int> remainingExact{maxExact}; // exact variants that may still be compiled
};

/// Prefers a variant for exactly this shape to one for its class.
Variant *ClusterSite::find(OpContext &ctx, const VariableSnapshot &variables) {
  Variant *serving = nullptr;
  for (Variant *variant = newest.load(std::memory_order_acquire); variant;
       variant = variant->next) {
    if (!variant->fits(ctx, variables))
      continue;
    if (!variant->isExact)
      serving = variant;
    else if (variant->stage.load(std::memory_order_acquire) == Variant::Stage::Compiled ||
             (variant->code.load(std::memory_order_acquire) &&
              variant->bails.load(std::memory_order_relaxed) < maxBails))
      return variant;
  }
  return serving;
}

/// Variables mostly keep their sizes: only those that differ from the last variant are generalized.
ArgumentClass::Variable ClusterSite::classFor(int handle, const Tensor &value) const {
  ArgumentClass::Variable exact{value.dtype(), {value.dims().begin(), value.dims().end()}};
  return variants.empty() ? exact : variants.back()->classes[handle].variable->with(value);
}

/// Returns null if there are too many variants.
Variant *ClusterSite::add(OpContext &ctx, const VariableSnapshot &variables, bool isExact) {
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

/// Hashes the shapes of the arguments whose sizes aren't known statically; 0 if all are scalars.
uint64_t ClusterSite::dynamicShapesHash(OpContext &ctx) const {
  uint64_t shapes = 0;
  for (int i = 0; i < ctx.numInputs(); ++i)
    if (const Tensor &input = ctx.input(i); isOpen[i])
      for (int64_t dim : input.dims())
        shapes = (shapes + static_cast<uint64_t>(dim + 1) + static_cast<uint64_t>(i)) *
                 0x9e3779b97f4a7c15;
  return shapes;
}

/// Called after a call that used the variant of a class.
void ClusterSite::noteShapes(Variant &variant, OpContext &ctx, const VariableSnapshot &variables) {
  uint64_t shapes = dynamicShapesHash(ctx);
  if (!shapes)
    return;
  if (variant.lastShapes.load(std::memory_order_relaxed) != shapes) {
    variant.lastShapes.store(shapes, std::memory_order_relaxed);
    variant.repeats.store(0, std::memory_order_relaxed);
  } else if (variant.repeats.load(std::memory_order_relaxed) <
                 repeatsBeforeExact && // otherwise only read
             variant.repeats.fetch_add(1, std::memory_order_relaxed) + 1 == repeatsBeforeExact &&
             remainingExact.fetch_sub(1, std::memory_order_relaxed) > 0) {
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
  // The job may outlive the site and its owner.
  options.client->submit([variant, metered, counters, compilation = compilation,
                          budget = options.budget,
                          fastMath = options.fastMath](CompileClient &client) {
    make(*variant, *compilation, *budget, fastMath,
         {counters.get(), &client.isCancelled(), CodeCache::ofProcess(), metered});
  });
}

/// Charges the code to the memory budget of the run; fails if it doesn't fit.
static Expected<std::shared_ptr<const CompiledCluster>>
bindWithinBudget(LinkedCluster cluster, const KernelRegistry &kernels, FunctionLibrary &functions) {
  try {
    return treadle::codegen::bind(std::move(cluster), kernels, &functions);
  } catch (const OverBudget &over) {
    return Unexpected(resourceExhausted(
        "machine code of ", over.bytes,
        " bytes exceeds the remaining memory budget of the session; the limit is ", over.limit));
  }
}

/// Kernels are bound on the thread of a run: user-defined kernels may not expect another thread.
void ClusterSite::finishVariant(Variant &variant) {
  std::lock_guard lock(mutex);
  if (variant.stage.load(std::memory_order_relaxed) == Variant::Stage::Final)
    return;
  Expected<std::shared_ptr<const CompiledCluster>> bound =
      std::move(variant.made).and_then([&](LinkedCluster cluster) {
        return bindWithinBudget(std::move(cluster), owner.options.kernels, owner.functions);
      });
  if (bound) {
    variant.owned = std::move(*bound);
    variant.code.store(variant.owned.get(), std::memory_order_release);
  } else if (obstacle.empty() && !variant.isExact) { // otherwise the variant for the class serves
    obstacle = bound.error().message;
    if (owner.options.counters)
      owner.options.counters->addFailure(obstacle);
  }
  variant.stage.store(Variant::Stage::Final, std::memory_order_release);
}

/// Whether calls in compiled code, which doesn't count them, may be nested more deeply than
/// allowed.
static bool mayExceedCallDepth(RunState &run) {
  return std::atomic_ref(run.callDepth).load(std::memory_order_relaxed) >
         RunState::maxCallDepth - tfg::maxClusterDepth;
}

/// Returns null if the interpreter must run the call.
const CompiledCluster *ClusterSite::codeFor(Variant *variant) {
  if (!variant)
    return nullptr;
  if (variant->stage.load(std::memory_order_acquire) == Variant::Stage::Compiled)
    finishVariant(*variant);
  return variant->bails.load(std::memory_order_relaxed) < maxBails
             ? variant->code.load(std::memory_order_acquire)
             : nullptr;
}

/// Whether the variant has code, or may still get some.
bool ClusterSite::mayHaveCode(const Variant &variant) {
  if (variant.stage.load(std::memory_order_acquire) != Variant::Stage::Final)
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
  if (!owned) { // otherwise another thread was faster
    owned = std::move(made);
    interpreted.store(owned.get(), std::memory_order_release);
  }
  return owned.get();
}

void ClusterSite::interpret(OpContext &ctx, std::span<Tensor> arguments) {
  Expected<const Plan *> known = plan();
  if (!known)
    return ctx.fail(std::move(known.error()).atNode(node, op));
  runFunction(**known, arguments, {&ctx.output(0), numResults}, ctx);
}

void ClusterSite::note(Trace &trace, bool isCompiled) {
  std::call_once(isDescribed,
                 [&] { contents = contentsOf(owner.source->index, cluster->function()); });
  trace.noteCluster(contents, isCompiled);
}

/// Returns false if the code bailed out, or another run changed a variable.
Expected<bool> ClusterSite::runCode(const CompiledCluster &code, OpContext &ctx,
                                    VariableSnapshot &variables) {
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
  if (!TREADLE_TRY(code.run(arguments, results, ctx.run(), counters, variables.watched())) ||
      !variables.write(std::span(results).subspan(numResults)))
    return false;
  std::move(results.begin(), results.begin() + static_cast<ptrdiff_t>(numResults), outputs.begin());
  return true;
}

/// Runs the code for the current arguments, if there is some; sets `variant` to the one that was
/// used.
ClusterSite::Outcome ClusterSite::attempt(OpContext &ctx, Variant *&variant) {
  VariableSnapshot variables(ctx, handles);
  variant = variables.isComplete() ? find(ctx, variables) : nullptr;
  if (!variant && variables.isComplete() && mayCompile())
    variant = add(ctx, variables);
  const CompiledCluster *code = mayExceedCallDepth(ctx.run()) ? nullptr : codeFor(variant);
  if (!code)
    return Outcome::NoCode;
  Expected<bool> isDone = runCode(*code, ctx, variables);
  if (!isDone) {
    ctx.fail(std::move(isDone.error()));
    return Outcome::Failed;
  }
  if (*isDone) {
    if (!variant->isExact && remainingExact.load(std::memory_order_relaxed) > 0)
      noteShapes(*variant, ctx, variables);
    return Outcome::Done;
  }
  if (ctx.run().isStopped())
    return Outcome::BailedOut;
  if (!variables.areUnchanged())
    return Outcome::VariablesChanged;
  variant->bails.fetch_add(1, std::memory_order_relaxed);
  return Outcome::BailedOut;
}

/// With background compilation, the first call doesn't request code; neither does a call inside
/// another cluster whose own code may still come.
bool ClusterSite::mayCompile() {
  return !PendingScope::isInside() &&
         (!owner.options.client || wasCalled.load(std::memory_order_relaxed));
}

void ClusterSite::run(OpContext &ctx) {
  bool isFirst = owner.options.client && !wasCalled.load(std::memory_order_relaxed);
  Variant *variant = nullptr;
  Outcome outcome = attempt(ctx, variant);
  for (int i = 0; outcome == Outcome::VariablesChanged && i < maxRepeats; ++i)
    outcome = attempt(ctx, variant);
  if (isFirst)
    wasCalled.store(true, std::memory_order_relaxed);
  bool isDone = outcome == Outcome::Done || outcome == Outcome::Failed;
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
