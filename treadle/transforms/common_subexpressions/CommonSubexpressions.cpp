#include "treadle/dialect/NodeAttributes.h"
#include "treadle/rewriting/ControlMerger.h"
#include "treadle/runtime/Graph.h"
#include "treadle/transforms/Passes.h"
#include "treadle/transforms/topological_sort/TopologicalSort.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/Hashing.h"

using namespace mlir;

namespace treadle {

#define GEN_PASS_DEF_COMMONSUBEXPRESSIONS
#include "treadle/transforms/Passes.h.inc"

namespace {

/// A node as a key: all that it computes depends on, which is everything but the name, the soft
/// edges, and the order and repetition of control inputs. Control inputs are sorted once, on
/// construction.
struct Computation {
  auto attrs() const {
    tfg::Node node(op);
    return llvm::make_filter_range(
        node.attrs(), [key = node.dialect().nameKey](NamedAttribute attr) {
          return attr.getName() != key && attr.getName() != tfg::softInputsKey;
        });
  }

  explicit Computation(tfg::Node node) : op(node.getOperation()), tokens(node.control()) {
    llvm::sort(tokens,
               [](Value a, Value b) { return a.getAsOpaquePointer() < b.getAsOpaquePointer(); });
    tokens.erase(llvm::unique(tokens), tokens.end());
    hash = llvm::hash_combine(op->getName(), op->getNumResults());
    for (NamedAttribute attr : attrs())
      hash = llvm::hash_combine(hash, attr.getName(), attr.getValue());
    for (Value value : node.data())
      hash = llvm::hash_combine(hash, value.getAsOpaquePointer());
    for (Value token : tokens)
      hash = llvm::hash_combine(hash, token.getAsOpaquePointer());
  }
  /// Creates a special key of the hash table (empty or erased).
  explicit Computation(Operation *marker) : op(marker) {}

  bool operator==(const Computation &other) const {
    return op->getName() == other.op->getName() && tokens == other.tokens &&
           op->getResultTypes() == other.op->getResultTypes() &&
           llvm::equal(tfg::Node(op).data(), tfg::Node(other.op).data()) &&
           llvm::equal(attrs(), other.attrs());
  }

  Operation *op;
  SmallVector<Value, 1> tokens;
  llvm::hash_code hash{0};
};

struct ComputationInfo {
  using Pointer = llvm::DenseMapInfo<Operation *>;
  static Computation getEmptyKey() { return Computation(Pointer::getEmptyKey()); }
  static Computation getTombstoneKey() { return Computation(Pointer::getTombstoneKey()); }
  static unsigned getHashValue(const Computation &key) {
    return static_cast<unsigned>(static_cast<size_t>(key.hash));
  }
  static bool isEqual(const Computation &a, const Computation &b) {
    if (a.op == b.op)
      return true;
    auto isMarker = [](Operation *op) {
      return op == Pointer::getEmptyKey() || op == Pointer::getTombstoneKey();
    };
    return !isMarker(a.op) && !isMarker(b.op) && a.hash == b.hash && a == b;
  }
};

struct CommonSubexpressions : impl::CommonSubexpressionsBase<CommonSubexpressions> {
  using Base::Base;

  void runOnOperation() override {
    tfg::SoftEdges soft(getOperation());
    tfg::Effects effects(getOperation());
    llvm::StringSet<> kept;
    for (const std::string &name : keep)
      kept.insert(name);
    llvm::StringSet<> fed;
    for (StringRef value : feeds)
      fed.insert(value.split(':').first);
    auto run = [&](Block &body) {
      llvm::DenseSet<Computation, ComputationInfo> seen;
      tfg::ControlMerger control;
      for (Operation *op : tfg::topologicalOrder(body)) {
        tfg::Node node(op);
        if (!effects.isPure(node) || isPlaceholder(node) || fed.contains(node.name()))
          continue;
        auto [first, isNew] = seen.insert(Computation(node));
        if (!isNew && !kept.contains(node.name()))
          merge(node, tfg::Node(first->op), control);
      }
      control.finish();
    };
    tfg::forEachBody(getOperation(), [&](Block &body) {
      run(body);
      tfg::forEachRegionBody(body, run);
    });
  }

  static void merge(tfg::Node node, tfg::Node first, tfg::ControlMerger &control) {
    for (auto [from, to] : llvm::zip(node.results(), first.results()))
      from.replaceAllUsesWith(to);
    tfg::SoftEdges::merge(node, first);
    control.replace(node.controlResult(), first.controlResult());
    control.forget(node.getOperation());
    node->erase();
  }
};

} // namespace
} // namespace treadle
