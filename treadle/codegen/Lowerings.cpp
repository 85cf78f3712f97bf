// Which op is translated by what.
#include "treadle/codegen/Translator.h"
#include "treadle/lowering/Attributes.h"

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
    return Unexpected(Translator::unsupported(node, "its value can't be told"));
  return Values{t.constant(value, tfg::shapesOf(node, {}).values.front())};
}

MaybeValues handle(Translator &t, tfg::Node node, Values) {
  if (!t.options.variable)
    return std::nullopt;
  return some(t.handle(node));
}

MaybeValues readVariable(Translator &t, tfg::Node node, Values inputs) {
  if (!t.options.variable)
    return std::nullopt;
  return some(t.readVariable(node, inputs.front()));
}

MaybeValues identity(Translator &, tfg::Node node, Values inputs) {
  for (Value input : node.data())
    if (valueTypeOf(elementOf(input.getType())).isRef)
      return std::nullopt;
  return inputs;
}

const llvm::StringMap<Lowering> &table() {
  static const llvm::StringMap<Lowering> lowerings = {
      {"While", loop},           {"StatelessWhile", loop},
      {"If", conditional},       {"StatelessIf", conditional},
      {"Case", conditional},     {"StatelessCase", conditional},
      {"PartitionedCall", call}, {"StatefulPartitionedCall", call},
      {"Const", constant},       {"HostConst", constant},
      {"Identity", identity},    {"IdentityN", identity},
      {"VarHandleOp", handle},   {"ReadVariableOp", readVariable},
  };
  return lowerings;
}

} // namespace

Lowering findLowering(StringRef op) { return table().lookup(op); }

} // namespace treadle::codegen
