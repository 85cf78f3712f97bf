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

static tf_type::FuncAttr forwardedCall(FuncOp function) {
  Block &entry = function.getEntry();
  if (entry.getOperations().size() != 2 || !Node::isNode(&entry.front()))
    return {};
  Node call(&entry.front());
  SmallVector<Value> arguments;
  for (unsigned i = 0, e = function.getNumDataArguments(); i < e; ++i)
    arguments.push_back(function.getDataArgument(i));
  bool forwards = call.opType().ends_with("PartitionedCall") && call.numControl() == 0 &&
                  llvm::equal(call.data(), arguments) &&
                  llvm::equal(function.getReturn().getData(), call.results());
  return forwards ? call.attr<tf_type::FuncAttr>("f") : tf_type::FuncAttr();
}

tf_type::FuncAttr calleeFor(Conversion &conversion, FuncOp function) {
  if (tf_type::FuncAttr callee = forwardedCall(function)) {
    function.erase();
    return callee;
  }
  conversion.effects.add(function);
  return tf_type::FuncAttr::get(function.getContext(), function.getName(),
                                DictionaryAttr::get(function.getContext()));
}

} // namespace treadle::tfg
