// Where the time of runs went.
#pragma once

#include "treadle/tensor/Error.h"

#include <cstdint>
#include <string>
#include <vector>

namespace treadle {

/// What a session's runs spent, op by op. Times are in seconds, of all runs together. Ops of
/// several threads run at once: their times may add up to more than that of the runs.
struct Profile {
  struct Row {
    std::string name; // a node; of a loop of version 1 whose iterations overlap, its frame; else ""
    std::string op;   // `frame` for such a loop, `_Cluster` for a part that may be compiled
    int64_t calls = 0;
    double own = 0;    // computing, without what it ran: iterations, functions
    double all = 0;    // with that, and with waiting
    double wait = 0;   // for a queue, another process, Python: without computing
    int64_t bytes = 0; // of its results
    bool isCluster = false;
    int64_t compiledCalls = 0; // of a cluster: those that machine code ran
    /// Of clusters, loops and calls: `'a' (Mul), 'b' (Add) and 3 more`; what took longest first.
    std::string contents;
  };
  int64_t runs = 0;
  double seconds = 0; // of all runs
  /// What measuring took of it, which the rows leave out.
  double measuring = 0;
  /// Calls that were left out: the first million are counted.
  int64_t leftOut = 0;
  std::vector<Row> nodes; // longest own time first

  /// The same, all nodes of an op in one row.
  std::vector<Row> ops() const;

  enum class By { Op, Node };
  enum class Sort { Own, All, Wait, Calls, Bytes };
  /// A table for people, a run's share in each column: `limit` rows, the first by `sort`.
  std::string text(By by = By::Op, Sort sort = Sort::Own, size_t limit = 20) const;
};

/// `op`, `node`; `own`, `all`, `wait`, `calls`, `bytes`. InvalidArgument for other words, with the
/// nearest.
Expected<Profile::By> parseProfileBy(std::string_view text);
Expected<Profile::Sort> parseProfileSort(std::string_view text);

/// Sorts rows, the largest first; those that are equal by op and name.
void sortRows(std::vector<Profile::Row> &rows, Profile::Sort sort);

} // namespace treadle
