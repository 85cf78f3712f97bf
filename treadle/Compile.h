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
  /// The least processor that runs the code: x86-64-v2, x86-64-v3, x86-64-v4 or aarch64; empty:
  /// this one.
  std::string target = {};
  /// The object names the kernels that it calls, so that a program that is linked with the static
  /// library has no others.
  bool isStatic = false;
};

struct ObjectCode {
  std::string object; // an ELF object file for the target, else this CPU or TREADLE_CPU's level
  std::string header;
};

/// Compiles a graph, a SavedModel with the values that its variables have in the checkpoint, or a
/// program in StableHLO. The functions take any shapes that the graph allows. Programs that use
/// them are linked with libtreadle_runtime, which has kernels but no compiler. Unimplemented,
/// naming the node, where something can't be compiled: what has effects, or is state other than
/// variables that are only read. NotFound for a signature that isn't there. InvalidArgument for a
/// target that is none of these.
Expected<ObjectCode> compileToObject(const Graph &graph, const ObjectOptions &options);

} // namespace treadle
