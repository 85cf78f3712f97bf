#include "treadle/pjrt/ResultSharding.h"

using namespace mlir;

namespace treadle::pjrt {

ResultShardings::ResultShardings(func::FuncOp main, int64_t devices)
    : main(main), devices(devices), symbols(main->getParentOp()) {}

static Attribute entry(ArrayAttr list, unsigned index) {
  return list && index < list.size() ? list[index] : Attribute();
}

/// Returns the sharding that the definition of a value specifies.
Attribute ResultShardings::declaredSharding(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value))
    return argument.getOwner() == &main.front()
               ? main.getArgAttr(argument.getArgNumber(), "sdy.sharding")
               : Attribute();
  Operation *op = value.getDefiningOp();
  return op->getName().getStringRef() == "sdy.manual_computation"
             ? entry(op->getAttrOfType<ArrayAttr>("out_shardings"),
                     cast<OpResult>(value).getResultNumber())
             : op->getAttr("sharding");
}

void ResultShardings::push(Value value) {
  if (!seen.insert(value).second)
    return;
  stack.push_back(value);
  visited.push_back(value);
}

/// Returns null if the last block of the function branches to others, or returns fewer values.
static Value returned(func::FuncOp function, unsigned result) {
  Operation &end = function.back().back();
  return end.getNumSuccessors() == 0 && result < end.getNumOperands() ? end.getOperand(result)
                                                                      : Value();
}

void ResultShardings::pushReturned(func::CallOp call, unsigned result) {
  auto callee = symbols.lookup<func::FuncOp>(call.getCallee());
  if (!callee || callee.isExternal())
    return;
  callers.try_emplace(callee, call);
  if (Value value = returned(callee, result))
    push(value);
}

void ResultShardings::pushSources(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    Block *owner = argument.getOwner();
    if (func::CallOp call = callers.lookup(owner->getParentOp()); call && owner->isEntryBlock())
      push(call.getOperand(argument.getArgNumber()));
    return;
  }
  Operation *op = value.getDefiningOp();
  if (auto call = dyn_cast<func::CallOp>(op))
    return pushReturned(call, cast<OpResult>(value).getResultNumber());
  auto shape = [](Value of) {
    auto type = dyn_cast<RankedTensorType>(of.getType());
    return type ? std::optional(type.getShape()) : std::nullopt;
  };
  for (Value operand : llvm::reverse(op->getOperands())) // the first operand is visited first
    if (shape(operand) && shape(operand) == shape(value))
      push(operand);
}

/// Searches the definitions of a value, and of its operands, for a sharding.
Attribute ResultShardings::search(Value from) {
  stack.clear();
  visited.clear();
  callers.clear();
  push(from);
  while (!stack.empty()) {
    Value value = stack.pop_back_val();
    if (Attribute found = declaredSharding(value)) {
      for (Value again : visited)
        seen.erase(again);
      return found;
    }
    pushSources(value);
  }
  for (Value again : visited) // which may be reached through another call
    if (again.getParentRegion() != &main.getBody())
      seen.erase(again);
  return {};
}

static bool isEven(RankedTensorType type, const hlo::Sharding &sharding) {
  return llvm::all_of(llvm::zip(type.getShape(), sharding.tiles), [](auto pair) {
    auto [size, tiles] = pair;
    return size % tiles == 0;
  });
}

hlo::Sharding ResultShardings::of(unsigned result) {
  auto type = dyn_cast<RankedTensorType>(main.getResultTypes()[result]);
  int64_t rank = type ? type.getRank() : 0;
  hlo::Sharding whole = hlo::Sharding::replicated(rank, devices);
  if (devices == 1 || !type || main.isExternal())
    return whole;
  Value value = returned(main, result);
  Attribute attr = value ? search(value) : Attribute();
  if (!attr)
    return whole;
  auto module = main->getParentOfType<ModuleOp>();
  Expected<hlo::Sharding> found = hlo::Sharding::read(attr, module, rank, devices);
  return found && isEven(type, *found) ? *found : whole;
}

} // namespace treadle::pjrt
