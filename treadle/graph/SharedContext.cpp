#include "treadle/graph/SharedContext.h"

#include "llvm/Support/ThreadPool.h"

namespace treadle {
namespace {

/// MLIR locks where it may use threads. These tasks run where they are given.
class NoThreads final : public llvm::ThreadPoolInterface {
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

void share(mlir::MLIRContext &context) {
  static NoThreads noThreads;
  context.setThreadPool(noThreads);
}

} // namespace treadle
