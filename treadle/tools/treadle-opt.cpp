// treadle-opt: mlir-opt for Treadle's dialects and passes.
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "mlir/Transforms/Passes.h"
#include "treadle/codegen/Passes.h"
#include "treadle/dialect/TfExecutor.h"
#include "treadle/dialect/Tfg.h"
#include "treadle/dialect/stablehlo/StableHlo.h"
#include "treadle/transforms/Passes.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  registry.insert<mlir::func::FuncDialect, treadle::tf::TfDialect,
                  treadle::tf_executor::TfExecutorDialect, treadle::tf_type::TfTypeDialect,
                  treadle::tfg::TfgDialect>();
  treadle::stablehlo::insertDialects(registry);
  treadle::codegen::insertCodegenDialects(registry);
  mlir::registerCanonicalizerPass();
  mlir::registerCSEPass();
  treadle::registerTreadlePasses();
  treadle::registerTreadlePipelines();
  treadle::codegen::registerCodegenPasses();
  return mlir::asMainReturnCode(
      mlir::MlirOptMain(argc, argv, "Treadle's optimizer driver\n", registry));
}
