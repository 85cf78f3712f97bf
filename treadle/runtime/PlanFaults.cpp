#include "treadle/runtime/PlanFaults.h"

#include "treadle/runtime/FunctionOps.h"

#include <algorithm>
#include <map>

namespace treadle {
namespace {

class FaultFinder {
public:
  explicit FaultFinder(const Plan &plan) : top(plan) { visit(plan, true); }
  std::vector<PlanFault> faults;

private:
  /// `isCertain`: whether the plan runs whenever the node of the top-level plan does.
  void visit(const Plan &plan, bool isCertain) {
    auto [known, isNew] = visited.try_emplace(&plan, isCertain);
    if (!isNew && (known->second || !isCertain))
      return;
    known->second = isCertain;
    bool hasBranches = std::ranges::any_of(plan.nodes, isBranching, &PlanNode::kind);
    for (const PlanNode &node : plan.nodes) {
      const NodeInfo &info = plan.infos[node.info];
      if (&plan == &top)
        topNode = node.info;
      check(node, info, isCertain && (&plan == &top || !hasBranches));
    }
  }

  void check(const PlanNode &node, const NodeInfo &info, bool isCertain) {
    if (info.isUnbound)
      add(info, *static_cast<const Error *>(node.state), isCertain);
    else if (const CallState *call = callStateOf(node))
      checkCall(*call, node, info, isCertain);
    else if (const WhileState *loop = whileStateOf(node))
      checkWhile(*loop, node, info, isCertain);
    else if (const ForState *loop = forStateOf(node))
      enter(loop->body, node.inputCount - 2, info, isCertain, false);
  }

  // Only one of the functions of a conditional runs.
  void checkCall(const CallState &call, const PlanNode &node, const NodeInfo &info,
                 bool isCertain) {
    size_t numArgs = node.inputCount - static_cast<size_t>(call.firstArg());
    bool areAllWrong = std::ranges::none_of(
        call.functions, [&](const Callee &callee) { return callee.plan(numArgs).has_value(); });
    bool isChosen = call.choice == CallState::Always;
    for (const Callee &callee : call.functions)
      enter(callee, numArgs, info, isCertain && (isChosen || areAllWrong), isCertain && isChosen);
  }

  void checkWhile(const WhileState &loop, const PlanNode &node, const NodeInfo &info,
                  bool isCertain) {
    Expected<WhilePlans> plans = loop.plans(node.inputCount);
    if (!plans)
      return add(info, plans.error(), isCertain);
    visit(*plans->cond, isCertain);
    visit(*plans->body, false);
  }

  void enter(const Callee &callee, size_t numArgs, const NodeInfo &info, bool isCertain,
             bool runsForSure) {
    if (Expected<const Plan *> plan = callee.plan(numArgs))
      visit(**plan, runsForSure);
    else
      add(info, plan.error(), isCertain);
  }

  void add(const NodeInfo &info, const Error &error, bool isCertain) {
    faults.push_back({topNode, info.name, Error(error).atNode(info.name, info.op), isCertain});
  }

  const Plan &top;
  uint32_t topNode = 0;
  std::map<const Plan *, bool> visited; // whether it certainly runs
};

} // namespace

std::vector<PlanFault> findFaults(const Plan &plan) { return FaultFinder(plan).faults; }

} // namespace treadle
