// What comparisons of indices give in a part of a loop's range. Where an element comes from one of
// several tensors, its index tells from which: a loop that is split where that changes asks nobody.
#pragma once

#include "mlir/IR/Value.h"

#include "llvm/ADT/SmallVector.h"

#include <optional>

namespace treadle::codegen {

/// Indices from `begin` to before `end`; of unknown bounds where it is empty.
struct Range {
  int64_t begin = 0, end = 0;
  bool isKnown() const { return begin < end; }
};

/// The conditions in the body of a linalg op, or of what writes a tensor, while its loops have
/// these ranges.
class Ranges {
public:
  explicit Ranges(size_t numLoops) : ofLoops(numLoops) {}

  Range &operator[](unsigned loop) { return ofLoops[loop]; }

  /// What a condition is in all of the ranges; nothing where it differs, or isn't known.
  std::optional<bool> truth(mlir::Value condition) const;

  /// A place inside of a loop's range where a comparison changes. The conditions of branches count,
  /// those that only choose values with `countsChoices`.
  std::optional<int64_t> placeToSplit(mlir::Block &body, unsigned loop, bool countsChoices) const;

private:
  /// offset + the index of a loop, if there is one.
  struct Sum {
    std::optional<unsigned> loop;
    int64_t offset = 0;
  };
  std::optional<Sum> sumOf(mlir::Value value) const;
  std::optional<int64_t> placeIn(mlir::Value condition, unsigned loop) const;

  llvm::SmallVector<Range> ofLoops;
};

} // namespace treadle::codegen
