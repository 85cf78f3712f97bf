// Functions in text, compiled and run: what the tests of generated code share.
#pragma once

#include "treadle/codegen/Cluster.h"
#include "treadle/codegen/Jit.h"
#include "treadle/kernels/Families.h"
#include "treadle/runtime/ThreadPool.h"

#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

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

class CodegenTest : public testing::Test {
protected:
  CodegenTest() {
    context.loadDialect<tfg::TfgDialect>();
    liveBefore = Tensor::liveBytes();
  }

  /// The function `f` of a module, for arguments of these classes.
  void build(const std::string &text, const std::vector<Tensor> &arguments) {
    module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
    ASSERT_TRUE(module);
    std::vector<ArgumentClass> classes;
    for (const Tensor &argument : arguments)
      classes.push_back(ArgumentClass::of(argument));
    auto find = [&](llvm::StringRef name) { return module->lookupSymbol<tfg::FuncOp>(name); };
    Expected<TensorProgram> program = translate(find("f"), classes, find, context);
    ASSERT_TRUE(program) << program.error().message;
    Expected<std::shared_ptr<const CompiledCluster>> made =
        compile(std::move(*program), builtinKernels());
    ASSERT_TRUE(made) << made.error().message;
    compiled = *made;
    numResults = find("f").getReturn()->getNumOperands();
  }

  /// Runs what was built; no results where it bails.
  std::vector<Tensor> call(std::vector<Tensor> arguments) {
    ResourceManager resources;
    RunState run(resources, threads);
    std::vector<Tensor> results(numResults);
    ClusterStatistics before = clusterStatistics();
    bool finished = compiled->run(arguments, results, run);
    ClusterStatistics after = clusterStatistics();
    allocations = after.allocations - before.allocations;
    reuses = after.reuses - before.reuses;
    if (!finished)
      results.clear();
    return results;
  }

  std::vector<Tensor> buildAndCall(const std::string &text, std::vector<Tensor> arguments) {
    build(text, arguments);
    return compiled ? call(std::move(arguments)) : std::vector<Tensor>();
  }

  ThreadPool *threads = nullptr; // beside the caller's own
  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::shared_ptr<const CompiledCluster> compiled;
  size_t numResults = 0;
  uint64_t allocations = 0, reuses = 0;
  int64_t liveBefore = 0;
};

// Functions in text: a header, nodes, and what is returned.
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

} // namespace treadle::codegen
