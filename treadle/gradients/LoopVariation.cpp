#include "treadle/gradients/LoopVariation.h"

using namespace mlir;

namespace treadle::tfg {
namespace {

class Variation {
public:
  Variation(const Backpropagation &b, FuncOp body)
      : b(b), body(body), order(neededNodes(ValueRange(body.getReturn().getData()))) {}

  /// Adds the variables that vary after an iteration; returns whether any were added.
  bool grow(llvm::BitVector &varying) {
    values.clear();
    for (unsigned i : varying.set_bits())
      values.insert(body.getDataArgument(i));
    for (Node node : order)
      if (llvm::any_of(node.data(), [&](Value x) { return values.contains(x); }) &&
          !hasConstantInputs(node))
        for (Value result : node.results())
          if (b.hasGradient(result))
            values.insert(result);
    return addTo(varying, [&](unsigned i) {
      return values.contains(body.getReturn().getData()[i]) &&
             b.hasGradient(body.getDataArgument(i));
    });
  }

  /// Adds the variables that the results of those depend on; `values` are the varying ones.
  bool growBackward(llvm::BitVector &requested) {
    llvm::DenseSet<Value> needed;
    for (unsigned i : requested.set_bits())
      needed.insert(body.getReturn().getData()[i]);
    for (Node node : llvm::reverse(order))
      if (llvm::any_of(node.results(),
                       [&](Value y) { return needed.contains(y) && values.contains(y); }))
        for (Value input : node.data())
          needed.insert(input);
    return addTo(requested, [&](unsigned i) { return needed.contains(body.getDataArgument(i)); });
  }

private:
  bool addTo(llvm::BitVector &set, llvm::function_ref<bool(unsigned)> isIn) {
    unsigned before = set.count();
    for (unsigned i = 0; i < set.size(); ++i)
      if (!set[i] && isIn(i))
        set.set(i);
    return set.count() > before;
  }

  const Backpropagation &b;
  FuncOp body;
  std::vector<Node> order;
  llvm::DenseSet<Value> values;
};

} // namespace

llvm::BitVector activeVariables(const Backpropagation &b, FuncOp body, llvm::BitVector varying,
                                llvm::BitVector requested) {
  Variation variation(b, body);
  while (variation.grow(varying))
    ;
  while (variation.growBackward(requested))
    ;
  varying &= requested;
  return varying;
}

} // namespace treadle::tfg
