// Internal to the folder: the devices of a program, in the groups that its ops state.
#pragma once

#include "treadle/import/stablehlo/BodyConverter.h"

namespace treadle::hlo {

using Ranks = SmallVector<int64_t>;

/// The meaning of the numbers in an op's groups.
enum class GroupNumbering {
  Replicas,                // within each partition
  Partitions,              // within each replica
  ReplicasOfAllPartitions, // each with all of its partitions
  Processes,
};

/// Disjoint groups of ranks.
struct RankGroups {
  SmallVector<Ranks> rows;
  size_t largest = 0;

  bool areEqual() const {
    return llvm::all_of(rows, [&](const Ranks &row) { return row.size() == largest; });
  }
  /// Concatenates the groups; smaller ones are padded with -1.
  SmallVector<int64_t> flattened() const {
    SmallVector<int64_t> all;
    for (Ranks row : rows) {
      row.resize(largest, -1);
      llvm::append_range(all, row);
    }
    return all;
  }
  /// Returns one value per rank: what `find` returns for its group and position; `otherwise` for
  /// ranks without a group.
  SmallVector<int64_t> byRank(int64_t size, int64_t otherwise,
                              llvm::function_ref<int64_t(const Ranks &, int64_t)> find) const {
    SmallVector<int64_t> table(size, otherwise);
    for (const Ranks &row : rows)
      for (auto [place, rank] : llvm::enumerate(row))
        table[rank] = find(row, static_cast<int64_t>(place));
    return table;
  }
};

/// Returns the number of the op's channel; 0 if it has none.
int64_t channelOf(Operation *op);

/// Return how the groups of reductions, and of ops that move data, are numbered.
GroupNumbering reductionNumbering(Operation *op);
GroupNumbering moveNumbering(Operation *op);

/// Returns the groups of ranks for an op's `replica_groups`; one group of all ranks if it states
/// none. Emits an error for invalid or duplicate device numbers.
mlir::FailureOr<RankGroups> groupsOf(BodyConverter &body, Operation *op, GroupNumbering numbering);
/// Like `groupsOf`, but for ops that every device takes part in.
mlir::FailureOr<RankGroups> allDeviceGroups(BodyConverter &body, Operation *op,
                                            GroupNumbering numbering);
/// Returns the pairs of ranks for `source_target_pairs`, flattened.
mlir::FailureOr<SmallVector<int64_t>> pairsOf(BodyConverter &body, Operation *op,
                                              GroupNumbering numbering);

} // namespace treadle::hlo
