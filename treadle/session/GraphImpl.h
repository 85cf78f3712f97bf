// Internal to the session folder: what a Graph holds.
#pragma once

#include "treadle/lowering/Lowering.h"
#include "treadle/treadle.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"

#include <mutex>

namespace treadle {

struct Graph::Impl {
  explicit Impl(std::unique_ptr<mlir::MLIRContext> context,
                mlir::OwningOpRef<mlir::ModuleOp> module)
      : context(std::move(context)), module(std::move(module)) {}

  /// Made when first asked for; thread-safe.
  const ModuleIndex &index() const {
    std::call_once(indexed, [this] { moduleIndex = std::make_unique<ModuleIndex>(*module); });
    return *moduleIndex;
  }

  const std::unique_ptr<mlir::MLIRContext> context;
  mutable mlir::OwningOpRef<mlir::ModuleOp> module;

private:
  mutable std::once_flag indexed;
  mutable std::unique_ptr<ModuleIndex> moduleIndex;
};

/// The shape that a placeholder states; unknown for other nodes.
PartialShape feedShape(const ModuleIndex &index, llvm::StringRef node);

} // namespace treadle
