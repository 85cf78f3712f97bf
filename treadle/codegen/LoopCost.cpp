#include "treadle/codegen/LoopCost.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace treadle::codegen {

static int64_t costOf(Block &body) {
  constexpr int64_t function = 700, loop = 20'000;
  int64_t cost = 100;
  for (Operation &inner : body) {
    if (auto branch = dyn_cast<scf::IfOp>(inner))
      cost += branch.elseBlock()
                  ? std::max(costOf(*branch.thenBlock()), costOf(*branch.elseBlock()))
                  : costOf(*branch.thenBlock());
    else
      cost += inner.getNumRegions()                                                     ? loop
              : isa<math::MathDialect>(inner.getDialect()) && !isa<math::AbsFOp>(inner) ? function
                                                                                        : 100;
  }
  return cost;
}

int64_t costOf(linalg::GenericOp op) { return costOf(op.getRegion().front()); }

bool isFlat(linalg::GenericOp op) {
  if (op.getNumReductionLoops())
    return false;
  Block &block = op.getRegion().front();
  if (!block.getOps<linalg::IndexOp>().empty())
    return false;
  return llvm::all_of(op.getIndexingMapsArray(), [](AffineMap map) { return map.isIdentity(); });
}

} // namespace treadle::codegen
