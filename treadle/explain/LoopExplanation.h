// Internal to the session folder: one loop, explained. Explain.cpp finds the loops.
#pragma once

#include "treadle/transforms/deps_to_chains/Gain.h"
#include "treadle/transforms/deps_to_chains/Iterations.h"
#include "treadle/treadle.h"

#include "llvm/ADT/StringSet.h"

namespace treadle {

/// Explains the loops of a module that has no regions. It looks at the module once, when it is
/// made.
class LoopExplainer {
public:
  explicit LoopExplainer(mlir::ModuleOp module);

  /// A node that `show` counts among the loops.
  Explanation::Loop explain(tfg::Node node);
  Explanation::Loop explain(const tfg::FrameGraph &graph, tfg::FrameGraph::Index frame);

  /// A v1 loop of a generic function.
  static Explanation::Loop explainGeneric(tfg::Node enter, llvm::StringRef frame);

  static Explanation::Op describe(tfg::Node node);
  /// The first Enter of a frame.
  static tfg::Node enterOf(const tfg::FrameGraph &graph, tfg::FrameGraph::Index frame);

private:
  using Loop = Explanation::Loop;
  using Order = Explanation::Order;

  void explainWhile(const tfg::FunctionalNode &functional, Loop &loop);
  void addResources(const tfg::LoopOrder &order, const tfg::Iterations &iterations, Loop &loop);
  void judge(const tfg::LoopOrder &order, const tfg::Iterations &iterations, Loop &loop);
  std::string missingPart(tfg::Node node) const;

  void addResources(const tfg::Iterations &iterations, const tfg::Iterations::Cycles &cycles,
                    bool overlaps, Loop &loop);

  /// For people: `variable 'v'`, also where a function only has it as an argument.
  std::string resourceText(llvm::ArrayRef<unsigned> ids, Part part) const;
  std::string resourceText(unsigned id) const;

  void advise(const tfg::LoopOrder &order, const tfg::Iterations &iterations, Loop &loop);
  std::string causeOf(const tfg::LoopResource &resource);
  std::string causeInWorld(tfg::Node node) const;
  /// The nodes that write a resource themselves: `node`, or some in functions that it calls.
  void findWriters(tfg::Node node, llvm::ArrayRef<unsigned> ids, llvm::StringSet<> &seen,
                   llvm::SmallVectorImpl<tfg::Node> &out);

  /// Whether the node, or one in a function that it calls, waits as the runtime sees it.
  bool isBlocking(tfg::Node node, llvm::StringSet<> &seen) const;
  template <typename Visit> void forEachCalled(tfg::Node node, Visit visit) const;

  tfg::FunctionMap functions;
  llvm::DenseMap<mlir::Operation *, llvm::SmallVector<tfg::FunctionalNode, 1>> callers;
  tfg::EffectAnalysis effects;
  tfg::Effects purity;
  tfg::WaitingNodes waiting;
};

/// `'x' (Op, model.py:31)`; with its function `'x' (Op of 'loop_cond')`.
std::string opText(const Explanation::Op &op, bool withFunction = false);
/// The same of several, the first few of them: `'x' (Op), 'y' (Op) and 4 more`. Those that have the
/// name of one in another function come with their functions.
std::string opList(const std::vector<Explanation::Op> &ops, size_t mostShown = 4);

/// What keeps iterations in order, a text for each cause; and what only seems to.
std::vector<std::string> orderTexts(const Explanation::Loop &loop);
std::vector<std::string> raceTexts(const Explanation::Loop &loop);

// Shared by its files.

/// Whether a node is more than a matter of form: no constant, no handle, and doesn't only hand on.
bool doesSomething(tfg::Node node);
/// Ops with numbers for which `isWanted` is true, of those that do something.
std::vector<Explanation::Op> pick(const tfg::Iterations &iterations,
                                  llvm::function_ref<bool(size_t)> isWanted);
void addValueOrders(const tfg::Iterations &iterations, const tfg::Iterations::Cycles &cycles,
                    llvm::ArrayRef<std::string> variables, Explanation::Loop &loop);
std::string iterationsText(int64_t parallel);
std::string inTurnsText(std::string_view why);
/// Of a loop in a generic function.
std::string genericText(tfg::Node node);
/// Of a number that no run accepts; empty for others.
std::string badParallelism(int64_t parallel);

template <typename Visit> void LoopExplainer::forEachCalled(tfg::Node node, Visit visit) const {
  auto look = [&](llvm::StringRef name) {
    if (tfg::FuncOp function = functions.lookup(name); function && !function.isExternal())
      visit(function);
  };
  tfg::forEachCallee(node, look);
}

} // namespace treadle
