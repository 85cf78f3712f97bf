#include "treadle/dialect/NodeAttributes.h"
#include "treadle/rewriting/Colocation.h"
#include "treadle/rewriting/DeviceName.h"
#include "treadle/rewriting/Rewriting.h"
#include "treadle/transforms/Passes.h"
#include "treadle/transforms/place/Rules.h"

#include "llvm/ADT/EquivalenceClasses.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;

namespace treadle {

#define GEN_PASS_DEF_PLACE
#include "treadle/transforms/Passes.h.inc"

namespace {

using tfg::Node;

/// The nodes of one body, in colocation groups.
class Groups {
public:
  explicit Groups(Block &body) {
    for (Operation &op : body)
      if (Node::isNode(&op)) {
        nodes.push_back(&op);
        classes.insert(&op);
      }
    joinColocated();
    for (Operation *op : nodes)
      joinHandles(Node(op));
  }

  /// Returns the members of each group, in the order of the body; groups are in the order of their
  /// first members.
  std::vector<SmallVector<Operation *>> all() const {
    llvm::MapVector<Operation *, SmallVector<Operation *>> members;
    for (Operation *op : nodes)
      members[classes.getLeaderValue(op)].push_back(op);
    std::vector<SmallVector<Operation *>> out;
    for (auto &[leader, group] : members)
      out.push_back(std::move(group));
    return out;
  }

private:
  // Colocates nodes with `_class = ["loc:@x"]` with node x and with each other.
  void joinColocated() {
    llvm::StringMap<Operation *> byName, byClass;
    for (Operation *op : nodes)
      byName.try_emplace(Node(op).name(), op);
    for (Operation *op : nodes) {
      auto list = Node(op).attr<ArrayAttr>(tfg::classKey);
      for (Attribute entry : list ? list.getValue() : ArrayRef<Attribute>()) {
        StringRef name = tfg::colocatedWith(entry);
        if (name.empty())
          continue;
        auto [first, isNew] = byClass.try_emplace(name, op);
        if (!isNew)
          classes.unionSets(first->second, op);
        else if (auto named = byName.find(name); named != byName.end())
          classes.unionSets(named->second, op);
      }
    }
  }

  // Colocates a variable with the nodes that read and write it. Calls aren't included, because they
  // pass handles to wherever their functions run.
  void joinHandles(Node node) {
    if (callsFunctions(node))
      return;
    for (Value value : node.data()) {
      auto type = dyn_cast<TensorType>(value.getType());
      if (!type || !(isa<tf_type::ResourceType>(type.getElementType()) ||
                     tf_type::isReference(type.getElementType())))
        continue;
      if (Node source = tfg::definingNode(value)) {
        if (!callsFunctions(source))
          classes.unionSets(source.getOperation(), node.getOperation());
        continue;
      }
      auto [first, isNew] = users.try_emplace(value, node.getOperation());
      if (!isNew)
        classes.unionSets(first->second, node.getOperation());
    }
  }

  static bool callsFunctions(Node node) {
    bool calls = false;
    tfg::forEachFunctionName(node, [&](StringRef) { calls = true; });
    return calls;
  }

  SmallVector<Operation *> nodes;
  llvm::EquivalenceClasses<Operation *> classes;
  llvm::DenseMap<Value, Operation *> users; // of handles that are arguments
};

struct Place : impl::PlaceBase<Place> {
  using Base::Base;

  void runOnOperation() override {
    std::string error;
    std::optional<tfg::PlacementRules> parsed = tfg::PlacementRules::parse(rules, error);
    if (!parsed) {
      emitError(UnknownLoc::get(&getContext())) << error;
      return signalPassFailure();
    }
    std::vector<std::pair<Node, std::string>> decided;
    bool ok = true;
    tfg::forEachBody(getOperation(), [&](Block &body) {
      if (!functions && isa<tfg::FuncOp>(body.getParentOp()))
        return;
      for (ArrayRef<Operation *> group : Groups(body).all())
        ok = ok && decide(group, *parsed, decided);
    });
    if (!ok)
      return signalPassFailure();
    for (auto &[node, device] : decided)
      node.setDevice(device);
    numPlaced += decided.size();
  }

private:
  /// Assigns a device to the nodes of a group without one: that of the group's first node with a
  /// device, otherwise that of the first node that matches a rule.
  static bool decide(ArrayRef<Operation *> group, const tfg::PlacementRules &rules,
                     std::vector<std::pair<Node, std::string>> &decided) {
    Node placed;
    for (Operation *op : group) {
      if (Node(op).device().empty())
        continue;
      if (placed && !agree(placed, Node(op)))
        return false;
      if (!placed)
        placed = Node(op);
    }
    std::string device = placed ? placed.device().str() : std::string();
    for (Operation *op : group)
      if (device.empty())
        device = rules.deviceFor(Node(op)).str();
    if (device.empty())
      return true;
    for (Operation *op : group)
      if (Node(op).device().empty())
        decided.emplace_back(Node(op), device);
    return true;
  }

  /// Returns whether both devices may be in one group: different devices of one type in one task
  /// may, as in TensorFlow.
  static bool agree(Node first, Node second) {
    auto a = tfg::DeviceName::parse(first.device()), b = tfg::DeviceName::parse(second.device());
    if (a && b) {
      a->id.reset();
      if (a->agreesWith(*b))
        return true;
    }
    second->emitError() << "node '" << second.name() << "' is on '" << second.device()
                        << "', but must be colocated with node '" << first.name() << "' on '"
                        << first.device() << "'; place both on one device, or neither";
    return false;
  }
};

} // namespace
} // namespace treadle
