// The named pipelines: phases of passes, each phase checked by tfg-verify.
#include "treadle/transforms/Passes.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"

using namespace mlir;

namespace treadle {
namespace {

/// The requests that a pipeline optimizes for. Without fetches and targets, later runs may fetch
/// any node of the graph, and no node is removed.
struct PipelineOptions : mlir::PassPipelineOptions<PipelineOptions> {
  ListOption<std::string> fetches{*this, "fetches", llvm::cl::desc("fetched values")};
  ListOption<std::string> targets{*this, "targets", llvm::cl::desc("target nodes of runs")};
  ListOption<std::string> feeds{*this, "feeds", llvm::cl::desc("fed values")};
  ListOption<std::string> keep{*this, "keep",
                               llvm::cl::desc("nodes to preserve, which runs may feed or fetch")};
  Option<bool> keepEffects{*this, "keep-effects", llvm::cl::init(false),
                           llvm::cl::desc("keep nodes of the graph that have side effects")};
  Option<bool> keepFunctions{*this, "keep-functions", llvm::cl::init(false),
                             llvm::cl::desc("keep the signatures of functions")};

  /// Returns the nodes that requests name.
  SmallVector<std::string> nodes() const {
    SmallVector<std::string> out;
    for (const auto *names : {&fetches, &targets, &feeds, &keep})
      for (StringRef name : *names)
        out.push_back(name.split(':').first.str());
    return out;
  }

  /// Returns the nodes that requests name and that are sure to stay.
  SmallVector<std::string> wanted() const {
    SmallVector<std::string> out(targets.begin(), targets.end());
    out.append(keep.begin(), keep.end());
    return out;
  }

  /// Returns the values that passes must not make assumptions about.
  SmallVector<std::string> unknown() const {
    SmallVector<std::string> out(feeds.begin(), feeds.end());
    out.append(keep.begin(), keep.end());
    return out;
  }
};

class Phases {
public:
  Phases(OpPassManager &passes, const PipelineOptions &options)
      : passes(passes), options(options), named(options.nodes()) {}

  void verified(function_ref<void()> addPasses) {
    addPasses();
    passes.addPass(createVerify());
  }

