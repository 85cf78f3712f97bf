// Machine code from a module of LLVM's dialect.
#pragma once

#include "treadle/codegen/Jit.h"
#include "treadle/runtime/InstructionSet.h"

#include "mlir/IR/BuiltinOps.h"

#include <atomic>

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

/// Optimizes, and writes an object file. Cancelled where the flag was seen; it may be null. Counts
/// what the code does where that is given.
Expected<std::unique_ptr<llvm::MemoryBuffer>>
toObject(llvm::Module &module, llvm::TargetMachine &target,
         const std::atomic<bool> *isCancelled = nullptr, MeteredCode *metered = nullptr);

/// A processor of this level, or else this machine's own, or the level that is asked for
/// (InstructionSet.h), for code that a linker puts where it likes.
Expected<std::unique_ptr<llvm::TargetMachine>> linkTarget(std::optional<InstructionSet> level);

/// Any processor of AArch64 with Linux, for the same.
Expected<std::unique_ptr<llvm::TargetMachine>> aarch64LinkTarget();

/// This machine's processor with its features, as far as code depends on them.
Expected<std::string> hostDescription();

/// An object file for this machine, for `load`.
Expected<std::unique_ptr<llvm::MemoryBuffer>> generate(mlir::ModuleOp module,
                                                       const std::atomic<bool> *isCancelled,
                                                       MeteredCode *metered = nullptr);

/// Links an object file that `generate` made, perhaps in another process, with the runtime's
/// functions. Internal for names that nobody has.
Expected<std::unique_ptr<MachineCode>> load(std::unique_ptr<llvm::MemoryBuffer> object);

} // namespace treadle::codegen
