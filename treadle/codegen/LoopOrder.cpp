#include "treadle/codegen/LoopOrder.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;

namespace treadle::codegen {
namespace {

/// Whether the elements of an operand along a loop are neighbours in memory, or the same.
bool isContiguousAlong(AffineMap map, unsigned loop) {
  ArrayRef<AffineExpr> indices = map.getResults();
  while (!indices.empty() && isa<AffineConstantExpr>(indices.back())) // the size of these is 1
    indices = indices.drop_back();
  return llvm::none_of(indices.empty() ? indices : indices.drop_back(),
                       [&](AffineExpr index) { return index.isFunctionOfDim(loop); });
}

/// Returns the parallel loop to make the innermost one; nullopt if it isn't better.
std::optional<unsigned> loopForVectors(linalg::GenericOp op) {
  constexpr int64_t fewest = 5, most = 256, manyColumns = 64;
  SmallVector<utils::IteratorType> types = op.getIteratorTypesArray();
  SmallVector<int64_t> sizes = op.getStaticLoopRanges();
  if (types.empty() || types.back() != utils::IteratorType::reduction || sizes.back() < fewest ||
      sizes.back() > most || !llvm::all_of(op.getBody()->getOperations(), [](Operation &inner) {
        return isa<arith::ArithDialect, math::MathDialect, linalg::LinalgDialect>(
                   inner.getDialect()) &&
               !inner.getNumRegions();
      }))
    return std::nullopt;
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  for (unsigned loop = op.getNumLoops(); loop-- > 0;)
    if (types[loop] == utils::IteratorType::parallel && sizes[loop] >= manyColumns &&
        llvm::all_of(maps, [&](AffineMap map) { return isContiguousAlong(map, loop); }))
      return loop;
  return std::nullopt;
}

} // namespace

linalg::GenericOp withLoopForVectors(linalg::GenericOp op) {
  std::optional<unsigned> inner = loopForVectors(op);
  if (!inner)
    return op;
  SmallVector<unsigned> order = llvm::to_vector(llvm::seq(0U, op.getNumLoops()));
  order.erase(order.begin() + *inner);
  order.push_back(*inner);
  IRRewriter rewriter(op);
  FailureOr<linalg::GenericOp> moved = linalg::interchangeGenericOp(rewriter, op, order);
  return succeeded(moved) ? *moved : op;
}

} // namespace treadle::codegen
