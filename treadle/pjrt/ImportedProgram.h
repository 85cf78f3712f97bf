// Programs that JAX compiles, imported as graphs.
#pragma once

#include "treadle/Graph.h"
#include "treadle/import/stablehlo/Sharding.h"

namespace treadle::pjrt {

/// An argument or a result of a program. The program has the whole array; each device has a shard.
struct ProgramValue {
  std::string name; // of the placeholder, or of the value, such as `result_0:0`
  std::string type; // such as `tensor<4x2xf32>`
  DType dtype = DType::Invalid;
  std::vector<int64_t> dims, shardDims;
  hlo::Sharding sharding;
  bool mayOverwrite = false; // a result may reuse the argument's memory
  bool isToken = false;      // accepts any dtype and shape; an argument isn't fed
  std::string memoryKind;    // of a result, such as `device`
};

/// A program, with its arguments and results, all of static shape.
struct ImportedProgram {
  std::string name; // of the module, such as `jit_f`
  Graph graph;
  std::vector<ProgramValue> arguments, results;
  /// The fetches: the results, or a target if there are none.
  std::vector<std::string> fetches;
  int64_t devices = 1;
  bool hasExchanges = false; // among its devices
};

/// Reads a portable StableHLO artifact, or StableHLO text. Returns Unimplemented, naming it, for an
/// unsupported feature.
Expected<ImportedProgram> readProgram(std::string_view code);

} // namespace treadle::pjrt
