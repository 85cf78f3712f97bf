#include "treadle/graph/SharedContext.h"

#include "treadle/dialect/TfExecutor.h"
#include "treadle/dialect/Tfg.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/Support/ThreadPool.h"

namespace treadle {
namespace {

/// MLIR locks only if multithreading is enabled, which takes a thread pool. This one runs its tasks
/// inline.
class InlineThreadPool final : public llvm::ThreadPoolInterface {
public:
  void wait() override {}
  void wait(llvm::ThreadPoolTaskGroup &) override {}
  unsigned getMaxConcurrency() const override { return 1; }

private:
  void asyncEnqueue(llvm::unique_function<void()> task, llvm::ThreadPoolTaskGroup *) override {
    task();
  }
};

} // namespace

std::unique_ptr<mlir::MLIRContext> makeContext() {
  mlir::DialectRegistry registry; // passes load their dependent dialects
  registry.insert<mlir::func::FuncDialect, tf_executor::TfExecutorDialect, tf::TfDialect,
                  tf_type::TfTypeDialect, tfg::TfgDialect>();
  auto context =
      std::make_unique<mlir::MLIRContext>(registry, mlir::MLIRContext::Threading::DISABLED);
  context->loadAllAvailableDialects();
  return context;
}

void share(mlir::MLIRContext &context) {
  static InlineThreadPool noThreads;
  context.setThreadPool(noThreads);
}

} // namespace treadle
