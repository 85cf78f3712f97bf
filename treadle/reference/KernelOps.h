// The ops of the reference machine as the kernels compute them, one node at a time.
#pragma once

#include "treadle/reference/Machine.h"

namespace treadle::reference {

/// Computes a node by a plan of that node alone. Calls run as a whole, in program order.
class KernelOps final : public Ops {
public:
  KernelOps(const KernelRegistry &kernels, FunctionLibrary *functions)
      : kernels(kernels), functions(functions) {}

  /// Whose resources, prints and threads are used from now on; outlives the next computations.
  /// Kernels that have a state of their own begin anew.
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
