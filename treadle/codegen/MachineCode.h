// Compiles modules of the LLVM dialect to machine code.
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

/// Machine code loaded into this process; unloaded with the object.
class MachineCode {
public:
  MachineCode(void *entry, std::shared_ptr<void> owner) : entry(entry), owner(std::move(owner)) {}
  MachineCode(MachineCode &&) = default;

  void *entry; // address of `cluster`

private:
  std::shared_ptr<void> owner;
};

/// Translates to LLVM IR for the CPU of `target`, without optimization.
Expected<std::unique_ptr<llvm::Module>> toLlvm(mlir::ModuleOp module, llvm::LLVMContext &context,
                                               const llvm::TargetMachine &target);

/// Optimizes a module and writes an object file. Returns Cancelled if the flag, which may be null,
/// was set. Adds counters if `metered` isn't null.
Expected<std::unique_ptr<llvm::MemoryBuffer>>
toObject(llvm::Module &module, llvm::TargetMachine &target,
         const std::atomic<bool> *isCancelled = nullptr, MeteredCode *metered = nullptr);

/// Returns a target for code that a linker places: a processor of `level`; by default of the
/// requested level (InstructionSet.h), or else this machine's.
Expected<std::unique_ptr<llvm::TargetMachine>> linkTarget(std::optional<InstructionSet> level);

/// Returns such a target for any AArch64 processor with Linux.
Expected<std::unique_ptr<llvm::TargetMachine>> aarch64LinkTarget();

/// Describes this processor and its features, as far as generated code depends on them.
Expected<std::string> hostDescription();

/// Compiles an object file for this machine, to be passed to `load`.
Expected<std::unique_ptr<llvm::MemoryBuffer>> generate(mlir::ModuleOp module,
                                                       const std::atomic<bool> *isCancelled,
                                                       MeteredCode *metered = nullptr);

/// Loads an object file that `generate` created, possibly in another process, and links it with the
/// runtime functions. Returns Internal if a name can't be resolved.
Expected<std::unique_ptr<MachineCode>> load(std::unique_ptr<llvm::MemoryBuffer> object);

} // namespace treadle::codegen
