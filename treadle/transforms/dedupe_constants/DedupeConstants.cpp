#include "treadle/rewriting/ControlMerger.h"
#include "treadle/rewriting/Frames.h"
#include "treadle/rewriting/SoftEdges.h"
#include "treadle/transforms/Passes.h"

#include "llvm/ADT/MapVector.h"

using namespace mlir;

namespace treadle {

#define GEN_PASS_DEF_DEDUPECONSTANTS
#include "treadle/transforms/Passes.h.inc"

namespace {

struct DedupeConstants : impl::DedupeConstantsBase<DedupeConstants> {
  using Base::Base;

  void runOnOperation() override {
    tfg::SoftEdges soft(getOperation());
    for (const std::string &name : keep)
      kept.insert(name);
    for (StringRef value : feeds)
      fed.insert(value.split(':').first);
    tfg::forEachBody(getOperation(), [&](Block &body) {
      run(body);
      tfg::forEachRegionBody(body, [&](Block &inner) { run(inner); });
    });
  }

private:
  using Key = std::tuple<Attribute, Attribute, Attribute, Attribute>;

  void run(Block &body) {
    llvm::MapVector<Key, SmallVector<tfg::Node, 1>> groups;
    const bool mayBeDead = tfg::mayBeDead(body);
    for (Operation &op : body) {
      if (!tfg::Node::isNode(&op))
        continue;
      tfg::Node node(&op);
      if (node.opType() == "Const" && !fed.contains(node.name()))
        groups[{node.attr("value"), node.attr("dtype"), node.deviceAttr(),
                node.assignedDeviceAttr()}]
            .push_back(node);
    }
    names.reset();
    for (auto &[key, nodes] : groups)
      if (nodes.size() > 1)
        merge(nodes, mayBeDead);
    control.finish();
  }

  // Keeps a constant without control inputs. Merging others would impose the order of the graph, or
  // the frames and branches of v1 control flow.
  void merge(ArrayRef<tfg::Node> nodes, bool mayBeDead) {
    const tfg::Node *first =
        llvm::find_if(nodes, [](tfg::Node node) { return node.numControl() == 0; });
    if (first == nodes.end() && (mayBeDead || !hoist))
      return;
    tfg::Node one = first == nodes.end() ? copyWithoutControl(nodes.front()) : *first;
    for (tfg::Node node : nodes) {
      bool isSame = node == one || kept.contains(node.name());
      if (!isSame && (node.numControl() == 0 || (hoist && !mayBeDead && moveControlToUsers(node))))
        replace(node, one);
    }
  }

  tfg::Node copyWithoutControl(tfg::Node node) {
    OpBuilder builder(node.getOperation());
    if (!names)
      names.emplace(*node->getBlock());
    return tfg::NodeBuilder(builder, "Const")
        .placedAs(node)
        .attrs(node.attrs())
        .name(names->unique((node.name() + "/hoisted").str()))
        .results(node.results().getTypes())
        .build();
  }

  // Adds the control inputs of the constant to its users. Fails if a function's result uses it,
  // since results have no control inputs.
  static bool moveControlToUsers(tfg::Node node) {
    constexpr unsigned maxTokens = 4;
    Value result = node.results().front();
    if (node.numControl() > maxTokens ||
        llvm::any_of(result.getUsers(), [](Operation *user) { return !tfg::Node::isNode(user); }))
      return false;
    SmallVector<Value> tokens(node.control());
    SmallVector<Operation *> users(result.getUsers());
    for (Operation *user : users)
      for (Value token : tokens)
        tfg::addControl(tfg::Node(user), token);
    return true;
  }

  void replace(tfg::Node node, tfg::Node one) {
    node.results().front().replaceAllUsesWith(one.results().front());
    SmallVector<Value> tokens(node.control());
    if (tokens.empty())
      tokens.push_back(one.controlResult());
    control.replace(node.controlResult(), tokens);
    control.forget(node.getOperation());
    node->erase();
  }

  llvm::StringSet<> kept, fed;
  std::optional<tfg::NameScope> names; // of the current body
  tfg::ControlMerger control;
};

} // namespace
} // namespace treadle
