// What nodes cost, as far as somebody said or measured it.
#pragma once

#include "treadle/dialect/Tfg.h"
#include "treadle/tensor/Error.h"

#include "llvm/ADT/StringMap.h"

#include <optional>
#include <string>

namespace treadle::tfg {

/// Seconds of nodes, and a link between ranks.
///
/// A model is JSON, all of it optional:
///
///     {"nodes": {"mm": 0.002}, "ops": {"MatMul": 0.001}, "default": 1e-6,
///      "link": {"latency": 1e-5, "bytes_per_second": 1e10}}
///
/// or a trace in Chrome's format ({"traceEvents": [{"name": "mm", "ph": "X", "dur": 2000}, ...]},
/// microseconds): a node costs the median of its events; an exchange that of the times that it was
/// under way, where the trace has these. Traces know nothing of links.
///
/// A collective over n ranks takes (docs/scheduling.md has the assumptions), for b bytes of its
/// input, a latency L and B bytes a second:
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

  /// InvalidArgument for what is no such JSON.
  static Expected<CostModel> parse(llvm::StringRef json);
  /// Of files, by names with commas between: of what several say, the last one counts. NotFound
  /// where one isn't there.
  static Expected<CostModel> read(llvm::StringRef paths);

  /// Adds what is said there to what is known.
  Expected<void> take(llvm::StringRef json);

  /// Seconds of a node that computes.
  double compute(Node node) const;
  /// Seconds of a collective among `ranks`; of one whose size nobody knows, the latency alone.
  double communicate(Node node, int64_t ranks) const;
};

/// Whether the node exchanges values with other ranks.
bool isCommunication(Node node);
/// Bytes of its input; nothing where the shape isn't known.
std::optional<int64_t> bytesOf(mlir::Value value);
/// How many ranks take part, as far as constants tell: else `fallback`.
int64_t ranksOf(Node node, int64_t fallback);

} // namespace treadle::tfg
