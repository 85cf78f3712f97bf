// Detection of starved nodes in v1 loops: they wait for a value that arrives in one iteration only.
#pragma once

#include "treadle/analysis/races/FrameGraph.h"

#include <string>
#include <vector>

namespace treadle::tfg {

/// A node of a loop that runs in iteration 0 and never again. In iteration 1 it gets values of that
/// iteration, but none from an Enter that isn't constant, which passes its value to iteration 0
/// only. A loop that reaches iteration 1 hangs at this node: the Exits that depend on it have no
/// value.
struct StarvedNode {
  Node node;
  std::vector<Node> enters; // in the order of the node's inputs; at least one
  std::string frame;        // the loop in whose iteration 1 it starves
  /// Whether the node is a Switch that is starved by its predicate. Such a loop ends in iteration 0
  /// or never; if it ends, nothing is wrong.
  bool decidesOnce = false;
};

/// Returns a description for diagnostics, with the first few nodes and the fix: `node 'dec' (Add)
/// waits in iteration 1 of loop 'f' for 'step' (Enter), which isn't constant ...`
std::string textOf(llvm::ArrayRef<StarvedNode> starved);

/// Finds the starved nodes of a body in topological order. A node that only depends on a starved
/// node isn't listed: the list contains what must be fixed, assuming that earlier nodes were.
///
/// Values that only nodes of iteration 0 need (between an Enter and a Merge) starve no node.
/// Enclosing frames count as well: an inner loop starves in iteration 1 of the outer one if only
/// some of its values come from a Merge of that. Generic functions, whose values have no types, and
/// frames deeper than 64 aren't analyzed. Returns at most `limit` nodes.
std::vector<StarvedNode> findStarvedNodes(const FrameGraph &graph, size_t limit = 1000);

} // namespace treadle::tfg
