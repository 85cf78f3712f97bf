#include "treadle/codegen/ReadFusion.h"
#include "treadle/codegen/LoopCost.h"
#include "treadle/codegen/Rc.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;

namespace treadle::codegen {
namespace {

bool isIndexArithmetic(Operation &op) {
  return isa<arith::ConstantOp, arith::CmpIOp, arith::AndIOp, linalg::IndexOp,
             affine::AffineApplyOp>(op) ||
         (op.getNumResults() == 1 && op.getResult(0).getType().isIndex() && isPure(&op) &&
          !op.getNumRegions());
}

/// Counts ops and reads. Returns false if the block computes with elements.
bool countIndexOps(Block &block, int64_t &numOps, int64_t &numReads) {
  for (Operation &op : block.without_terminator()) {
    ++numOps;
    if (auto branch = dyn_cast<scf::IfOp>(op)) {
      for (Region *region : {&branch.getThenRegion(), &branch.getElseRegion()})
        if (!region->empty() && !countIndexOps(region->front(), numOps, numReads))
          return false;
    } else if (isa<tensor::ExtractOp>(op)) {
      ++numReads;
    } else if (!isIndexArithmetic(op)) {
      return false;
    }
  }
  return true;
}

/// Returns the op whose body contains an op.
Operation *loopsAround(Operation *op) {
  Operation *found = nullptr;
  for (Operation *at = op->getParentOp(); at; at = at->getParentOp())
    if (isa<linalg::GenericOp, rc::WriteOp>(at))
      found = at;
  return found;
}

bool readsTensor(linalg::GenericOp op, Value tensor) {
  bool reads = llvm::is_contained(op.getInputs(), tensor);
  op.getRegion().walk([&](tensor::ExtractOp extract) { reads |= extract.getTensor() == tensor; });
  return reads;
}

/// Returns the number of executions of an op per execution of the enclosing body.
int64_t timesInside(Operation *op, Operation *around) {
  int64_t times = tripCountOf(around).value_or(0);
  for (Operation *at = op->getParentOp(); at != around; at = at->getParentOp())
    if (!isa<scf::IfOp>(at) &&
        (!isa<scf::ForOp>(at) || llvm::MulOverflow(times, tripCountOf(at).value_or(0), times)))
      return 0;
  return times;
}

bool shouldReadThrough(tensor::ExtractOp read, linalg::GenericOp producer, Operation *consumer) {
  if (onlyRearranges(producer))
    return true;
  if (!producer->hasOneUse())
    return false;
  int64_t times = timesInside(read, consumer), own = tripCountOf(producer).value_or(0);
  return times && times <= 2 * own;
}

class ReadThrough : public OpRewritePattern<tensor::ExtractOp> {
public:
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(tensor::ExtractOp read, PatternRewriter &rewriter) const override {
    auto producer = read.getTensor().getDefiningOp<linalg::GenericOp>();
    Operation *consumer = loopsAround(read);
    if (!producer || !consumer || producer->getBlock() != consumer->getBlock() ||
        producer.getNumReductionLoops() || producer->getNumResults() != 1 ||
        !producer.getMatchingIndexingMap(producer.getDpsInitOperand(0)).isIdentity() ||
        !producer.getRegion().front().getArguments().back().use_empty())
      return failure();
    auto write = dyn_cast<rc::WriteOp>(consumer);
    auto isRead = [&](Value tensor) { return readsTensor(producer, tensor); };
    if ((write && llvm::any_of(write.getTensors(), isRead)) ||
        !shouldReadThrough(read, producer, consumer))
      return failure();
    Block &body = producer.getRegion().front();
    Location loc = read.getLoc();
    IRMapping mapping;
    for (OpOperand *input : producer.getDpsInputOperands()) {
      SmallVector<Value> places;
      for (AffineExpr expr : producer.getMatchingIndexingMap(input).getResults()) {
        if (auto dim = dyn_cast<AffineDimExpr>(expr))
          places.push_back(read.getIndices()[dim.getPosition()]);
        else if (auto constant = dyn_cast<AffineConstantExpr>(expr))
          places.push_back(arith::ConstantIndexOp::create(rewriter, loc, constant.getValue()));
        else
          return failure();
      }
      mapping.map(body.getArgument(input->getOperandNumber()),
                  tensor::ExtractOp::create(rewriter, loc, input->get(), places).getResult());
    }
    for (Operation &op : body.without_terminator())
      if (auto index = dyn_cast<linalg::IndexOp>(op))
        mapping.map(index.getResult(), read.getIndices()[index.getDim()]);
      else
        rewriter.clone(op, mapping);
    rewriter.replaceOp(read, mapping.lookupOrDefault(body.getTerminator()->getOperand(0)));
    return success();
  }
};

// --- other shapes --------------------------------------------------------------------------------

/// For shapes that differ only by dimensions of size 1: returns, for each dimension of `from`, the
/// corresponding one of `to`, or -1 if it is dropped. Returns nullopt for other shapes.
std::optional<SmallVector<int64_t>> matchedDims(Type from, Type to) {
  auto source = dyn_cast<RankedTensorType>(from), target = dyn_cast<RankedTensorType>(to);
  if (!source || !target || !source.hasStaticShape() || !target.hasStaticShape())
    return std::nullopt;
  SmallVector<int64_t> matched;
  int64_t next = 0;
  for (int64_t size : source.getShape()) {
    matched.push_back(-1);
    while (size != 1 && next < target.getRank() && target.getDimSize(next) == 1)
      ++next;
    if (next < target.getRank() && target.getDimSize(next) == size)
      matched.back() = next++;
    else if (size != 1)
      return std::nullopt;
  }
  bool areOthersOne =
      llvm::all_of(target.getShape().drop_front(next), [](int64_t size) { return size == 1; });
  return areOthersOne ? std::optional(matched) : std::nullopt;
}

/// Returns the reshape that defines a value, if it only adds or drops dimensions of size 1;
/// otherwise null.
rc::ReshapeOp unitReshape(Value value) {
  auto op = value.getDefiningOp<rc::ReshapeOp>();
  return op && op.getNumResults() == 1 && matchedDims(op.getFrom().getType(), value.getType())
             ? op
             : rc::ReshapeOp();
}

/// Reads an element of a reshaped tensor from the original tensor.
class ReadThroughReshape : public OpRewritePattern<tensor::ExtractOp> {
public:
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(tensor::ExtractOp read, PatternRewriter &rewriter) const override {
    rc::ReshapeOp op = unitReshape(read.getTensor());
    auto write = dyn_cast_or_null<rc::WriteOp>(loopsAround(read));
    if (!op || (write && llvm::is_contained(write.getTensors(), op.getFrom())))
      return failure();
    SmallVector<Value> places;
    SmallVector<int64_t> dims = *matchedDims(op.getFrom().getType(), read.getTensor().getType());
    for (int64_t dim : dims)
      places.push_back(dim < 0 ? arith::ConstantIndexOp::create(rewriter, read.getLoc(), 0)
                               : read.getIndices()[dim]);
    rewriter.replaceOpWithNewOp<tensor::ExtractOp>(read, op.getFrom(), places);
    return success();
  }
};

/// Broadcasts the original tensor instead of a reshaped one whose added dimensions are broadcast.
class RepeatThroughReshape : public OpRewritePattern<linalg::GenericOp> {
public:
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(linalg::GenericOp op, PatternRewriter &rewriter) const override {
    for (OpOperand *input : op.getDpsInputOperands()) {
      rc::ReshapeOp reshape = unitReshape(input->get());
      AffineMap map = op.getMatchingIndexingMap(input);
      if (!reshape || map.isIdentity())
        continue;
      SmallVector<AffineExpr> places;
      SmallVector<int64_t> dims = *matchedDims(reshape.getFrom().getType(), input->get().getType());
      for (int64_t dim : dims)
        places.push_back(dim < 0 ? rewriter.getAffineConstantExpr(0) : map.getResult(dim));
      SmallVector<AffineMap> maps = op.getIndexingMapsArray();
      maps[input->getOperandNumber()] =
          AffineMap::get(map.getNumDims(), 0, places, rewriter.getContext());
      rewriter.modifyOpInPlace(op, [&] {
        input->set(reshape.getFrom());
        op.setIndexingMapsAttr(rewriter.getAffineMapArrayAttr(maps));
      });
      return success();
    }
    return failure();
  }
};

/// Whether an op uses its index inside a branch or a loop.
bool hasInnerIndices(linalg::GenericOp op) {
  Block &body = op.getRegion().front();
  return body
      .walk([&](linalg::IndexOp index) {
        return index->getBlock() == &body ? WalkResult::advance() : WalkResult::interrupt();
      })
      .wasInterrupted();
}

/// Computes a tensor directly in the shape without dimensions of size 1 that a reshape drops.
class ComputeInShape : public OpRewritePattern<rc::ReshapeOp> {
public:
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(rc::ReshapeOp op, PatternRewriter &rewriter) const override {
    auto producer = op.getFrom().getDefiningOp<linalg::GenericOp>();
    if (!producer || op.getNumResults() != 1 || producer->getNumResults() != 1 ||
        producer.getNumReductionLoops() || !(producer->hasOneUse() || onlyRearranges(producer)) ||
        !producer.getMatchingIndexingMap(producer.getDpsInitOperand(0)).isIdentity() ||
        !producer.getRegion().front().getArguments().back().use_empty() ||
        hasInnerIndices(producer))
      return failure();
    auto type = dyn_cast<RankedTensorType>(op.getOutputs()[0].getType());
    std::optional<SmallVector<int64_t>> matched =
        matchedDims(producer.getResult(0).getType(), type);
    if (!matched ||
        llvm::count_if(*matched, [](int64_t dim) { return dim >= 0; }) != type.getRank())
      return failure();
    Location loc = producer.getLoc();
    SmallVector<AffineExpr> dims;
    for (int64_t dim : *matched)
      dims.push_back(dim < 0 ? rewriter.getAffineConstantExpr(0) : rewriter.getAffineDimExpr(dim));
    auto rank = static_cast<unsigned>(type.getRank());
    SmallVector<AffineMap> maps;
    for (AffineMap map : producer.getIndexingMapsArray())
      maps.push_back(map.replaceDimsAndSymbols(dims, {}, rank, 0));
    maps.back() = rewriter.getMultiDimIdentityMap(rank);
    rewriter.setInsertionPoint(producer);
    Value empty = tensor::EmptyOp::create(rewriter, loc, type.getShape(), type.getElementType());
    auto made = linalg::GenericOp::create(
        rewriter, loc, TypeRange(type), producer.getInputs(), ValueRange(empty), maps,
        SmallVector<utils::IteratorType>(rank, utils::IteratorType::parallel),
        [&](OpBuilder &inner, Location at, ValueRange elements) {
          IRMapping mapping;
          Block &body = producer.getRegion().front();
          mapping.map(body.getArguments(), elements);
          for (Operation &old : body.without_terminator()) {
            auto index = dyn_cast<linalg::IndexOp>(old);
            if (!index) {
              inner.clone(old, mapping);
              continue;
            }
            int64_t dim = (*matched)[index.getDim()];
            mapping.map(index.getResult(),
                        dim < 0 ? arith::ConstantIndexOp::create(inner, at, 0).getResult()
                                : linalg::IndexOp::create(inner, at, dim).getResult());
          }
          Value result = body.getTerminator()->getOperand(0);
          linalg::YieldOp::create(inner, at, mapping.lookupOrDefault(result));
        });
    rewriter.replaceOp(op, made.getResults());
    return success();
  }
};

/// Returns the read that ends one side of a branch, if it is preceded only by index arithmetic.
tensor::ExtractOp onlyRead(Block &side) {
  auto read = side.getTerminator()->getOperand(0).getDefiningOp<tensor::ExtractOp>();
  if (!read || read->getBlock() != &side)
    return {};
  for (Operation &op : side.without_terminator())
    if (&op != read && !isIndexArithmetic(op))
      return {};
  return read;
}

class ChooseIndex : public OpRewritePattern<scf::IfOp> {
public:
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(scf::IfOp branch, PatternRewriter &rewriter) const override {
    if (branch.getNumResults() != 1 || !branch.elseBlock() || !loopsAround(branch))
      return failure();
    tensor::ExtractOp first = onlyRead(*branch.thenBlock()), second = onlyRead(*branch.elseBlock());
    if (!first || !second || first.getTensor() != second.getTensor())
      return failure();
    for (Block *side : {branch.thenBlock(), branch.elseBlock()})
      for (Operation &op : llvm::make_early_inc_range(side->without_terminator()))
        if (!isa<tensor::ExtractOp>(op))
          rewriter.moveOpBefore(&op, branch);
    SmallVector<Value> places;
    for (auto [x, y] : llvm::zip(first.getIndices(), second.getIndices()))
      places.push_back(x == y ? x
                              : rewriter.createOrFold<arith::SelectOp>(
                                    branch.getLoc(), branch.getCondition(), x, y));
    rewriter.replaceOpWithNewOp<tensor::ExtractOp>(branch, first.getTensor(), places);
    return success();
  }
};

/// Returns how the indices of a read follow the loops of the op around it: each is the index of
/// another loop over the same size, or 0 in a dimension of size 1. Null if they don't.
AffineMap mapOfRead(tensor::ExtractOp read, linalg::GenericOp op) {
  auto type = cast<RankedTensorType>(read.getTensor().getType());
  SmallVector<int64_t> ranges = op.getStaticLoopRanges();
  SmallVector<bool> taken(ranges.size());
  SmallVector<AffineExpr> indices;
  for (auto [size, index] : llvm::zip(type.getShape(), read.getIndices())) {
    if (size == 1 && getConstantIntValue(index) == 0) {
      indices.push_back(getAffineConstantExpr(0, op.getContext()));
      continue;
    }
    auto loop = index.getDefiningOp<linalg::IndexOp>();
    if (!loop || ShapedType::isDynamic(size) || ranges[loop.getDim()] != size ||
        taken[loop.getDim()])
      return {};
    taken[loop.getDim()] = true;
    indices.push_back(getAffineDimExpr(loop.getDim(), op.getContext()));
  }
  return AffineMap::get(ranges.size(), 0, indices, op.getContext());
}

class ReadAsOperand : public OpRewritePattern<linalg::GenericOp> {
public:
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(linalg::GenericOp op, PatternRewriter &rewriter) const override {
    for (auto read : op.getBody()->getOps<tensor::ExtractOp>()) {
      if (op.getRegion().isAncestor(read.getTensor().getParentRegion()))
        continue;
      if (AffineMap map = mapOfRead(read, op)) {
        replace(op, read, map, rewriter);
        return success();
      }
    }
    return failure();
  }

private:
  static void replace(linalg::GenericOp op, tensor::ExtractOp read, AffineMap map,
                      PatternRewriter &rewriter) {
    SmallVector<Value> inputs(op.getInputs());
    SmallVector<AffineMap> maps = op.getIndexingMapsArray();
    auto place = static_cast<unsigned>(inputs.size());
    maps.insert(maps.begin() + place, map);
    inputs.push_back(read.getTensor());
    auto made = linalg::GenericOp::create(rewriter, op.getLoc(), op.getResultTypes(), inputs,
                                          op.getOutputs(), maps, op.getIteratorTypesArray());
    made->setDiscardableAttrs(op->getDiscardableAttrDictionary());
    rewriter.inlineRegionBefore(op.getRegion(), made.getRegion(), made.getRegion().end());
    Value element = made.getBody()->insertArgument(place, read.getType(), read.getLoc());
    rewriter.replaceOp(read, element);
    rewriter.replaceOp(op, made.getResults());
  }
};

} // namespace

bool onlyRearranges(linalg::GenericOp op) {
  constexpr int64_t maxOps = 48, maxReads = 4;
  int64_t numOps = 0, numReads = op.getNumDpsInputs();
  return !op.getNumReductionLoops() && countIndexOps(op.getRegion().front(), numOps, numReads) &&
         numOps <= maxOps && numReads > 0 && numReads <= maxReads;
}

bool hasBranches(linalg::GenericOp op) {
  return op.getRegion()
      .walk([](Operation *inner) {
        return isa<scf::IfOp, arith::CmpIOp>(inner) ? WalkResult::interrupt()
                                                    : WalkResult::advance();
      })
      .wasInterrupted();
}

void populateReadPatterns(RewritePatternSet &patterns) {
  patterns.add<ReadThrough, ChooseIndex, ReadThroughReshape, RepeatThroughReshape, ComputeInShape>(
      patterns.getContext());
}

void populateOperandPatterns(RewritePatternSet &patterns) {
  patterns.add<ReadAsOperand>(patterns.getContext());
}

} // namespace treadle::codegen
