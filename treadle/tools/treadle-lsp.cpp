// treadle-lsp: mlir-lsp-server for Treadle's dialects.
#include "mlir/IR/DialectRegistry.h"
#include "mlir/Tools/mlir-lsp-server/MlirLspServerMain.h"
#include "treadle/dialect/Tfg.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  registry.insert<treadle::tf_type::TfTypeDialect, treadle::tfg::TfgDialect>();
  return mlir::failed(mlir::MlirLspServerMain(argc, argv, registry));
}
