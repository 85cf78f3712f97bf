// Loops over the elements of tensors.
#include "treadle/codegen/FloatMath.h"
#include "treadle/codegen/Passes.h"
#include "treadle/codegen/Rc.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;

namespace treadle::codegen {
namespace {

/// Whether all operands are read and written element by element, in the order of memory.
bool isFlat(linalg::GenericOp op) {
  return llvm::all_of(op.getIndexingMapsArray(), [](AffineMap map) { return map.isIdentity(); });
}

class LoopBuilder {
public:
  explicit LoopBuilder(linalg::GenericOp op) : op(op), b(op), loc(op.getLoc()) {}

  void build() {
    // What is read and written element by element is a single row, whatever its shape.
    if (isFlat(op)) {
      for (Value view : op->getOperands())
        memory.push_back(flattened(view));
      Value size = op.getNumLoops() == 0 ? arith::ConstantIndexOp::create(b, loc, 1).getResult()
                                         : memref::DimOp::create(b, loc, memory.back(), 0);
      loop(size, [&](Value index) { body({index}, /*flat=*/true); });
    } else {
      memory.assign(op->operand_begin(), op->operand_end());
      nest({});
    }
    op.erase();
  }

private:
  Value flattened(Value view) {
    auto type = cast<MemRefType>(view.getType());
    if (type.getRank() == 1)
      return view;
    auto of = view.getDefiningOp<rc::ViewOp>();
    auto row = MemRefType::get({ShapedType::kDynamic}, type.getElementType());
    return rc::ViewOp::create(b, loc, row, of.getRef());
  }

  void loop(Value size, llvm::function_ref<void(Value)> fill) {
    Value zero = arith::ConstantIndexOp::create(b, loc, 0);
    Value one = arith::ConstantIndexOp::create(b, loc, 1);
    auto made = scf::ForOp::create(b, loc, zero, size, one);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(made.getBody());
    fill(made.getInductionVar());
  }

  /// The loops that are left, inside those of `indices`. The result has all dimensions in order.
  void nest(SmallVector<Value> indices) {
    if (indices.size() == op.getNumLoops())
      return body(indices, /*flat=*/false);
    Value size = memref::DimOp::create(b, loc, memory.back(), indices.size());
    loop(size, [&](Value index) {
      SmallVector<Value> more = indices;
      more.push_back(index);
      nest(more);
    });
  }

  SmallVector<Value> at(AffineMap map, ArrayRef<Value> indices) {
    SmallVector<Value> result;
    for (AffineExpr expr : map.getResults()) {
      if (auto dim = dyn_cast<AffineDimExpr>(expr))
        result.push_back(indices[dim.getPosition()]);
      else
        result.push_back(
            arith::ConstantIndexOp::create(b, loc, cast<AffineConstantExpr>(expr).getValue()));
    }
    return result;
  }

  void body(SmallVector<Value> indices, bool flat) {
    rc::ParallelOp::create(b, loc);
    SmallVector<AffineMap> maps = op.getIndexingMapsArray();
    auto place = [&](size_t i) { return flat ? indices : at(maps[i], indices); };
    Block &block = op.getRegion().front();
    IRMapping mapping;
    size_t numInputs = op.getNumDpsInputs();
    for (size_t i = 0; i < numInputs; ++i)
      mapping.map(block.getArgument(i), memref::LoadOp::create(b, loc, memory[i], place(i)));
    for (Operation &inner : block.without_terminator()) {
      SmallVector<Value> operands;
      for (Value operand : inner.getOperands())
        operands.push_back(mapping.lookupOrDefault(operand));
      if (Value expanded = expandFloatMath(b, &inner, operands))
        mapping.map(inner.getResult(0), expanded);
      else
        b.clone(inner, mapping);
    }
    for (auto [i, value] : llvm::enumerate(block.getTerminator()->getOperands()))
      memref::StoreOp::create(b, loc, mapping.lookupOrDefault(value), memory[numInputs + i],
                              place(numInputs + i));
  }

  linalg::GenericOp op;
  OpBuilder b;
  Location loc;
  SmallVector<Value> memory;
};

} // namespace

LogicalResult fuseElementwise(ModuleOp module) {
  RewritePatternSet patterns(module.getContext());
  linalg::populateElementwiseOpsFusionPatterns(patterns, [](OpOperand *fused) {
    // What several ops read is computed once.
    Operation *producer = fused->get().getDefiningOp();
    return producer && producer->hasOneUse() &&
           producer->getBlock() == fused->getOwner()->getBlock();
  });
  return applyPatternsGreedily(module, std::move(patterns));
}

LogicalResult lowerLoops(ModuleOp module) {
  SmallVector<linalg::GenericOp> ops;
  module.walk([&](linalg::GenericOp op) { ops.push_back(op); });
  for (linalg::GenericOp op : ops)
    LoopBuilder(op).build();
  return lowerControlFlow(module);
}

} // namespace treadle::codegen
