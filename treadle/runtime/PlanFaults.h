// Finds errors that runs of a plan will hit, as far as they are known before a run.
#pragma once

#include "treadle/runtime/Plan.h"

namespace treadle {

struct PlanFault {
  uint32_t node;    // index into the plan's infos: the node itself fails, or a function that it
                    // calls
  std::string name; // name of the failing node
  Error error;      // names the node
  bool isCertain;   // each run that reaches `node` fails
};

/// Returns the nodes without a kernel, and the calls of functions that are missing, can't be built
/// or have other results than the caller expects, in the plan and in the functions that it calls.
/// Builds the plans of these functions.
std::vector<PlanFault> findFaults(const Plan &plan);

} // namespace treadle
