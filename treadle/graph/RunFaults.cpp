#include "treadle/graph/RunFaults.h"

#include "treadle/graph/GraphImpl.h"
#include "treadle/kernels/Families.h"
#include "treadle/lowering/Functions.h"
#include "treadle/ops/OpTable.h"
#include "treadle/runtime/PlanFaults.h"
#include "treadle/transforms/PlanRewrites.h"
#include "treadle/transforms/topological_sort/TopologicalSort.h"
#include "treadle/transforms/v1_to_functional/Deadness.h"

#include "llvm/ADT/StringSet.h"

using namespace mlir;

namespace treadle {
namespace {

/// Determines which nodes execute in every run that includes them.
class Reachability {
public:
  explicit Reachability(const ModuleIndex &index)
      : index(index), deadness(tfg::topologicalOrder(index.graph().getNodes().front())) {}

  bool isCertain(StringRef name) {
    tfg::Node node = index.node(name);
    return deadness.isKnown() && node && deadness.of(node.getOperation()) == 0;
  }

private:
  const ModuleIndex &index;
  tfg::Deadness deadness;
};

class RunChecker {
public:
  RunChecker(ModuleOp module, size_t limit)
      : index(module), limit(limit), rewrite(planRewrites({.fuses = true})),
        functions(index, builtinKernels(), rewrite) {}

  std::vector<Problem> check(const std::vector<std::string> &nodes) {
    if (!index.graph())
      return {};
    Expected<std::unique_ptr<Plan>> plan = planOf(nodes);
    if (!plan)
      return {{isMissing(plan.error()) ? "note" : "error", {}, plan.error().message}};
    Reachability reach(index);
    for (const PlanFault &fault : findFaults(**plan))
      add(fault, reach.isCertain((*plan)->infos[fault.node].name));
    return std::move(problems);
  }

private:
  static bool isMissing(const Error &error) { return error.code == Code::Unimplemented; }

  Expected<std::unique_ptr<Plan>> planOf(const std::vector<std::string> &nodes) {
    PrunedSubgraph part = TREADLE_TRY(prunedSubgraph(index, {{}, {}, nodes}));
    rewrite(part, index, functions);
    GraphSpec spec = TREADLE_TRY(lower(index, part));
    return buildPlan(std::move(spec), {&builtinKernels(), &functions});
  }

  void add(const PlanFault &fault, bool isReached) {
    if (problems.size() >= limit || !seen.insert(fault.error.message).second)
      return;
    bool isError = fault.isCertain && isReached && !isMissing(fault.error);
    problems.push_back({isError ? "error" : "note",
                        {fault.name},
                        isError ? fault.error.message
                                : str(fault.error.message, "; a run that reaches it fails")});
  }

  const ModuleIndex index;
  const size_t limit;
  const Rewrite rewrite;
  ModuleFunctions functions;
  llvm::StringSet<> seen;
  std::vector<Problem> problems;
};

/// Returns the graph in the form that sessions take.
Expected<Graph> runnable(const Graph &graph) {
  auto isGeneric = [](tfg::FuncOp function) { return function.getGeneric(); };
  bool isOpen = llvm::any_of(graph.impl->module->getOps<tfg::FuncOp>(), isGeneric);
  return (isOpen ? graph.runPasses("tfg-specialize-functions") : Expected<Graph>(graph))
      .and_then(withoutEmbeddedPrograms)
      .and_then(withoutRegions);
}

} // namespace

std::vector<Problem> findRunFaults(ModuleOp module, const std::vector<std::string> &nodes,
                                   size_t limit) {
  return RunChecker(module, limit).check(nodes);
}

std::vector<Problem> findRunFaults(const Graph &graph, const std::vector<std::string> &nodes,
                                   size_t limit) {
  Expected<Graph> form = runnable(graph);
  if (!form)
    return {
        {form.error().code == Code::Unimplemented ? "note" : "error", {}, form.error().message}};
  return findRunFaults(*form->impl->module, nodes, limit);
}

} // namespace treadle
