#include "treadle/transforms/v1_to_functional/Conversion.h"

#include "treadle/ops/OpTable.h"

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

bool mayBePredicate(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return tf_type::dereference(getElementTypeOrSelf(value.getType())).isSignlessInteger(1) &&
         (!type || type.getRank() == 0);
}

/// Whether `value`, which a function returns as result `index`, is what the one call in it gives: a
/// handle that the callee hands on may go past the call.
static bool isResultOf(Conversion &conversion, Node call, unsigned index, Value value) {
  if (value == call.results()[index])
    return true;
  FuncOp callee =
      conversion.function(call.attr<tf_type::FuncAttr>("f").getName().getRootReference());
  return callee && !callee.isExternal() && !callee.getGeneric() &&
         index < callee.getNumDataArguments() && value == call.data()[index] &&
         callee.getReturn().getData()[index] == callee.getDataArgument(index);
}

static tf_type::FuncAttr forwardedCall(Conversion &conversion, FuncOp function) {
  Block &entry = function.getEntry();
  if (entry.getOperations().size() != 2 || !Node::isNode(&entry.front()))
    return {};
  Node call(&entry.front());
  SmallVector<Value> arguments;
  for (unsigned i = 0, e = function.getNumDataArguments(); i < e; ++i)
    arguments.push_back(function.getDataArgument(i));
  bool forwards = opKind(call.opType()) == OpKind::Call && call.attr<tf_type::FuncAttr>("f") &&
                  llvm::all_of(call.control(), llvm::IsaPred<BlockArgument>) &&
                  llvm::equal(call.data(), arguments) &&
                  function.getReturn().getData().size() == call.numResults();
  for (auto [index, value] : llvm::enumerate(function.getReturn().getData()))
    forwards = forwards && isResultOf(conversion, call, index, value);
  return forwards ? call.attr<tf_type::FuncAttr>("f") : tf_type::FuncAttr();
}

tf_type::FuncAttr calleeFor(Conversion &conversion, FuncOp function) {
  if (tf_type::FuncAttr callee = forwardedCall(conversion, function)) {
    function.erase();
    return callee;
  }
  conversion.add(function);
  return tf_type::FuncAttr::get(function.getContext(), function.getName(),
                                DictionaryAttr::get(function.getContext()));
}

} // namespace treadle::tfg