  void prune() {
    PruneOptions prune;
    prune.fetches = llvm::to_vector(options.fetches);
    prune.targets = options.wanted();
    prune.feeds = llvm::to_vector(options.feeds);
    prune.keepEffects = options.keepEffects;
    prune.functions = !options.keepFunctions;
    passes.addPass(createPrune(prune));
  }
  void mergeEqual() { passes.addPass(createCommonSubexpressions({named, options.unknown()})); }
  void pruneArguments(bool ofGraph = false) {
    if (!options.keepFunctions)
      passes.addPass(createPruneArguments({named, ofGraph}));
  }
  bool knowsFetches() const { return !options.fetches.empty() || !options.targets.empty(); }
  /// Infers shapes first, because constant folding uses the shapes in types.
  void foldConstants() {
    if (!options.keepFunctions)
      passes.addPass(createShapeInference({options.unknown(), false}));
    ConstantFoldingOptions folding;
    folding.feeds = options.unknown();
    passes.addPass(createConstantFolding(folding));
  }
  void hoistLoopInvariants() {
    if (!options.keepFunctions)
      passes.addPass(createHoistLoopInvariants());
  }
  void fuse() {
    RemapOptions remap;
    remap.keep = named;
    remap.feeds = options.unknown();
    passes.addPass(createRemap(remap));
  }
  void selectImplementations() { passes.addPass(createSelectImplementations()); }
  void specialize() { passes.addPass(createSpecializeFunctions()); }
  void dedupeConstants() {
    passes.addPass(createDedupeConstants({named, options.unknown(), true}));
  }
  void shortenNames() {
    // Without fetches and targets, later runs may fetch any name.
    passes.addPass(createNameCompress({named, knowsFetches()}));
  }
  void inlineCalls() { passes.addPass(createInlineCalls()); }
  void toFunctional() { passes.addPass(createV1ToFunctional({named})); }
  void toV1() { passes.addPass(createFunctionalToV1()); }
  // Converts to regions in between, because values that a branch uses aren't arguments there.
  void sinkIntoBranches() {
    passes.addPass(createFunctionalToRegion());
    passes.addPass(createControlFlowSink({knowsFetches(), named, options.unknown()}));
    passes.addPass(createRegionToFunctional());
  }
  void sort() { passes.addPass(createTopologicalSort()); }

private:
  OpPassManager &passes;
  const PipelineOptions &options;
  SmallVector<std::string> named;
};

void cleanUp(Phases &phases) {
  phases.verified([&] {
    phases.prune();
    phases.mergeEqual();
    phases.prune();
  });
}

void inlineAll(Phases &phases) {
  phases.verified([&] {
    phases.selectImplementations();
    phases.specialize();
    phases.inlineCalls();
    phases.prune();
  });
}

void simplify(Phases &phases) {
  phases.verified([&] { phases.prune(); });
  inlineAll(phases);
  phases.verified([&] { phases.pruneArguments(); });
  phases.verified([&] {
    phases.foldConstants();
    phases.hoistLoopInvariants();
  });
  cleanUp(phases);
}

void optimize(Phases &phases) {
  simplify(phases);
  phases.verified([&] { phases.sort(); });
}

// If the fetches are known, the new nodes lose their unused results too.
void toFunctional(Phases &phases) {
  phases.verified([&] { phases.prune(); });
  phases.verified([&] { phases.toFunctional(); });
  phases.verified([&] { phases.pruneArguments(phases.knowsFetches()); });
  cleanUp(phases);
  phases.verified([&] { phases.sort(); });
}

void toV1(Phases &phases) {
  phases.verified([&] { phases.prune(); });
  phases.verified([&] { phases.toV1(); });
  phases.verified([&] { phases.sort(); });
}

void optimizeAndFuse(Phases &phases) {
  simplify(phases);
  phases.verified([&] {
    phases.fuse();
    phases.prune();
    phases.sort();
  });
}

void sinkIntoBranches(Phases &phases) {
  phases.verified([&] {
    phases.sinkIntoBranches();
    phases.prune();
  });
}

void makeSmall(Phases &phases) {
  simplify(phases);
  phases.verified([&] {
    phases.dedupeConstants();
    phases.shortenNames();
  });
}

struct Pipeline {
  StringLiteral name, summary;
  void (*build)(Phases &phases);
};

constexpr Pipeline pipelines[] = {
    {"tfg-cleanup", "remove dead nodes and eliminate common subexpressions", cleanUp},
    {"tfg-inline-all", "inline all calls that can be inlined, and remove unused functions",
     inlineAll},
    {"tfg-cf-sink-functional", "sink nodes into the branch of an If or Case that uses them",
     sinkIntoBranches},
    {"tfg-default",
     "optimize: inlining, constant folding, common subexpressions, dead nodes and more", optimize},
    {"tfg-structured",
     "raise v1 control flow to While, If and Case, and remove dead nodes and arguments",
     toFunctional},
    {"tfg-frames", "lower While, For, If and Case to v1 control flow", toV1},
    {"tfg-inference", "tfg-default followed by op fusion, for graphs that only serve requests",
     optimizeAndFuse},
    {"tfg-small", "optimize for small files: tfg-default, merged constants and short names",
     makeSmall},
};

} // namespace

std::vector<std::string_view> passNames() {
  std::vector<std::string_view> names = {
#include "treadle/transforms/PassNames.inc"
  };
  for (const Pipeline &pipeline : pipelines)
    names.emplace_back(pipeline.name);
  return names;
}

void registerTreadlePipelines() {
  // A registration adds the pipeline to a global list; the object itself isn't needed afterwards.
  for (const Pipeline &pipeline : pipelines)
    PassPipelineRegistration<PipelineOptions>(
        pipeline.name, pipeline.summary,
        [&pipeline](OpPassManager &passes, const PipelineOptions &options) {
          Phases phases(passes, options);
          phases.verified([] {});
          pipeline.build(phases);
        });
}

} // namespace treadle
