// Programs that JAX compiles, read into graphs.
#pragma once

#include "treadle/Graph.h"

namespace treadle::pjrt {

/// A program and what it says of its arguments and results, all of which have static shapes.
struct Program {
  struct Argument {
    std::string name; // of the placeholder
    DType dtype;
    std::vector<int64_t> dims;
    bool mayOverwrite = false; // its memory may become a result's
    bool isToken = false;      // of any dtype and shape, since nothing is read of it
  };
  struct Result {
    std::string name; // of the value, `result_0:0`
    DType dtype;
    std::vector<int64_t> dims;
    std::string memoryKind; // `device`
    bool isToken = false;
  };
  std::string name; // of the module: `jit_f`
  Graph graph;
  std::vector<Argument> arguments;
  std::vector<Result> results;
  /// What is asked of the graph: the results, or that it was run where there are none.
  std::vector<std::string> fetches;
  bool hasLoop = false, callsBack = false;
};

/// Reads a portable artifact of StableHLO, or its text. Unimplemented names what isn't supported.
Expected<Program> readProgram(std::string_view code);

} // namespace treadle::pjrt
