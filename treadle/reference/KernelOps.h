// The ops of the reference interpreter, computed by kernels one node at a time.
#pragma once

#include "treadle/reference/Interpreter.h"

namespace treadle::reference {

/// Runs each node with a plan of that node alone. Calls run as a whole, in program order.
class KernelOps final : public Ops {
public:
  KernelOps(const KernelRegistry &kernels, FunctionLibrary *functions)
      : kernels(kernels), functions(functions) {}

  /// Uses the resources, output and threads of this run from now on; it must outlive the following
  /// computations. Resets kernels with private state.
  void begin(RunState &newRun) {
    run = &newRun;
    plans.clear();
  }
  Expected<std::vector<Tensor>> compute(const GraphSpec &graph, int32_t node,
                                        std::vector<Tensor> inputs) override;

private:
  const KernelRegistry &kernels;
  FunctionLibrary *functions;
  RunState *run = nullptr;
  std::map<std::pair<const GraphSpec *, int32_t>, std::unique_ptr<Plan>> plans;
};

} // namespace treadle::reference
