// Shared by the tests of the importer: imports graphs written as text.
#pragma once

#include "treadle/dialect/Tfg.h"
#include "treadle/import/GraphDef.h"

#include "mlir/IR/Verifier.h"

#include <gtest/gtest.h>

namespace treadle {

class ImportTest : public testing::Test {
protected:
  /// Imports a graph in text form and verifies the module; null with `message` set if the import
  /// fails.
  void import(std::string_view text) {
    take(importGraphDefText(context, text));
    if (!module)
      return;
    EXPECT_TRUE(succeeded(mlir::verify(*module)));
    module->walk([&](mlir::Operation *op) {
      if (tfg::Node::isNode(op))
        nodes[tfg::Node(op).name()] = op;
    });
  }

  void take(Expected<mlir::OwningOpRef<mlir::ModuleOp>> imported) {
    message = imported ? "" : imported.error().message;
    if (!imported)
      EXPECT_EQ(imported.error().code, Code::InvalidArgument);
    module = imported ? std::move(*imported) : mlir::OwningOpRef<mlir::ModuleOp>();
  }

  std::string errorOf(std::string_view text) {
    import(text);
    return message;
  }

  std::string print() {
    std::string text;
    llvm::raw_string_ostream(text) << *module;
    return text;
  }

  mlir::Attribute attr(llvm::StringRef node, llvm::StringRef key) {
    tfg::Node found = nodes.lookup(node);
    return found ? found.attr(key) : mlir::Attribute();
  }

  mlir::MLIRContext context{mlir::MLIRContext::Threading::DISABLED};
  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::string message;
  llvm::StringMap<tfg::Node> nodes;
};

} // namespace treadle
