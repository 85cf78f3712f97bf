#include "treadle/import/stablehlo/Tuples.h"

#include "treadle/dialect/stablehlo/Ops.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace treadle::hlo {
namespace {

void appendLeaves(Type type, SmallVectorImpl<Type> &out) {
  auto tuple = dyn_cast<TupleType>(type);
  if (!tuple)
    return out.push_back(type);
  for (Type element : tuple.getTypes())
    appendLeaves(element, out);
}

SmallVector<Type> leavesOf(TypeRange types) {
  SmallVector<Type> out;
  for (Type type : types)
    appendLeaves(type, out);
  return out;
}

bool hasTuple(TypeRange types) { return llvm::any_of(types, llvm::IsaPred<TupleType>); }

/// Rewrites a module from beginning to end; replaced ops are erased afterwards.
class TupleFlattener {
public:
  LogicalResult flatten(func::FuncOp function);
  void eraseReplaced();

private:
  LogicalResult flattenBlock(Block &block);
  LogicalResult flattenOp(Operation *op);
  void flattenElement(stablehlo::GetTupleElementOp op);
  void rebuild(Operation *op);
  void replace(Value whole, ValueRange parts);
  SmallVector<Value> partsOf(ValueRange values);

  llvm::DenseMap<Value, SmallVector<Value>> parts;
  SmallVector<Operation *> replacedOps;
  SmallVector<BlockArgument> replacedArguments;
};

SmallVector<Value> TupleFlattener::partsOf(ValueRange values) {
  SmallVector<Value> out;
  for (Value value : values) {
    if (isa<TupleType>(value.getType()))
      llvm::append_range(out, parts[value]);
    else
      out.push_back(value);
  }
  return out;
}

void TupleFlattener::replace(Value whole, ValueRange with) {
  if (isa<TupleType>(whole.getType()))
    parts[whole].assign(with.begin(), with.end());
  else
    whole.replaceAllUsesWith(with.front());
}

void TupleFlattener::flattenElement(stablehlo::GetTupleElementOp op) {
  auto tuple = cast<TupleType>(op.getOperand().getType());
  auto index = static_cast<size_t>(op.getIndex());
  size_t begin = leavesOf(tuple.getTypes().take_front(index)).size();
  size_t count = leavesOf(tuple.getType(index)).size();
  SmallVector<Value> all = partsOf(op->getOperands());
  replace(op.getResult(), ValueRange(all).slice(begin, count));
}

/// Rebuilds the op with the tuples' elements.
void TupleFlattener::rebuild(Operation *op) {
  OpBuilder builder(op);
  OperationState state(op->getLoc(), op->getName());
  state.addOperands(partsOf(op->getOperands()));
  state.addTypes(leavesOf(op->getResultTypes()));
  state.addAttributes(op->getAttrs());
  for (Region &region : op->getRegions())
    state.addRegion()->takeBody(region);
  ValueRange results = builder.create(state)->getResults();
  for (Value result : op->getResults()) {
    size_t count = leavesOf(result.getType()).size();
    replace(result, results.take_front(count));
    results = results.drop_front(count);
  }
}

LogicalResult TupleFlattener::flattenOp(Operation *op) {
  for (Region &region : op->getRegions())
    for (Block &block : region)
      if (failed(flattenBlock(block)))
        return failure();
  if (!hasTuple(op->getOperandTypes()) && !hasTuple(op->getResultTypes()))
    return success();
  if (op->getNumSuccessors())
    return op->emitError("unimplemented: ")
           << op->getName().getStringRef() << " that forwards a tuple";
  if (auto element = dyn_cast<stablehlo::GetTupleElementOp>(op))
    flattenElement(element);
  else if (auto tuple = dyn_cast<stablehlo::TupleOp>(op))
    parts[tuple.getResult()] = partsOf(tuple.getOperands());
  else
    rebuild(op);
  replacedOps.push_back(op);
  return success();
}

LogicalResult TupleFlattener::flattenBlock(Block &block) {
  for (unsigned i = 0; i < block.getNumArguments(); ++i) {
    BlockArgument whole = block.getArgument(i);
    if (!isa<TupleType>(whole.getType()))
      continue;
    SmallVector<Value> made;
    for (Type type : leavesOf(whole.getType()))
      made.push_back(block.insertArgument(++i, type, whole.getLoc()));
    replace(whole, made);
    replacedArguments.push_back(whole);
  }
  for (Operation &op : llvm::make_early_inc_range(block))
    if (failed(flattenOp(&op)))
      return failure();
  return success();
}

/// Repeats attributes for each element of their value.
ArrayAttr spread(ArrayAttr attrs, TypeRange types) {
  if (!attrs)
    return attrs;
  SmallVector<Attribute> out;
  for (auto [attr, type] : llvm::zip(attrs, types))
    out.append(leavesOf(type).size(), attr);
  return ArrayAttr::get(attrs.getContext(), out);
}

LogicalResult TupleFlattener::flatten(func::FuncOp function) {
  for (Block &block : function.getBody())
    if (failed(flattenBlock(block)))
      return failure();
  FunctionType type = function.getFunctionType();
  if (ArrayAttr attrs = spread(function.getArgAttrsAttr(), type.getInputs()))
    function.setArgAttrsAttr(attrs);
  if (ArrayAttr attrs = spread(function.getResAttrsAttr(), type.getResults()))
    function.setResAttrsAttr(attrs);
  function.setFunctionType(FunctionType::get(type.getContext(), leavesOf(type.getInputs()),
                                             leavesOf(type.getResults())));
  return success();
}

void TupleFlattener::eraseReplaced() {
  for (Operation *op : llvm::reverse(replacedOps))
    op->erase();
  for (BlockArgument argument : llvm::reverse(replacedArguments))
    argument.getOwner()->eraseArgument(argument.getArgNumber());
}

bool hasTuples(ModuleOp module) {
  return module
      .walk([](Operation *op) {
        auto function = dyn_cast<func::FuncOp>(op);
        bool found = hasTuple(op->getResultTypes()) || hasTuple(op->getOperandTypes()) ||
                     (function && (hasTuple(function.getArgumentTypes()) ||
                                   hasTuple(function.getResultTypes())));
        return found ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

} // namespace

LogicalResult flattenTuples(ModuleOp module) {
  if (!hasTuples(module))
    return success();
  TupleFlattener flattener;
  for (auto function : module.getOps<func::FuncOp>())
    if (failed(flattener.flatten(function)))
      return failure();
  flattener.eraseReplaced();
  return success();
}

} // namespace treadle::hlo
