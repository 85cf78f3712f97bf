// Which nodes may become one without delaying an exchange.
#pragma once

#include "treadle/dialect/Tfg.h"

#include "llvm/ADT/StringMap.h"

#include <map>
#include <vector>

namespace treadle::tfg {

class WaitingNodes;

/// Sets of numbers, each by a number of its own: 0 is the empty one.
class NumberedSets {
public:
  /// Sets of more elements are not compared, but taken for different.
  explicit NumberedSets(size_t largest) : largest(largest) {}

  /// A set with a new element alone.
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

/// The exchanges with other processes and runs that the nodes of a body come after and before, by
/// all its edges: soft ones that a run can keep too.
///
/// A node that is made of several waits for everything that a part waits for, and what needs a part
/// waits for all of it. Nodes of one class are between the same exchanges, so that they can become
/// one: it waits for no exchange that a part didn't wait for, and delays none.
class ExchangeOrder {
public:
  /// Of a body without exchanges.
  ExchangeOrder() = default;
  /// `waiting` knows the nodes that exchange something. The body may change afterwards: nodes are
  /// known by their names.
  ExchangeOrder(mlir::Block &body, WaitingNodes &waiting);

  /// 0 for nodes that no exchange comes before or after, and for those that are new.
  unsigned classOf(Node node) const;
  bool areAlike(Node a, Node b) const { return classOf(a) == classOf(b); }

private:
  llvm::StringMap<unsigned> classes; // by the name of a node
};

} // namespace treadle::tfg
