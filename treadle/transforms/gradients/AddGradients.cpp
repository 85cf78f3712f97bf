#include "treadle/transforms/gradients/AddGradients.h"

#include "treadle/transforms/gradients/Backpropagation.h"
#include "treadle/transforms/rewriting/Outline.h"

using namespace mlir;

namespace treadle::tfg {

static Expected<Value> onesLike(Backpropagation &b, Value y) {
  Type element = elementOf(y);
  if (!b.hasGradient(y))
    return Value();
  if (isa<FloatType>(element))
    return b.emitter.same("OnesLike", y);
  return Unexpected(invalidArgument("the gradient of '", nameOf(y).str(),
                                    "' can't begin with ones, since it is no real number; give "
                                    "the gradient to begin with"));
}

Expected<SmallVector<Value>> addGradients(ModuleOp module, Block &body,
                                          const GradientsRequest &request) {
  llvm::StringMap<FuncOp> functions;
  for (FuncOp function : module.getOps<FuncOp>())
    functions[function.getName()] = function;
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
    Expected<Value> ones = onesLike(backpropagation, y);
    if (!ones)
      return Unexpected(std::move(ones.error()));
    dy = *ones;
  }
  Expected<Values> gradients = backpropagation.run({request.ys, dys, request.xs, request.stops});
  if (!gradients)
    return Unexpected(std::move(gradients.error()));
  backpropagation.emitter.eraseUnused(*gradients);
  return SmallVector<Value>(gradients->begin(), gradients->end());
}

} // namespace treadle::tfg
