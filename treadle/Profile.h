// The time of runs by op and by node.
#pragma once

#include "treadle/tensor/Error.h"

#include <cstdint>
#include <string>
#include <vector>

namespace treadle {

/// The time that a session's runs spent in each node. Times are in seconds, summed over all runs.
/// Ops of several threads run at the same time, so the sum of their times may exceed that of the
/// runs.
struct Profile {
  struct Row {
    std::string name; // a node; of a loop of version 1 whose iterations overlap, its frame; else ""
    std::string op;   // `frame` for a v1 loop, `_Cluster` for a part that may be compiled
    int64_t calls = 0;
    double own = 0;    // in the op itself, excluding the iterations and functions that it ran
    double all = 0;    // including these, and waiting
    double wait = 0;   // waiting for a queue, another process or Python
    int64_t bytes = 0; // of its results
    bool isCluster = false;
    int64_t compiledCalls = 0; // for a cluster: calls that ran compiled code
    /// For clusters, loops and calls: `'a' (Mul), 'b' (Add) and 3 more`, longest first.
    std::string contents;
  };
  int64_t runs = 0;
  double seconds = 0; // of all runs
  /// The overhead of measuring, which is included in `seconds` but not in the rows.
  double measuring = 0;
  /// Number of calls that were not recorded: only the first million are.
  int64_t leftOut = 0;
  std::vector<Row> nodes; // longest own time first

  /// Merges the rows of all nodes with the same op.
  std::vector<Row> ops() const;

  enum class By { Op, Node };
  enum class Sort { Own, All, Wait, Calls, Bytes };
  /// Formats a table with each run's share in each column: the first `limit` rows by `sort`.
  std::string text(By by = By::Op, Sort sort = Sort::Own, size_t limit = 20) const;
};

/// Parse `op` and `node`; `own`, `all`, `wait`, `calls` and `bytes`. InvalidArgument, with similar
/// words, for others.
Expected<Profile::By> parseProfileBy(std::string_view text);
Expected<Profile::Sort> parseProfileSort(std::string_view text);

/// Sorts rows in descending order; ties by op and name.
void sortRows(std::vector<Profile::Row> &rows, Profile::Sort sort);

} // namespace treadle
