#include "treadle/dialect/Tfg.h"
#include "treadle/import/TfExecutor.h"
#include "treadle/transforms/Passes.h"

namespace treadle {

#define GEN_PASS_DEF_TFEXECUTORTOTFG
#include "treadle/transforms/Passes.h.inc"

namespace {

struct TfExecutorToTfg : impl::TfExecutorToTfgBase<TfExecutorToTfg> {
  using Base::Base;

  void runOnOperation() override {
    if (failed(importTfExecutor(getOperation())))
      signalPassFailure();
  }
};

} // namespace
} // namespace treadle
