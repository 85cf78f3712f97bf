// Maps ops to their translations.
#include "treadle/codegen/Translator.h"
#include "treadle/dialect/NodeAttributes.h"
#include "treadle/lowering/Attributes.h"
#include "treadle/ops/OpTable.h"

#include "llvm/ADT/StringMap.h"

using namespace mlir;

namespace treadle::codegen {
namespace {

MaybeValues some(Expected<Values> values) {
  if (!values)
    return Unexpected(std::move(values.error()));
  return std::optional(std::move(*values));
}

MaybeValues loop(Translator &t, tfg::Node node, Values inputs) {
  return some(t.loop(node, std::move(inputs)));
}

MaybeValues conditional(Translator &t, tfg::Node node, Values inputs) {
  return some(t.branches(node, inputs));
}

MaybeValues call(Translator &t, tfg::Node node, Values inputs) {
  return some(t.call(node, node.attr("f"), inputs));
}

MaybeValues constant(Translator &t, tfg::Node node, Values) {
  Tensor value = t.constants.valueOf(node->getResult(0));
  if (!value)
    return Unexpected(Translator::unsupported(node, "its value isn't known"));
  return Values{t.constant(value, tfg::shapesOf(node, {}).values.front())};
}

MaybeValues handle(Translator &t, tfg::Node node, Values) {
  if (!t.options.variable)
    return std::nullopt;
  return some(t.handle(node));
}

MaybeValues identity(Translator &, tfg::Node node, Values inputs) {
  for (Value input : node.data())
    if (valueTypeOf(elementOf(input.getType())).isRef)
      return std::nullopt;
  return inputs;
}

/// Scalars pass unchanged; otherwise the kernel checks the shape, except in the condition of a
/// loop, which the interpreter handles.
MaybeValues ensureShape(Translator &, tfg::Node node, Values inputs) {
  auto shape = node.attr<tf_type::ShapeAttr>("shape");
  if (!isTensor(inputs[0].value.getType()) && shape && shape.getDims().empty())
    return inputs;
  if (tfg::isLoopCondition(node))
    return Unexpected(Translator::unsupported(node, "the loop's condition may not be a scalar"));
  return std::nullopt;
}

MaybeValues biasAdd(Translator &t, tfg::Node node, Values inputs) {
  if (auto format = node.attr<StringAttr>("data_format"); format && format.getValue() != "NHWC")
    return std::nullopt;
  auto value = dyn_cast<RankedTensorType>(inputs[0].value.getType());
  auto bias = dyn_cast<RankedTensorType>(inputs[1].value.getType());
  // The bias isn't repeated along the last dimension.
  if (!value || !bias || value.getRank() < 2 || bias.getRank() != 1 ||
      (value.getShape().back() == 1) != (bias.getShape()[0] == 1))
    return std::nullopt;
  return t.elementwise(node, inputs);
}

llvm::StringMap<Lowering> makeTable() {
  llvm::StringMap<Lowering> lowerings = {
      {"Const", constant},          {"HostConst", constant}, {"Identity", identity},
      {"IdentityN", identity},      {"VarHandleOp", handle}, {"BiasAdd", biasAdd},
      {"EnsureShape", ensureShape},
  };
  for (LoweringTable more :
       {shapeLowerings(), sliceLowerings(), moveLowerings(), smallLowerings(), reductionLowerings(),
        reducerLowerings(), convolutionLowerings(), productLowerings(), listLowerings(),
        variableLowerings(), gatherLowerings(), scatterLowerings(), foldLowerings(),
        sortLowerings(), factorLowerings(), randomLowerings()})
    for (auto [op, lowering] : more)
      lowerings[op] = lowering;
  return lowerings;
}

} // namespace

Lowering findLowering(StringRef op) {
  static const llvm::StringMap<Lowering> table = makeTable();
  switch (opKind(op)) {
  case OpKind::Call:
    return call;
  case OpKind::If:
  case OpKind::Case:
    return conditional;
  case OpKind::While:
    return loop;
  default:
    return table.lookup(op);
  }
}

} // namespace treadle::codegen
