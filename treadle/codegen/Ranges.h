// Evaluates comparisons of indices over parts of a loop's range. If an element comes from one of
// several tensors, its index decides from which; splitting the loop where that changes removes the
// comparison.
#pragma once

#include "mlir/IR/Value.h"

#include "llvm/ADT/SmallVector.h"

#include <optional>

namespace treadle::codegen {

/// Indices in [begin, end); empty if the bounds are unknown.
struct Range {
  int64_t begin = 0, end = 0;
  bool isKnown() const { return begin < end; }
};

/// Evaluates the conditions in the body of a linalg op, or of an op that writes a tensor, for given
/// ranges of its loops.
class Ranges {
public:
  explicit Ranges(size_t numLoops) : ofLoops(numLoops) {}

  Range &operator[](unsigned loop) { return ofLoops[loop]; }

  /// Returns the value of a condition if it is the same and known for all indices; otherwise
  /// nullopt.
  std::optional<bool> truth(mlir::Value condition) const;

  /// Returns a position inside a loop's range where a comparison changes. Considers conditions of
  /// branches and, with `countsChoices`, of selects.
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
