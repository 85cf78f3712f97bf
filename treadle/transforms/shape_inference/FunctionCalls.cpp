#include "treadle/transforms/shape_inference/FunctionCalls.h"

#include "treadle/ops/OpTable.h"

using namespace mlir;

namespace treadle::tfg {
CallInfo callInfoOf(Node node, const FunctionMap &functions) {
  CallInfo info;
  if (FuncOp function = functions.lookup(node.opType())) {
    info.kind = CallInfo::Call;
    info.callees.push_back(function);
    return info;
  }
  const OpDef *def = lookupOp(node.opType());
  if (!def || !isFunctional(def->kind()))
    return info;
  info.kind = def->kind() == OpKind::Call  ? CallInfo::Call
              : isConditional(def->kind()) ? CallInfo::Branches
                                           : CallInfo::Loop;
  info.firstOperand = def->facts().firstArgument;
  for (const AttrDef &key : def->attrs())
    if (Attribute attr = key.kind() == AttrKind::Func ? node.attr(key.name()) : Attribute())
      attr.walk([&](tf_type::FuncAttr callee) {
        info.callees.push_back(functions.lookup(callee.getName().getRootReference().getValue()));
        return WalkResult::skip();
      });
  if (info.kind == CallInfo::Loop && info.callees.size() != 2)
    info.kind = CallInfo::None;
  return info;
}

} // namespace treadle::tfg
