// Translates variables of the session to values.
//
// A cell is a variable whose handle is an argument of the cluster. Its value is passed with the
// handle, is an ordinary value in the code, which control flow passes along, and is returned at the
// end. Other runs thus see the effects of the code all at once or, after a bailout, not at all; the
// interpreter then repeats the cluster.
#include "treadle/analysis/shapes/TypeShapes.h"
#include "treadle/codegen/Rc.h"
#include "treadle/codegen/Translator.h"
#include "treadle/lowering/Attributes.h"
#include "treadle/ops/OpTable.h"
#include "treadle/rewriting/CallGraph.h"
#include "treadle/rewriting/Rewriting.h"
#include "treadle/runtime/Variable.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;

namespace treadle::codegen {

bool Translator::hasSideEffects(tfg::Node node) {
  if (const OpDef *def = lookupOp(node.opType());
      def && (def->facts().updatesVariables || def->facts().checks ||
              (def->facts().runsPython && def->isStateful())))
    return true;
  auto lookup = [&](StringRef name) {
    tfg::FuncOp function = find(name);
    return function && !function.getGeneric() ? function : tfg::FuncOp();
  };
  auto contains = [&](tfg::FuncOp function) {
    return llvm::any_of(function.getEntry().without_terminator(),
                        [&](Operation &op) { return hasSideEffects(tfg::Node(&op)); });
  };
  bool found = false;
  tfg::forEachCallee(node, [&](StringRef name) {
    found |= tfg::anyReachable(name, lookup, sideEffectCache, contains);
  });
  return found;
}

std::optional<size_t> Translator::cellOf(const TracedValue &handle) {
  auto known = cellNumbers.find(handle.value);
  return known == cellNumbers.end() ? std::nullopt : std::optional(known->second);
}

Expected<Values> Translator::resultOf(StringRef op, ArrayRef<NamedAttribute> attrs, Values inputs,
                                      Type element, tfg::Node node) {
  Block &block = *parts.emplace_back(std::make_unique<Block>());
  for (const TracedValue &input : inputs) {
    Type type = input.value.getType();
    block.addArgument(isTensor(type) ? type : RankedTensorType::get({}, type), loc);
  }
  OpBuilder inside(b.getContext());
  inside.setInsertionPointToEnd(&block);
  tfg::Node part = tfg::NodeBuilder(inside, op)
                       .name(node.name())
                       .attr(tfg::TfgDialect::deviceKeyword, b.getStringAttr(node.device()))
                       .attrs(attrs)
                       .inputs(block.getArguments())
                       .results(TypeRange(UnrankedTensorType::get(element)))
                       .build();
  return translateNode(part, std::move(inputs));
}

Operation *Translator::addKernel(StringRef op, ArrayRef<Value> inputs, TypeRange results,
                                 DType dtype, std::string sharedName) {
  KernelCall entry{op.str(), op.str(), "", {}, {}, {}, {}};
  entry.attrs.set("dtype", TypeAttr{dtype});
  if (!sharedName.empty())
    entry.attrs.set("shared_name", std::move(sharedName));
  for (Value input : inputs)
    entry.inputTypes.push_back(valueTypeOf(elementOf(input.getType())).dtype);
  for (Type type : results) {
    entry.outputTypes.push_back(valueTypeOf(elementOf(type)).dtype);
    ExpectedShape expected{true};
    for (int64_t size : cast<RankedTensorType>(type).getShape())
      expected.dims.push_back(ShapedType::isDynamic(size) ? -1 : size);
    entry.outputs.push_back(std::move(expected));
  }
  int32_t index = static_cast<int32_t>(tables.kernels.size());
  tables.kernels.push_back(std::move(entry));
  auto call = rc::KernelOp::create(b, loc, results, inputs, index, op, nullptr);
  call->setAttr(rc::staysAttr, b.getUnitAttr());
  return call;
}

void Translator::addCell(Value argument, Value handle) {
  size_t number = cells.size();
  cellNumbers[handle] = number;
  cellHandles.push_back(handle);
  cellTypes.push_back(cast<RankedTensorType>(argument.getType()));
  cells.push_back(unboxed(argument, KnownValue(tfg::shapeOf(argument.getType()))));
  if (!kernelCells.contains(number))
    return;
  DType dtype = valueTypeOf(elementOf(argument.getType())).dtype;
  Operation *made =
      addKernel("VarHandleOp", {}, handle.getType(), dtype, std::string(Variable::anonymousName));
  cells[number].value = made->getResult(0);
  addKernel("AssignVariableOp", {made->getResult(0), argument}, {}, dtype);
}

/// A run that has been stopped ends here; its variables are assigned the values of their cells.
void Translator::checkRunning() {
  Value running = rc::RunningOp::create(b, loc, b.getI1Type());
  if (!cells.empty()) {
    Value same = rc::UnchangedOp::create(b, loc, b.getI1Type(), cells.size());
    Value no = arith::ConstantOp::create(b, loc, b.getBoolAttr(false));
    Value isOver = arith::SelectOp::create(b, loc, running, no, same);
    auto stop = scf::IfOp::create(b, loc, isOver, /*withElseRegion=*/false);
    b.setInsertionPointToStart(stop.thenBlock());
    for (size_t i = 0; i < cells.size(); ++i)
      if (kernelCells.contains(i) || cells[i].value != cellsBefore[i].value)
        addKernel("AssignVariableOp", {cellHandles[i], boxed(read(i).value)}, {},
                  valueTypeOf(cellTypes[i].getElementType()).dtype);
    check(no); // leaves the code; nothing after this point takes effect
    b.setInsertionPointAfter(stop);
    check(same);
  }
  check(running);
}

TracedValue Translator::read(size_t cell) {
  if (!kernelCells.contains(cell))
    return cells[cell];
  RankedTensorType type = cellTypes[cell];
  Operation *made = addKernel("ReadVariableOp", cells[cell].value, TypeRange(type),
                              valueTypeOf(type.getElementType()).dtype);
  return unboxed(made->getResult(0), KnownValue(tfg::shapeOf(type)));
}

void Translator::write(size_t cell, TracedValue value) {
  if (!kernelCells.contains(cell)) {
    cells[cell] = std::move(value);
    return;
  }
  addKernel("AssignVariableOp", {cells[cell].value, boxed(value.value)}, {},
            valueTypeOf(cellTypes[cell].getElementType()).dtype);
}

namespace {

Attribute typeAttr(Type element) { return mlir::TypeAttr::get(element); }

/// Returns the cell of a node's handle, for values of this dtype.
Expected<size_t> cellFor(Translator &t, tfg::Node node, const TracedValue &handle, Type element) {
  std::optional<size_t> cell = t.cellOf(handle);
  if (!cell)
    return Unexpected(Translator::unsupported(node, "the variable that it accesses isn't known"));
  if (t.cellTypes[*cell].getElementType() != element)
    return Unexpected(Translator::unsupported(node, "its variable has a different dtype"));
  return *cell;
}

/// Returns the value of the variable; nullopt unless it is a cell or read-only.
MaybeValues valueOf(Translator &t, tfg::Node node, const TracedValue &handle) {
  if (!t.cellOf(handle))
    return std::nullopt;
  return cellFor(t, node, handle, t.elementType(node->getResult(0))).map([&](size_t cell) {
    return std::optional(Values{t.read(cell)});
  });
}

MaybeValues read(Translator &t, tfg::Node node, Values inputs) {
  if (t.options.variable) {
    Values values = TREADLE_TRY(t.readVariable(node, inputs.front()));
    return std::optional(std::move(values));
  }
  return valueOf(t, node, inputs.front());
}

/// Whether two values have the same shape, by types or checks in the code. Returns false if that
/// can't be established.
bool haveSameShape(Translator &t, Value a, Value b) {
  if (!isTensor(a.getType()) && !isTensor(b.getType()))
    return true;
  auto first = dyn_cast<RankedTensorType>(a.getType());
  auto second = dyn_cast<RankedTensorType>(b.getType());
  if (!first || !second || first.getRank() != second.getRank())
    return false;
  for (int64_t i = 0; i < first.getRank(); ++i) {
    int64_t size = first.getDimSize(i);
    if (size != ShapedType::kDynamic && size == second.getDimSize(i))
      continue;
    t.check(arith::CmpIOp::create(t.b, t.loc, arith::CmpIPredicate::eq, t.dim(a, i), t.dim(b, i)));
  }
  return true;
}

MaybeValues assign(Translator &t, tfg::Node node, Values inputs) {
  TracedValue value = inputs[1].list ? t.handleOf(inputs[1]) : std::move(inputs[1]);
  size_t cell = TREADLE_TRY(cellFor(t, node, inputs[0], elementOf(value.value.getType())));
  auto validates = node.attr<BoolAttr>("validate_shape");
  if (validates && validates.getValue() && !haveSameShape(t, t.read(cell).value, value.value))
    return Unexpected(Translator::unsupported(node, "it isn't known whether the shapes match"));
  t.write(cell, std::move(value));
  return Values();
}

/// Returns the op that has the same effect on a tensor instead of a variable.
StringRef onTensor(tfg::Node node) { return lookupOp(node.opType())->onTensor(); }

MaybeValues update(Translator &t, tfg::Node node, Values inputs) {
  Type element = elementOf(inputs[1].value.getType());
  size_t cell = TREADLE_TRY(cellFor(t, node, inputs[0], element));
  if (t.kernelCells.contains(cell))
    return std::nullopt;
  TracedValue now = t.read(cell);
  if (!haveSameShape(t, now.value, inputs[1].value))
    return std::nullopt;
  Values sum = TREADLE_TRY(t.resultOf(onTensor(node), {t.b.getNamedAttr("T", typeAttr(element))},
                                      {now, inputs[1]}, element, node));
  t.write(cell, sum[0]);
  return Values();
}

MaybeValues shape(Translator &t, tfg::Node node, Values inputs) {
  std::optional<size_t> cell = t.cellOf(inputs[0]);
  if (!cell)
    return std::nullopt;
  TracedValue value = t.read(*cell);
  Type element = t.elementType(node->getResult(0));
  NamedAttribute attrs[] = {t.b.getNamedAttr("T", typeAttr(elementOf(value.value.getType()))),
                            t.b.getNamedAttr("out_type", typeAttr(element))};
  Values result = TREADLE_TRY(t.resultOf(onTensor(node), attrs, {value}, element, node));
  return std::optional(std::move(result));
}

MaybeValues gather(Translator &t, tfg::Node node, Values inputs) {
  Type element = t.elementType(node->getResult(0));
  MaybeValues value = valueOf(t, node, inputs[0]);
  if (!value || !*value)
    return value;
  const OpDef *def = lookupOp(onTensor(node));
  SmallVector<NamedAttribute> attrs = {
      t.b.getNamedAttr("Tparams", typeAttr(element)),
      t.b.getNamedAttr("Tindices", typeAttr(elementOf(inputs[1].value.getType())))};
  Values operands = {(**value)[0], inputs[1]};
  if (def->findAttr("batch_dims")) {
    auto batchDims = node.attr<IntegerAttr>("batch_dims");
    Tensor axis = Tensor::scalar<int64_t>(DType::Int64, batchDims ? batchDims.getInt() : 0);
    KnownValue known(Shape::scalar());
    known.constant = axis;
    known.integers = Shape::Dims{axis.scalarValue<int64_t>()};
    operands.push_back(t.constant(axis, std::move(known)));
    attrs.push_back(t.b.getNamedAttr("Taxis", typeAttr(t.b.getI64Type())));
    attrs.push_back(
        t.b.getNamedAttr("batch_dims", t.b.getI64IntegerAttr(axis.scalarValue<int64_t>())));
  }
  Values rows = TREADLE_TRY(t.resultOf(def->name(), attrs, std::move(operands), element, node));
  return std::optional(std::move(rows));
}

/// The interpreter reports failing assertions.
MaybeValues assertion(Translator &t, tfg::Node node, Values inputs) {
  Value condition = inputs[0].value;
  if (!condition.getType().isInteger(1))
    return Unexpected(Translator::unsupported(node, "its condition may not be a scalar"));
  t.check(condition);
  return Values();
}

constexpr std::pair<StringRef, Lowering> table[] = {
    {"Assert", assertion},        {"AssignAddVariableOp", update}, {"AssignSubVariableOp", update},
    {"AssignVariableOp", assign}, {"ReadVariableOp", read},        {"ResourceGather", gather},
    {"ResourceGatherNd", gather}, {"VariableShape", shape},
};

} // namespace

LoweringTable variableLowerings() { return table; }

} // namespace treadle::codegen
