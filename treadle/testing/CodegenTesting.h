// Shared by the tests of generated code: compiles and runs functions given as text.
#pragma once

#include "treadle/codegen/Cluster.h"
#include "treadle/codegen/Jit.h"
#include "treadle/kernels/Families.h"
#include "treadle/runtime/ThreadPool.h"

#include "mlir/IR/AttrTypeSubElements.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"

#include <functional>
#include <gtest/gtest.h>
#include <thread>

namespace treadle::codegen {

inline Tensor f32(std::vector<float> values, std::vector<int64_t> dims) {
  Tensor t = *Tensor::make(DType::Float32, dims);
  std::copy(values.begin(), values.end(), t.data<float>());
  return t;
}
inline Tensor row(std::vector<float> values) {
  int64_t size = static_cast<int64_t>(values.size());
  return f32(std::move(values), {size});
}
inline Tensor i32(int32_t value) { return Tensor::scalar(DType::Int32, value); }
inline Tensor scalar(float value) { return Tensor::scalar(DType::Float32, value); }

inline std::vector<float> floats(const Tensor &tensor) {
  auto values = tensor.values<float>();
  return {values.begin(), values.end()};
}

/// Checks that types and attributes belong to this context.
inline void expectAllOf(mlir::MLIRContext &context, mlir::ModuleOp module) {
  auto isForeign = [&](auto part) { return part && part.getContext() != &context; };
  mlir::AttrTypeWalker walker;
  bool allOwn = true;
  walker.addWalk([&](mlir::Attribute attr) { allOwn &= !isForeign(attr); });
  walker.addWalk([&](mlir::Type type) { allOwn &= !isForeign(type); });
  module.walk([&](mlir::Operation *op) {
    walker.walk(op->getAttrDictionary());
    for (mlir::Type type : op->getResultTypes())
      walker.walk(type);
    for (mlir::Region &region : op->getRegions())
      for (mlir::Block &block : region)
        for (mlir::Type type : block.getArgumentTypes())
          walker.walk(type);
    EXPECT_TRUE(allOwn) << op->getName().getStringRef().str();
    return allOwn ? mlir::WalkResult::advance() : mlir::WalkResult::interrupt();
  });
}

class CodegenTest : public testing::Test {
protected:
  CodegenTest() {
    context.loadDialect<tfg::TfgDialect>();
    liveBefore = Tensor::liveBytes();
  }

  /// Compiles the function `f` of a module for the classes of these arguments.
  void build(const std::string &text, const std::vector<Tensor> &arguments) {
    module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
    ASSERT_TRUE(module);
    std::vector<ArgumentClass> classes;
    classes.reserve(arguments.size());
    for (const Tensor &argument : arguments)
      classes.push_back(ArgumentClass::of(argument));
    auto find = [&](llvm::StringRef name) { return module->lookupSymbol<tfg::FuncOp>(name); };
    Expected<TensorProgram> program = translate(find("f"), classes, find, code, options);
    ASSERT_TRUE(program) << program.error().message;
    expectAllOf(code, *program->module);
    numKernels = program->tables.kernels.size();
    Expected<std::shared_ptr<const CompiledCluster>> made =
        compile(std::move(*program), builtinKernels());
    ASSERT_TRUE(made) << made.error().message;
    compiled = *made;
    numResults = find("f").getReturn()->getNumOperands();
  }

  /// Runs the compiled function. Returns no results if it bails out.
  std::vector<Tensor> call(std::vector<Tensor> arguments) {
    ResourceManager resources;
    RunState run(resources, threads);
    std::vector<Tensor> results(numResults);
    ClusterCounters counters;
    std::jthread other([&] {
      if (meanwhile)
        meanwhile(run);
    });
    Expected<bool> finished = compiled->run(arguments, results, run, &counters);
    EXPECT_TRUE(finished) << finished.error().message;
    allocations = counters.allocations;
    copies = counters.copies;
    reuses = counters.reuses;
    if (!finished || !*finished)
      results.clear();
    return results;
  }

  std::vector<Tensor> buildAndCall(const std::string &text, std::vector<Tensor> arguments) {
    build(text, arguments);
    return compiled ? call(std::move(arguments)) : std::vector<Tensor>();
  }

  TranslationOptions options;
  ThreadPool *threads = nullptr;             // in addition to the caller
  std::function<void(RunState &)> meanwhile; // runs on another thread during a call
  mlir::MLIRContext context, code;           // of the graph, and of the generated code
  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::shared_ptr<const CompiledCluster> compiled;
  size_t numResults = 0, numKernels = 0;
  uint64_t allocations = 0, copies = 0, reuses = 0;
  int64_t liveBefore = 0;
};

// Text of functions: header, nodes, and return values.
inline std::string constant(const std::string &name, const std::string &type,
                            const std::string &value) {
  return "%" + name + ", %" + name + "_ctl = Const name(\"" + name + "\") {dtype = " + type +
         ", value = dense<" + value + "> : tensor<" + type + ">} : () -> (tensor<" + type + ">)\n";
}
inline std::string op(const std::string &name, const std::string &op, const std::string &operands,
                      const std::string &attrs, const std::string &types) {
  return "%" + name + ", %" + name + "_ctl = " + op + "(" + operands + ") name(\"" + name +
         "\") {" + attrs + "} : " + types + "\n";
}

// while (i < n) { i += 1; ... }
inline std::string loopOf(const std::string &type, const std::string &body,
                          const std::string &results) {
  auto arguments = [&] {
    return "%i: tensor<i32> {tfg.name = \"i\"}, %n: tensor<i32> {tfg.name = \"n\"}, %x: " + type +
           " {tfg.name = \"x\"}, %y: " + type + " {tfg.name = \"y\"}";
  };
  std::string types = "tensor<i32>, tensor<i32>, " + type + ", " + type;
  std::string named = "tensor<i32> {tfg.name = \"a\"}, tensor<i32> {tfg.name = \"b\"}, " + type +
                      " {tfg.name = \"c\"}, " + type + " {tfg.name = \"d\"}";
  return "tfg.func @cond(" + arguments() + ") -> (tensor<i1> {tfg.name = \"p\"}) {\n" +
         op("p", "Less", "%i, %n", "T = i32", "(tensor<i32>, tensor<i32>) -> (tensor<i1>)") +
         "return(%p) : tensor<i1> }\n" + "tfg.func @body(" + arguments() + ") -> (" + named +
         ") {\n" + constant("one", "i32", "1") +
         op("next", "AddV2", "%i, %one", "T = i32", "(tensor<i32>, tensor<i32>) -> (tensor<i32>)") +
         body + "return(%next, %n, " + results + ") : " + types + " }\n" + "tfg.func @f(" +
         arguments() + ") -> (" + named + ") {\n" +
         "%w:4, %wc = While(%i, %n, %x, %y) name(\"w\") {T = [i32, i32, f32, f32], cond = "
         "#tf_type.func<@cond, {}>, body = #tf_type.func<@body, {}>, output_shapes = [], "
         "parallel_iterations = 10 : i64} : (" +
         types + ") -> (" + types + ")\n" + "return(%w#0, %w#1, %w#2, %w#3) : " + types + " }\n";
}

} // namespace treadle::codegen
