#include "treadle/import/stablehlo/Feeds.h"

#include "mlir/IR/Builders.h"

using namespace mlir;

/// Returns `name`, numbered if there are several.
static StringAttr numbered(OpBuilder &builder, StringRef name, size_t number, size_t count) {
  return builder.getStringAttr(count == 1 ? name : name + "_" + Twine(number));
}

static SmallVector<Operation *> opsOf(func::FuncOp main, StringRef name) {
  SmallVector<Operation *> found;
  for (Operation &op : main.front())
    if (op.getName().getStringRef() == name)
      found.push_back(&op);
  return found;
}

/// Replaces the op's result token by its operand token.
static void passToken(Operation *op) {
  op->getResults().back().replaceAllUsesWith(op->getOperands().back());
  op->erase();
}

static void bindInfeeds(func::FuncOp main, OpBuilder &builder) {
  SmallVector<Value> values;
  SmallVector<Operation *> ops = opsOf(main, "stablehlo.infeed");
  for (Operation *op : ops)
    llvm::append_range(values, op->getResults().drop_back());
  for (auto [i, value] : llvm::enumerate(values)) {
    unsigned index = main.getNumArguments();
    Location location = NameLoc::get(numbered(builder, "infeed", i, values.size()), value.getLoc());
    (void)main.insertArgument(index, value.getType(), {}, location);
    value.replaceAllUsesWith(main.getArgument(index));
  }
  llvm::for_each(ops, passToken);
}

static void bindOutfeeds(func::FuncOp main, OpBuilder &builder) {
  SmallVector<Value> values;
  SmallVector<Operation *> ops = opsOf(main, "stablehlo.outfeed");
  for (Operation *op : ops)
    llvm::append_range(values, op->getOperands().drop_back());
  Operation &end = main.front().back();
  for (auto [i, value] : llvm::enumerate(values)) {
    auto attrs = builder.getDictionaryAttr(builder.getNamedAttr(
        "jax.result_info", numbered(builder, "result.outfeed", i, values.size())));
    (void)main.insertResult(main.getNumResults(), value.getType(), attrs);
    end.insertOperands(end.getNumOperands(), value);
  }
  llvm::for_each(ops, passToken);
}

void treadle::hlo::bindFeeds(func::FuncOp main) {
  OpBuilder builder(main);
  bindInfeeds(main, builder);
  bindOutfeeds(main, builder);
}
