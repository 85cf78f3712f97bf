// Models as object files: functions that C programs call, without graphs and without the compiler.
#pragma once

#include "treadle/treadle.h"

#include <string>
#include <vector>

namespace treadle {

struct ObjectOptions {
  /// What C names begin with: letters, digits and underscores, not a digit first.
  std::string name;
  /// Of a model: which signatures become functions, `NAME_SIGNATURE`; none: all.
  std::vector<std::string> signatures;
  /// Of a graph: the function's inputs and outputs, `x:0` or `x`. No feeds: the placeholders that
  /// the fetches need; no fetches: what Graph::outputs() says. With fetches a model counts as a
  /// graph. The function is `NAME_run`.
  std::vector<std::string> feeds, fetches;
  /// As of SessionOptions.
  bool fastMath = false;
};

struct ObjectCode {
  std::string object; // an ELF object file for this machine's CPU, or the level of TREADLE_CPU
  std::string header;
};

/// Compiles a graph, a SavedModel with the values that its variables have in the checkpoint, or a
/// program in StableHLO. The functions take any shapes that the graph allows. Programs that use
/// them are linked with libtreadle_runtime, which has kernels but no compiler. Unimplemented,
/// naming the node, where something can't be compiled: what has effects, or is state other than
/// variables that are only read. NotFound for a signature that isn't there.
Expected<ObjectCode> compileToObject(const Graph &graph, const ObjectOptions &options);

} // namespace treadle
