// The executors' side of an OpContext: what they set before a kernel is called, and take after it.
#pragma once

#include "treadle/runtime/Kernel.h"

namespace treadle {

/// One execution of one node. Every OpContext is one.
class Execution final : public OpContext {
public:
  static Execution &of(OpContext &ctx) { return static_cast<Execution &>(ctx); }

  using OpContext::bases; // values of this activation, constants of the plan
  using OpContext::boundState;
  using OpContext::error;
  using OpContext::executor; // null: an op that waits holds the thread
  using OpContext::inputCount;
  using OpContext::inputIndex; // as InputIndex says
  using OpContext::outputCount;
  using OpContext::outputs;
  using OpContext::runState;
  using OpContext::suspension;
};

} // namespace treadle
