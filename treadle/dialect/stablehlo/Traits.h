// Traits of StableHLO's ops, described in Base.td.
#pragma once

#include "mlir/IR/OpDefinition.h"

namespace treadle::stablehlo {

llvm::LogicalResult verifySameShapes(mlir::Operation *op);
llvm::LogicalResult verifySameTypes(mlir::Operation *op);
llvm::LogicalResult verifySameElements(mlir::Operation *op);
llvm::LogicalResult verifyPairwise(mlir::Operation *op);

template <typename Op> class SameShapes : public mlir::OpTrait::TraitBase<Op, SameShapes> {
public:
  static llvm::LogicalResult verifyTrait(mlir::Operation *op) { return verifySameShapes(op); }
};

template <typename Op> class SameTypes : public mlir::OpTrait::TraitBase<Op, SameTypes> {
public:
  static llvm::LogicalResult verifyTrait(mlir::Operation *op) { return verifySameTypes(op); }
};

template <typename Op> class SameElements : public mlir::OpTrait::TraitBase<Op, SameElements> {
public:
  static llvm::LogicalResult verifyTrait(mlir::Operation *op) { return verifySameElements(op); }
};

template <typename Op> class Pairwise : public mlir::OpTrait::TraitBase<Op, Pairwise> {
public:
  static llvm::LogicalResult verifyTrait(mlir::Operation *op) { return verifyPairwise(op); }
};

template <typename Op> class AnyRank : public mlir::OpTrait::TraitBase<Op, AnyRank> {};

} // namespace treadle::stablehlo
