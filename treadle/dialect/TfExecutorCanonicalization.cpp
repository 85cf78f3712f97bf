// Canonicalization of tf_executor: removes empty graphs and islands, unused triggers, and duplicate
// control inputs.
#include "treadle/dialect/TfExecutor.h"

#include "llvm/ADT/SmallPtrSet.h"

using namespace mlir;
using namespace treadle::tf_executor;

namespace {

bool isEmpty(IslandOp island) { return island.getEntry().without_terminator().empty(); }

/// Erases `op` and replaces its token by `control`.
void eraseWithToken(Operation *op, Value control, PatternRewriter &rewriter) {
  for (OpOperand &use : llvm::make_early_inc_range(control.getUses()))
    rewriter.modifyOpInPlace(use.getOwner(),
                             [&] { use.getOwner()->eraseOperand(use.getOperandNumber()); });
  rewriter.eraseOp(op);
}

/// graph { fetch %x }  ->  %x
struct DropEmptyGraph : OpRewritePattern<GraphOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(GraphOp graph, PatternRewriter &rewriter) const override {
    if (!graph.getEntry().without_terminator().empty())
      return failure();
    rewriter.replaceOp(graph, graph.getFetch().getFetches().take_front(graph.getNumResults()));
    return success();
  }
};

/// graph { island { ops }; fetch }  ->  ops
struct HoistOnlyIsland : OpRewritePattern<GraphOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(GraphOp graph, PatternRewriter &rewriter) const override {
    auto body = graph.getEntry().without_terminator();
    if (!llvm::hasSingleElement(body) || !isa<IslandOp>(*body.begin()))
      return failure();
    auto island = cast<IslandOp>(*body.begin());
    YieldOp yield = island.getYield();
    SmallVector<Value> values;
    for (Value value : graph.getFetch().getFetches()) {
      if (isControl(value))
        break;
      if (value.getDefiningOp() == island)
        value = yield.getFetches()[cast<OpResult>(value).getResultNumber()];
      values.push_back(value);
    }
    rewriter.eraseOp(graph.getFetch());
    rewriter.eraseOp(yield);
    rewriter.inlineBlockBefore(&island.getEntry(), graph);
    rewriter.replaceOp(graph, values);
    return success();
  }
};

/// Removes an empty island without inputs and results; users of its token don't need to wait.
struct DropEmptyIsland : OpRewritePattern<IslandOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(IslandOp island, PatternRewriter &rewriter) const override {
    if (!isEmpty(island) || island.getNumOperands() != 0 || island.getNumResults() != 1)
      return failure();
    eraseWithToken(island, island.getControl(), rewriter);
    return success();
  }
};

/// island { yield %x }  ->  %x, if the island's token is unused.
struct ForwardThroughIsland : OpRewritePattern<IslandOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(IslandOp island, PatternRewriter &rewriter) const override {
    if (!isEmpty(island) || island.getNumOperands() != 0 || island.getNumResults() != 2 ||
        !island.getControl().use_empty())
      return failure();
    rewriter.replaceAllUsesWith(island.getResult(0), island.getYield().getOperand(0));
    rewriter.eraseOp(island);
    return success();
  }
};

struct DropEmptyControlTrigger : OpRewritePattern<ControlTriggerOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(ControlTriggerOp trigger,
                                PatternRewriter &rewriter) const override {
    if (trigger.getNumOperands() != 0)
      return failure();
    eraseWithToken(trigger, trigger.getControl(), rewriter);
    return success();
  }
};

template <typename Op> struct DropRepeatedControl : OpRewritePattern<Op> {
  using OpRewritePattern<Op>::OpRewritePattern;

  LogicalResult matchAndRewrite(Op op, PatternRewriter &rewriter) const override {
    llvm::SmallPtrSet<void *, 8> seen;
    llvm::BitVector repeated(op->getNumOperands());
    for (OpOperand &operand : op->getOpOperands())
      if (isControl(operand.get()) && !seen.insert(operand.get().getAsOpaquePointer()).second)
        repeated.set(operand.getOperandNumber());
    if (repeated.none())
      return failure();
    rewriter.modifyOpInPlace(op, [&] { op->eraseOperands(repeated); });
    return success();
  }
};

} // namespace

void GraphOp::getCanonicalizationPatterns(RewritePatternSet &patterns, MLIRContext *context) {
  patterns.add<DropEmptyGraph, HoistOnlyIsland>(context);
}

void IslandOp::getCanonicalizationPatterns(RewritePatternSet &patterns, MLIRContext *context) {
  patterns.add<DropEmptyIsland, ForwardThroughIsland, DropRepeatedControl<IslandOp>>(context);
}

void ControlTriggerOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                                   MLIRContext *context) {
  patterns.add<DropEmptyControlTrigger, DropRepeatedControl<ControlTriggerOp>>(context);
}

/// Folds an empty island with one control input: its token becomes that input.
LogicalResult IslandOp::fold(FoldAdaptor, SmallVectorImpl<OpFoldResult> &results) {
  if (getNumOperands() != 1 || getNumResults() != 1 || !isEmpty(*this))
    return failure();
  results.push_back(getOperand(0));
  return success();
}
