#include "treadle/transforms/v1_to_functional/Loops.h"

#include "treadle/transforms/topological_sort/TopologicalSort.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>

using namespace mlir;

namespace treadle::tfg {

StringRef v1Kind(Node node) {
  StringRef kind = node.opType();
  kind.consume_front("Ref");
  return kind;
}

void Loop::forEachNode(function_ref<void(Operation *)> visit) const {
  for (Operation *op : nodes)
    visit(op);
  for (const Loop *child : children) {
    for (Operation *op : child->enters)
      visit(op);
    for (Operation *op : child->exits)
      visit(op);
    child->forEachNode(visit);
  }
}

namespace {

/// Walks a body in the order of its edges, and says for each node in which frame its results are.
class FrameFinder {
public:
  std::vector<std::unique_ptr<Loop>> find(Block &body) {
    for (Operation *op : topologicalOrder(body))
      if (Node::isNode(op))
        place(Node(op));
    std::vector<std::vector<std::unique_ptr<Loop>>> byDepth;
    for (std::unique_ptr<Loop> &loop : loops) {
      byDepth.resize(std::max<size_t>(byDepth.size(), depth(loop.get())));
      byDepth[depth(loop.get()) - 1].push_back(std::move(loop));
    }
    loops.clear();
    for (std::vector<std::unique_ptr<Loop>> &level : llvm::reverse(byDepth))
      std::ranges::move(level, std::back_inserter(loops));
    return std::move(loops);
  }

private:
  void place(Node node) {
    StringRef kind = v1Kind(node);
    Loop *inner = innermostInput(node);
    Loop *result = inner;
    if (kind == "Enter") {
      result = child(inner, node);
      result->enters.push_back(node.getOperation());
    } else if (kind == "Exit" && inner) {
      result = inner->parent;
      inner->exits.push_back(node.getOperation());
    } else if (inner) {
      inner->nodes.push_back(node.getOperation());
    }
    frames[node.getOperation()] = result;
  }

  static unsigned depth(Loop *loop) {
    unsigned result = 0;
    for (; loop; loop = loop->parent)
      ++result;
    return result;
  }

  /// The frame of the inputs; NextIteration's edges lead back into a frame that is known by then.
  Loop *innermostInput(Node node) {
    Loop *inner = nullptr;
    bool isFirst = true, isMixed = false;
    for (Value input : node->getOperands()) {
      auto frame = frames.find(input.getDefiningOp());
      if (frame == frames.end() && input.getDefiningOp())
        continue; // an edge back
      Loop *loop = frame == frames.end() ? nullptr : frame->second;
      isMixed = isMixed || (!isFirst && loop != inner);
      if (isFirst || depth(loop) > depth(inner))
        inner = loop;
      isFirst = false;
    }
    if (isMixed && inner)
      inner->refuse(node.getOperation(), "its inputs are in different frames");
    return inner;
  }

  Loop *child(Loop *parent, Node enter) {
    auto name = enter.attr<StringAttr>("frame_name");
    Loop *&loop = byName[{parent, name}];
    if (!loop) {
      loop = loops.emplace_back(std::make_unique<Loop>()).get();
      loop->frameName = name ? name : StringAttr::get(enter->getContext(), "");
      loop->parent = parent;
      if (parent)
        parent->children.push_back(loop);
    }
    return loop;
  }

  std::vector<std::unique_ptr<Loop>> loops;
  llvm::DenseMap<std::pair<Loop *, StringAttr>, Loop *> byName;
  llvm::DenseMap<Operation *, Loop *> frames;
};

} // namespace

std::vector<std::unique_ptr<Loop>> findLoops(Block &body) { return FrameFinder().find(body); }

} // namespace treadle::tfg
