// treadle-opt: mlir-opt for our dialects and passes.
#include "mlir/IR/DialectRegistry.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "mlir/Transforms/Passes.h"
#include "treadle/dialect/Tfg.h"
#include "treadle/transforms/Passes.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  registry.insert<treadle::tf_type::TfTypeDialect, treadle::tfg::TfgDialect>();
  mlir::registerCanonicalizerPass();
  mlir::registerCSEPass();
  treadle::registerTreadlePasses();
  treadle::registerTreadlePipelines();
  return mlir::asMainReturnCode(
      mlir::MlirOptMain(argc, argv, "Treadle's optimizer driver\n", registry));
}
