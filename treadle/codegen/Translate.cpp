// Translates the nodes of a function to tensor code.
#include "treadle/analysis/shapes/TypeShapes.h"
#include "treadle/codegen/Passes.h"
#include "treadle/codegen/Rc.h"
#include "treadle/codegen/Translator.h"
#include "treadle/lowering/Attributes.h"
#include "treadle/ops/OpTable.h"
#include "treadle/rewriting/CallGraph.h"
#include "treadle/rewriting/Rewriting.h"
#include "treadle/transforms/outline_clusters/Compilable.h"
#include "treadle/transforms/topological_sort/TopologicalSort.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Complex/IR/Complex.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Iterators.h"
#include "llvm/ADT/ScopeExit.h"

using namespace mlir;

namespace treadle::codegen {

Location Translator::originOf(tfg::Node node) {
  if (!options.metered)
    return loc;
  auto &originTable = options.metered->originTable;
  auto function = node->getParentOfType<tfg::FuncOp>();
  originTable.push_back({node.name().str(), node.opType().str(),
                         function ? function.getName().str() : "", loopOrigin});
  return FileLineColLoc::get(b.getContext(), "graph", static_cast<unsigned>(originTable.size()), 1);
}

Expected<Values> Translator::translateNode(tfg::Node node, Values inputs) {
  llvm::SaveAndRestore here(loc, originOf(node));
  if (tfg::FuncOp function = find(node.opType()))
    return inlineFunction(function, inputs);
  auto passHandles = [&] {
    for (TracedValue &input : inputs)
      if (input.list)
        input = handleOf(input);
  };
  if (!takesLists(node.opType()))
    passHandles();
  for (TracedValue &input : inputs)
    if (auto type = dyn_cast<RankedTensorType>(input.value.getType()))
      input.known.shape = meet(input.known.shape, tfg::shapeOf(type));
  // An op with a lowering of its own is translated as an elementwise op only by that lowering.
  Lowering lowering = findLowering(node.opType());
  MaybeValues results = lowering ? lowering(*this, node, inputs) : elementwise(node, inputs);
  if (!results)
    return Unexpected(std::move(results.error()));
  if (*results)
    return std::move(**results);
  passHandles();
  return kernel(node, inputs);
}

/// Returns the operands that a node's computation uses: only the condition, if it is an assertion.
static OperandRange computedOperands(Operation *op) {
  const OpDef *def = lookupOp(op->getName().stripDialect());
  OperandRange operands = op->getOperands();
  return def && def->facts().checks ? operands.take_front(1) : operands;
}

/// Returns the nodes that the results of a body depend on, and those with side effects.
DenseSet<Operation *> Translator::neededNodes(Block &body) {
  DenseSet<Operation *> needed;
  SmallVector<Operation *> work = {body.getTerminator()};
  for (Operation &op : body.without_terminator())
    if (hasSideEffects(tfg::Node(&op)) && needed.insert(&op).second)
      work.push_back(&op);
  while (!work.empty()) {
    Operation *op = work.pop_back_val();
    for (Value value : computedOperands(op))
      if (Operation *def = value.getDefiningOp(); def && !tfg::isControl(value))
        if (needed.insert(def).second)
          work.push_back(def);
  }
  return needed;
}

Error Translator::tooLarge(tfg::FuncOp function) const {
  return unimplemented("function '", function.getName().str(),
                       "' is too large: with its callees it has more than the ", options.maxWeight,
                       " operations that are compiled together");
}

Expected<Values> Translator::inlineFunction(tfg::FuncOp function, ArrayRef<TracedValue> arguments) {
  if (function.getGeneric() || function->getRegion(0).empty())
    return Unexpected(
        unimplemented("function '", function.getName().str(), "' has no body, or is generic"));
  if (function.getNumDataArguments() != arguments.size())
    return Unexpected(invalidArgument("function '", function.getName().str(), "' has ",
                                      function.getNumDataArguments(), " arguments, but gets ",
                                      arguments.size()));
  if (depth == tfg::maxClusterDepth)
    return Unexpected(unimplemented("function '", function.getName().str(),
                                    "' is called at a call depth of ", depth, " calls"));
  ++depth;
  llvm::scope_exit leave([&] { --depth; });
  Block &body = function.getEntry();
  // Counts each call: chains of functions that call others twice expand exponentially.
  translated += std::ssize(body.getOperations());
  if (translated > options.maxWeight)
    return Unexpected(tooLarge(function));
  DenseMap<Value, TracedValue> values;
  for (auto [i, argument] : llvm::enumerate(arguments))
    values[function.getDataArgument(i)] = argument;
  DenseSet<Operation *> needed = neededNodes(body);
  auto inputsOf = [&](OperandRange operands) {
    Values inputs;
    for (Value operand : operands)
      if (!tfg::isControl(operand))
        inputs.push_back(values.lookup(operand));
    return inputs;
  };
  for (Operation *op : tfg::topologicalOrder(body)) {
    if (!needed.contains(op))
      continue;
    tfg::Node node(op);
    if (op->getNumRegions())
      return Unexpected(unsupported(node, "it has regions"));
    Values inputs = inputsOf(computedOperands(op));
    if (llvm::any_of(inputs, [](const TracedValue &input) { return !input.value; }))
      return Unexpected(unsupported(node, "it is part of a cycle"));
    Values results = TREADLE_TRY(translateNode(node, std::move(inputs)));
    if (results.size() != node.numResults())
      return Unexpected(unsupported(node, "the function returns a different number of results"));
    for (auto [result, value] : llvm::zip(node.results(), results))
      values[result] = value;
  }
  return inputsOf(function.getReturn()->getOperands());
}

/// Combines a class of shapes with the sizes that the function declares for its argument, unless
/// they contradict each other.
static Type stated(Type type, Type argument) {
  auto said = dyn_cast<RankedTensorType>(type), known = dyn_cast<RankedTensorType>(argument);
  if (!said || !known || said.getRank() != known.getRank())
    return argument;
  SmallVector<int64_t> shape(known.getShape());
  for (auto [size, statedSize] : llvm::zip(shape, said.getShape())) {
    if (!ShapedType::isDynamic(size) && !ShapedType::isDynamic(statedSize) && size != statedSize)
      return argument;
    if (ShapedType::isDynamic(size))
      size = statedSize;
  }
  return known.clone(shape);
}

static bool hasPythonEffects(StringRef op) {
  const OpDef *def = lookupOp(op);
  return def && def->facts().runsPython && def->isStateful();
}

/// Whether the function, or one that it calls, runs Python code with side effects.
static bool hasPythonEffects(tfg::FuncOp function, const FindFunction &find) {
  return llvm::any_of(tfg::reachableFrom(function, find), [](tfg::FuncOp reached) {
    return llvm::any_of(reached.getEntry().without_terminator(),
                        [](Operation &op) { return hasPythonEffects(tfg::Node(&op).opType()); });
  });
}

/// Whether a condition is true for constant operands.
static bool isAlwaysTrue(Value condition) {
  Operation *op = condition.getDefiningOp();
  SmallVector<OpFoldResult> folded;
  if (!op || failed(op->fold(folded)) || folded.size() != 1)
    return matchPattern(condition, m_One());
  auto value = dyn_cast<Attribute>(folded.front());
  auto truth = dyn_cast_or_null<IntegerAttr>(value);
  return truth && truth.getValue().isOne();
}

/// Whether an op may bail out though memory suffices and the run goes on.
static bool mayBailOut(Operation *op) {
  if (auto check = dyn_cast<rc::CheckOp>(op))
    return !check.getCondition().getDefiningOp<rc::RunningOp>() &&
           !isAlwaysTrue(check.getCondition());
  return isa<rc::SetOp, rc::RowOp, rc::PopOp, rc::StackOp>(op);
}

Expected<void> Translator::expectNoBailout() {
  auto call = llvm::find_if(tables.kernels,
                            [](const KernelCall &kernel) { return hasPythonEffects(kernel.op); });
  if (call == tables.kernels.end())
    return {};
  auto bails = cluster.walk([](Operation *op) {
    return mayBailOut(op) ? WalkResult::interrupt() : WalkResult::advance();
  });
  if (!bails.wasInterrupted() && cells.empty())
    return {};
  return Unexpected(unimplemented("it has side effects, which the interpreter would repeat if a "
                                  "check in compiled code failed")
                        .atNode(call->node, call->op));
}

Expected<TensorProgram> Translator::run(tfg::FuncOp function, ArrayRef<ArgumentClass> arguments) {
  if (function.getNumDataArguments() != arguments.size())
    return Unexpected(invalidArgument("function '", function.getName().str(), "' has ",
                                      function.getNumDataArguments(), " arguments, but gets ",
                                      arguments.size()));
  mustNotBail = hasPythonEffects(function, find);
  OwningOpRef<ModuleOp> module = ModuleOp::create(loc);
  SmallVector<Type> types;
  for (auto [i, argument] : llvm::enumerate(arguments)) {
    Type element = elementType(function.getDataArgument(i));
    SmallVector<int64_t> shape;
    for (int64_t size : argument.sizes)
      shape.push_back(size == ArgumentClass::any ? ShapedType::kDynamic : size);
    types.push_back(argument.isRanked ? Type(RankedTensorType::get(shape, element))
                                      : UnrankedTensorType::get(element));
  }
  SmallVector<size_t> handles; // numbers of the handles of cells
  for (auto [i, argument] : llvm::enumerate(arguments))
    if (argument.variable) {
      handles.push_back(i);
      std::vector<int64_t> sizes = argument.variable->sizes;
      llvm::replace(sizes, ArgumentClass::any, ShapedType::kDynamic);
      Type element = tfg::elementTypeOf(argument.variable->dtype, b.getContext());
      types.push_back(RankedTensorType::get(sizes, element));
    }
  b.setInsertionPointToEnd(module->getBody());
  cluster = func::FuncOp::create(b, loc, "cluster", b.getFunctionType(types, {}));
  b.setInsertionPointToStart(cluster.addEntryBlock());
  Values values;
  ArrayRef<BlockArgument> given = cluster.getArguments();
  for (auto [i, argument] : llvm::enumerate(given.take_front(arguments.size()))) {
    Value value = coerce(argument, stated(function.getDataArgument(i).getType(), types[i]));
    values.push_back(unboxed(value, KnownValue(tfg::shapeOf(value.getType()))));
  }
  for (auto [cell, argument] : llvm::enumerate(given.drop_front(arguments.size())))
    addCell(argument, values[handles[cell]].value);
  cellsBefore = cells;
  Values results = TREADLE_TRY(inlineFunction(function, values));
  SmallVector<Value> returned;
  for (const TracedValue &result : results)
    returned.push_back(boxed(result.list ? handleOf(result).value : result.value));
  for (auto [cell, argument] : llvm::enumerate(given.drop_front(arguments.size())))
    returned.push_back(!kernelCells.contains(cell) && cells[cell].value == cellsBefore[cell].value
                           ? Value(argument)
                           : boxed(read(cell).value));
  func::ReturnOp::create(b, loc, returned);
  cluster.setFunctionType(b.getFunctionType(types, ValueRange(returned).getTypes()));
  cluster.walk<WalkOrder::PostOrder, ReverseIterator>([](Operation *op) {
    if (isOpTriviallyDead(op))
      op->erase();
  });
  if (weightOf(*cluster) > options.maxWeight)
    return Unexpected(tooLarge(function));
  TREADLE_TRY(expectNoBailout());
  return TensorProgram{std::move(module), std::move(tables)};
}

ArgumentClass ArgumentClass::of(const Tensor &tensor, bool isExact) {
  ArgumentClass result{tensor.dtype(), true, {}};
  for (int64_t dim : tensor.dims())
    result.sizes.push_back(dim == 1 || isExact ? dim : any);
  return result;
}

bool ArgumentClass::Variable::fits(const Tensor &value) const {
  return dtype == value.dtype() &&
         llvm::equal(sizes, value.dims(), [](int64_t known, int64_t size) {
           return known == size || (known == any && size != 1);
         });
}

ArgumentClass::Variable ArgumentClass::Variable::with(const Tensor &value) const {
  Variable both{value.dtype(), {value.dims().begin(), value.dims().end()}};
  if (both.sizes.size() == sizes.size())
    for (auto [size, known] : llvm::zip(both.sizes, sizes))
      if (size != known && size != 1)
        size = any;
  return both;
}

Expected<TensorProgram> translate(tfg::FuncOp function, ArrayRef<ArgumentClass> arguments,
                                  const FindFunction &find, MLIRContext &context,
                                  const TranslationOptions &options) {
  context
      .loadDialect<arith::ArithDialect, complex::ComplexDialect, func::FuncDialect,
                   linalg::LinalgDialect, math::MathDialect, scf::SCFDialect, tensor::TensorDialect,
                   rc::RcDialect, tfg::TfgDialect, tf_type::TfTypeDialect>();
  llvm::SetVector<Operation *> kernelLists;
  llvm::SetVector<size_t> kernelCells;
  for (;;) {
    if (options.metered)
      options.metered->originTable.clear();
    Translator translator(find, context, options);
    translator.kernelLists = kernelLists;
    translator.kernelCells = kernelCells;
    Expected<TensorProgram> program = translator.run(function, arguments);
    if (translator.wanted.empty() && translator.wantedCells.empty())
      return program;
    kernelLists.insert_range(translator.wanted);
    kernelCells.insert_range(translator.wantedCells);
  }
}

} // namespace treadle::codegen
