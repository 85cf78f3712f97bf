#include "treadle/codegen/SharedLoops.h"
#include "treadle/codegen/Rc.h"
#include "treadle/codegen/Scalars.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace treadle::codegen {
namespace {

Value refOf(Value view) { return view.getDefiningOp<rc::ViewOp>().getRef(); }

/// The values that the loops use from the code around them. Views and complex numbers can't be
/// passed to a function; they are made again from references and parts.
struct Captures {
  llvm::SetVector<Value> passed;
  SmallVector<Operation *> constants;
  SmallVector<Value> views; // that the body uses
  SmallVector<std::pair<Value, Parts>> numbers;

  Captures(OpBuilder &b, Location loc, const SharedLoops &loops) {
    for (Value view : loops.views)
      passed.insert(refOf(view));
    llvm::SetVector<Value> used;
    getUsedValuesDefinedAbove(loops.body, used);
    for (Value value : used)
      if (isa<MemRefType>(value.getType())) {
        views.push_back(value);
        passed.insert(refOf(value));
      } else if (auto constant = value.getDefiningOp<arith::ConstantOp>()) {
        constants.push_back(constant);
      } else if (isa<ComplexType>(value.getType())) {
        Parts parts = partsOf(b, loc, value);
        passed.insert(parts.first);
        passed.insert(parts.second);
        numbers.push_back({value, parts});
      } else {
        passed.insert(value);
      }
  }

  void makeAgain(OpBuilder &b, Location loc, ValueRange arguments, IRMapping &mapping) {
    for (auto [value, argument] : llvm::zip(passed, arguments))
      mapping.map(value, argument);
    for (Operation *constant : constants)
      b.clone(*constant, mapping);
    for (auto [number, parts] : numbers)
      mapping.map(number, complexOf(b, loc,
                                    {mapping.lookupOrDefault(parts.first),
                                     mapping.lookupOrDefault(parts.second)}));
    for (Value view : views)
      mapping.map(view, viewAgain(b, loc, view, mapping));
  }

  static Value viewAgain(OpBuilder &b, Location loc, Value view, const IRMapping &mapping) {
    return rc::ViewOp::create(b, loc, view.getType(), mapping.lookup(refOf(view)));
  }
};

} // namespace

void shareLoops(OpBuilder &b, Location loc, const SharedLoops &loops, IRMapping &mapping,
                llvm::function_ref<void(ValueRange, Value, Value)> emit) {
  OpBuilder::InsertionGuard guard(b);
  Captures captures(b, loc, loops);
  Value least =
      arith::ConstantIndexOp::create(b, loc, std::max<int64_t>(minSharedWork / loops.cost, 1));
  Value isLong = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::uge, loops.count, least);
  auto module = b.getInsertionBlock()->getParentOp()->getParentOfType<ModuleOp>();
  auto sides = scf::IfOp::create(b, loc, isLong, /*withElseRegion=*/true);
  for (bool isShared : {true, false}) {
    b.setInsertionPointToStart(isShared ? sides.thenBlock() : sides.elseBlock());
    rc::SpreadOp::create(b, loc, loops.name, loops.size, loops.count, captures.passed.getArrayRef(),
                         loops.cost, !isShared);
  }
  b.setInsertionPointToEnd(module.getBody());
  SmallVector<Type> types;
  for (Value value : captures.passed)
    types.push_back(value.getType());
  types.append(2, b.getIndexType());
  auto part = func::FuncOp::create(b, loc, loops.name, b.getFunctionType(types, {}));
  part.setPrivate();
  part->setAttr(rc::partAttr, b.getUnitAttr());
  Block &entry = *part.addEntryBlock();
  b.setInsertionPointToStart(&entry);
  captures.makeAgain(b, loc, entry.getArguments().drop_back(2), mapping);
  SmallVector<Value> views;
  for (Value view : loops.views)
    views.push_back(Captures::viewAgain(b, loc, view, mapping));
  const size_t first = captures.passed.size();
  emit(views, entry.getArgument(first), entry.getArgument(first + 1));
  func::ReturnOp::create(b, loc);
}

} // namespace treadle::codegen
