// What becomes of nodes that TensorFlow has a fused op for.
#pragma once

#include "treadle/transforms/fuse_kernels/Contractions.h"

namespace treadle::tfg {

/// Convolutions and matrix products with what follows them. `withOneDnn`: also forms that
/// TensorFlow runs only with oneDNN.
void remapContractions(const FusionScope &scope, bool withOneDnn);

/// Whether the first dimension of values comes unchanged from one place.
class BatchNumbers {
public:
  explicit BatchNumbers(const Fuser &fuser) : fuser(fuser) {}
  bool areSame(mlir::Value a, mlir::Value b);

private:
  unsigned numberOf(mlir::Value value);
  unsigned numberOf(Node node);
  unsigned numberOfElements(Node node);
  bool padsNoBatch(Node node) const;

  const Fuser &fuser;
  llvm::DenseMap<mlir::Value, unsigned> numbers;
  unsigned next = 0;
};

/// A constant vector beside `root`; see Fuser::makeConstant.
mlir::Value makeVector(Fuser &fuser, Node root, llvm::StringRef suffix,
                       llvm::ArrayRef<double> values, mlir::ValueRange madeOf, mlir::Value beside);

} // namespace treadle::tfg
