// Suggests changes that would let more iterations of a loop overlap.
#include "treadle/dialect/NodeAttributes.h"
#include "treadle/explain/LoopExplanation.h"

#include "treadle/ops/OpTable.h"

using namespace mlir;

namespace treadle {

void LoopExplainer::findWriters(tfg::Node node, ArrayRef<unsigned> ids, llvm::StringSet<> &seen,
                                SmallVectorImpl<tfg::Node> &out) {
  auto writesOne = [&](tfg::Node other) {
    return llvm::any_of(effects.of(other), [&](tfg::Effect effect) {
      return effect.writes && llvm::is_contained(ids, effect.resource);
    });
  };
  size_t before = out.size();
  forEachCalled(node, [&](tfg::FuncOp function) {
    if (!seen.insert(function.getName()).second)
      return;
    for (Operation &op : function.getEntry())
      if (tfg::Node::isNode(&op) && writesOne(tfg::Node(&op)))
        findWriters(tfg::Node(&op), ids, seen, out);
  });
  // Inside a function, resources of its arguments have other ids.
  if (out.size() == before)
    out.push_back(node);
}

/// Returns why an op must be ordered with all others that access the outside world.
std::string LoopExplainer::causeInWorld(tfg::Node node) const {
  std::string who = opText(describe(node));
  StringRef op = node.opType();
  const OpDef *def = lookupOp(op);
  if (def && !def->does().empty())
    return str(who, " ", def->does());
  if (def && def->facts().runsPython)
    return str(who, " calls Python, which may have any side effect");
  if (!def && !functions.contains(op))
    return tfg::statedTraits(node)
               ? str(who, " was registered as one with any side effect")
               : str(who, " has an unknown op, which may have any side effect (register_op with "
                          "effects=... tells what it does)");
  return str(who, " accesses the outside world");
}

std::string LoopExplainer::causeOf(const tfg::LoopResource &resource) {
  SmallVector<tfg::Node> writers;
  llvm::StringSet<> seen;
  for (const tfg::LoopResource::Access &access : resource.accesses)
    if (access.writes)
      findWriters(access.node, resource.ids, seen, writers);
  bool isWorld = llvm::is_contained(resource.ids, tfg::EffectAnalysis::world);
  std::string text;
  constexpr size_t maxShown = 3;
  for (tfg::Node node : ArrayRef(writers).take_front(maxShown))
    text += str(text.empty() ? "" : "; ", isWorld ? causeInWorld(node)
                                                  : str(opText(describe(node)), " writes ",
                                                        resourceText(resource.ids, resource.part)));
  return writers.size() > maxShown ? str(text, "; and so do ", writers.size() - maxShown, " more")
                                   : text;
}

/// Returns the other ops that would overlap; if the op is unknown, the op itself as well.
static std::vector<Explanation::Op> freedBy(const Explanation::Order &order,
                                            const tfg::LoopResource &resource) {
  std::vector<Explanation::Op> freed = order.wouldBeFree;
  if (!llvm::is_contained(resource.ids, tfg::EffectAnalysis::world))
    llvm::erase_if(freed, [&](const Explanation::Op &op) {
      return llvm::any_of(order.by, [&](const Explanation::Access &access) {
        return access.writes && access.op.name == op.name && access.op.where == op.where;
      });
    });
  return freed;
}

void LoopExplainer::advise(const tfg::LoopOrder &order, const tfg::Iterations &iterations,
                           Loop &loop) {
  if (loop.parallelIterations == 1)
    loop.advice.push_back("set its attribute 'parallel_iterations' to 2 or more");
  else if (!order.obstacle.empty() && loop.overlapsWhenOn)
    loop.advice.push_back("remove its attribute '_stateful_parallelism', or use --loop-overlap on");
  size_t numValues = loop.orders.size() - order.resources.size();
  bool helps = false;
  for (auto [number, resource] : llvm::enumerate(order.resources)) {
    std::vector<Explanation::Op> freed = freedBy(loop.orders[numValues + number], resource);
    helps |= !freed.empty();
    if (!freed.empty())
      loop.advice.push_back(
          str(causeOf(resource), "; without that, ", opList(freed), " would overlap"));
  }
  if (helps)
    return;
  // Each of several causes may suffice to order the other ops.
  tfg::Iterations::Cycles cycles = iterations.cycles();
  tfg::Iterations::Cycles without = iterations.cycles([](unsigned) { return true; });
  std::vector<Explanation::Op> freed =
      pick(iterations, [&](size_t i) { return cycles[i] && !without[i]; });
  if (freed.empty())
    return;
  std::string causes;
  for (const tfg::LoopResource &resource : order.resources)
    if (llvm::any_of(resource.accesses, [](auto &access) { return access.writes; }))
      causes += str(causes.empty() ? "" : "; ", causeOf(resource));
  loop.advice.push_back(str(causes, "; without any of that, ", opList(freed), " would overlap"));
}

} // namespace treadle
