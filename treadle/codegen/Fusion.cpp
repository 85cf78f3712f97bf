// Fuses linalg ops into their readers.
#include "treadle/codegen/LoopCost.h"
#include "treadle/codegen/Passes.h"
#include "treadle/codegen/ReadFusion.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;

namespace treadle::codegen {
namespace {

/// Whether an op is the first one in its block that reads the producer's result.
bool isFirstReader(Operation *reader, Operation *producer) {
  return llvm::all_of(producer->getUsers(), [&](Operation *user) {
    Operation *other = reader->getBlock()->findAncestorOpInBlock(*user);
    return other && (other == reader || reader->isBeforeInBlock(other));
  });
}

/// A result with several readers is computed once, with the first reader, if both traverse the same
/// elements in the same order.
bool shouldFuseShared(linalg::GenericOp producer, linalg::GenericOp reader) {
  constexpr size_t maxResults = 12;
  return isFlat(producer) && isFlat(reader) && isFirstReader(reader, producer) &&
         producer->getNumResults() + reader->getNumResults() <= maxResults;
}

/// Whether the op combines elements one after the other, such as argmax: its innermost loop isn't
/// vectorized.
bool isSequential(linalg::GenericOp op) {
  return op.getNumReductionLoops() && op.getNumResults() > 1 &&
         op.getIteratorTypesArray().back() == utils::IteratorType::reduction;
}

/// Whether computing an element once more takes less time than storing and loading it: few
/// operations on elements of much smaller tensors.
bool isCheapToRepeat(linalg::GenericOp op) {
  constexpr int64_t maxCost = 1000, minGrowth = 8, maxReaders = 4;
  if (op->getNumResults() != 1 || op.getNumReductionLoops() || costOf(op) > maxCost ||
      std::distance(op->use_begin(), op->use_end()) > maxReaders)
    return false;
  auto sizeOf = [](Value value) {
    auto type = cast<RankedTensorType>(value.getType());
    return type.hasStaticShape() ? type.getNumElements() : 0;
  };
  return llvm::all_of(op.getInputs(), [&](Value input) {
    auto tensor = dyn_cast<RankedTensorType>(input.getType());
    return tensor && tensor.hasStaticShape() &&
           sizeOf(input) <= sizeOf(op->getResult(0)) / minGrowth;
  });
}

/// Whether each reader of a result computes it on its own.
bool isRepeated(linalg::GenericOp op) { return onlyRearranges(op) || isCheapToRepeat(op); }

/// Whether to fuse the producer of an operand into its consumer.
bool shouldFuse(OpOperand &read) {
  Operation *producer = read.get().getDefiningOp();
  auto made = cast<linalg::GenericOp>(producer);
  auto consumer = cast<linalg::GenericOp>(read.getOwner());
  if (producer->getBlock() != consumer->getBlock())
    return false;
  // Longer loops gain little from avoiding intermediate results, and compile slowly.
  constexpr size_t longest = 256;
  if (made.getBody()->getOperations().size() > longest ||
      consumer.getBody()->getOperations().size() > longest)
    return false;
  // Reduction loops aren't split into index ranges, so the branches would remain.
  if (consumer.getNumReductionLoops() && hasBranches(made))
    return false;
  if (isRepeated(made))
    return true;
  constexpr int64_t mostSequential = 2'000;
  if (isSequential(consumer) && costOf(made) + costOf(consumer) > mostSequential)
    return false;
  if (!producer->hasOneUse())
    return shouldFuseShared(made, consumer);
  // With several readers, the element would be recomputed for each; loading it is cheaper,
  // especially where little is done with it, as in a product.
  bool isProduct = consumer.getNumReductionLoops() && consumer.getNumDpsInputs() > 1;
  return consumer.getMatchingIndexingMap(&read).isPermutation() ||
         (!isProduct && costOf(made) <= 300);
}

/// Fuses a producer into its consumer. MLIR's set of patterns for this includes one that loses the
/// initial value of a reduction whose result only depends on its elements.
class FuseElementwise : public OpRewritePattern<linalg::GenericOp> {
public:
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(linalg::GenericOp op, PatternRewriter &rewriter) const override {
    for (OpOperand &read : op->getOpOperands()) {
      if (!linalg::areElementwiseOpsFusable(&read) || !shouldFuse(read))
        continue;
      auto producer = read.get().getDefiningOp<linalg::GenericOp>();
      bool isShared = !producer->hasOneUse() && !isRepeated(producer);
      if (!isShared && !producer->hasOneUse()) { // each reader gets its own copy
        unsigned number = cast<OpResult>(read.get()).getResultNumber();
        producer = cast<linalg::GenericOp>(rewriter.clone(*producer));
        rewriter.modifyOpInPlace(op, [&] { read.set(producer.getResult(number)); });
      }
      FailureOr<linalg::ElementwiseOpFusionResult> fused =
          linalg::fuseElementwiseOps(rewriter, &read);
      if (failed(fused))
        continue;
      auto made = [&](Operation *old) {
        return llvm::map_to_vector(
            old->getResults(), [&](Value result) { return fused->replacements.lookup(result); });
      };
      SmallVector<Value> shared = made(producer);
      rewriter.replaceOp(op, made(op));
      for (auto [result, value] : llvm::zip(producer->getResults(), shared))
        if (isShared && value)
          rewriter.replaceAllUsesExcept(result, value, value.getDefiningOp());
      return success();
    }
    return failure();
  }
};

} // namespace

static LogicalResult fuse(ModuleOp module,
                          llvm::function_ref<void(RewritePatternSet &)> populateOthers) {
  MLIRContext *context = module.getContext();
  RewritePatternSet patterns(context);
  patterns.add<FuseElementwise>(context);
  populateOthers(patterns);
  linalg::GenericOp::getCanonicalizationPatterns(patterns, context);
  linalg::populateEraseUnusedOperandsAndResultsPatterns(patterns);
  return applyPatternsGreedily(module, std::move(patterns));
}

/// Reads are fused by index first, and become operands where that is still possible.
LogicalResult fuseElementwise(ModuleOp module) {
  return success(succeeded(fuse(module, populateReadPatterns)) &&
                 succeeded(fuse(module, populateOperandPatterns)));
}

} // namespace treadle::codegen
