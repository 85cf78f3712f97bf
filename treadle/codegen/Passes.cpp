// Registers the steps of the compiler as passes for treadle-opt.
#include "treadle/codegen/Passes.h"
#include "treadle/codegen/Cluster.h"
#include "treadle/codegen/Rc.h"

#include "mlir/AsmParser/AsmParser.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Complex/IR/Complex.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Pass/Pass.h"

using namespace mlir;

namespace treadle::codegen {

#define GEN_PASS_DECL
#define GEN_PASS_DEF_TRANSLATE
#define GEN_PASS_DEF_HOISTINVARIANTS
#define GEN_PASS_DEF_INTERCHANGELOOPS
#define GEN_PASS_DEF_FUSEELEMENTWISE
#define GEN_PASS_DEF_OUTLINE
#define GEN_PASS_DEF_BUFFERIZE
#define GEN_PASS_DEF_PLACELOCALLY
#define GEN_PASS_DEF_LOWERCONTROLFLOW
#define GEN_PASS_DEF_INSERTCOUNTS
#define GEN_PASS_DEF_ELIDECOUNTS
#define GEN_PASS_DEF_LOWERLOOPS
#define GEN_PASS_DEF_LOWERTOLLVM
#define GEN_PASS_REGISTRATION
#include "treadle/codegen/Passes.h.inc"

namespace {

/// A pass that runs one step; it may create ops of all dialects of the compiler.
template <typename Base> class Step : public Base {
public:
  using Base::Base;

protected:
  void getDependentDialects(DialectRegistry &registry) const override {
    insertCodegenDialects(registry);
  }

  /// Returns the function being compiled; fails the pass if there is none.
  func::FuncOp cluster() {
    auto function = this->getOperation().template lookupSymbol<func::FuncOp>("cluster");
    if (!function || function.isDeclaration()) {
      this->getOperation().emitError(
          "there is no 'func.func @cluster' with a body; run rc-translate first");
      this->signalPassFailure();
      return {};
    }
    return function;
  }

  void finish(LogicalResult result) {
    if (failed(result))
      this->signalPassFailure();
  }
};

/// Returns the class that a type describes; an error unless it is a tensor type.
Expected<ArgumentClass> classOf(Type type) {
  auto tensor = dyn_cast_if_present<TensorType>(type);
  if (!tensor)
    return Unexpected(
        invalidArgument("expected a tensor type as an argument's class, such as tensor<?x1xf32>"));
  ArgumentClass made;
  made.isRanked = tensor.hasRank();
  if (tensor.hasRank())
    for (int64_t dim : tensor.getShape())
      made.sizes.push_back(ShapedType::isDynamic(dim) ? ArgumentClass::any : dim);
  return made;
}

class TranslatePass : public Step<impl::TranslateBase<TranslatePass>> {
public:
  using Step::Step;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto function = module.lookupSymbol<tfg::FuncOp>(this->function);
    if (!function) {
      module.emitError() << "there is no function '" << this->function << "'";
      return signalPassFailure();
    }
    std::vector<ArgumentClass> classes;
    for (const std::string &text : arguments) {
      Expected<ArgumentClass> made = classOf(parseType(text, &getContext()));
      if (!made)
        return fail(made.error());
      classes.push_back(std::move(*made));
    }
    auto find = [&](StringRef name) { return module.lookupSymbol<tfg::FuncOp>(name); };
    TranslationOptions options;
    options.fastMath = fastMath;
    Expected<TensorProgram> program = translate(function, classes, find, getContext(), options);
    if (!program)
      return fail(program.error());
    module.getBody()->clear();
    module.getBody()->getOperations().splice(module.getBody()->end(),
                                             program->module->getBody()->getOperations());
  }

private:
  void fail(const Error &error) {
    getOperation().emitError(error.message);
    signalPassFailure();
  }
};

class HoistInvariantsPass : public Step<impl::HoistInvariantsBase<HoistInvariantsPass>> {
public:
  using Step::Step;
  void runOnOperation() override { hoistInvariants(getOperation()); }
};

class InterchangeLoopsPass : public Step<impl::InterchangeLoopsBase<InterchangeLoopsPass>> {
public:
  using Step::Step;
  void runOnOperation() override { interchangeLoops(getOperation()); }
};

class FuseElementwisePass : public Step<impl::FuseElementwiseBase<FuseElementwisePass>> {
public:
  using Step::Step;
  void runOnOperation() override { finish(fuseElementwise(getOperation())); }
};

class OutlinePass : public Step<impl::OutlineBase<OutlinePass>> {
public:
  using Step::Step;
  void runOnOperation() override {
    if (func::FuncOp function = cluster())
      outline(function, weight, 2 * weight);
  }
};

class BufferizePass : public Step<impl::BufferizeBase<BufferizePass>> {
public:
  using Step::Step;
  void runOnOperation() override {
    std::vector<Tensor> constants;
    if (cluster())
      finish(bufferize(getOperation(), constants));
  }
};

class PlaceLocallyPass : public Step<impl::PlaceLocallyBase<PlaceLocallyPass>> {
public:
  using Step::Step;
  void runOnOperation() override {
    if (cluster())
      placeLocally(getOperation());
  }
};

class LowerControlFlowPass : public Step<impl::LowerControlFlowBase<LowerControlFlowPass>> {
public:
  using Step::Step;
  void runOnOperation() override { finish(lowerControlFlow(getOperation())); }
};

class InsertCountsPass : public Step<impl::InsertCountsBase<InsertCountsPass>> {
public:
  using Step::Step;
  void runOnOperation() override {
    if (cluster())
      insertCounts(getOperation());
  }
};

class ElideCountsPass : public Step<impl::ElideCountsBase<ElideCountsPass>> {
public:
  using Step::Step;
  void runOnOperation() override {
    if (cluster())
      elideCounts(getOperation());
  }
};

class LowerLoopsPass : public Step<impl::LowerLoopsBase<LowerLoopsPass>> {
public:
  using Step::Step;
  void runOnOperation() override { finish(lowerLoops(getOperation())); }
};

class LowerToLlvmPass : public Step<impl::LowerToLlvmBase<LowerToLlvmPass>> {
public:
  using Step::Step;
  void runOnOperation() override { finish(lowerToLlvm(getOperation())); }
};

} // namespace

void insertCodegenDialects(DialectRegistry &registry) {
  registry.insert<arith::ArithDialect, cf::ControlFlowDialect, complex::ComplexDialect,
                  func::FuncDialect, LLVM::LLVMDialect, linalg::LinalgDialect, math::MathDialect,
                  memref::MemRefDialect, rc::RcDialect, scf::SCFDialect, tensor::TensorDialect,
                  tfg::TfgDialect, tf_type::TfTypeDialect, vector::VectorDialect>();
}

void registerCodegenPasses() { registerRcPasses(); }

} // namespace treadle::codegen
