#include "treadle/transforms/outline_clusters/Compilable.h"
#include "treadle/transforms/outline_clusters/NativeOps.h"

#include "treadle/kernels/Families.h"
#include "treadle/lowering/Attributes.h"
#include "treadle/lowering/Constants.h"
#include "treadle/ops/OpTable.h"
#include "treadle/rewriting/FunctionalNode.h"
#include "treadle/rewriting/Rewriting.h"
#include "treadle/runtime/Plan.h"

using namespace mlir;

namespace treadle::tfg {

Compilable::Compilable(ModuleOp module) {
  for (FuncOp function : module.getOps<FuncOp>())
    functions[function.getName()] = function;
}

const Compilable::Known &Compilable::of(StringRef name) {
  auto [it, isNew] = known.try_emplace(name);
  if (!isNew)
    return it->second;
  FuncOp function = functions.lookup(name);
  Known result;
  if (!function || function.getGeneric() || function->getRegion(0).empty()) {
    result.obstacle = str("function '", name.str(), "' isn't there, or is generic");
  } else {
    known[name].obstacle = str("function '", name.str(), "' calls itself"); // while in it
    // All of them: what has effects runs whether or not a result needs it.
    for (Operation &op : function.getEntry().without_terminator()) {
      Known node = of(Node(&op));
      if (result.obstacle.empty() && !node.obstacle.empty())
        result.obstacle = str("node '", Node(&op).name().str(), "' (", Node(&op).opType().str(),
                              ") in function '", name.str(), "': ", node.obstacle);
      result.hasLoop |= node.hasLoop;
      result.reads |= node.reads;
      result.acts |= node.acts;
    }
  }
  return known[name] = std::move(result);
}

/// Compiled code relies on what a node says of itself. Where that is wrong, the interpreter tells.
static std::string faultOf(Node node) {
  Expected<AttrMap> attrs = kernelAttributes(node);
  if (!attrs)
    return attrs.error().message;
  if (const auto *value = std::get_if<Tensor>(attrs->find("value"));
      value && node.opType() == "Const" && node.numResults() == 1 &&
      value->dtype() != valueTypeOf(node->getResult(0).getType()).dtype)
    return str("its value is ", tensorTypeText(*value), ", which isn't its dtype");
  Expected<void> ok = checkSignature(node, *attrs);
  return ok ? "" : ok.error().message;
}

Compilable::Known Compilable::of(Node node) {
  Known result;
  StringRef op = node.opType();
  result.hasLoop = opKind(op) == OpKind::While;
  auto include = [&](StringRef function) {
    const Known &callee = of(function);
    if (result.obstacle.empty())
      result.obstacle = callee.obstacle;
    result.hasLoop |= callee.hasLoop;
    result.reads |= callee.reads;
    result.acts |= callee.acts;
  };
  if (node->getNumRegions() || isV1ControlFlow(node)) {
    result.obstacle = "its form of control flow is not compiled";
  } else if (functions.contains(op)) {
    include(op);
  } else if (isFunctional(opKind(op)) ||
             (opKind(op) == OpKind::HigherOrder && computesElements(op))) {
    for (NamedAttribute attr : node.attrs())
      forEachFunctionName(attr.getValue(), include);
  } else if (const OpDef *def = lookupOp(op); !def) {
    result.obstacle = "its op isn't known";
  } else if (const OpFacts &facts = def->facts();
             facts.readsVariables || facts.updatesVariables || facts.checks) {
    result.reads = !facts.checks;
    result.acts = !facts.readsVariables;
  } else if (def->isStateful() || def->kind() == OpKind::Placeholder) {
    result.obstacle = "its op has effects, or sees what others have";
  } else if (def->facts().blocks) {
    result.obstacle = "its op may wait for others";
  } else if (op != "Const" && op != "HostConst" && !builtinKernels().find(op)) {
    result.obstacle = "its op has no kernel";
  } else {
    for (NamedAttribute attr : node.attrs())
      forEachFunctionName(attr.getValue(), [&](StringRef) {
        result.obstacle = "its op calls functions in a way that is not compiled";
      });
  }
  if (result.obstacle.empty() && !functions.contains(op))
    result.obstacle = faultOf(node);
  if (result.obstacle.empty() && llvm::any_of(TypeRange(node->getOperandTypes()), [](Type type) {
        return isa<TensorType>(type) && valueTypeOf(getElementTypeOrSelf(type)).isRef;
      }))
    result.obstacle = "it uses a reference to a variable";
  return result;
}

std::string Compilable::obstacle(Node node) { return of(node).obstacle; }
bool Compilable::hasLoop(Node node) { return of(node).hasLoop; }
bool Compilable::readsVariables(Node node) { return of(node).reads; }
bool Compilable::acts(Node node) { return of(node).acts; }

} // namespace treadle::tfg
