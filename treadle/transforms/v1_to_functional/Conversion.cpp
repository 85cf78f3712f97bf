#include "treadle/transforms/v1_to_functional/Conversion.h"

using namespace mlir;

namespace treadle::tfg {

SmallVector<Value> effectTokens(Effects &effects, ArrayRef<Operation *> nodes,
                                function_ref<bool(Operation *)> isInSet) {
  SmallVector<Value> tokens;
  for (Operation *op : nodes)
    if (!isV1ControlFlow(Node(op)) && llvm::none_of(op->getUsers(), isInSet) &&
        !effects.isPure(Node(op)))
      tokens.push_back(Node(op).controlResult());
  return tokens;
}

ArrayAttr elementTypes(MLIRContext *context, TypeRange types) {
  SmallVector<Attribute> attrs;
  for (Type type : types)
    attrs.push_back(TypeAttr::get(tf_type::dereference(getElementTypeOrSelf(type))));
  return ArrayAttr::get(context, attrs);
}

Type commonType(Type a, Type b) {
  if (a == b)
    return a;
  return UnrankedTensorType::get(getElementTypeOrSelf(a));
}

bool isReference(Value value) {
  return tf_type::isReference(getElementTypeOrSelf(value.getType()));
}

} // namespace treadle::tfg
