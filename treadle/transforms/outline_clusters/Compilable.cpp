#include "treadle/transforms/outline_clusters/Compilable.h"
#include "treadle/transforms/outline_clusters/NativeOps.h"

#include "treadle/kernels/Families.h"
#include "treadle/lowering/Attributes.h"
#include "treadle/lowering/Constants.h"
#include "treadle/ops/OpTable.h"
#include "treadle/rewriting/CallGraph.h"
#include "treadle/rewriting/FunctionalNode.h"
#include "treadle/rewriting/Rewriting.h"
#include "treadle/runtime/Plan.h"

using namespace mlir;

namespace treadle::tfg {

FuncOp Compilable::bodyOf(StringRef name) const {
  FuncOp function = functionOf(name);
  return function && !function.getGeneric() && !function.isExternal() ? function : FuncOp();
}

bool Compilable::hasLoop(StringRef name) {
  auto lookup = [&](StringRef callee) { return bodyOf(callee); };
  return anyReachable(name, lookup, loops, [&](FuncOp function) {
    return llvm::any_of(function.getEntry().without_terminator(), [&](Operation &op) {
      return (raises && opKind(Node(&op).opType()) == OpKind::NextIteration) || hasLoop(Node(&op));
    });
  });
}

bool Compilable::hasLoop(Node node) {
  bool found = opKind(node.opType()) == OpKind::While || (raises && node->getNumRegions());
  forEachCallee(node, [&](StringRef callee) { found = found || hasLoop(callee); });
  return found;
}

/// Includes all nodes of a body, because nodes with side effects run even if no result needs them.
Compilable::Properties Compilable::of(Block &body, PlaceText place) {
  Properties all;
  for (Operation &op : body.without_terminator())
    if (Node node(&op); !raises || !isV1ControlFlow(node)) {
      Properties inner = of(node);
      all.include(inner, [&] { return place(node, inner); });
    }
  return all;
}

void Compilable::Properties::include(const Properties &inner, function_ref<std::string()> place) {
  if (obstacle.empty() && !inner.obstacle.empty()) {
    obstacle = place() + inner.obstacle;
    namesFunction = inner.namesFunction;
  }
  reads |= inner.reads;
  hasEffects |= inner.hasEffects;
  runsPython |= inner.runsPython;
  callDepth = std::max(callDepth, inner.callDepth);
}

void Compilable::Properties::includeCallee(const Properties &callee) {
  include(callee, [] { return ""; });
  callDepth = std::max(callDepth, callee.callDepth + 1);
  if (obstacle.empty() && callDepth >= maxClusterDepth)
    obstacle = str("its calls are nested more than ", maxClusterDepth - 1, " deep");
}

/// The text names the node with the obstacle and its function, but no callers.
Compilable::Properties Compilable::ofBody(FuncOp function) {
  Properties result = of(function.getEntry(), [&](Node node, const Properties &inner) {
    return inner.namesFunction ? ""
                               : str("node '", node.name().str(), "' (", node.opType().str(),
                                     ") in function '", function.getName().str(), "': ");
  });
  result.namesFunction = !result.obstacle.empty();
  return result;
}

static Compilable::Properties recursive(FuncOp function) {
  return {.obstacle = str("function '", function.getName().str(), "' calls itself")};
}

const Compilable::Properties &Compilable::of(StringRef name) {
  auto findNew = [&](StringRef callee) {
    return known.contains(callee) ? FuncOp() : bodyOf(callee);
  };
  for (const CallGroup &group : calleesFirst(name, findNew))
    for (FuncOp function : group.functions)
      known[function.getName()] = group.isRecursive ? recursive(function) : ofBody(function);
  auto [it, isNew] = known.try_emplace(name);
  if (isNew)
    it->second.obstacle = str("function '", name.str(), "' is missing or generic");
  return it->second;
}

/// Returns the reason why the attributes of a node are invalid. Compiled code relies on them; if
/// they are wrong, the interpreter reports it.
static std::string faultOf(Node node) {
  Expected<AttrMap> attrs = kernelAttributes(node);
  if (!attrs)
    return attrs.error().message;
  if (const auto *value = std::get_if<Tensor>(attrs->find("value"));
      value && node.opType() == "Const" && node.numResults() == 1 &&
      value->dtype() != valueTypeOf(node->getResult(0).getType()).dtype)
    return str("its value is ", tensorTypeText(*value), ", which doesn't match its dtype");
  Expected<void> ok = checkSignature(node, *attrs);
  return ok ? "" : ok.error().message;
}

Compilable::Properties Compilable::of(Node node) {
  Properties result;
  StringRef op = node.opType();
  auto include = [&](StringRef function) { result.includeCallee(of(function)); };
  const bool isCall = static_cast<bool>(functionOf(op));
  if (isV1ControlFlow(node) || (node->getNumRegions() && !raises)) {
    result.obstacle = "its kind of control flow can't be compiled";
  } else if (node->getNumRegions()) {
    for (Region &region : node->getRegions())
      result.includeCallee(of(region.front(), [](Node inner, const Properties &) {
        return str("node '", inner.name().str(), "' (", inner.opType().str(), "): ");
      }));
    return result;
  } else if (isCall) {
    include(op);
  } else if (isFunctional(opKind(op)) ||
             (opKind(op) == OpKind::HigherOrder && computesElements(op))) {
    forEachFunctionName(node, include);
  } else if (const OpDef *def = lookupOp(op); !def) {
    result.obstacle = "its op is unknown";
  } else if (def->facts().runsPython) {
    result.runsPython = true;
    result.hasEffects = def->isStateful();
    if (!callsPython)
      result.obstacle = "its op runs Python code, which may have effects on variables";
  } else if (const OpFacts &facts = def->facts();
             facts.readsVariables || facts.updatesVariables || facts.checks) {
    result.reads = !facts.checks;
    result.hasEffects = !facts.readsVariables;
  } else if (def->isStateful() || def->kind() == OpKind::Placeholder) {
    result.obstacle = "its op has side effects or observes those of others";
  } else if (def->facts().blocks) {
    result.obstacle = "its op may block";
  } else if (op != "Const" && op != "HostConst" && !builtinKernels().find(op)) {
    result.obstacle = "its op has no kernel";
  } else {
    forEachFunctionName(node, [&](StringRef) {
      result.obstacle = "its op calls functions in a way that can't be compiled";
    });
  }
  if (result.obstacle.empty() && !isCall)
    result.obstacle = faultOf(node);
  if (result.obstacle.empty() && llvm::any_of(TypeRange(node->getOperandTypes()), [](Type type) {
        return isa<TensorType>(type) && valueTypeOf(getElementTypeOrSelf(type)).isRef;
      }))
    result.obstacle = "it uses a reference to a variable";
  return result;
}

} // namespace treadle::tfg
