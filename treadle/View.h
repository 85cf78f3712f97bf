// Graphs as people see them: a page for a browser.
#pragma once

#include "treadle/Explore.h"

#include <map>

namespace treadle {

struct ViewRequest {
  /// For people: what the graph was read from.
  std::string title;
  /// Of a SavedModel only what this signature needs; without one what any signature needs, or with
  /// `all` everything.
  std::string signature = {};
  bool all = false;
  /// Whether to tell what is compiled and what isn't; without a word for a graph of very many
  /// nodes.
  bool explains = true;
  /// Whether to count the elements of constants, and of a model's variables, which are loaded then.
  bool weighs = true;
  /// A graph to compare with, which is shown beside it.
  std::optional<Graph> other = {};
  std::string otherTitle = {};
  /// A trace as `treadle run --trace` writes it.
  std::string trace = {};
  /// A run to step through, node by node, and to explore.
  std::optional<ExploreRequest> steps = {};
};

/// What a page shows, in parts by name: `scene`, and `other`, `differences`, `trace`, `steps` where
/// they were asked for. Errors: InvalidArgument for a trace that is none; those of
/// Graph::signatureFetches, and of explore where steps are asked for.
Expected<std::map<std::string, std::string>> viewParts(const Graph &graph,
                                                       const ViewRequest &request);

/// A page that has all of these parts in itself, and asks for nothing else: one file, to be opened
/// in a browser of 2023 or later.
std::string viewPage(const std::map<std::string, std::string> &parts);

/// The same page without them: `address` is where it asks for each, `section/` and its name, with
/// `Authorization: Bearer ` and the token.
std::string viewPage(const std::map<std::string, std::string> &parts, std::string_view address,
                     std::string_view token);

/// A picture of one body, for places that show no pages.
struct DrawRequest {
  std::string title = {};
  std::string function = {}; // empty: the graph
  std::string loop = {};     // only this frame of version 1 in it, with what goes in and out
};
/// SVG of a size that can be read, light or dark as its viewer is. NotFound, with the nearest
/// names, for a function or loop that isn't there; InvalidArgument for a body of more than 400
/// nodes.
Expected<std::string> drawSvg(const Graph &graph, const DrawRequest &request = {});
/// The same in DOT, the language of Graphviz, of any size.
Expected<std::string> drawDot(const Graph &graph, const DrawRequest &request = {});

} // namespace treadle
