#include "treadle/lowering/Gradients.h"

#include "mlir/Bytecode/BytecodeReader.h"
#include "mlir/Bytecode/BytecodeWriter.h"
#include "mlir/IR/Builders.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

namespace treadle {

ModuleGradients::ModuleGradients(const ModuleIndex &module)
    : functions(module.allFunctions()),
      target(mlir::ModuleOp::create(mlir::UnknownLoc::get(&context))),
      gradients(
          *target, [this](llvm::StringRef name) { return find(name); },
          [this](tfg::FuncOp made) {
            known[made.getName()] = made;
            functions.add(made);
          }) {
  context.loadDialect<tfg::TfgDialect, tf_type::TfTypeDialect>();
}

tfg::FuncOp ModuleGradients::find(llvm::StringRef name) {
  if (tfg::FuncOp function = known.lookup(name))
    return function;
  tfg::FuncOp original = functions.function(name);
  return original ? known[name] = copyOf(original) : original;
}

tfg::FuncOp ModuleGradients::copyOf(tfg::FuncOp original) {
  std::string bytes;
  llvm::raw_string_ostream stream(bytes);
  if (failed(mlir::writeBytecodeToFile(original, stream)) ||
      failed(mlir::readBytecodeFile(llvm::MemoryBufferRef(bytes, "function"), target->getBody(),
                                    &context)))
    return {};
  return mlir::cast<tfg::FuncOp>(target->getBody()->back());
}

} // namespace treadle
