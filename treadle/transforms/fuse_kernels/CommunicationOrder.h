// The check of which nodes may be fused without delaying communication.
#pragma once

#include "treadle/dialect/Tfg.h"

#include "llvm/ADT/StringMap.h"

#include <map>
#include <vector>

namespace treadle::tfg {

class BlockingNodes;

/// Interned sets of integers, each identified by a number; 0 is the empty set.
class NumberedSets {
public:
  /// Larger sets aren't compared, and count as different.
  explicit NumberedSets(size_t largest) : largest(largest) {}

  /// Creates a set with one new element.
  unsigned make() { return number({numElements++}); }
  unsigned join(unsigned a, unsigned b);

private:
  using Set = std::vector<unsigned>; // sorted

  unsigned number(Set set);

  const size_t largest;
  unsigned numElements = 0;
  std::vector<Set> sets = {{}};
  std::map<Set, unsigned> numbers = {{{}, 0}};
};

/// For each node of a body, the exchanges (communication with other processes or runs) that it
/// depends on and that depend on it, through all edges including soft ones that a run can keep.
///
/// A fused node depends on everything that its parts depend on, and users of a part depend on all
/// of it. Nodes of one class are between the same exchanges, so fusing them adds no dependency on
/// an exchange and delays none.
class CommunicationOrder {
public:
  /// Creates the order of a body without exchanges.
  CommunicationOrder() = default;
  /// `waiting` determines which nodes communicate. The body may change afterwards: nodes are
  /// identified by name.
  CommunicationOrder(mlir::Block &body, BlockingNodes &waiting);

  /// Returns 0 for nodes without exchanges before or after, and for new nodes.
  unsigned classOf(Node node) const;
  bool areAlike(Node a, Node b) const { return classOf(a) == classOf(b); }

private:
  llvm::StringMap<unsigned> classes; // by node name
};

} // namespace treadle::tfg
