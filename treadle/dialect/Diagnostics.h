// Diagnostic handlers for contexts that several threads use.
#pragma once

#include "mlir/IR/Diagnostics.h"
#include "llvm/Support/Threading.h"

#include <string>

namespace treadle {

/// Handles the diagnostics that this thread emits while it is alive. Diagnostics of other threads
/// go to their own handlers.
class ThreadDiagnostics {
public:
  template <typename Take>
  ThreadDiagnostics(mlir::MLIRContext *context, Take take)
      : handler(context, [thread = llvm::get_threadid(), take](mlir::Diagnostic &diagnostic) {
          if (llvm::get_threadid() != thread)
            return mlir::failure();
          take(diagnostic);
          return mlir::success();
        }) {}

private:
  mlir::ScopedDiagnosticHandler handler;
};

/// Records the first error that this thread emits.
class FirstError {
public:
  explicit FirstError(mlir::MLIRContext *context)
      : handler(context, [this](mlir::Diagnostic &diagnostic) {
          if (message.empty() && diagnostic.getSeverity() == mlir::DiagnosticSeverity::Error)
            message = diagnostic.str();
        }) {}

  std::string message; // empty if there was none

private:
  ThreadDiagnostics handler;
};

} // namespace treadle
