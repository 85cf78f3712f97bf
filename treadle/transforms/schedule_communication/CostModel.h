// The cost model of nodes, from tables or traces.
#pragma once

#include "treadle/dialect/Tfg.h"
#include "treadle/tensor/Error.h"

#include "llvm/ADT/StringMap.h"

#include <optional>
#include <string>

namespace treadle::tfg {

/// The costs of nodes in seconds, and the properties of the link between ranks.
///
/// A model is a JSON object, in which every key is optional:
///
///     {"nodes": {"mm": 0.002}, "ops": {"MatMul": 0.001}, "default": 1e-6,
///      "link": {"latency": 1e-5, "bytes_per_second": 1e10}}
///
/// or a trace in Chrome's format ({"traceEvents": [{"name": "mm", "ph": "X", "dur": 2000}, ...]},
/// microseconds). The cost of a node is the median of its events; that of a collective the median
/// of the times that it was in flight, if the trace has these. Traces contain no link properties.
///
/// A collective over n ranks with b bytes of input, on a link with a latency of L seconds and B
/// bytes a second, takes (docs/scheduling.md has the assumptions):
///
///     all-reduce       2 L + 2 (n - 1) / n b / B
///     reduce-scatter     L +   (n - 1) / n b / B
///     all-gather         L +   (n - 1)     b / B
///     all-to-all         L +   (n - 1) / n b / B
///     broadcast          L +   (n - 1)     b / B
///     send, receive,
///     permutation        L +               b / B
struct CostModel {
  llvm::StringMap<double> nodes, ops;
  double other = 1e-6;
  double latency = 1e-5;
  double bytesPerSecond = 1e10;

  /// Parses a cost model. Returns InvalidArgument for malformed JSON.
  static Expected<CostModel> parse(llvm::StringRef json);
  /// Reads comma-separated files; later files override earlier ones. Returns NotFound if a file
  /// doesn't exist.
  static Expected<CostModel> read(llvm::StringRef paths);

  /// Adds the costs in the JSON, which override existing ones.
  Expected<void> take(llvm::StringRef json);

  /// Returns the seconds that a node computes.
  double compute(Node node) const;
  /// Returns the seconds of a collective among `ranks`; only the latency if the size of its input
  /// is unknown.
  double communicate(Node node, int64_t ranks) const;
};

/// Returns whether the node communicates with other ranks.
bool isCommunication(Node node);
/// Returns the size of a value in bytes; nullopt if its shape is unknown.
std::optional<int64_t> bytesOf(mlir::Value value);
/// Returns the number of ranks in a collective if it is constant; otherwise `fallback`.
int64_t ranksOf(Node node, int64_t fallback);

} // namespace treadle::tfg
