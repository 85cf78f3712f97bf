// Programs that JAX compiles, read into graphs.
#pragma once

#include "treadle/Graph.h"
#include "treadle/import/stablehlo/Sharding.h"

namespace treadle::pjrt {

/// An argument or a result of a program. It is whole in the program; each device has a part.
struct ProgramValue {
  std::string name; // of the placeholder, or of the value, `result_0:0`
  std::string type; // `tensor<4x2xf32>`
  DType dtype = DType::Invalid;
  std::vector<int64_t> dims, partDims;
  hlo::Sharding sharding;
  bool mayOverwrite = false; // an argument's memory may become a result's
  bool isToken = false;      // of any dtype and shape, since nothing is read of it
  std::string memoryKind;    // of a result: `device`
};

/// A program and what it says of its arguments and results, all of which have static shapes.
struct Program {
  std::string name; // of the module: `jit_f`
  Graph graph;
  std::vector<ProgramValue> arguments, results;
  /// What is asked of the graph: the results, or that it was run where there are none.
  std::vector<std::string> fetches;
  bool hasLoop = false, callsBack = false;
  int64_t devices = 1;
  bool hasExchanges = false; // among its devices
};

/// Reads a portable artifact of StableHLO, or its text. Unimplemented names what isn't supported.
Expected<Program> readProgram(std::string_view code);

} // namespace treadle::pjrt
