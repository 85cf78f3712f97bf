// Internal to the folder: the devices of a program, in the groups that its ops name.
#pragma once

#include "treadle/import/stablehlo/Body.h"

namespace treadle::hlo {

using Ranks = SmallVector<int64_t>;

/// What the numbers of an op's groups stand for.
enum class Numbering {
  Replicas,                // in each partition
  Partitions,              // in each replica
  ReplicasOfAllPartitions, // each with all of its partitions
  Processes,
};

/// Groups of ranks, no rank in two.
struct Groups {
  SmallVector<Ranks> rows;
  size_t largest = 0;

  bool areEqual() const {
    return llvm::all_of(rows, [&](const Ranks &row) { return row.size() == largest; });
  }
  /// One behind the other, with -1 behind the smaller ones.
  SmallVector<int64_t> flattened() const {
    SmallVector<int64_t> all;
    for (Ranks row : rows) {
      row.resize(largest, -1);
      llvm::append_range(all, row);
    }
    return all;
  }
  /// By rank: what `find` gives of its group and its place there; `otherwise` where it is in none.
  SmallVector<int64_t> byRank(int64_t size, int64_t otherwise,
                              llvm::function_ref<int64_t(const Ranks &, int64_t)> find) const {
    SmallVector<int64_t> table(size, otherwise);
    for (const Ranks &row : rows)
      for (auto [place, rank] : llvm::enumerate(row))
        table[rank] = find(row, static_cast<int64_t>(place));
    return table;
  }
};

/// The number of the op's channel; 0 where it states none.
int64_t channelOf(Operation *op);

/// How the groups of reductions and the like are numbered, and those of what moves values.
Numbering reductionNumbering(Operation *op);
Numbering moveNumbering(Operation *op);

/// The groups of ranks that an op's `replica_groups` stand for; one of all where it has none. Emits
/// an error for numbers that name no device, or one twice.
mlir::FailureOr<Groups> groupsOf(Body &body, Operation *op, Numbering numbering);
/// The same for ops in which every device takes part.
mlir::FailureOr<Groups> wholeGroups(Body &body, Operation *op, Numbering numbering);
/// The pairs of ranks that `source_target_pairs` stand for, one behind the other.
mlir::FailureOr<SmallVector<int64_t>> pairsOf(Body &body, Operation *op, Numbering numbering);

} // namespace treadle::hlo
