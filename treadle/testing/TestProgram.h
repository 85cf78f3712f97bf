// For tests of the runtime: random programs whose results don't depend on the schedule.
#pragma once

#include "treadle/testing/TestGraph.h"

#include <memory>
#include <random>
#include <string_view>

namespace treadle::test {

/// A graph and the functions that it calls.
struct RandomGraph {
  GraphSpec graph;
  std::unique_ptr<Functions> functions = std::make_unique<Functions>();
};

struct ProgramShape {
  int statements = 9; // maximum number per block
  int depth = 3;      // maximum nesting depth
  bool hasFailures = false;
  bool hasWaiting = false;
  bool hasWildDeadness =
      false; // dead tokens through control edges, ControlTriggers, partly dead loops
  bool looksIntoLoops = false;

  /// Returns the shape of a kind of program: Failures, Waiting, Deadness, LookingIntoLoops, or
  /// plain for other names.
  static ProgramShape named(std::string_view name);
};

/// Generates v1 and functional conditionals and loops, calls, and variables whose accesses are
/// ordered by control edges, across the iterations of a loop and the branches of a conditional.
RandomGraph randomProgram(std::mt19937 &random, const ProgramShape &shape);

} // namespace treadle::test
