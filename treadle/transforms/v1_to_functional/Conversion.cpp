#include "treadle/transforms/v1_to_functional/Conversion.h"

#include "treadle/ops/OpTable.h"
#include "treadle/transforms/functional_to_v1/Lowered.h"

using namespace mlir;

namespace treadle::tfg {

SmallVector<Value> effectTokens(Effects &effects, Block &block) {
  SmallVector<Value> tokens;
  auto isHere = [&](Operation *user) { return user->getBlock() == &block; };
  for (Operation &op : block)
    if (Node node(&op);
        !isV1ControlFlow(node) && llvm::none_of(op.getUsers(), isHere) && !effects.isPure(node))
      tokens.push_back(node.controlResult());
  return tokens;
}

bool isReference(Value value) {
  return tf_type::isReference(getElementTypeOrSelf(value.getType()));
}

bool mayBePredicate(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return tf_type::dereference(getElementTypeOrSelf(value.getType())).isSignlessInteger(1) &&
         (!type || type.getRank() == 0);
}

Node Conversion::outline(Node node, ArrayRef<Value> first, function_ref<void()> beforeItGoes) {
  OpKind kind = opKind(regionNamesOfRegion(node.opType()).functional);
  RegionOutliner::Captures captures; // of a raised loop, which uses no outer values
  if (kind != OpKind::While)
    captures = RegionOutliner::capture(node, first);
  auto outlined = *outliner.outline(node, captures); // names that aren't taken by functions yet
  for (FuncOp function : outlined.made) {
    if (kind == OpKind::While)
      convertConditionals(*this, function.getEntry());
    effects.add(function);
    made.push_back(function);
  }
  bool isPure = llvm::all_of(outlined.callees, [&](tf_type::FuncAttr callee) {
    return effects.isPureFunction(callee.getName().getRootReference());
  });
  if (beforeItGoes)
    beforeItGoes();
  return outliner.replace(node, functionalOp(kind, !isPure), outlined);
}

// Restoring a For removes functions that were created before.
void Conversion::restoreFunctions() {
  for (FuncOp function : made)
    restoreLowered(function.getEntry());
  made.clear();
}

} // namespace treadle::tfg
