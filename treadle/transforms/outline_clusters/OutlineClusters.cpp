#include "treadle/dialect/NodeAttributes.h"
#include "treadle/rewriting/CallGraph.h"
#include "treadle/rewriting/FunctionalNode.h"
#include "treadle/rewriting/SoftEdges.h"
#include "treadle/runtime/Plan.h"
#include "treadle/transforms/Passes.h"
#include "treadle/transforms/fuse_kernels/FuseKernels.h"
#include "treadle/transforms/outline_clusters/ClusterFinder.h"
#include "treadle/transforms/outline_clusters/NativeOps.h"

#include <optional>

using namespace mlir;

namespace treadle {

#define GEN_PASS_DEF_OUTLINECLUSTERS
#include "treadle/transforms/Passes.h.inc"

namespace {

using tfg::Node;

/// The functions that nodes of clusters call, directly or not. They are compiled as they are.
class CompiledFunctions {
public:
  explicit CompiledFunctions(ModuleOp module) : functions(tfg::functionsOf(module)) {}

  void addCalledBy(Node node) {
    tfg::addReachable(node, [&](StringRef name) { return functions.lookup(name); }, compiled);
  }
  bool contains(tfg::FuncOp function) const { return compiled.contains(function); }
  /// Returns whether the function existed before outlining.
  bool isOfGraph(tfg::FuncOp function) const {
    return functions.lookup(function.getName()) == function;
  }

private:
  const tfg::FunctionMap functions;
  llvm::SetVector<tfg::FuncOp> compiled;
};

class OutlineClustersPass : public impl::OutlineClustersBase<OutlineClustersPass> {
public:
  using OutlineClustersBase::OutlineClustersBase;

  void runOnOperation() override {
    module = getOperation();
    tfg::SoftEdges soft(module);
    ofGraph = {};
    for (const std::string &name : keep)
      ofGraph.kept.insert(StringRef(name).split(':').first);
    for (const std::string &name : fetches)
      ofGraph.fetched.insert(StringRef(name).split(':').first);
    tfg::FunctionNames functionNames(module);
    names = &functionNames;
    // Finds all clusters before changing the module, because the analysis relies on the original
    // module.
    CompiledFunctions compiled(module);
    tfg::ClusterFinder finder(tfg::lookupIn(module));
    std::vector<Found> loops;
    tfg::forEachBody(module, [&](Block &block) {
      loops.push_back({&block, finder.loops(block, namesOf(block))});
    });
    for (const Found &found : loops)
      for (const tfg::Cluster &cluster : found.clusters)
        for (Node node : cluster.nodes)
          compiled.addCalledBy(node);
    outline(loops);
    fuseForms(compiled);
    outline(findStraight(compiled));
  }

private:
  struct Found {
    Block *block;
    std::vector<tfg::Cluster> clusters;
  };

  /// Names of nodes in functions are neither kept nor fetched.
  const tfg::RequestedNames &namesOf(Block &block) const {
    return isa<tfg::GraphOp>(block.getParentOp()) ? ofGraph : ofFunction;
  }

  /// Fuses nodes that one kernel computes in one pass; these aren't compiled.
  void fuseForms(const CompiledFunctions &compiled) {
    SmallVector<std::string> asked;
    for (const llvm::StringSet<> *names : {&ofGraph.kept, &ofGraph.fetched})
      for (StringRef name : names->keys())
        asked.push_back(name.str());
    tfg::forEachFusionScope(module, asked, [&](const tfg::FusionScope &scope) {
      auto function = dyn_cast<tfg::FuncOp>(scope.body.getParentOp());
      if (!function || (compiled.isOfGraph(function) && !compiled.contains(function)))
        tfg::fuseForms(scope);
    });
  }

  std::vector<Found> findStraight(const CompiledFunctions &compiled) {
    tfg::ClusterFinder finder(tfg::lookupIn(module));
    std::vector<Found> found;
    tfg::forEachBody(module, [&](Block &block) {
      auto function = dyn_cast<tfg::FuncOp>(block.getParentOp());
      if (!function || !compiled.contains(function))
        found.push_back({&block, finder.straight(block, namesOf(block))});
    });
    return found;
  }

  void outline(const std::vector<Found> &found) {
    for (const auto &[block, clusters] : found) {
      if (clusters.empty())
        continue;
      tfg::NameScope scope(*block);
      for (const tfg::Cluster &cluster : clusters)
        tfg::outlineCluster(cluster, namesOf(*block), module, names->unique("cluster"),
                            scope.unique("cluster"))
            ->setAttr(tfg::clusterKey, BoolAttr::get(module.getContext(), true));
      numClusters += clusters.size();
    }
  }

  ModuleOp module;
  tfg::FunctionNames *names = nullptr;
  tfg::RequestedNames ofGraph;
  const tfg::RequestedNames ofFunction{};
};

} // namespace
} // namespace treadle
