// For tests of the runtime: random programs that mean the same under every right schedule.
#pragma once

#include "treadle/runtime/TestGraph.h"

#include <memory>
#include <random>
#include <string_view>

namespace treadle::test {

/// A graph and the functions that it calls.
struct Program {
  GraphSpec graph;
  std::unique_ptr<Functions> functions = std::make_unique<Functions>();
};

struct ProgramShape {
  int statements = 9; // of a block, at most
  int depth = 3;      // of nesting
  bool hasFailures = false;
  bool hasWaiting = false;
  bool hasWildDeadness =
      false; // dead tokens through control edges, ControlTriggers, partly dead loops
  bool looksIntoLoops = false;

  /// Programs of one kind: Failures, Waiting, Deadness or LookingIntoLoops; others are plain.
  static ProgramShape named(std::string_view name);
};

/// v1 conditionals and loops, functional ones, calls, and variables whose accesses are ordered by
/// control edges: through the iterations of a loop and the branches of a conditional.
Program randomProgram(std::mt19937 &random, const ProgramShape &shape);

} // namespace treadle::test
