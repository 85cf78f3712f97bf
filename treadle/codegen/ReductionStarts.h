// The values that reductions by functions start from.
#pragma once

#include "mlir/IR/Builders.h"

#include <optional>

namespace treadle::codegen {

/// The values that a reducing `linalg.generic` starts from, of which only constants can be in its
/// destinations. Another value is combined with the first element; the destination holds zeros.
class ReductionStarts {
public:
  /// Reduces the marked dimensions of tensors of a static shape. Returns nullopt if the op can't
  /// have a value that isn't constant: it is complex or unsigned, or there are no elements.
  static std::optional<ReductionStarts> make(mlir::OpBuilder &b, mlir::Location loc,
                                             mlir::ValueRange values, llvm::ArrayRef<int64_t> shape,
                                             llvm::ArrayRef<bool> isReduced);

  /// The constants of the destinations.
  llvm::ArrayRef<mlir::Value> ofDestinations() const { return constants; }

  /// Inside the op: returns what the next element is combined with, given the results so far.
  llvm::SmallVector<mlir::Value> before(mlir::OpBuilder &b, mlir::Location loc,
                                        mlir::ValueRange results) const;

private:
  mlir::Value isFirst(mlir::OpBuilder &b, mlir::Location loc) const;

  llvm::SmallVector<mlir::Value> values, constants;
  llvm::SmallVector<bool> isReduced;
};

} // namespace treadle::codegen
