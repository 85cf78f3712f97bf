// Graphs whose message is well-formed and whose meaning is not: good graphs with a few things
// changed.
#pragma once

#include "treadle/proto/graph.pb.h"

#include <random>
#include <vector>

namespace treadle::fuzz {

using Random = std::mt19937_64;

/// Evenly one of 0 ... `count` - 1.
inline size_t pick(Random &random, size_t count) {
  return std::uniform_int_distribution<size_t>(0, count - 1)(random);
}
inline bool oneIn(Random &random, size_t times) { return pick(random, times) == 0; }

/// Any number, mostly one at which something overflows, narrows or ends.
int64_t strangeInteger(Random &random);
float strangeFloat(Random &random);
/// Texts that ops take apart, and some that are none.
std::string strangeText(Random &random);

/// What nodes are made of: ops and names of attributes that graphs have.
struct Vocabulary {
  explicit Vocabulary(const std::vector<pb::GraphDef> &graphs);
  std::vector<std::string> ops, strings;
};

/// Changes one to three things: attributes (their values, kinds, being there), dtypes, tensors'
/// shapes and elements, inputs, names, ops, whole nodes, functions.
void damage(pb::GraphDef &graph, const Vocabulary &vocabulary, Random &random);

/// A graph of one op of the table with constants as inputs, variables with a value and what other
/// ops make: dtypes that fit, shapes and values that may. Ops that read or write files, or that
/// have no kernel, are left out.
pb::GraphDef graphOfOneOp(Random &random);

/// Whether a run of the op would touch more than this process.
bool touchesFiles(std::string_view op);

} // namespace treadle::fuzz
