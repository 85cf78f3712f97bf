// Extracts parts of graphs, optionally with variables as constants.
#pragma once

#include "treadle/Session.h"

namespace treadle {

/// Returns a new graph with the nodes that the fetches (`x:0`, `x`) need, and a Placeholder for
/// each fed value. The Placeholder has the name of a fed node with one output; otherwise `x:1`
/// becomes `x/1`, in `fetches` too. For a SavedModel the result is a plain graph: that of its meta
/// graph `serve`, or of the only one. NotFound for unknown names.
Expected<Graph> extract(const Graph &graph, std::vector<std::string> &fetches,
                        const std::vector<std::string> &feeds = {});

struct FreezeRequest {
  std::vector<std::string> fetches, feeds;
  /// Values by name, as returned by Session::variables.
  std::vector<std::pair<std::string, Tensor>> variables;
  /// Contents of tables, as returned by Session::tables.
  std::vector<Session::TableContents> tables;
};
/// Extracts a graph like `extract`, and replaces variables by constants with these values,
/// including those in functions, loops and conditionals. Inlines calls where possible. Tables are
/// kept, as are variables that a fetch writes or whose handle an op requires: then the graph has
/// another node (`init`, or `init_1` if that name is taken), which initializes them and must be run
/// first; `initializer` receives its name, and is empty if no state is kept. Errors: those of
/// `extract`; FailedPrecondition for a variable without a value or an empty table.
Expected<Graph> freeze(const Graph &graph, const FreezeRequest &request,
                       std::string *initializer = nullptr);

} // namespace treadle
