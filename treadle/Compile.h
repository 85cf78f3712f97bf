// Ahead-of-time compilation: models as object files with functions for C programs, which need
// neither the graph nor the compiler.
#pragma once

#include "treadle/treadle.h"

#include <string>
#include <vector>

namespace treadle {

struct ObjectOptions {
  /// Prefix of the C names: letters, digits and underscores, not starting with a digit.
  std::string name;
  /// For a model: the signatures to compile to functions named `NAME_SIGNATURE`; empty: all.
  std::vector<std::string> signatures;
  /// For a graph: the function's inputs and outputs, `x:0` or `x`. Without feeds: the placeholders
  /// that the fetches need; without fetches: Graph::outputs(). With fetches a model is treated as a
  /// graph. The function is named `NAME_run`.
  std::vector<std::string> feeds, fetches;
  /// As in SessionOptions.
  bool fastMath = false;
  Denormals denormals = Denormals::Flush;
  /// The minimum processor of the code: x86-64-v2, x86-64-v3, x86-64-v4 or aarch64; empty: this
  /// processor.
  std::string target = {};
  /// Whether the object refers to its kernels by symbol, so that a program linked with the static
  /// library contains only these.
  bool isStatic = false;
};

struct ObjectCode {
  /// An ELF object file for the target; by default for this CPU or the level in TREADLE_CPU.
  std::string object;
  std::string header;
};

/// Compiles a graph, a SavedModel with the values of its variables in the checkpoint, or a
/// StableHLO program. The functions accept all shapes that the graph allows. Programs that use them
/// are linked with libtreadle_runtime, which has the kernels but no compiler. Errors:
/// Unimplemented, with the node, for ops with side effects and for state other than variables that
/// are only read; NotFound for an unknown signature; InvalidArgument for an unknown target.
Expected<ObjectCode> compileToObject(const Graph &graph, const ObjectOptions &options);

} // namespace treadle
