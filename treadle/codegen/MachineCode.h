// Machine code from a module of LLVM's dialect.
#pragma once

#include "treadle/codegen/Jit.h"

#include "mlir/IR/BuiltinOps.h"

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

/// Optimizes and compiles for this machine's CPU, and links with the runtime's functions.
Expected<std::unique_ptr<MachineCode>> generate(mlir::ModuleOp module);

} // namespace treadle::codegen
