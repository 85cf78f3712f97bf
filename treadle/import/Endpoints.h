// Inputs of nodes as GraphDefs spell them.
#pragma once

#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <optional>

namespace treadle::graphdef {

/// `node`, `node:1`, `node:output`, `node:output:1` or `^node`.
struct Endpoint {
  llvm::StringRef node;
  /// The output's name, empty if the index counts through all results of the node.
  llvm::StringRef output;
  uint64_t index = 0;
  bool isControl = false;
  /// Whether an index stands in the text, and stands there without leading zeros.
  bool hasIndex = false, isPlainIndex = true;
};

/// Nullopt where the index doesn't fit 64 bits.
std::optional<Endpoint> parseEndpoint(llvm::StringRef text);

} // namespace treadle::graphdef
