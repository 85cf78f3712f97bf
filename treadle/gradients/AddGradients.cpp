#include "treadle/gradients/AddGradients.h"

#include "treadle/gradients/Backpropagation.h"
#include "treadle/gradients/TensorArraySource.h"
#include "treadle/rewriting/Outline.h"

using namespace mlir;

namespace treadle::tfg {

static Expected<Value> onesLike(Backpropagation &b, Value y) {
  Type element = elementOf(y);
  if (!b.hasGradient(y))
    return Value();
  if (isa<FloatType>(element))
    return b.emitter.same("OnesLike", y);
  return Unexpected(invalidArgument("the gradient of '", nameOf(y).str(),
                                    "' has no default, because the value isn't a real number; pass "
                                    "its gradient"));
}

/// Gives the gradient TensorArrays of this request a source name that is unique in the module.
static void nameArraySource(ModuleOp module) {
  llvm::StringSet<> taken;
  SmallVector<Operation *> fresh;
  module.walk([&](Operation *op) {
    if (!Node::isNode(op) || !Node(op).opType().starts_with("TensorArrayGrad"))
      return;
    auto source = Node(op).attr<StringAttr>("source");
    if (source && source.getValue() == newArraySource)
      fresh.push_back(op);
    else if (source)
      taken.insert(source.getValue());
  });
  std::string name = "gradients";
  for (unsigned suffix = 1; taken.contains(name); ++suffix)
    name = "gradients_" + std::to_string(suffix);
  for (Operation *op : fresh)
    op->setDiscardableAttr("source", StringAttr::get(module.getContext(), name));
}

Expected<SmallVector<Value>> addGradients(ModuleOp module, Block &body,
                                          const GradientsRequest &request) {
  FunctionMap functions = functionsOf(module);
  SymbolicGradients library(
      module, [&](StringRef name) { return functions.lookup(name); },
      [&](FuncOp made) { functions[made.getName()] = made; });
  Backpropagation backpropagation(body, library, Backpropagation::Dtypes::Differentiable);
  SmallVector<Value> dys = request.dys;
  dys.resize(request.ys.size());
  for (auto [y, dy] : llvm::zip(request.ys, dys)) {
    if (dy)
      continue;
    backpropagation.emitter.setOrigin(nameOf(y));
    Value ones = TREADLE_TRY(onesLike(backpropagation, y));
    dy = ones;
  }
  Values gradients = TREADLE_TRY(backpropagation.run({request.ys, dys, request.xs, request.stops}));
  backpropagation.emitter.eraseUnused(gradients);
  nameArraySource(module);
  return SmallVector<Value>(gradients.begin(), gradients.end());
}

} // namespace treadle::tfg
