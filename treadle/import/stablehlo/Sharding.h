// How programs shard values over devices, as annotations of Shardy (the sdy dialect) specify.
#pragma once

#include "treadle/tensor/Error.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinOps.h"

namespace treadle::hlo {

/// The shard of a value that each of some devices holds. All shards have equal sizes.
struct Sharding {
  /// The number of shards along each dimension.
  llvm::SmallVector<int64_t> tiles;
  /// For each device: the position of its shard along each dimension.
  llvm::SmallVector<llvm::SmallVector<int64_t>, 0> places;
  /// For each device: the replica of the value that its shard belongs to. Devices of one replica
  /// differ only along axes that shard the value.
  llvm::SmallVector<int64_t> copies;
  /// In XLA's syntax: `{devices=[2,1]<=[2]}`.
  std::string text;

  /// Every device has the whole value.
  static Sharding replicated(int64_t rank, int64_t devices);
  /// Reads an attribute as described in `dialect/sdy/SdyOps.td`. Unimplemented for split axes and
  /// for meshes with another number of devices, InvalidArgument for unknown meshes and axes.
  static Expected<Sharding> read(mlir::Attribute attr, mlir::ModuleOp module, int64_t rank,
                                 int64_t devices);

  bool isReplicated() const {
    return llvm::all_of(tiles, [](int64_t tile) { return tile == 1; });
  }
};

} // namespace treadle::hlo
