// Shared by the tests of analyses: modules parsed from text, and their nodes by name.
#pragma once

#include "treadle/dialect/Tfg.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

namespace treadle::tfg {

class AnalysisTest : public testing::Test {
protected:
  AnalysisTest() { context.loadDialect<TfgDialect>(); }

  void parse(const std::string &text) {
    module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
    ASSERT_TRUE(module);
    module->walk([&](mlir::Operation *op) {
      if (Node::isNode(op))
        nodes[Node(op).name()] = Node(op);
    });
  }

  /// Parses the nodes as the body of a graph.
  void parseGraph(const std::string &body, const std::string &functions = "") {
    parse("tfg.graph #tf_type.version<producer = 1482, min_consumer = 0> {\n" + body + "}\n" +
          functions);
  }

  GraphOp graph() { return *module->getOps<GraphOp>().begin(); }

  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  llvm::StringMap<Node> nodes;
};

/// Return the lines of a graph for a variable's handle, and for writes and reads of it.
inline std::string variable(const std::string &name) {
  return "%" + name + ", %" + name + "c = VarHandleOp name(\"" + name + "\") {shared_name = \"" +
         name + "\", container = \"\", dtype = f32} : () -> (tensor<!tf_type.resource>)\n";
}
inline std::string constant(const std::string &name, const std::string &control = "") {
  return "%" + name + ", %" + name + "c = Const " + control + " name(\"" + name +
         "\") {dtype = f32, value = dense<1.0> : tensor<f32>} : () -> (tensor<f32>)\n";
}
inline std::string assign(const std::string &name, const std::string &handle,
                          const std::string &value, const std::string &control = "") {
  return "%" + name + " = AssignVariableOp(%" + handle + ", %" + value + ") " + control +
         " name(\"" + name + "\") {dtype = f32} : tensor<!tf_type.resource>, tensor<f32>\n";
}
inline std::string read(const std::string &name, const std::string &handle,
                        const std::string &control = "") {
  return "%" + name + ", %" + name + "c = ReadVariableOp(%" + handle + ") " + control + " name(\"" +
         name + "\") {dtype = f32} : (tensor<!tf_type.resource>) -> (tensor<f32>)\n";
}

} // namespace treadle::tfg
