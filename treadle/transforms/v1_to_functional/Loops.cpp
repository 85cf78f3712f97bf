#include "treadle/transforms/v1_to_functional/Loops.h"

#include "treadle/rewriting/Frames.h"
#include "treadle/runtime/FrameTree.h"

#include "llvm/ADT/SCCIterator.h"
#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <deque>

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
    StringAttr name = frameName(node);
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
  llvm::DenseMap<Operation *, FrameTree::Index> frames; // of results
};

/// A node, or a loop as the single node that it would become, with its users within one iteration
/// of the enclosing frame.
struct Unit {
  Loop *loop = nullptr;
  std::vector<Unit *> users;
};

} // namespace
} // namespace treadle::tfg

template <> struct llvm::GraphTraits<treadle::tfg::Unit *> {
  using NodeRef = treadle::tfg::Unit *;
  using ChildIteratorType = std::vector<NodeRef>::iterator;
  static NodeRef getEntryNode(NodeRef unit) { return unit; }
  static ChildIteratorType child_begin(NodeRef unit) { return unit->users.begin(); }
  static ChildIteratorType child_end(NodeRef unit) { return unit->users.end(); }
};

namespace treadle::tfg {
namespace {

/// Finds loops that, as single nodes, would depend on themselves: in v1 control flow, a value may
/// leave a frame before another one enters it.
class FeedbackFinder {
public:
  void refuseFeedback(ArrayRef<std::unique_ptr<Loop>> loops, ArrayRef<Operation *> order) {
    for (const std::unique_ptr<Loop> &loop : loops)
      addLoop(*loop);
    for (Operation *op : order)
      addEdges(op);
    for (auto scc = llvm::scc_begin(&root); !scc.isAtEnd(); ++scc)
      if (scc.hasCycle())
        for (Unit *unit : *scc)
          if (unit->loop) {
            unit->loop->refuse(unit->loop->enters.front(), "its inputs depend on its own results");
            unit->loop->hasFeedback = true;
          }
  }

private:
  struct UnitPosition {
    Unit *unit = nullptr;
    const Loop *frame = nullptr; // the frame that contains the unit
  };

  void addLoop(Loop &loop) {
    Unit *unit = add();
    unit->loop = &loop;
    for (Operation *op : loop.nodes)
      positions.try_emplace(op).first->second.frame = &loop;
    for (ArrayRef<Operation *> border : {ArrayRef(loop.enters), ArrayRef(loop.exits)})
      for (Operation *op : border)
        positions[op] = {unit, loop.parent};
  }

  Unit *add() {
    root.users.push_back(&units.emplace_back());
    return root.users.back();
  }

  UnitPosition positionOf(Operation *op) {
    UnitPosition &place = positions[op];
    if (!place.unit)
      place.unit = add();
    return place;
  }

  void addEdges(Operation *user) {
    UnitPosition to = positionOf(user);
    user->walk([&](Operation *op) { // values that regions use count as operands
      for (Value operand : op->getOperands())
        if (Operation *from = operand.getDefiningOp(); from && from->getBlock() == user->getBlock())
          addEdge(from, to);
    });
  }

  void addEdge(Operation *op, UnitPosition to) {
    StringRef kind = Node::isNode(op) ? v1Kind(Node(op)) : StringRef();
    UnitPosition from = positionOf(op);
    bool staysInside = from.unit == to.unit && kind == "Enter";
    if (kind != "NextIteration" && from.frame == to.frame && !staysInside)
      from.unit->users.push_back(to.unit);
  }

  std::deque<Unit> units;
  Unit root; // uses all of them
  llvm::DenseMap<Operation *, UnitPosition> positions;
};

} // namespace

std::vector<std::unique_ptr<Loop>> findLoops(ArrayRef<Operation *> order) {
  std::vector<std::unique_ptr<Loop>> loops = LoopFinder().find(order);
  if (!loops.empty())
    FeedbackFinder().refuseFeedback(loops, order);
  return loops;
}

} // namespace treadle::tfg
