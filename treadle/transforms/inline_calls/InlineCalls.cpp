#include "treadle/rewriting/Dissolving.h"
#include "treadle/rewriting/Frames.h"
#include "treadle/rewriting/SoftEdges.h"
#include "treadle/transforms/Passes.h"
#include "treadle/transforms/inline_calls/CallSite.h"

#include "llvm/ADT/DenseSet.h"

using namespace mlir;

namespace treadle {

#define GEN_PASS_DEF_INLINECALLS
#include "treadle/transforms/Passes.h.inc"

namespace tfg {
namespace {

/// The functions sorted so that callees come before callers. Functions that call themselves,
/// directly or not, are recursive.
class CalleesFirst {
public:
  explicit CalleesFirst(const FunctionMap &functions) : functions(functions) {}

  void visit(FuncOp root) {
    if (!push(root))
      return;
    while (!path.empty()) {
      PathEntry &frame = path.back();
      if (frame.next == frame.callees.size()) {
        state[frame.function] = State::Done;
        order.push_back(frame.function);
        path.pop_back();
        continue;
      }
      FuncOp callee = frame.callees[frame.next++];
      if (!push(callee) && state[callee] == State::OnPath)
        recursive.insert(callee);
    }
  }

  std::vector<FuncOp> order;
  llvm::DenseSet<FuncOp> recursive;

private:
  enum class State { New, OnPath, Done };
  struct PathEntry {
    FuncOp function;
    SmallVector<FuncOp, 0> callees;
    size_t next;
  };

  bool push(FuncOp function) {
    if (state[function] != State::New)
      return false;
    state[function] = State::OnPath;
    path.push_back({function, calleesOf(function), 0});
    return true;
  }

  SmallVector<FuncOp, 0> calleesOf(FuncOp function) {
    llvm::SetVector<FuncOp> callees;
    if (function.isExternal() || function.getGeneric())
      return {};
    for (Operation &op : function.getEntry())
      if (Node::isNode(&op))
        if (FuncOp callee = functions.lookup(calledFunction(Node(&op), functions)))
          callees.insert(callee);
    return callees.takeVector();
  }

  const FunctionMap &functions;
  std::vector<PathEntry> path;
  llvm::DenseMap<FuncOp, State> state;
};

/// Inlines the calls of a module, callees before callers, so that each body is complete when it is
/// copied.
class Inliner {
public:
  Inliner(ModuleOp module, const InlineCallsOptions &options)
      : module(module), options(options), effects(module), functions(functionsOf(module)) {
    kept.insert_range(options.noinline);
    constexpr size_t maxTimes = 10;
    size_t numNodes = 0;
    module.walk([&](Operation *op) { numNodes += Node::isNode(op); });
    left = options.maxNodes + maxTimes * numNodes;
  }

  void run() {
    CalleesFirst sorted(functions);
    for (FuncOp function : module.getOps<FuncOp>())
      sorted.visit(function);
    // Marks recursive functions before their bodies and those of their callers are processed.
    for (FuncOp function : sorted.recursive) {
      Callee &callee = callees[function.getName()];
      callee.function = function;
      callee.obstacle = "it calls itself";
    }
    for (FuncOp function : sorted.order) {
      if (!function.isExternal() && !function.getGeneric())
        expandIn(function.getEntry(), /*isGraph=*/false);
      if (sorted.recursive.contains(function))
        continue;
      Callee callee = analyzeCallee(function, effects);
      if (kept.contains(function.getName()))
        callee.obstacle = "the option noinline lists it";
      callees.try_emplace(function.getName(), std::move(callee));
    }
    for (GraphOp graph : module.getOps<GraphOp>())
      expandIn(graph.getNodes().front(), /*isGraph=*/true);
  }

private:
  void expandIn(Block &body, bool isGraph) {
    std::vector<Node> calls;
    size_t size = 0;
    for (Operation &op : body) {
      if (!Node::isNode(&op))
        continue;
      Node node(&op);
      ++size;
      if (functions.contains(calledFunction(node, functions)) &&
          (!options.dissolving || dissolves(node)))
        calls.push_back(node);
    }
    if (calls.empty())
      return;
    NameScope names(body);
    bool withDead = mayBeDead(body);
    llvm::DenseSet<Operation *> afterEffects = nodesAfterEffects(body, effects);
    for (Node call : calls) {
      const Callee &callee = callees.find(calledFunction(call, functions))->second;
      if (std::string why = obstacle(call, callee, size); !why.empty()) {
        report(call, callee, why);
        continue;
      }
      size += callee.numNodes;
      left -= callee.numNodes;
      withDead |= callee.mayBeDead;
      expandCall(call, callee, {names, withDead, isGraph && options.keepNames, afterEffects});
    }
  }

  std::string obstacle(Node call, const Callee &callee, size_t size) const {
    if (!callee.obstacle.empty())
      return callee.obstacle;
    if (size + callee.numNodes > options.maxNodes)
      return "there would be more than " + std::to_string(options.maxNodes) +
             " nodes; raise the option max-nodes";
    // A chain of functions that each call the next one twice would double with every level.
    if (callee.numNodes > left)
      return "all bodies together would have too many nodes; raise the option max-nodes";
    return obstacleOfCall(call, callee);
  }

  void report(Node call, const Callee &callee, StringRef why) const {
    FuncOp function = callee.function;
    if (options.explain)
      call->emitRemark() << "node '" << call.name() << "' (" << call.opType() << "): function '"
                         << function.getName() << "' isn't inlined: " << why;
  }

  ModuleOp module;
  const InlineCallsOptions &options;
  Effects effects;
  FunctionMap functions;
  llvm::StringMap<Callee> callees;
  llvm::StringSet<> kept;
  size_t left; // the number of nodes that all bodies may still gain together
};

} // namespace
} // namespace tfg

namespace {

struct InlineCalls : impl::InlineCallsBase<InlineCalls> {
  using Base::Base;

  void runOnOperation() override {
    tfg::SoftEdges soft(getOperation());
    InlineCallsOptions options{llvm::to_vector(noinline), maxNodes, keepNames, dissolving, explain};
    tfg::Inliner(getOperation(), options).run();
  }
};

} // namespace
} // namespace treadle
