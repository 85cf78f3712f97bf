#include "treadle/rewriting/CallGraph.h"

#include "llvm/ADT/SCCIterator.h"

#include <deque>

using namespace mlir;

namespace treadle::tfg {
namespace {

struct CallNode {
  FuncOp function;
  SmallVector<CallNode *, 2> callees;
};

/// Visits the functions with bodies that nodes of the function call, once for each reference.
void forEachCalled(FuncOp function, FindCallee find, function_ref<void(FuncOp)> visit) {
  auto look = [&](StringRef name) {
    if (FuncOp callee = find(name); callee && !callee.isExternal())
      visit(callee);
  };
  function.walk([&](Operation *op) {
    if (Node::isNode(op))
      forEachCallee(Node(op), look);
  });
}

} // namespace
} // namespace treadle::tfg

template <> struct llvm::GraphTraits<treadle::tfg::CallNode *> {
  using NodeRef = treadle::tfg::CallNode *;
  using ChildIteratorType = SmallVector<NodeRef, 2>::iterator;
  static NodeRef getEntryNode(NodeRef node) { return node; }
  static ChildIteratorType child_begin(NodeRef node) { return node->callees.begin(); }
  static ChildIteratorType child_end(NodeRef node) { return node->callees.end(); }
};

namespace treadle::tfg {

std::vector<CallGroup> calleesFirst(StringRef root, FindCallee find) {
  FuncOp first = find(root);
  if (!first || first.isExternal())
    return {};
  std::deque<CallNode> nodes;
  llvm::DenseMap<Operation *, CallNode *> nodeOf;
  auto add = [&](FuncOp function) {
    CallNode *&node = nodeOf[function];
    if (!node)
      node = &nodes.emplace_back(CallNode{function, {}});
    return node;
  };
  add(first);
  for (size_t i = 0; i < nodes.size(); ++i) // grows meanwhile
    forEachCalled(nodes[i].function, find,
                  [&](FuncOp callee) { nodes[i].callees.push_back(add(callee)); });
  std::vector<CallGroup> groups;
  for (auto part = llvm::scc_begin(&nodes.front()); !part.isAtEnd(); ++part) {
    CallGroup &group = groups.emplace_back();
    for (CallNode *node : *part)
      group.functions.push_back(node->function);
    group.isRecursive = part.hasCycle();
  }
  return groups;
}

static void addCallees(size_t next, FindCallee find, llvm::SetVector<FuncOp> &reached) {
  for (; next < reached.size(); ++next) // grows meanwhile
    forEachCalled(reached[next], find, [&](FuncOp callee) { reached.insert(callee); });
}

void addReachable(Node node, FindCallee find, llvm::SetVector<FuncOp> &reached) {
  const size_t next = reached.size();
  auto add = [&](StringRef name) {
    if (FuncOp callee = find(name); callee && !callee.isExternal())
      reached.insert(callee);
  };
  forEachCallee(node, add);
  addCallees(next, find, reached);
}

llvm::SetVector<FuncOp> reachableFrom(FuncOp root, FindCallee find) {
  llvm::SetVector<FuncOp> reached;
  reached.insert(root);
  addCallees(0, find, reached);
  return reached;
}

bool anyReachable(StringRef root, FindCallee find, llvm::StringMap<bool> &known,
                  function_ref<bool(FuncOp)> contains) {
  auto findNew = [&](StringRef name) { return known.contains(name) ? FuncOp() : find(name); };
  for (const CallGroup &group : calleesFirst(root, findNew)) {
    for (FuncOp function : group.functions)
      known[function.getName()] = false;
    bool found = llvm::any_of(group.functions, contains);
    for (FuncOp function : group.functions)
      known[function.getName()] = found;
  }
  return known.lookup(root);
}

} // namespace treadle::tfg
