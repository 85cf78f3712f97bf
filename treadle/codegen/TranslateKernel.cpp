// Translates ops without a lowering to calls of their kernels.
#include "treadle/analysis/shapes/NodeShapes.h"
#include "treadle/analysis/shapes/TypeShapes.h"
#include "treadle/codegen/CallFrame.h"
#include "treadle/codegen/Rc.h"
#include "treadle/codegen/Translator.h"
#include "treadle/lowering/Attributes.h"
#include "treadle/lowering/Lowering.h"
#include "treadle/ops/OpAlias.h"
#include "treadle/transforms/outline_clusters/Compilable.h"

using namespace mlir;

namespace treadle::codegen {

Expected<Values> Translator::kernel(tfg::Node node, const Values &inputs) {
  const OpDef *def = lookupOp(node.opType());
  if (!def)
    return Unexpected(unsupported(node, "its op is unknown"));
  const OpFacts &facts = def->facts();
  if (facts.runsPython && !options.callsPython)
    return Unexpected(unsupported(node, "it runs Python code"));
  if (def->isStateful() && !facts.runsPython && !facts.readsVariables && !facts.updatesVariables)
    return Unexpected(unsupported(node, "its op has side effects or observes those of others"));
  if (inputs.size() > maxKernelInputs)
    return Unexpected(unsupported(node, "it has too many inputs"));
  AttrMap attrs = TREADLE_TRY(tfg::kernelAttributes(node));
  for (const auto &[name, value] : attrs)
    if ((std::holds_alternative<FunctionRef>(value) && def->kind() != OpKind::HigherOrder) ||
        std::holds_alternative<std::vector<FunctionRef>>(value))
      return Unexpected(unsupported(node, "its op calls functions"));
  const OpDef *same = aliasedOp(*def);
  if (same && (same->inputs().size() != def->inputs().size() ||
               same->outputs().size() != def->outputs().size()))
    return Unexpected(unsupported(node, "it specifies memory layouts of tensors"));
  std::string op(same ? same->name() : def->name());
  KernelCall entry{
      node.name().str(), std::move(op), node.device().str(), std::move(attrs), {}, {}, {}};
  SmallVector<Value> operands;
  std::vector<const KnownValue *> known;
  bool usesCells = false;
  for (const TracedValue &input : inputs) {
    std::optional<size_t> cell = cellOf(input);
    bool isHandle = isa<tf_type::ResourceType>(elementOf(input.value.getType()));
    if (variables.contains(input.value) || (isHandle && !cell && facts.updatesVariables) ||
        (cell && !facts.readsVariables && !facts.updatesVariables))
      return Unexpected(unsupported(node, "it does more with a variable than read it"));
    operands.push_back(cell ? cells[*cell].value : boxed(input.value));
    usesCells |= cell.has_value();
    if (cell && !kernelCells.contains(*cell))
      wantedCells.insert(*cell); // these results will be discarded
    known.push_back(&input.known);
    entry.inputTypes.push_back(valueTypeOf(elementOf(input.value.getType())).dtype);
  }
  ShapeResults shapes = tfg::shapesOf(node, known);
  shapes.values.resize(node.numResults());
  SmallVector<Type> types;
  for (auto [result, value] : llvm::zip(node.results(), shapes.values)) {
    ValueType type = valueTypeOf(result.getType());
    if (type.isRef)
      return Unexpected(unsupported(node, "it returns a reference to a variable"));
    entry.outputTypes.push_back(type.dtype);
    if (!value.shape.hasRank()) // the declared shape is checked at run time
      value.shape = tfg::shapeOf(result.getType());
    types.push_back(tfg::tensorOf(value.shape, elementType(result)));
    ExpectedShape expected{value.shape.hasRank()};
    for (int64_t dim : value.shape.all())
      expected.dims.push_back(dim == Shape::unknown ? -1 : dim);
    entry.outputs.push_back(std::move(expected));
  }
  int32_t index = static_cast<int32_t>(tables.kernels.size());
  tables.kernels.push_back(std::move(entry));
  auto call = rc::KernelOp::create(b, loc, types, operands, index, node.opType(), nullptr);
  Values results;
  for (auto [result, value] : llvm::zip(call.getOutputs(), shapes.values))
    results.push_back(unboxed(result, std::move(value)));
  if (usesCells || facts.runsPython)
    call->setAttr(rc::staysAttr, b.getUnitAttr());
  return results;
}

Value Translator::kernelFor(tfg::Node near, StringRef op, AttrMap attrs, ArrayRef<Value> inputs,
                            Type result) {
  KernelCall entry{near.name().str(), op.str(), near.device().str(), std::move(attrs), {}, {}, {}};
  for (Value input : inputs)
    entry.inputTypes.push_back(valueTypeOf(elementOf(input.getType())).dtype);
  entry.outputTypes.push_back(valueTypeOf(elementOf(result)).dtype);
  entry.outputs.push_back({true, {}});
  int32_t index = static_cast<int32_t>(tables.kernels.size());
  tables.kernels.push_back(std::move(entry));
  return rc::KernelOp::create(b, loc, TypeRange(result), inputs, index, op, nullptr).getResult(0);
}

} // namespace treadle::codegen
