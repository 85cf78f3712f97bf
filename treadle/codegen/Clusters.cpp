#include "treadle/codegen/Clusters.h"
#include "treadle/codegen/Cluster.h"
#include "treadle/runtime/FunctionOps.h"

#include <chrono>

namespace treadle::codegen {

/// The class of one argument in a word: its rank, and which of its dimensions are 1.
static uint64_t classOf(const Tensor &tensor) {
  uint64_t word = tensor.rank();
  for (int i = 0; i < std::min(tensor.rank(), 56); ++i)
    word |= uint64_t(tensor.dim(i) == 1) << (8 + i);
  return word;
}

/// One call of a cluster in a graph, with the code for each class of shapes that came.
class ClusterSite {
public:
  ClusterSite(Clusters &owner, const NodeSpec &call)
      : owner(owner), node(call.name), op(call.op), numResults(call.outputTypes.size()) {
    if (Expected<FunctionRef> f = call.attrs.get<FunctionRef>("f"))
      function = f->name;
  }
  ~ClusterSite() {
    for (Variant *variant = newest.load(); variant;)
      delete std::exchange(variant, variant->next);
  }

  void run(OpContext &ctx);

private:
  /// A class of argument shapes.
  struct Variant {
    std::vector<uint64_t> key;
    std::vector<ArgumentClass> classes;
    Variant *next = nullptr;
    std::shared_ptr<const CompiledCluster> owned; // written once, before `code`
    std::atomic<const CompiledCluster *> code{nullptr};
    std::atomic<uint32_t> bails{0};
  };

  /// More classes than these are interpreted.
  static constexpr unsigned maxVariants = 16;
  /// So often compiled code may leave it to the interpreter before it isn't asked any more.
  static constexpr uint32_t maxBails = 8;

  Variant *find(OpContext &ctx);
  Variant *add(OpContext &ctx);
  void compileVariant(Variant &variant);
  void interpret(OpContext &ctx, std::span<Tensor> arguments);

  Clusters &owner;
  const std::string node, op;
  std::string function;
  const size_t numResults;
  std::atomic<Variant *> newest{nullptr};
  std::mutex mutex; // guards what follows, and adding
  unsigned numVariants = 0;
  std::string obstacle;
};

ClusterSite::Variant *ClusterSite::find(OpContext &ctx) {
  for (Variant *variant = newest.load(std::memory_order_acquire); variant;
       variant = variant->next) {
    bool fits = true;
    for (int i = 0; fits && i < ctx.numInputs(); ++i)
      fits = classOf(ctx.input(i)) == variant->key[i];
    if (fits)
      return variant;
  }
  return nullptr;
}

/// Null if there are too many.
ClusterSite::Variant *ClusterSite::add(OpContext &ctx) {
  Variant *variant;
  {
    std::lock_guard lock(mutex);
    if (Variant *other = find(ctx))
      return other; // another thread was faster
    if (numVariants == maxVariants || !obstacle.empty())
      return nullptr;
    ++numVariants;
    variant = new Variant;
    for (int i = 0; i < ctx.numInputs(); ++i) {
      variant->key.push_back(classOf(ctx.input(i)));
      variant->classes.push_back(ArgumentClass::of(ctx.input(i)));
    }
    variant->next = newest.load();
    newest.store(variant, std::memory_order_release);
  }
  compileVariant(*variant);
  return variant;
}

/// Counts a compilation, and its time.
class CompilationCount {
public:
  explicit CompilationCount(ClusterCounters *counters) : counters(counters) {}
  ~CompilationCount() {
    if (!counters)
      return;
    ClusterCounters::add(counters->compilations);
    std::chrono::nanoseconds took = std::chrono::steady_clock::now() - start;
    ClusterCounters::add(counters->compileNanoseconds, static_cast<uint64_t>(took.count()));
  }

private:
  ClusterCounters *counters;
  const std::chrono::steady_clock::time_point start = std::chrono::steady_clock::now();
};

void ClusterSite::compileVariant(Variant &variant) {
  std::lock_guard compiling(owner.compiling);
  CompilationCount count(owner.counters.get());
  auto find = [&](llvm::StringRef name) { return owner.index.function(name); };
  Expected<std::shared_ptr<const CompiledCluster>> made =
      translate(find(function), variant.classes, find, *owner.module->getContext())
          .and_then(
              [&](TensorProgram program) { return compile(std::move(program), owner.kernels); });
  if (made) {
    variant.owned = std::move(*made);
    variant.code.store(variant.owned.get(), std::memory_order_release);
    return;
  }
  std::lock_guard lock(mutex);
  obstacle = made.error().message;
}

void ClusterSite::interpret(OpContext &ctx, std::span<Tensor> arguments) {
  Expected<const Plan *> plan = owner.functions.plan({function, nullptr}, ArgMode::Owned);
  if (!plan)
    return ctx.fail(std::move(plan.error()).atNode(node, op));
  callFunction(**plan, arguments, {&ctx.output(0), numResults}, ctx);
}

void ClusterSite::run(OpContext &ctx) {
  Variant *variant = find(ctx);
  if (!variant)
    variant = add(ctx);
  size_t numInputs = ctx.numInputs();
  std::vector<Tensor> arguments(numInputs);
  const CompiledCluster *code = variant && variant->bails.load(std::memory_order_relaxed) < maxBails
                                    ? variant->code.load(std::memory_order_acquire)
                                    : nullptr;
  ClusterCounters *counters = owner.counters.get();
  if (code) {
    for (size_t i = 0; i < numInputs; ++i)
      arguments[i] = ctx.input(static_cast<int>(i));
    if (code->run(arguments, {&ctx.output(0), numResults}, ctx.run(), counters)) {
      if (counters)
        ClusterCounters::add(counters->calls);
      return;
    }
    if (!ctx.run().isStopped())
      variant->bails.fetch_add(1, std::memory_order_relaxed);
  }
  if (counters)
    ClusterCounters::add(code ? counters->bails : counters->interpreted);
  for (size_t i = 0; i < numInputs; ++i)
    arguments[i] = ctx.takeInput(static_cast<int>(i));
  interpret(ctx, arguments);
}

BoundKernel Clusters::bind(const NodeSpec &call) {
  BoundKernel kernel;
  kernel.fn = [](OpContext &ctx) { ctx.state<std::shared_ptr<ClusterSite>>()->run(ctx); };
  kernel.state = std::make_shared<const std::shared_ptr<ClusterSite>>(
      std::make_shared<ClusterSite>(*this, call));
  kernel.isExpensive = true;
  return kernel;
}

} // namespace treadle::codegen
