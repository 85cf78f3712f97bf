#include "treadle/runtime/DataflowState.h"

#include <algorithm>
#include <cstring>
#include <new>

namespace treadle::dataflow {

Iteration *Iteration::make(FrameExecution *frame, int64_t number, const PlanFrame &shape) {
  size_t counters = (sizeof(NodeCounter) * shape.counters.size() + 7) & ~size_t{7};
  void *memory = std::malloc(sizeof(Iteration) + counters + sizeof(Tensor) * shape.numInputs);
  if (!memory)
    throw std::bad_alloc();
  auto *it = new (memory) Iteration{frame, number, 0, {}, nullptr, nullptr};
  char *after = reinterpret_cast<char *>(it + 1);
  it->counters = reinterpret_cast<NodeCounter *>(after);
  it->inputs = reinterpret_cast<Tensor *>(after + counters);
  std::uninitialized_default_construct_n(it->inputs, shape.numInputs);
  it->restart(number, shape);
  return it;
}

void Iteration::restart(int64_t newNumber, const PlanFrame &shape) {
  number = newNumber;
  outstanding = 0;
  std::ranges::copy(shape.counters, counters);
}

void Iteration::destroy(Iteration *it, const PlanFrame &shape) {
  std::destroy_n(it->inputs, shape.numInputs);
  it->~Iteration();
  std::free(it);
}

FrameExecution::~FrameExecution() {
  for (Iteration *it : live)
    Iteration::destroy(it, shape());
  for (Iteration *it : spare)
    Iteration::destroy(it, shape());
}

} // namespace treadle::dataflow
