#include "treadle/transforms/symbolic_gradient/Calls.h"

using namespace mlir;

namespace treadle::tfg {

Expected<std::string> differentiatedCallee(Node node, SymbolicGradients &gradients) {
  StringRef op = node.opType();
  auto function = node.attr<tf_type::FuncAttr>("f");
  std::string name = function ? function.getName().getRootReference().str() : "";
  if (op == "PartitionedCall" || op == "StatefulPartitionedCall")
    return name;
  if (op == "SymbolicGradient")
    return gradients.of(name).map([](FuncOp gradient) { return gradient.getName().str(); });
  return gradients.lookup(op) ? op.str() : std::string();
}

Values callGradient(Emitter &e, const Forward &f, StringRef callee) {
  SmallVector<Value> inputs(f.node.data());
  llvm::append_range(inputs, f.gradients);
  SmallVector<Attribute> given, wanted;
  SmallVector<Type> elements;
  for (Value input : inputs)
    given.push_back(dtypeAttr(input.getType()));
  for (Value input : f.node.data()) {
    elements.push_back(cast<TensorType>(gradientTypeOf(input)).getElementType());
    wanted.push_back(dtypeAttr(gradientTypeOf(input)));
  }
  auto function =
      tf_type::FuncAttr::get(e.builder.getContext(), callee, e.builder.getDictionaryAttr({}));
  return Values(e.emit("SymbolicGradient", inputs, elements,
                       {e.attr("Tin", Attribute(e.builder.getArrayAttr(given))),
                        e.attr("Tout", Attribute(e.builder.getArrayAttr(wanted))),
                        e.attr("f", Attribute(function))})
                    .results());
}

} // namespace treadle::tfg
