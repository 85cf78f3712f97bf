// Pages that show graphs in a browser.
#pragma once

#include "treadle/Explore.h"

#include <map>

namespace treadle {

struct ViewRequest {
  /// The source of the graph, shown as text.
  std::string title;
  /// The signature to show, for a SavedModel; without one all signatures, or with `all` the whole
  /// graph.
  std::string signature = {};
  bool all = false;
  /// Whether to show which parts are compiled; skipped for very large graphs.
  bool explains = true;
  /// Whether to count the elements of constants and of a model's variables, which requires loading
  /// it.
  bool weighs = true;
  /// A graph to compare with, shown side by side.
  std::optional<Graph> other = {};
  std::string otherTitle = {};
  /// A trace written by `treadle run --trace`.
  std::string trace = {};
  /// A run to step through node by node, and to explore.
  std::optional<ExploreRequest> steps = {};
};

/// Returns the parts of a page by name: `scene`, and, if requested, `other`, `differences`, `trace`
/// and `steps`. Errors: InvalidArgument for a malformed trace; those of Graph::signatureFetches,
/// and of explore for steps.
Expected<std::map<std::string, std::string>> viewParts(const Graph &graph,
                                                       const ViewRequest &request);

/// Returns a page that contains all of these parts in one file and loads nothing else, for browsers
/// from 2023 on.
std::string viewPage(const std::map<std::string, std::string> &parts);

/// Returns the page without its parts, which it loads from `address` followed by `section/` and
/// their names, with `Authorization: Bearer ` and the token.
std::string viewPage(const std::map<std::string, std::string> &parts, std::string_view address,
                     std::string_view token);

/// A static image of one body.
struct DrawRequest {
  std::string title = {};
  std::string function = {}; // empty: the graph
  std::string loop = {};     // only this v1 frame, with its inputs and outputs
};
/// Draws an SVG image of a readable size, light or dark like its viewer. NotFound, with similar
/// names, for an unknown function or loop; InvalidArgument for a body of more than 400 nodes.
Expected<std::string> drawSvg(const Graph &graph, const DrawRequest &request = {});
/// Draws the body in DOT, the language of Graphviz, at any size.
Expected<std::string> drawDot(const Graph &graph, const DrawRequest &request = {});

} // namespace treadle
