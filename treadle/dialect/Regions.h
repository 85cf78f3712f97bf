// Region control flow in C++: the ops, and a common view of them.
#pragma once

#include "treadle/dialect/NodeAttributes.h"

#include "mlir/Interfaces/LoopLikeInterface.h"

#define GET_OP_CLASSES
#include "treadle/dialect/RegionOps.h.inc"

namespace treadle::tfg {

enum class RegionForm { If, Case, While, For };

/// Returns nullopt if `op` isn't a region control flow op.
std::optional<RegionForm> regionFormOf(mlir::Operation *op);
inline bool hasRegions(Node node) { return node->getNumRegions() != 0; }

/// The data arguments of a loop region; they are followed by as many tokens. Empty for a branch.
inline mlir::Block::BlockArgListType dataArguments(mlir::Region &region) {
  return region.getArguments().take_front(region.getNumArguments() / 2);
}
inline mlir::Value tokenOf(mlir::Region &region, unsigned index) {
  return region.getArgument(region.getNumArguments() / 2 + index);
}

/// Returns the values and tokens from outside that the regions of `op` use at any depth, in the
/// order of their first uses.
llvm::SmallVector<mlir::Value> capturesOf(mlir::Operation *op);

/// Whether an attribute holds the function attributes that a region preserves, or is a list of
/// such.
inline bool hasRegionAttrs(mlir::Attribute attr) {
  auto list = mlir::dyn_cast<mlir::ArrayAttr>(attr);
  return mlir::isa<RegionAttrsAttr>(attr) ||
         (list && !list.empty() && mlir::isa<RegionAttrsAttr>(list[0]));
}

} // namespace treadle::tfg
