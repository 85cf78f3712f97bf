#include "treadle/analysis/starvation/Starvation.h"

#include "treadle/rewriting/Frames.h"
#include "treadle/tensor/Error.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace treadle::tfg {
namespace {

using Index = FrameGraph::Index;

/// A bit set of the frames around a value: bit d is the frame of depth d + 1.
using Frames = uint64_t;
constexpr unsigned deepest = 64;

Frames frameAt(unsigned depth) { return depth < deepest ? Frames{1} << depth : 0; }
/// Returns all frames outside of the one at `depth`.
Frames outside(unsigned depth) { return depth < deepest ? frameAt(depth) - 1 : ~Frames{0}; }

StringRef kindOf(Node node) {
  StringRef kind = node.opType();
  kind.consume_front("Ref");
  return kind;
}

class StarvationFinder {
public:
  StarvationFinder(const FrameGraph &graph, size_t limit)
      : graph(graph), limit(limit), arrivals(graph.size()), depths(graph.size()) {}

  std::vector<StarvedNode> find() {
    for (Index i = 0; i < graph.size(); ++i) {
      Index frame = graph.frameOf(i);
      depths[i] = frame == FrameGraph::none ? 0 : graph.frames()[frame].depth;
      arrivals[i] = arrivalOf(i);
    }
    return std::move(found);
  }

private:
  /// The iterations in which a node's results arrive, for each frame. A frame is in at most one of
  /// the sets.
  struct Arrival {
    Frames first = 0;  // in iteration 0 only
    Frames merged = 0; // in later iterations too, through a loop's Merge
  };

  Arrival arrivalOf(Index i) {
    Node node = graph.node(i);
    StringRef kind = kindOf(node);
    Arrival all = kind == "Merge" ? arrivalOfMerge(i) : arrivalOfInputs(i);
    unsigned depth = depths[i];
    if (kind == "NextIteration" && depth > 0) {
      // The Merge after it gets no value from iteration 2 on.
      if (all.first & frameAt(depth - 1))
        report(i, frameAt(depth - 1));
      all.first &= ~frameAt(depth - 1);
    } else if (kind == "Enter") {
      all.first = (all.first & outside(depth)) | (isConstantEnter(node) ? 0 : frameAt(depth));
    } else if (kind == "Exit" && depth > 0) {
      all.first &= outside(depth - 1);
      all.merged &= outside(depth - 1);
    }
    return all;
  }

  /// Returns the arrival at a node that waits for all of its inputs. A starved node is treated as
  /// if it were fixed.
  Arrival arrivalOfInputs(Index i) {
    Arrival all;
    graph.forEachInput(i, [&](Value, Index from) {
      all.first |= arrivals[from].first;
      all.merged |= arrivals[from].merged;
    });
    return mended(i, all);
  }

  Arrival mended(Index i, Arrival all) {
    if (Frames starved = all.first & all.merged)
      report(i, starved);
    all.first &= ~all.merged;
    return all;
  }

  /// A Merge waits for one of its data inputs, and for all control inputs.
  Arrival arrivalOfMerge(Index i) {
    Arrival all;
    Frames waits = 0;
    bool isAny = false;
    graph.forEachInput(i, [&](Value input, Index from) {
      all.merged |= arrivals[from].merged;
      if (isControl(input))
        waits |= arrivals[from].first;
      else
        all.first = isAny ? all.first & arrivals[from].first : arrivals[from].first;
      isAny |= !isControl(input);
    });
    if (depths[i] > 0 && hasBackEdge(graph.node(i))) {
      all.first &= ~frameAt(depths[i] - 1);
      all.merged |= frameAt(depths[i] - 1);
    }
    all.first |= waits;
    return mended(i, all);
  }

  static bool hasBackEdge(Node merge) {
    return llvm::any_of(merge.data(), [](Value input) {
      Operation *op = input.getDefiningOp();
      return op && Node::isNode(op) && kindOf(Node(op)) == "NextIteration";
    });
  }

  void report(Index i, Frames starved) {
    unsigned depth = llvm::countr_zero(starved); // the outermost frame
    Index frame = graph.frameOf(i);
    while (frame != FrameGraph::none && graph.frames()[frame].depth > depth + 1)
      frame = graph.frames()[frame].parent;
    if (frame != FrameGraph::none && found.size() < limit)
      found.push_back({graph.node(i), entersBehind(i, depth), graph.frames()[frame].name,
                       decidesOnce(graph.node(i), depth)});
  }

  bool decidesOnce(Node node, unsigned depth) const {
    if (kindOf(node) != "Switch" || node.numData() != 2)
      return false;
    Operation *op = node.data()[1].getDefiningOp();
    return op && graph.contains(op) && arrivals[graph.indexOf(Node(op))].first & frameAt(depth);
  }

  /// Returns the Enters of the frame at `depth` through which `node` has inputs in iteration 0
  /// only.
  std::vector<Node> entersBehind(Index node, unsigned depth) {
    std::vector<Node> enters;
    llvm::SetVector<Index> seen;
    auto addInputs = [&](Index of) {
      graph.forEachInput(of, [&](Value, Index from) {
        if (arrivals[from].first & frameAt(depth))
          seen.insert(from);
      });
    };
    addInputs(node);
    for (size_t n = 0; n < seen.size(); ++n)
      if (kindOf(graph.node(seen[n])) == "Enter" && depths[seen[n]] == depth)
        enters.push_back(graph.node(seen[n]));
      else
        addInputs(seen[n]);
    return enters;
  }

  const FrameGraph &graph;
  const size_t limit;
  std::vector<Arrival> arrivals;
  std::vector<unsigned> depths; // depth of each node's frame; 0 outside of loops
  std::vector<StarvedNode> found;
};

std::string describe(Node node) {
  return str("'", node.name().str(), "' (", node.opType().str(), ")");
}

/// Returns `'a' (Enter) and 'b' (Enter)`, with the first few nodes.
std::string list(ArrayRef<Node> nodes) {
  constexpr size_t most = 3;
  std::string out;
  for (auto [i, node] : llvm::enumerate(nodes.take_front(most)))
    out += str(i == 0 ? "" : i + 1 == nodes.size() ? " and " : ", ", describe(node));
  return nodes.size() > most ? str(out, " and ", nodes.size() - most, " more") : out;
}

std::string textOf(const StarvedNode &starved) {
  auto function = starved.node->getParentOfType<FuncOp>();
  bool isOne = starved.enters.size() == 1;
  return str("node ", describe(starved.node),
             function ? str(" of function '", function.getName().str(), "'") : "",
             " waits in iteration 1 of loop '", starved.frame, "' for ", list(starved.enters),
             isOne ? ", which isn't constant, so its value is"
                   : ", which aren't constant, so their values are",
             " available in iteration 0 only");
}

} // namespace

std::string textOf(ArrayRef<StarvedNode> starved) {
  constexpr size_t most = 3;
  std::string out;
  for (const StarvedNode &one : starved.take_front(most))
    out += (out.empty() ? "" : "; ") + textOf(one);
  if (starved.size() > most)
    out += str("; and ", starved.size() - most, " more nodes starve in the same way");
  return out + "; set is_constant = true, or pass the value through a Merge and a NextIteration";
}

std::vector<StarvedNode> findStarvedNodes(const FrameGraph &graph, size_t limit) {
  return StarvationFinder(graph, limit).find();
}

} // namespace treadle::tfg
