// Machine code from a module of LLVM's dialect.
#pragma once

#include "treadle/codegen/Jit.h"

#include "mlir/IR/BuiltinOps.h"

namespace llvm {
class LLVMContext;
class MemoryBuffer;
class Module;
class TargetMachine;
} // namespace llvm

namespace treadle::codegen {

/// Machine code in this process; gone with the object.
class MachineCode {
public:
  MachineCode(void *entry, std::shared_ptr<void> owner) : entry(entry), owner(std::move(owner)) {}
  MachineCode(MachineCode &&) = default;

  void *entry; // of `cluster`

private:
  std::shared_ptr<void> owner;
};

/// Translated to LLVM, for the CPU of `target`, and not optimized yet.
Expected<std::unique_ptr<llvm::Module>> toLlvm(mlir::ModuleOp module, llvm::LLVMContext &context,
                                               const llvm::TargetMachine &target);

/// Optimizes, and writes an object file.
Expected<std::unique_ptr<llvm::MemoryBuffer>> toObject(llvm::Module &module,
                                                       llvm::TargetMachine &target);

/// This machine's CPU, for code that a linker puts where it likes.
Expected<std::unique_ptr<llvm::TargetMachine>> hostTarget();

/// Optimizes and compiles for this machine's CPU, and links with the runtime's functions.
Expected<std::unique_ptr<MachineCode>> generate(mlir::ModuleOp module);

} // namespace treadle::codegen
