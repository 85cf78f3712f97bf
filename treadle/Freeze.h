// Parts of graphs as graphs of their own, with variables as constants where that is wanted.
#pragma once

#include "treadle/Session.h"

namespace treadle {

/// A new graph of what fetches (`x:0`, `x`) need, with a Placeholder in the place of each fed
/// value. A fed node of one output gives its name to the Placeholder; of more, `x:1` becomes `x/1`,
/// in `fetches` too. Of a SavedModel it is a plain graph: that of its meta graph `serve`, or of the
/// only one. NotFound for names that aren't there.
Expected<Graph> extract(const Graph &graph, std::vector<std::string> &fetches,
                        const std::vector<std::string> &feeds = {});

struct FreezeRequest {
  std::vector<std::string> fetches, feeds;
  /// Values by name, as Session::variables gives them.
  std::vector<std::pair<std::string, Tensor>> variables;
  /// What tables hold, as Session::tables gives it.
  std::vector<Session::TableContents> tables;
};
/// What `extract` gives, with those values in the place of variables: in functions, loops and
/// conditionals too. Calls are inlined where that can be. Tables stay, and so do variables that a
/// fetch writes, or whose handle goes to what can't do with a value: then the graph has another
/// node
/// (`init`, or `init_1` where that name is taken), which gives them these contents, to be run
/// first. Its name is put into `initializer`; empty if nothing stays. Errors beside those of
/// `extract`: FailedPrecondition for a variable that has no value, and for a table that holds
/// nothing yet.
Expected<Graph> freeze(const Graph &graph, const FreezeRequest &request,
                       std::string *initializer = nullptr);

} // namespace treadle
