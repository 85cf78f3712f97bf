// Generates graphs that are well-formed messages but semantically invalid, by changing valid
// graphs.
#pragma once

#include "treadle/proto/graph.pb.h"

#include <random>
#include <vector>

namespace treadle::fuzz {

using Random = std::mt19937_64;

/// Returns a uniformly distributed number from 0 to `count` - 1.
inline size_t pick(Random &random, size_t count) {
  return std::uniform_int_distribution<size_t>(0, count - 1)(random);
}
inline bool oneIn(Random &random, size_t times) { return pick(random, times) == 0; }

/// Returns any number, mostly one at an overflow, truncation or boundary.
int64_t edgeCaseInteger(Random &random);
float edgeCaseFloat(Random &random);
/// Returns text that ops parse, and some that is invalid.
std::string edgeCaseText(Random &random);

/// The ops and attribute names of existing graphs.
struct Vocabulary {
  explicit Vocabulary(const std::vector<pb::GraphDef> &graphs);
  std::vector<std::string> ops, strings;
};

/// Makes one to three changes: to attributes (values, kinds, presence), dtypes, shapes and elements
/// of tensors, inputs, names, ops, nodes or functions.
void damage(pb::GraphDef &graph, const Vocabulary &vocabulary, Random &random);

/// Returns a graph of one op in the op table with constants, initialized variables and results of
/// other ops as inputs: dtypes match, shapes and values may match. Ops that read or write files or
/// have no kernel are excluded.
pb::GraphDef graphOfOneOp(Random &random);

/// Whether running the op would affect anything outside of this process.
bool touchesFiles(std::string_view op);

} // namespace treadle::fuzz
