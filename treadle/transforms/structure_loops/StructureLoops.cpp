#include "treadle/transforms/structure_loops/StructureLoops.h"

#include "treadle/dialect/FunctionNames.h"
#include "treadle/lowering/Functions.h"
#include "treadle/ops/OpTable.h"
#include "treadle/rewriting/Frames.h"
#include "treadle/rewriting/SoftEdges.h"
#include "treadle/transforms/Passes.h"
#include "treadle/transforms/structure_loops/RaiseLoop.h"
#include "treadle/transforms/topological_sort/TopologicalSort.h"
#include "treadle/transforms/v1_to_functional/Conversion.h"

using namespace mlir;

namespace treadle {

#define GEN_PASS_DEF_STRUCTURELOOPS
#include "treadle/transforms/Passes.h.inc"

namespace tfg {
namespace {

/// The differences between a subgraph of a request and a body of a module.
struct BodyContext {
  function_ref<bool(Node)> isKept, alwaysRuns;
  FunctionLibrary &functions;
  NameScope *names = nullptr; // null if names are only used in messages
  bool keepsExits = false;    // of outermost loops, for results that are fetched by name
};

bool mayRepeat(Node node) {
  StringRef op = node.opType();
  return op == "Const" || op == "ControlTrigger" || op == "Identity" || op == "NoOp";
}

class Structurer {
public:
  Structurer(Block &body, const BodyContext &around)
      : around(around), order(topologicalOrder(body)), loops(findLoops(order)), deadness(order) {}

  /// Emits a remark with the reason for each loop that stays.
  const std::vector<std::unique_ptr<Loop>> &run() {
    const LoopRules rules{around.isKept, mayRepeat, around.alwaysRuns};
    for (std::unique_ptr<Loop> &loop : loops) {
      LoopParts parts(*loop, rules, deadness);
      if (findObstacle(*loop) || !parts.find() || !preservesRunCounts(*loop, parts))
        continue;
      StringRef name = loop->frameName.getValue();
      bool staysByName = around.keepsExits && !loop->parent;
      Node made = raiseLoop(*loop, parts, around.names ? around.names->unique(name) : name.str());
      parts.replaceExits(made, [=](Node) { return staysByName; });
      parts.setInPlace(made);
      ++numStructured;
    }
    return loops;
  }

  unsigned numStructured = 0;

private:
  bool findObstacle(Loop &loop) const;
  bool mayWait(Node node) const;
  static bool preservesRunCounts(Loop &loop, const LoopParts &parts);

  const BodyContext around;
  const std::vector<Operation *> order;
  std::vector<std::unique_ptr<Loop>> loops;
  Deadness deadness;
};

// --- loops that aren't converted -----------------------------------------------------------------

// Other nodes may have to unblock this one; in a frame, iterations continue meanwhile.
bool Structurer::mayWait(Node node) const {
  bool found = isBlockingOp(node.opType());
  forEachCallee(
      node, [&](StringRef callee) { found = found || around.functions.mayBlock(callee.str()); });
  return found;
}

/// Returns whether the node forwards references to variables, which regions can't.
bool forwardsReferences(Node node) {
  StringRef kind = node.opType();
  bool isForReferences = kind.starts_with("Ref") && kind != "RefIdentity";
  bool takesValue = feedsNextIteration(node.getOperation()) || kind == "LoopCond";
  return isForReferences ||
         (takesValue && llvm::any_of(node.data(), [](Value value) { return isReference(value); }));
}

/// Returns whether the executor rejects the frame or has special instructions for it.
bool needsExecutor(Node enter) {
  return overlaps(enter) || parallelIterations(enter) <= 0 || !frameName(enter);
}

bool Structurer::findObstacle(Loop &loop) const {
  if (!loop.children.empty())
    loop.refuse(loop.children.front()->culprit, "a nested loop isn't converted");
  for (Operation *op : loop.enters)
    if (needsExecutor(Node(op)))
      loop.refuse(
          op, "its frame is marked to overlap, has no name, or has an invalid parallel_iterations");
  for (Operation *op : loop.nodes)
    if (forwardsReferences(Node(op)))
      loop.refuse(op, ("node '" + Node(op).name() + "' forwards a reference to a variable").str());
    else if (mayWait(Node(op)))
      loop.refuse(op, ("node '" + Node(op).name() + "' may block").str());
  return !loop.problem.empty();
}

/// Returns whether each node would run as often as in the frame.
bool Structurer::preservesRunCounts(Loop &loop, const LoopParts &parts) {
  llvm::DenseSet<Operation *> body(parts.bodyNodes().begin(), parts.bodyNodes().end());
  for (Operation *op : parts.conditionNodes())
    if (body.contains(op)) {
      loop.refuse(op, ("its condition and its body use node '" + Node(op).name() + "'").str());
      return false;
    }
  return true;
}

} // namespace

// Copies the subgraph only if it contains v1 loops, which is rare.
void structureLoops(PrunedSubgraph &part, FunctionLibrary &functions) {
  if (!part.hasNode([](Node node) { return feedsNextIteration(node.getOperation()); }))
    return;
  auto nothing = [](Node) { return false; }; // results of the subgraph count as uses
  auto everything = [](Node node) { return !mayRepeat(node); };
  Structurer(part.copyNodes(), {nothing, everything, functions}).run();
}

} // namespace tfg

namespace {

struct StructureLoops : impl::StructureLoopsBase<StructureLoops> {
  using Base::Base;

  void runOnOperation() override {
    tfg::SoftEdges soft(getOperation());
    llvm::StringSet<> kept;
    for (const std::string &name : keep)
      kept.insert(name);
    const ModuleIndex index(getOperation());
    const KernelRegistry noKernels;
    ModuleFunctions functions(index, noKernels, nullptr);
    tfg::Effects effects(getOperation());
    tfg::forEachBody(getOperation(), [&](Block &body) {
      bool isGraph = isa<tfg::GraphOp>(body.getParentOp());
      auto isKept = [&](tfg::Node node) { return isGraph && kept.contains(node.name()); };
      auto alwaysRuns = [&](tfg::Node node) { return !isGraph && !effects.isPure(node); };
      tfg::NameScope names(body);
      tfg::Structurer structurer(body, {isKept, alwaysRuns, functions, &names, isGraph});
      for (const std::unique_ptr<tfg::Loop> &loop : structurer.run())
        if (!loop->problem.empty())
          (loop->culprit ? loop->culprit : body.getParentOp())->emitRemark()
              << "loop '" << loop->frameName.getValue() << "' isn't converted: " << loop->problem;
      numLoops += structurer.numStructured;
    });
  }
};

} // namespace
} // namespace treadle
