// Nodes of v1 loops that starve: they wait for a value that came in one iteration only.
#pragma once

#include "treadle/analysis/races/FrameGraph.h"

#include <string>
#include <vector>

namespace treadle::tfg {

/// A node of a loop that runs in iteration 0 and never again. In iteration 1 a value of that
/// iteration arrives, but nothing from an Enter that isn't constant, which brings its value into
/// iteration 0 only. A loop that gets to iteration 1 doesn't get past this node: the Exits behind
/// it give no value.
struct StarvedNode {
  Node node;
  std::vector<Node> enters; // in the order of the node's inputs; at least one
  std::string frame;        // the loop whose iterations count
  /// The node is a Switch, and its predicate starves it: the loop ends in iteration 0 or never, and
  /// where it does end, nothing is wrong with it.
  bool decidesOnce = false;
};

/// For people: `node 'dec' (Add) waits in iteration 1 of loop 'f' for 'step' (Enter), which isn't
/// constant ...`, the first few, and the remedy.
std::string textOf(llvm::ArrayRef<StarvedNode> starved);

/// The starved nodes of a body, each after those that it needs. What needs a starved node isn't
/// listed for that alone: the list is what remains to be mended, as if the nodes before it were.
///
/// Values that only nodes of iteration 0 need (those on the way from an Enter to a Merge) starve
/// nothing. The frames around a loop count as well: an inner loop starves in iteration 1 of the
/// outer one if only some of its values come from a Merge of that. Not looked at: generic
/// functions, whose values have no types, and frames deeper than 64. At most `limit`.
std::vector<StarvedNode> findStarvedNodes(const FrameGraph &graph, size_t limit = 1000);

} // namespace treadle::tfg
