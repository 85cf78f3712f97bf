// The named pipelines: phases of passes, each phase checked by tfg-verify.
#include "treadle/transforms/Passes.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"

using namespace mlir;

namespace treadle {
namespace {

/// What a pipeline is told of the runs that follow. Without fetches and targets any node of the
/// graph may be asked for, and the graph loses none.
struct PipelineOptions : mlir::PassPipelineOptions<PipelineOptions> {
  ListOption<std::string> fetches{*this, "fetches", llvm::cl::desc("values that runs ask for")};
  ListOption<std::string> targets{*this, "targets", llvm::cl::desc("nodes that runs ask for")};
  ListOption<std::string> feeds{*this, "feeds", llvm::cl::desc("values that runs give")};
  ListOption<std::string> keep{*this, "keep",
                               llvm::cl::desc("nodes that must stay, and may be fed or asked for")};
  Option<bool> keepEffects{*this, "keep-effects", llvm::cl::init(false),
                           llvm::cl::desc("keep nodes of the graph that have effects")};
  Option<bool> keepFunctions{*this, "keep-functions", llvm::cl::init(false),
                             llvm::cl::desc("leave functions as they are: others know them")};

  /// The nodes that runs name.
  SmallVector<std::string> nodes() const {
    SmallVector<std::string> out;
    for (const auto *names : {&fetches, &targets, &feeds, &keep})
      for (StringRef name : *names)
        out.push_back(name.split(':').first.str());
    return out;
  }

  /// What is known to stay of what runs ask for.
  SmallVector<std::string> wanted() const {
    SmallVector<std::string> out(targets.begin(), targets.end());
    out.append(keep.begin(), keep.end());
    return out;
  }

  /// The values that nothing may be concluded from.
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
  /// Shapes go into the types first: what can be computed from them is.
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
    // Without fetches and targets any name may be asked for.
    passes.addPass(createNameCompress({named, knowsFetches()}));
  }
  void inlineCalls() { passes.addPass(createInlineCalls()); }
  void toFunctional() { passes.addPass(createV1ToFunctional({named})); }
  void toV1() { passes.addPass(createFunctionalToV1()); }
  // With regions for as long as it takes: what goes into a branch is no argument of it any more.
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

// Where it is known what runs ask for, the nodes that were made lose unused results too.
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
    {"tfg-cleanup", "remove what is not needed, make one of what is equal", cleanUp},
    {"tfg-inline-all", "inline every call that can be, and remove the functions that are left over",
     inlineAll},
    {"tfg-cf-sink-functional",
     "compute what only one branch of an If or Case uses in that branch, and nowhere else",
     sinkIntoBranches},
    {"tfg-default", "what makes most graphs smaller and faster, in a good order", optimize},
    {"tfg-structured",
     "make frames, Switch and Merge nodes While, If and Case, without what these don't need",
     toFunctional},
    {"tfg-frames", "make While, For, If and Case frames, Switch and Merge nodes", toV1},
    {"tfg-inference", "tfg-default, and fused ops: what a graph that only gives results is run as",
     optimizeAndFuse},
    {"tfg-small", "simpler, with one constant of each value and short names: for small files",
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
  // A registration adds to a global list, and need not live on.
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
