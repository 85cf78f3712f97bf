// Control flow with regions in C++: the operations, and one view of all of them.
#pragma once

#include "treadle/dialect/NodeAttributes.h"

#include "mlir/Interfaces/LoopLikeInterface.h"

#define GET_OP_CLASSES
#include "treadle/dialect/RegionOps.h.inc"

namespace treadle::tfg {

enum class RegionForm { If, Case, While, For };

/// Nothing if `op` is no control flow with regions.
std::optional<RegionForm> regionFormOf(mlir::Operation *op);
inline bool hasRegions(Node node) { return node->getNumRegions() != 0; }

/// The arguments of a loop's region that are values; as many tokens follow them. None in a branch.
inline mlir::Block::BlockArgListType dataArguments(mlir::Region &region) {
  return region.getArguments().take_front(region.getNumArguments() / 2);
}
inline mlir::Value tokenOf(mlir::Region &region, unsigned index) {
  return region.getArgument(region.getNumArguments() / 2 + index);
}

/// What the regions of `op`, at any depth, use of values and tokens from outside of it, in the
/// order of their first uses.
llvm::SmallVector<mlir::Value> capturesOf(mlir::Operation *op);

/// Whether an attribute is what a region keeps of a function's, or a list of such.
inline bool hasRegionAttrs(mlir::Attribute attr) {
  auto list = mlir::dyn_cast<mlir::ArrayAttr>(attr);
  return mlir::isa<RegionAttrsAttr>(attr) ||
         (list && !list.empty() && mlir::isa<RegionAttrsAttr>(list[0]));
}

} // namespace treadle::tfg
