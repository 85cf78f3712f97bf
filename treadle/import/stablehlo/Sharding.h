// How programs spread values over devices, as annotations of Shardy (the dialect sdy) say it.
#pragma once

#include "treadle/tensor/Error.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinOps.h"

namespace treadle::hlo {

/// Which part of a value each of some devices has. The parts are of one size.
struct Sharding {
  /// How many parts there are along each dimension.
  llvm::SmallVector<int64_t> tiles;
  /// Of each device, by number: the place of its part along each dimension.
  llvm::SmallVector<llvm::SmallVector<int64_t>, 0> places;
  /// Of each device, by number: which copy of the value its part belongs to. Devices of one copy
  /// differ along axes that the value is cut along, and along no others.
  llvm::SmallVector<int64_t> copies;
  /// As XLA writes it: `{devices=[2,1]<=[2]}`.
  std::string text;

  /// Every device has the whole value.
  static Sharding replicated(int64_t rank, int64_t devices);
  /// Of an attribute as `dialect/sdy/SdyOps.td` describes it. Unimplemented for axes that are split
  /// and meshes that have another number of devices, InvalidArgument for what isn't there.
  static Expected<Sharding> read(mlir::Attribute attr, mlir::ModuleOp module, int64_t rank,
                                 int64_t devices);

  bool isReplicated() const {
    return llvm::all_of(tiles, [](int64_t tile) { return tile == 1; });
  }
};

} // namespace treadle::hlo
