// Fusion into ops that TensorFlow supports.
#pragma once

#include "treadle/transforms/fuse_kernels/Contractions.h"

namespace treadle::tfg {

/// Fuses convolutions and matrix products with their epilogues. With `withOneDnn`, also creates ops
/// that TensorFlow only runs with oneDNN.
void remapContractions(const FusionScope &scope, bool withOneDnn);

/// The origin of the first dimension of values, to decide whether batch sizes are equal.
class BatchNumbers {
public:
  explicit BatchNumbers(const Fuser &fuser) : fuser(fuser) {}
  bool areSame(mlir::Value a, mlir::Value b);

private:
  unsigned batchNumber(mlir::Value value);
  unsigned batchNumber(Node node);
  unsigned numberOfElements(Node node);
  bool padsNoBatch(Node node) const;

  const Fuser &fuser;
  llvm::DenseMap<mlir::Value, unsigned> numbers;
  unsigned next = 0;
};

/// Creates a constant vector next to `root`; see Fuser::makeConstant.
mlir::Value makeVector(Fuser &fuser, Node root, llvm::StringRef suffix,
                       llvm::ArrayRef<double> values, mlir::ValueRange madeOf, mlir::Value beside);

} // namespace treadle::tfg
