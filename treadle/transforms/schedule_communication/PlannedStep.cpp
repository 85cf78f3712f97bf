// The tasks of a run: nodes after kernel fusion and outlining of clusters.
#include "treadle/transforms/schedule_communication/ScheduleCommunication.h"

#include "treadle/dialect/Diagnostics.h"
#include "treadle/rewriting/Rewriting.h"
#include "treadle/rewriting/SoftEdges.h"
#include "treadle/transforms/Passes.h"

#include "mlir/Pass/PassManager.h"

using namespace mlir;

namespace treadle::tfg {
namespace {

/// Returns the corresponding body in a copy of the module.
Block *copyOf(Block &body, ModuleOp copy) {
  if (auto function = dyn_cast<FuncOp>(body.getParentOp()))
    return &copy.lookupSymbol<FuncOp>(function.getName()).getEntry();
  auto graphs = copy.getOps<GraphOp>();
  return &(*graphs.begin()).getNodes().front();
}

/// Adds a NoOp with a soft edge from each computing node, and no other inputs. After rewriting, the
/// soft edge names the node that replaced the original one.
class ReplacementTracker {
public:
  explicit ReplacementTracker(Block &body) : body(body) {
    NumberedBody numbered(body);
    NameScope names(body);
    OpBuilder builder(body.getParentOp()->getContext());
    builder.setInsertionPointToStart(&body);
    for (Node node : numbered.nodes) {
      std::string name = names.unique(node.name());
      followed[name] = node.name().str();
      setSoftInputs(NodeBuilder(builder, "NoOp").name(name).build(), node.name());
    }
  }

  /// Removes the NoOps, and returns for each remaining node the names of the nodes that it
  /// replaced.
  llvm::StringMap<SmallVector<std::string, 1>> remove() {
    llvm::StringMap<SmallVector<std::string, 1>> parts;
    for (Operation &op : llvm::make_early_inc_range(body)) {
      auto known = Node::isNode(&op) ? followed.find(Node(&op).name()) : followed.end();
      if (known == followed.end())
        continue;
      // If there are several, nodes that only forward values come first.
      if (SmallVector<StringRef> now = softInputs(Node(&op)); !now.empty())
        parts[now.back()].push_back(known->second);
      op.erase();
    }
    return parts;
  }

private:
  Block &body;
  llvm::StringMap<std::string> followed; // by the name of the NoOp
};

/// Rewrites the body as for a run that fetches all nodes without users.
void rewriteForRun(ModuleOp module, Block &body) {
  OutlineClustersOptions clusters;
  if (isa<GraphOp>(body.getParentOp()))
    for (Operation &op : body)
      if (Node::isNode(&op) && op.use_empty() && Node(&op).numResults() > 0)
        clusters.fetches.push_back(Node(&op).name().str());
  ThreadDiagnostics silent(module.getContext(), [](Diagnostic &) {});
  PassManager passes(module.getContext(), ModuleOp::getOperationName());
  passes.addPass(createOutlineClusters(clusters));
  passes.addPass(createChannelsLast());
  passes.addPass(createFuseKernels());
  // If rewriting fails, the original nodes are scheduled.
  (void)passes.run(module);
}

} // namespace

PlannedStep plannedStep(Block &original, const ScheduleOptions &options) {
  llvm::StringMap<double> costs;
  llvm::StringMap<std::string> ops;
  NumberedBody given(original);
  for (Node node : given.nodes) {
    costs[node.name()] = options.costs.compute(node);
    ops[node.name()] = node.opType().str();
  }
  OwningOpRef<ModuleOp> copy = original.getParentOp()->getParentOfType<ModuleOp>().clone();
  Block &body = *copyOf(original, *copy);
  ReplacementTracker followers(body);
  rewriteForRun(*copy, body);
  auto parts = followers.remove();
  PlannedStep step{tasksOf(body, options), {}};
  NumberedBody planned(body);
  for (auto [task, node] : llvm::zip(step.tasks, planned.nodes)) {
    StringRef name = node.name(), op = node.opType();
    step.nodes.emplace_back(name, op);
    auto known = parts.find(name);
    bool isNew = !ops.contains(name);
    bool isMeasured = (isNew && options.costs.nodes.contains(name)) ||
                      (ops.lookup(name) != op && options.costs.ops.contains(op));
    if (task.isCommunication || isMeasured || (isNew && known == parts.end()))
      continue;
    task.seconds = 0;
    if (known != parts.end())
      for (const std::string &part : known->second)
        task.seconds += costs.lookup(part);
  }
  return step;
}

} // namespace treadle::tfg
