#include "treadle/transforms/region_to_functional/SameFunction.h"
#include "treadle/rewriting/RegionForms.h"

#include "llvm/ADT/DenseMap.h"

using namespace mlir;

namespace treadle::tfg {

static bool isSameSignature(FuncOp left, FuncOp right) {
  auto attrsOf = [](FuncOp function) {
    NamedAttrList attrs(preservedAttrs(function));
    attrs.erase(function.getSymNameAttrName());
    return attrs.getDictionary(function.getContext());
  };
  return !left.isExternal() && !left.getGeneric() &&
         areCompatible(left.getArgumentTypes(), right.getArgumentTypes()) &&
         areCompatible(left.getResultTypes(), right.getResultTypes()) &&
         attrsOf(left) == attrsOf(right);
}

static bool isSameOperation(Operation &left, Operation &right) {
  if (left.getName() != right.getName() || left.getNumRegions() != 0 ||
      right.getNumRegions() != 0 || left.getNumOperands() != right.getNumOperands() ||
      left.getResultTypes() != right.getResultTypes())
    return false;
  return isa<ReturnOp>(left) ||
         left.getDiscardableAttrDictionary() == right.getDiscardableAttrDictionary();
}

bool isSameFunction(FuncOp left, FuncOp right) {
  if (!isSameSignature(left, right))
    return false;
  Block &ours = left.getEntry(), &theirs = right.getEntry();
  llvm::DenseMap<Value, Value> counterpart;
  for (auto [a, b] : llvm::zip(ours.getArguments(), theirs.getArguments()))
    counterpart[a] = b;
  auto a = ours.begin(), b = theirs.begin();
  for (; a != ours.end() && b != theirs.end(); ++a, ++b) {
    if (!isSameOperation(*a, *b))
      return false;
    for (auto [from, to] : llvm::zip(a->getResults(), b->getResults()))
      counterpart[from] = to;
  }
  if (a != ours.end() || b != theirs.end())
    return false;
  // Compares edges last, because a node may use later nodes.
  return llvm::all_of(llvm::zip(ours, theirs), [&](auto pair) {
    return llvm::all_of(llvm::zip(std::get<0>(pair).getOperands(), std::get<1>(pair).getOperands()),
                        [&](auto values) {
                          return counterpart.lookup(std::get<0>(values)) == std::get<1>(values);
                        });
  });
}

} // namespace treadle::tfg
