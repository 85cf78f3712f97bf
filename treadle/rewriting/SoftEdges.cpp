#include "treadle/rewriting/SoftEdges.h"

#include "treadle/dialect/NodeAttributes.h"
#include "treadle/rewriting/Frames.h"
#include "treadle/rewriting/Rewriting.h"
#include "treadle/runtime/SoftOrder.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace treadle::tfg {

SmallVector<StringRef> softInputs(Node node) {
  SmallVector<StringRef> names;
  if (auto list = node.attr<ArrayAttr>(softInputsKey))
    for (Attribute name : list)
      if (auto text = dyn_cast<StringAttr>(name))
        names.push_back(text.getValue());
  return names;
}

void setSoftInputs(Node node, ArrayRef<StringRef> names) {
  llvm::SmallSetVector<StringRef, 4> unique;
  for (StringRef name : names)
    if (name != node.name())
      unique.insert(name);
  if (unique.empty()) {
    node->removeDiscardableAttr(softInputsKey);
    return;
  }
  Builder builder(node->getContext());
  node->setDiscardableAttr(softInputsKey, builder.getStrArrayAttr(unique.getArrayRef()));
}

void addSoftInputs(Node node, ArrayRef<StringRef> names) {
  if (names.empty())
    return;
  SmallVector<StringRef> all = softInputs(node);
  llvm::append_range(all, names);
  setSoftInputs(node, all);
}

void renameSoftInputs(Node node, const llvm::StringMap<std::string> &renamed) {
  if (!node.attr(softInputsKey))
    return;
  SmallVector<StringRef> names = softInputs(node);
  for (StringRef &name : names)
    if (auto known = renamed.find(name); known != renamed.end())
      name = known->second;
  setSoftInputs(node, names);
}

static thread_local SoftEdges *current = nullptr;

/// Calls `visit` for every body of the module, including those of regions and of generic functions.
static void forEachBlock(ModuleOp module, function_ref<void(Block &)> visit) {
  forEachBody(
      module,
      [&](Block &body) {
        visit(body);
        forEachRegionBody(body, visit);
      },
      /*withGeneric=*/true);
}

SoftEdges::SoftEdges(ModuleOp module) : module(module) {
  forEachBlock(module, [&](Block &body) { read(body); });
  begin();
}

SoftEdges::SoftEdges(Block &body) : only(&body) {
  read(body);
  begin();
}

void SoftEdges::read(Block &body) {
  for (Operation &op : body)
    if (Node::isNode(&op) && Node(&op).attr(softInputsKey)) {
      isActive = true;
      for (StringRef name : softInputs(Node(&op)))
        mentioned.insert(name);
    }
}

void SoftEdges::begin() { outer = std::exchange(current, isActive ? this : nullptr); }

SoftEdges::~SoftEdges() {
  current = outer;
  if (isActive && only)
    rewrite(*only);
  else if (isActive)
    forEachBlock(module, [&](Block &body) { rewrite(body); });
}

void SoftEdges::follow(Node gone, ValueRange tokens) {
  if (!current || !gone || !current->isMentioned(gone.name()))
    return;
  SmallVector<std::string, 1> names;
  for (Value token : tokens)
    if (Node node = token ? definingNode(token) : Node(); node && node != gone) {
      names.push_back(node.name().str());
      current->mentioned.insert(node.name()); // it may be removed later
    }
  current->replaced[gone->getBlock()][gone.name()] = std::move(names);
}

void SoftEdges::merge(Node gone, Node by) {
  if (!current)
    return;
  addSoftInputs(by, softInputs(gone));
  follow(gone, by.controlResult());
}

void SoftEdges::rewrite(Block &body) {
  llvm::StringSet<> present;
  SmallVector<Node> following;
  for (Operation &op : body)
    if (Node::isNode(&op)) {
      present.insert(Node(&op).name());
      if (Node(&op).attr(softInputsKey))
        following.push_back(Node(&op));
    }
  const Names &names = replaced[&body];
  for (Node node : following) {
    SmallVector<std::string> pending, found;
    for (StringRef name : softInputs(node))
      pending.push_back(name.str());
    llvm::StringSet<> seen;
    for (size_t i = 0; i < pending.size(); ++i) {
      std::string name = pending[i]; // the list grows in the loop
      if (!seen.insert(name).second)
        continue;
      // A replaced node may stay until it is found unused.
      if (present.contains(name))
        found.push_back(name);
      if (auto known = names.find(name); known != names.end())
        llvm::append_range(pending, known->second);
    }
    setSoftInputs(node, SmallVector<StringRef>(found.begin(), found.end()));
  }
}

NumberedBody::NumberedBody(Block &body) {
  llvm::DenseMap<Operation *, int32_t> numbers;
  for (Operation &op : body)
    if (Node::isNode(&op)) {
      numbers[&op] = static_cast<int32_t>(nodes.size());
      names.try_emplace(Node(&op).name(), static_cast<int32_t>(nodes.size()));
      nodes.emplace_back(&op);
    }
  before.resize(nodes.size());
  for (auto [i, node] : llvm::enumerate(nodes))
    for (Value operand : node->getOperands())
      if (Node from = definingNode(operand);
          from && numbers.contains(from.getOperation()) && !feedsNextIteration(from.getOperation()))
        before[i].push_back(numbers.lookup(from.getOperation()));
}

void NumberedBody::forEachSoftEdge(function_ref<void(int32_t from, int32_t to)> visit) const {
  for (auto [i, node] : llvm::enumerate(nodes))
    for (StringRef name : softInputs(node))
      if (auto from = names.find(name); from != names.end())
        visit(from->second, static_cast<int32_t>(i));
}

SmallVector<SoftEdgeFinding> findSoftEdgeProblems(Block &body) {
  SmallVector<SoftEdgeFinding> found;
  auto isFollowing = [](Operation &op) {
    return Node::isNode(&op) && Node(&op).attr(softInputsKey);
  };
  if (llvm::none_of(body, isFollowing))
    return found;
  NumberedBody numbered(body);
  SoftOrder order(numbered.before);
  for (auto [i, node] : llvm::enumerate(numbered.nodes)) {
    if (node.attr(softInputsKey) && !node.attr<ArrayAttr>(softInputsKey))
      found.push_back({node, "attribute '" + softInputsKey.str() +
                                 "' is not a list, expected names of nodes: [\"a\", \"b\"]"});
    for (StringRef name : softInputs(node)) {
      auto from = numbered.names.find(name);
      if (from == numbered.names.end())
        found.push_back({node, "it should follow '" + name.str() +
                                   "', but there is no such node; correct the name in '" +
                                   softInputsKey.str() + "' or remove it"});
      else if (!order.add(from->second, static_cast<int32_t>(i)))
        found.push_back({node, "it should follow '" + name.str() +
                                   "', but other edges require the opposite order; a run "
                                   "ignores this soft edge"});
    }
  }
  return found;
}

} // namespace treadle::tfg
