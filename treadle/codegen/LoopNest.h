// Loops around copies of a body: of a linalg op, or of what writes a tensor.
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

  /// One loop; `inside` fills it.
  void loop(mlir::Value begin, mlir::Value end, Inside inside);
  /// Loop `number` from 0 to `size`, in parts: what the body asks of the index is told for each.
  /// Inside, the body is copied without it.
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
