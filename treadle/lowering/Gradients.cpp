#include "treadle/lowering/Gradients.h"

#include "mlir/IR/Builders.h"

namespace treadle {

ModuleGradients::ModuleGradients(const ModuleIndex &module)
    : functions(module.context(), module.allFunctions()),
      target(mlir::ModuleOp::create(mlir::UnknownLoc::get(module.context()))),
      gradients(
          *target, [this](llvm::StringRef name) { return find(name); },
          [this](tfg::FuncOp made) {
            known[made.getName()] = made;
            functions.add(made);
          }) {}

tfg::FuncOp ModuleGradients::find(llvm::StringRef name) {
  if (tfg::FuncOp function = known.lookup(name))
    return function;
  tfg::FuncOp original = functions.function(name);
  return original ? known[name] = copyOf(original) : original;
}

tfg::FuncOp ModuleGradients::copyOf(tfg::FuncOp original) {
  tfg::FuncOp copy = original.clone();
  target->push_back(copy);
  return copy;
}

} // namespace treadle
