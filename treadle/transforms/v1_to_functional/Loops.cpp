#include "treadle/transforms/v1_to_functional/Loops.h"

#include "treadle/runtime/FrameTree.h"

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

class LoopFinder {
public:
  std::vector<std::unique_ptr<Loop>> find(ArrayRef<Operation *> order) {
    for (Operation *op : order)
      if (Node::isNode(op))
        place(Node(op));
    std::vector<std::vector<std::unique_ptr<Loop>>> byDepth;
    for (auto [index, loop] : llvm::enumerate(loops)) {
      size_t depth = tree[static_cast<FrameTree::Index>(index + 1)].depth;
      byDepth.resize(std::max(byDepth.size(), depth));
      byDepth[depth - 1].push_back(std::move(loop));
    }
    loops.clear();
    for (std::vector<std::unique_ptr<Loop>> &level : llvm::reverse(byDepth))
      std::ranges::move(level, std::back_inserter(loops));
    return std::move(loops);
  }

private:
  void place(Node node) {
    StringRef kind = v1Kind(node);
    FrameTree::Index frame = frameOf(node), given = frame;
    if (kind == "Enter") {
      given = enter(frame, node);
      loopOf(given)->enters.push_back(node.getOperation());
    } else if (Loop *loop = loopOf(frame)) {
      if (kind == "Exit")
        given = tree.exit(frame);
      (kind == "Exit" ? loop->exits : loop->nodes).push_back(node.getOperation());
    }
    frames[node.getOperation()] = given;
  }

  Loop *loopOf(FrameTree::Index frame) const {
    return frame == FrameTree::outside ? nullptr : loops[frame - 1].get();
  }

  FrameTree::Index frameOf(Node node) {
    FrameTree::Inputs inputs(tree);
    for (Value input : node->getOperands()) {
      Operation *from = input.getDefiningOp();
      if (auto given = frames.find(from); given != frames.end() || !from)
        inputs.add(from ? given->second : FrameTree::outside);
    }
    if (Loop *loop = loopOf(inputs.frame()); loop && inputs.isMixed())
      loop->refuse(node.getOperation(), "its inputs are in different frames");
    return inputs.frame();
  }

  FrameTree::Index enter(FrameTree::Index parent, Node node) {
    auto name = node.attr<StringAttr>("frame_name");
    FrameTree::Index opened = tree.enter(parent, name ? name.getValue() : StringRef());
    if (opened > loops.size()) {
      Loop *loop = loops.emplace_back(std::make_unique<Loop>()).get();
      loop->frameName = name ? name : StringAttr::get(node->getContext(), "");
      loop->parent = loopOf(parent);
      if (loop->parent)
        loop->parent->children.push_back(loop);
    }
    return opened;
  }

  FrameTree tree;
  std::vector<std::unique_ptr<Loop>> loops;             // by frame, from 1 on
  llvm::DenseMap<Operation *, FrameTree::Index> frames; // of what nodes give
};

} // namespace

std::vector<std::unique_ptr<Loop>> findLoops(ArrayRef<Operation *> order) {
  return LoopFinder().find(order);
}

} // namespace treadle::tfg
