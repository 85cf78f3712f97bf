// Internal to the view: boxes in layers, each below those that it depends on. Sugiyama, Tagawa,
// Toda, "Methods for visual understanding of hierarchical system structures", 1981, in its usual
// steps: layers by longest paths, an order within them by barycenters, places by least squares.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

namespace treadle::view {

struct LayeredBox {
  double width = 0, height = 0;
  double x = 0, y = 0; // the middle, from the upper left corner of all; set by `layer`
};

struct LayeredEdge {
  size_t from = 0, to = 0;
  /// From the lower side of `from` to the upper side of `to`, with a place between the boxes of
  /// each layer that the edge passes; set by `layer`.
  std::vector<std::pair<double, double>> points;
};

struct LayerSpacing {
  double column = 16, row = 36;
};

/// Places the boxes. The edges make no circle. Gives the size of all.
std::pair<double, double> layer(std::vector<LayeredBox> &boxes, std::vector<LayeredEdge> &edges,
                                LayerSpacing spacing = {});

} // namespace treadle::view
