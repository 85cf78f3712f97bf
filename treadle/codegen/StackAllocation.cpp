// Moves small tensors that don't escape to the stack.
#include "treadle/codegen/Passes.h"
#include "treadle/codegen/Rc.h"
#include "treadle/codegen/Scalars.h"
#include "treadle/lowering/Attributes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace treadle::codegen {
namespace {

/// Returns the bytes of a tensor with known sizes that fits into its share of the stack, otherwise
/// nullopt.
std::optional<int64_t> smallSize(rc::AllocOp alloc) {
  constexpr int64_t most = 16 << 10;
  auto type = dyn_cast<RankedTensorType>(alloc.getResult().getType().getTensor());
  if (!type || !type.hasStaticShape() || !isNative(type.getElementType()))
    return std::nullopt;
  auto size = static_cast<int64_t>(dtypeSize(valueTypeOf(type.getElementType()).dtype));
  int64_t bytes = type.getNumElements() * size;
  return bytes <= most ? std::optional(bytes) : std::nullopt;
}

/// Whether a tensor is only read and written by index. `models` receives the allocations that might
/// reuse its buffer.
bool isUsedByIndex(rc::AllocOp alloc, SmallVectorImpl<rc::AllocOp> &models) {
  return llvm::all_of(alloc.getResult().getUsers(), [&](Operation *user) {
    if (auto other = dyn_cast<rc::AllocOp>(user))
      models.push_back(other);
    return isa<rc::ViewOp, rc::DimOp, rc::AllocOp>(user);
  });
}

void place(rc::AllocOp alloc) {
  OpBuilder b(alloc);
  Value local = rc::LocalOp::create(b, alloc.getLoc(), alloc.getResult().getType());
  for (OpOperand &use : llvm::make_early_inc_range(alloc.getResult().getUses()))
    if (auto other = dyn_cast<rc::AllocOp>(use.getOwner()))
      other.getModelsMutable().erase(use.getOperandNumber() - other.getDims().size());
  alloc.getResult().replaceAllUsesWith(local);
  for (Operation *user : llvm::make_early_inc_range(alloc.getOk().getUsers()))
    if (isa<rc::CheckOp>(user))
      user->erase();
  if (!alloc.getOk().use_empty())
    alloc.getOk().replaceAllUsesWith(
        arith::ConstantOp::create(b, alloc.getLoc(), b.getBoolAttr(true)).getResult());
  alloc.erase();
}

void placeIn(func::FuncOp function) {
  constexpr int64_t maxStackBytes = 128 << 10;
  llvm::SetVector<Operation *> chosen;
  llvm::DenseMap<Operation *, SmallVector<rc::AllocOp>> models;
  function.walk([&](rc::AllocOp alloc) {
    SmallVector<rc::AllocOp> readers;
    if (!smallSize(alloc) || !isUsedByIndex(alloc, readers))
      return;
    chosen.insert(alloc);
    models[alloc] = std::move(readers);
  });
  // Reusing the buffer for another tensor is better than two stack slots.
  auto isModelOfOthers = [&](Operation *op) {
    return llvm::any_of(models[op], [&](rc::AllocOp other) { return !chosen.contains(other); });
  };
  while (chosen.remove_if(isModelOfOthers)) {
  }
  int64_t bytes = 0;
  for (Operation *op : chosen) {
    auto alloc = cast<rc::AllocOp>(op);
    bytes += *smallSize(alloc);
    if (bytes <= maxStackBytes)
      place(alloc);
  }
}

} // namespace

void placeLocally(ModuleOp module) {
  for (func::FuncOp function : module.getOps<func::FuncOp>())
    placeIn(function);
}

} // namespace treadle::codegen
