// Internal: explanation of one loop. Explain.cpp finds the loops.
#pragma once

#include "treadle/transforms/deps_to_chains/Gain.h"
#include "treadle/transforms/deps_to_chains/Iterations.h"
#include "treadle/treadle.h"

#include "llvm/ADT/StringSet.h"

namespace treadle {

/// Explains the loops of a module without regions. The constructor analyzes the module; it must not
/// change afterwards.
class LoopExplainer {
public:
  explicit LoopExplainer(mlir::ModuleOp module);

  /// Explains a node that `show` counts among the loops.
  Explanation::Loop explain(tfg::Node node);
  Explanation::Loop explain(const tfg::FrameGraph &graph, tfg::FrameGraph::Index frame);

  /// Explains a v1 loop of a generic function.
  static Explanation::Loop explainGeneric(tfg::Node enter, llvm::StringRef frame);

  static Explanation::Op describe(tfg::Node node);

private:
  using Loop = Explanation::Loop;
  using Order = Explanation::Order;

  void explainWhile(const tfg::FunctionalNode &functional, Loop &loop);
  void addResources(const tfg::LoopOrder &order, const tfg::Iterations &iterations, Loop &loop);
  void judge(const tfg::LoopOrder &order, const tfg::Iterations &iterations, Loop &loop);
  std::string missingPart(tfg::Node node) const;

  void addResources(const tfg::Iterations &iterations, const tfg::Iterations::Cycles &cycles,
                    bool overlaps, Loop &loop);

  /// Returns a description for diagnostics, such as `variable 'v'`, even if the function only has
  /// it as an argument.
  std::string resourceText(llvm::ArrayRef<unsigned> ids, ResourceEnd part) const;
  std::string resourceText(unsigned id) const;

  void advise(const tfg::LoopOrder &order, const tfg::Iterations &iterations, Loop &loop);
  std::string causeOf(const tfg::LoopResource &resource);
  std::string causeInWorld(tfg::Node node) const;
  /// Finds the nodes that write a resource themselves: `node`, or nodes of functions that it calls.
  void findWriters(tfg::Node node, llvm::ArrayRef<unsigned> ids, llvm::StringSet<> &seen,
                   llvm::SmallVectorImpl<tfg::Node> &out);

  /// Returns whether the runtime treats the node, or one of a function that it calls, as blocking.
  bool isBlocking(tfg::Node node) const;
  template <typename Visit> void forEachCalled(tfg::Node node, Visit visit) const;

  tfg::FunctionMap functions;
  /// The calls of each function; a call of several functions is shared.
  using Calls = llvm::SmallVector<std::shared_ptr<const tfg::FunctionalNode>, 1>;
  llvm::DenseMap<mlir::Operation *, Calls> callers;
  tfg::EffectAnalysis effects;
  tfg::Effects purity;
  tfg::BlockingNodes waiting;
};

/// Returns `'x' (Op, model.py:31)`, with the function `'x' (Op of 'loop_cond')`.
std::string opText(const Explanation::Op &op, bool withFunction = false);
/// Returns a list of the first few ops: `'x' (Op), 'y' (Op) and 4 more`. Ops with the same name in
/// another function are shown with their functions.
std::string opList(const std::vector<Explanation::Op> &ops, size_t maxShown = 4);

/// Returns a text for each cause that orders iterations, including apparent ones.
std::vector<std::string> orderTexts(const Explanation::Loop &loop);
std::vector<std::string> raceTexts(const Explanation::Loop &loop);

// Shared by the files that explain loops.

/// Returns whether a node is relevant to users: it isn't a constant, doesn't create a handle, and
/// doesn't only forward values.
bool doesSomething(tfg::Node node);
/// Returns the relevant ops for whose indices `isWanted` is true.
std::vector<Explanation::Op> pick(const tfg::Iterations &iterations,
                                  llvm::function_ref<bool(size_t)> isWanted);
void addValueOrders(const tfg::Iterations &iterations, const tfg::Iterations::Cycles &cycles,
                    llvm::ArrayRef<std::string> variables, Explanation::Loop &loop);
std::string iterationsText(int64_t parallel);
std::string sequentialText(std::string_view why);
/// Returns the text for a loop in a generic function.
std::string genericText(tfg::Node node);
/// Returns the text for a parallel_iterations value that runs reject; empty for valid ones.
std::string badParallelism(int64_t parallel);

template <typename Visit> void LoopExplainer::forEachCalled(tfg::Node node, Visit visit) const {
  auto look = [&](llvm::StringRef name) {
    if (tfg::FuncOp function = functions.lookup(name); function && !function.isExternal())
      visit(function);
  };
  tfg::forEachCallee(node, look);
}

} // namespace treadle
