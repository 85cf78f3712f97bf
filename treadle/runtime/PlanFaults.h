// What runs of a plan fail at, as far as it is known before they run.
#pragma once

#include "treadle/runtime/Plan.h"

namespace treadle {

struct PlanFault {
  uint32_t node;    // of the plan's infos: the fault is its own, or of what it calls
  std::string name; // of the node that fails
  Error error;      // names it
  bool isCertain;   // each run that reaches `node` fails
};

/// Nodes without a kernel, and calls of functions that don't exist, have no plan or give something
/// else than the caller expects; in functions that the plan's nodes call, too. It makes the plans
/// of these.
std::vector<PlanFault> findFaults(const Plan &plan);

} // namespace treadle
