#include "treadle/explain/LoopExplanation.h"

#include "treadle/dialect/SourceLocation.h"
#include "treadle/ops/OpTable.h"
#include "treadle/rewriting/Frames.h"
#include "treadle/runtime/Plan.h"
#include "treadle/transforms/deps_to_chains/Iterations.h"
#include "treadle/transforms/overlap_loops/FrameFit.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SmallSet.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;

namespace treadle {

using Op = Explanation::Op;

std::string opText(const Op &op, bool withFunction) {
  return str("'", op.name, "' (", op.op, op.line.empty() ? "" : ", ", op.line,
             withFunction && !op.where.empty() ? str(" of '", op.where, "'") : "", ")");
}

std::string opList(const std::vector<Op> &ops, size_t maxShown) {
  // Shows one more op if the text "and 1 more" would take as much space.
  size_t shown = ops.size() <= maxShown + 1 ? ops.size() : maxShown;
  std::string out;
  auto isClear = [&](const Op &op) {
    return llvm::all_of(
        ops, [&](const Op &other) { return other.name != op.name || other.where == op.where; });
  };
  for (size_t i = 0; i < shown; ++i)
    out += str(i == 0                ? ""
               : i + 1 == ops.size() ? " and "
                                     : ", ",
               opText(ops[i], /*withFunction=*/!isClear(ops[i])));
  return shown == ops.size() ? out : str(out, " and ", ops.size() - shown, " more");
}

bool doesSomething(tfg::Node node) {
  const OpDef *def = lookupOp(node.opType());
  return !(def && def->hasNoCost()) && !tfg::isV1ControlFlow(node) &&
         resourceFamily(node.opType()).empty();
}

std::string genericText(tfg::Node node) {
  return str("function '", node->getParentOfType<tfg::FuncOp>().getName().str(),
             "' is generic: its body depends on the attributes of its calls");
}

std::string sequentialText(std::string_view why) {
  return str("one iteration after the other: ", why);
}

std::string iterationsText(int64_t parallel) {
  return str("up to ", parallel, " iterations at a time");
}

std::string badParallelism(int64_t parallel) {
  return parallel > 0 ? ""
                      : str("not at all: its attribute 'parallel_iterations' is ", parallel,
                            ", expected at least 1");
}

std::vector<Op> pick(const tfg::Iterations &iterations, function_ref<bool(size_t)> isWanted) {
  std::vector<Op> ops;
  for (auto [index, node] : llvm::enumerate(iterations.nodes()))
    if (isWanted(index) && doesSomething(node))
      ops.push_back(LoopExplainer::describe(node));
  return ops;
}

void addValueOrders(const tfg::Iterations &iterations, const tfg::Iterations::Cycles &cycles,
                    ArrayRef<std::string> variables, Explanation::Loop &loop) {
  llvm::MapVector<unsigned, Explanation::Order> found;
  if (cycles.ofCondition != 0)
    found[cycles.ofCondition].kind = "condition";
  for (auto [index, node] : llvm::enumerate(iterations.nodes()))
    if (cycles[index] && doesSomething(node))
      found[cycles.ofNodes[index]].by.push_back(
          {LoopExplainer::describe(node), false, iterations.isInCondition(index)});
  for (auto [name, cycle] : llvm::zip(variables, cycles.ofVariables))
    if (auto entry = found.find(cycle); cycle != 0 && entry != found.end())
      entry->second.subject += str(entry->second.subject.empty() ? "'" : ", '", name, "'");
  for (auto &[cycle, order] : found) {
    if (order.by.empty())
      continue;
    if (order.kind.empty())
      order.kind = "values";
    loop.orders.push_back(std::move(order));
  }
}

LoopExplainer::LoopExplainer(ModuleOp module)
    : functions(tfg::functionsOf(module)), effects(module), purity(module), waiting(module) {
  tfg::forEachBody(module, [&](Block &body) {
    for (Operation &op : body) {
      auto caller = tfg::Node::isNode(&op) ? tfg::FunctionalNode::of(tfg::Node(&op), functions)
                                           : std::nullopt;
      if (!caller)
        continue;
      auto shared = std::make_shared<const tfg::FunctionalNode>(std::move(*caller));
      for (tfg::FuncOp function : shared->functions)
        callers[function].push_back(shared);
    }
  });
}

std::string LoopExplainer::resourceText(unsigned id) const {
  const tfg::Resource *resource = &effects.resource(id);
  // Follows arguments to the caller as long as there is exactly one.
  for (llvm::SmallSet<unsigned, 4> seen; resource->kind == tfg::Resource::Argument;) {
    auto found = callers.find(resource->origin);
    if (!seen.insert(id).second || found == callers.end() || found->second.size() != 1)
      break;
    ArrayRef<tfg::ResourceId> given =
        effects.handles(found->second.front()->arguments()[resource->argument]);
    if (given.size() != 1)
      break;
    id = given.front();
    resource = &effects.resource(id);
  }
  return id == tfg::EffectAnalysis::world ? "the outside world" : resource->text;
}

std::string LoopExplainer::resourceText(ArrayRef<unsigned> ids, ResourceEnd part) const {
  std::string text;
  for (unsigned id : ids)
    text += (text.empty() ? "" : ", ") + resourceText(id);
  if (part == ResourceEnd::In)
    return "the input of " + text;
  return part == ResourceEnd::Out ? "the output of " + text : text;
}

Op LoopExplainer::describe(tfg::Node node) {
  auto function = node->getParentOfType<tfg::FuncOp>();
  return {node.name().str(), node.opType().str(), function ? function.getName().str() : "",
          sourceLine(node->getLoc())};
}

// --- functional loops ----------------------------------------------------------------------------

Explanation::Loop LoopExplainer::explain(tfg::Node node) {
  Loop loop;
  loop.name = node.name().str();
  loop.kind = node.opType().str();
  loop.line = sourceLine(node->getLoc());
  loop.parallelIterations = tfg::parallelIterations(node);
  for (StringRef key : {"cond", "body"})
    if (auto function = node.attr<tf_type::FuncAttr>(key))
      loop.functions.push_back(function.getName().getRootReference().getValue().str());
  auto functional = tfg::FunctionalNode::of(node, functions);
  std::string bad = badParallelism(loop.parallelIterations);
  if (functional && functional->kind == tfg::FunctionalKind::While && bad.empty()) {
    explainWhile(*functional, loop);
    return loop;
  }
  loop.inAuto = loop.whenOn = bad.empty() ? sequentialText(missingPart(node)) : bad;
  return loop;
}

std::string LoopExplainer::missingPart(tfg::Node node) const {
  if (auto function = node->getParentOfType<tfg::FuncOp>(); function && function.getGeneric())
    return genericText(node);
  if (opKind(node.opType()) == OpKind::For)
    return "a For runs sequentially; a While may overlap";
  if (opKind(node.opType()) != OpKind::While)
    return str("the iterations of op '", node.opType().str(), "' are unknown");
  for (StringRef key : {"cond", "body"}) {
    auto attr = node.attr<tf_type::FuncAttr>(key);
    if (!attr)
      return str("its attribute '", key.str(), "' doesn't name a function");
    std::string name = attr.getName().getRootReference().getValue().str();
    tfg::FuncOp function = functions.lookup(name);
    if (!function || function.isExternal())
      return str("function '", name, "' isn't in the graph");
    if (function.getGeneric() || (attr.getAttrs() && !attr.getAttrs().empty()))
      return str("function '", name, "' is generic; run tfg-specialize-functions first");
  }
  return "its inputs and outputs don't match its functions";
}

void LoopExplainer::explainWhile(const tfg::FunctionalNode &functional, Loop &loop) {
  tfg::LoopOrder order = tfg::planLoop(functional, effects, LoopOverlap::Auto);
  if (order.isOpaque) {
    loop.inAuto = loop.whenOn = sequentialText(order.obstacle);
    return;
  }
  tfg::Iterations iterations(order);
  tfg::Iterations::Cycles cycles = iterations.cycles();
  loop.inTurns = pick(iterations, [&](size_t i) { return cycles[i]; });
  loop.overlapping = pick(iterations, [&](size_t i) { return !cycles[i]; });
  std::vector<std::string> variables;
  tfg::FuncOp body = functional.functions[1];
  for (unsigned i = 0; i < body.getNumDataArguments(); ++i)
    variables.push_back(body.getDataArgumentName(i).str());
  addValueOrders(iterations, iterations.cycles([](unsigned) { return true; }), variables, loop);
  addResources(order, iterations, loop);
  judge(order, iterations, loop);
  advise(order, iterations, loop);
}

void LoopExplainer::addResources(const tfg::LoopOrder &order, const tfg::Iterations &iterations,
                                 Loop &loop) {
  tfg::Iterations::Cycles cycles = iterations.cycles();
  for (auto [number, resource] : llvm::enumerate(order.resources)) {
    Order &of = loop.orders.emplace_back();
    of.kind = "resource";
    of.subject = resourceText(resource.ids, resource.part);
    of.isOrder = false;
    for (const tfg::LoopResource::Access &access : resource.accesses) {
      of.by.push_back({describe(access.node), access.writes, access.isInCondition});
      of.isOrder |= access.writes;
    }
    tfg::Iterations::Cycles without =
        iterations.cycles([own = number](unsigned other) { return other == own; });
    of.wouldBeFree = pick(iterations, [&](size_t i) { return cycles[i] && !without[i]; });
  }
}

/// Determines the modes in which the loop overlaps.
void LoopExplainer::judge(const tfg::LoopOrder &order, const tfg::Iterations &iterations,
                          Loop &loop) {
  std::string unfit = tfg::frameObstacle(order.loop, purity, functions);
  std::string always = tfg::planLoop(order.loop, effects, LoopOverlap::On).obstacle;
  if (always.empty())
    always = unfit;
  if (always.empty() && loop.overlapping.empty())
    always = "each of its ops waits for the previous iteration";
  loop.overlapsWhenOn = always.empty();
  loop.whenOn = always.empty() ? iterationsText(loop.parallelIterations) : sequentialText(always);
  if (!always.empty() || !order.obstacle.empty()) {
    loop.inAuto = sequentialText(order.obstacle.empty() ? always : order.obstacle);
    return;
  }
  std::vector<Op> slow =
      pick(iterations, [&](size_t i) { return waiting.waits(iterations.nodes()[i]); });
  loop.overlapsInAuto = tfg::estimate(order, effects, waiting).isFasterOverlapped();
  if (loop.overlapsInAuto)
    loop.inAuto = str(iterationsText(loop.parallelIterations), ", since ", opList(slow, 2),
                      " may wait while other ops run");
  else if (slow.empty())
    loop.inAuto = sequentialText("no op in it waits for a queue, Python or another run, so "
                                 "overlapping saves no time");
  else
    loop.inAuto = sequentialText(str(opList(slow, 2), " may wait, but in the order of the "
                                                      "iterations, so overlapping saves no time"));
}

} // namespace treadle
