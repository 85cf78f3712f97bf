// Internal to the view: layered graph drawing, with each box below those that it depends on.
// Sugiyama, Tagawa, Toda, "Methods for visual understanding of hierarchical system structures",
// 1981, in its usual steps: layers by longest paths, an order within them by barycenters, positions
// by least squares.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

namespace treadle::view {

struct LayeredBox {
  double width = 0, height = 0;
  double x = 0, y = 0; // the center, from the upper left corner of the drawing; set by `layer`
};

struct LayeredEdge {
  size_t from = 0, to = 0;
  /// The points from the lower side of `from` to the upper side of `to`, with one between the boxes
  /// of each layer that the edge crosses; set by `layer`.
  std::vector<std::pair<double, double>> points;
};

struct LayerSpacing {
  double column = 16, row = 36;
};

/// Places the boxes and returns the size of the drawing. The edges must not have cycles.
std::pair<double, double> layer(std::vector<LayeredBox> &boxes, std::vector<LayeredEdge> &edges,
                                LayerSpacing spacing = {});

} // namespace treadle::view
