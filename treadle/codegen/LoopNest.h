// Emits loops around copies of a body: of a linalg op, or of an op that writes a tensor.
#pragma once

#include "treadle/codegen/Ranges.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"

#include "llvm/ADT/STLFunctionalExtras.h"

namespace treadle::codegen {

class LoopNest {
public:
  using Inside = llvm::function_ref<void(mlir::Value index)>;

  LoopNest(mlir::OpBuilder &b, mlir::Block &body, size_t numLoops)
      : b(b), body(body), numLoops(numLoops), ranges(numLoops) {}

  /// Emits one loop; `inside` emits its body.
  void loop(mlir::Value begin, mlir::Value end, Inside inside);
  /// Emits loop `number` from 0 to `size`, split at the positions where conditions on its index
  /// change, so that they are constant in each part. The body is copied without them.
  void split(unsigned number, int64_t size, Inside inside);
  void copyBody(llvm::ArrayRef<mlir::Value> indices, mlir::IRMapping &mapping);

private:
  void split(unsigned number, Range range, Inside inside);

  mlir::OpBuilder &b;
  mlir::Block &body;
  size_t numLoops;
  Ranges ranges;
  unsigned numSplits = 0;
};

} // namespace treadle::codegen
