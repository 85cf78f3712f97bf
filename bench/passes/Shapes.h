// Graphs of any size that passes are measured on: each shape is what some pass could find hard.
#pragma once

#include "treadle/proto/graph.pb.h"

#include <cstdint>
#include <span>

namespace treadle::bench {

struct Shape {
  const char *name, *summary;
  /// A graph of about so many nodes, those of functions among them.
  pb::GraphDef (*make)(int64_t numNodes);
};

std::span<const Shape> shapes();

} // namespace treadle::bench
