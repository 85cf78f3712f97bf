#include "treadle/transforms/Passes.h"
#include "treadle/transforms/rewriting/ControlMerger.h"
#include "treadle/transforms/topological_sort/TopologicalSort.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/Hashing.h"

using namespace mlir;

namespace treadle {

#define GEN_PASS_DEF_COMMONSUBEXPRESSIONS
#include "treadle/transforms/Passes.h.inc"

namespace {

/// What makes nodes equal: everything but the name, and the order of control inputs. One may be
/// there twice while nodes are merged.
struct SameComputation : llvm::DenseMapInfo<Operation *> {
  static SmallVector<Value> sortedControl(tfg::Node node) {
    SmallVector<Value> tokens(node.control());
    llvm::sort(tokens,
               [](Value a, Value b) { return a.getAsOpaquePointer() < b.getAsOpaquePointer(); });
    tokens.erase(llvm::unique(tokens), tokens.end());
    return tokens;
  }

  template <typename Visit> static void forEachAttr(tfg::Node node, Visit visit) {
    for (NamedAttribute attr : node.attrs())
      if (attr.getName() != node.dialect().nameKey)
        visit(attr);
  }

  static unsigned getHashValue(Operation *op) {
    tfg::Node node(op);
    llvm::hash_code hash = llvm::hash_combine(op->getName(), op->getNumResults());
    forEachAttr(node, [&](NamedAttribute attr) {
      hash = llvm::hash_combine(hash, attr.getName(), attr.getValue());
    });
    for (Value value : node.data())
      hash = llvm::hash_combine(hash, value.getAsOpaquePointer());
    for (Value token : sortedControl(node))
      hash = llvm::hash_combine(hash, token.getAsOpaquePointer());
    return hash;
  }

  static bool isEqual(Operation *a, Operation *b) {
    if (a == b)
      return true;
    auto isMarker = [](Operation *op) { return op == getEmptyKey() || op == getTombstoneKey(); };
    if (isMarker(a) || isMarker(b))
      return false;
    if (a->getName() != b->getName() || a->getResultTypes() != b->getResultTypes())
      return false;
    tfg::Node left(a), right(b);
    if (!llvm::equal(left.data(), right.data()) || sortedControl(left) != sortedControl(right))
      return false;
    SmallVector<NamedAttribute> leftAttrs, rightAttrs;
    forEachAttr(left, [&](NamedAttribute attr) { leftAttrs.push_back(attr); });
    forEachAttr(right, [&](NamedAttribute attr) { rightAttrs.push_back(attr); });
    return leftAttrs == rightAttrs;
  }
};

/// Equal to look at, but each is fed a value of its own.
bool isPlaceholder(tfg::Node node) { return node.opType().starts_with("Placeholder"); }

struct CommonSubexpressions : impl::CommonSubexpressionsBase<CommonSubexpressions> {
  using Base::Base;

  void runOnOperation() override {
    tfg::Effects effects(getOperation());
    llvm::StringSet<> kept;
    for (const std::string &name : keep)
      kept.insert(name);
    llvm::StringSet<> fed;
    for (StringRef value : feeds)
      fed.insert(value.split(':').first);
    tfg::forEachBody(getOperation(), [&](Block &body) {
      llvm::DenseSet<Operation *, SameComputation> seen;
      tfg::ControlMerger control;
      for (Operation *op : tfg::topologicalOrder(body)) {
        tfg::Node node(op);
        if (!effects.isPure(node) || isPlaceholder(node) || fed.contains(node.name()))
          continue;
        auto [first, isNew] = seen.insert(op);
        if (!isNew && !kept.contains(node.name()))
          merge(node, tfg::Node(*first), control);
      }
      control.finish();
    });
  }

  static void merge(tfg::Node node, tfg::Node first, tfg::ControlMerger &control) {
    for (auto [from, to] : llvm::zip(node.results(), first.results()))
      from.replaceAllUsesWith(to);
    control.replace(node.controlResult(), first.controlResult());
    control.forget(node.getOperation());
    node->erase();
  }
};

} // namespace
} // namespace treadle
